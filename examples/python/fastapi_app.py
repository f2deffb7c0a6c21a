"""A FastAPI app whose route takes verified deliveries only.

Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: what was published to.
"""

import os
from typing import Annotated

from fastapi import Depends, FastAPI, Request

from chronq.fastapi import Delivery, verified

app = FastAPI()
Verified = Annotated[Delivery, Depends(verified(os.environ["PUBLIC_URL"]))]


@app.post("/hook")
async def hook(request: Request, delivery: Verified) -> dict[str, object]:
    order = await request.json()
    return {"attempt": delivery.claims.jti, "order": order["orderId"]}
