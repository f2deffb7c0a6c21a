"""Verified deliveries for FastAPI.

    from typing import Annotated
    from chronq.fastapi import Delivery, verified

    @app.post("/hook")
    async def hook(delivery: Annotated[Delivery, Depends(verified("https://app.example.com/hook"))]):
        ...

The body stays readable: `await request.json()` works after it. A form must not be read before it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import HTTPException, Request

from chronq._adapter import REFUSED, Verifier, refusal
from chronq._errors import SignatureError
from chronq._native import Claims, Receiver

__all__ = ["Delivery", "verified"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that can be trusted."""

    claims: Claims
    body: bytes
    """The raw body, as it was signed."""


def verified(
    url: str | Callable[[Request], str] | None, *, receiver: Receiver | None = None
) -> Callable[[Request], Awaitable[Delivery]]:
    """Make a dependency that verifies, or answers 401.

    url is the public URL that was published to, from your configuration: text, or made from the request
    where the route has parameters, but never from its Host header. None leaves it unchecked. Without a
    receiver, its keys come from the environment.
    """
    verifier = Verifier(url, receiver)

    async def delivery(request: Request) -> Delivery:
        body = await request.body()
        try:
            return Delivery(verifier.verify(request, request.headers, body), body)
        except SignatureError as error:
            raise HTTPException(REFUSED, refusal(error)) from None

    return delivery
