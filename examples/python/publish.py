"""Publish one message, and wait until it was delivered.

Wants CHRONQ_URL and CHRONQ_TOKEN; the destination is the one argument.
"""

import sys
import time

from chronq import Chronq, MessageState

with Chronq() as client:
    published = client.publish(sys.argv[1], json={"orderId": 42}, retries=5, retry_delay="30s")
    print("published", published.message_id, "into", published.queue)

    while (message := client.messages.get(published.message_id)).state != MessageState.COMPLETED:
        time.sleep(0.1)
    print("delivered after", message.retried, "retries")
