"""A Flask app whose route takes verified deliveries only.

Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: what was published to.
"""

import os

from flask import Flask, request

from chronq.flask import current_claims, verified

app = Flask(__name__)


@app.post("/hook")
@verified(os.environ["PUBLIC_URL"])
def hook() -> dict[str, object]:
    order = request.get_json()
    return {"attempt": current_claims().jti, "order": order["orderId"]}
