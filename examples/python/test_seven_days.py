"""A test against a real server, in which seven days are a moment. Run it with pytest."""

from datetime import timedelta

from chronq import Chronq
from chronq.testing import Server


def test_an_order_is_reminded_of_after_seven_days_again_where_that_failed(chronq_server: Server) -> None:
    inbox = chronq_server.inbox()
    inbox.script([{"status": 503}, {"status": 200}])
    with Chronq(chronq_server.url, chronq_server.token) as client:
        client.publish(inbox.url, json={"orderId": 42}, delay="7d", retry_delay="1ms")
    assert inbox.requests() == []
    chronq_server.clock.advance(timedelta(days=7))

    receiver = chronq_server.receiver()
    for request in inbox.wait(2):
        assert receiver.verify_headers(request.headers, request.body, inbox.url).sub == inbox.url
        assert request.body == b'{"orderId":42}'
