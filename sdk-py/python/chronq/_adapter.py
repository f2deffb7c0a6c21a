"""What the framework adapters share."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from chronq._errors import SignatureError
from chronq._native import Claims, Receiver

RequestT = TypeVar("RequestT")

REFUSED = 401
"""Status of a refused delivery: the sender tries again, so that a wrong clock or key loses nothing."""

_log = logging.getLogger("chronq")


class Verifier:
    """Verifies requests of one route against its configured public URL."""

    def __init__(self, url: str | Callable[[Any], str] | None, receiver: Receiver | None) -> None:
        self._url = url
        self._receiver = Receiver() if receiver is None else receiver

    def verify(self, request: object, headers: Any, body: bytes) -> Claims:
        """Verify, and tell the log why not."""
        url = self._url(request) if callable(self._url) else self._url
        try:
            return self._receiver.verify_headers(headers, body, url)
        except SignatureError as error:
            _log.warning("delivery refused (%s): %s", error.code, error)
            raise


def refusal(error: SignatureError) -> dict[str, str]:
    """Give the answer to a refused delivery: the code, and nothing that helps a forger."""
    return {"error": error.code}
