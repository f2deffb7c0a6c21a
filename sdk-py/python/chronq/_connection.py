"""What both clients stand on: the native client, and answers turned into values or exceptions."""

import json
import os
from typing import Any, TypeVar

from chronq import _options
from chronq._calls import Call
from chronq._errors import InvalidInput, from_json
from chronq._native import Client
from chronq._options import Duration, RetryPolicy

T = TypeVar("T")


class Connection:
    """A native client that can be closed."""

    __slots__ = ("_native", "url")

    url: str
    """Base URL of the server."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        timeout: Duration | None,
        retry: RetryPolicy | None,
        user_agent: str | None,
    ) -> None:
        if retry is not None and not isinstance(retry, RetryPolicy):
            raise InvalidInput("retry must be a RetryPolicy, or None to turn it off", option="retry")
        options = {
            "url": os.environ.get("CHRONQ_URL") if url is None else url,
            "token": os.environ.get("CHRONQ_TOKEN") if token is None else token,
            "timeout": timeout,
            "retry": False
            if retry is None
            else {"attempts": retry.attempts, "base": retry.base, "cap": retry.cap},
            "user_agent": user_agent,
        }
        self._native: Client | None = Client(_options.encode(options))
        self.url = self._native.url

    def close(self) -> None:
        """Let go of the connections, once the calls in progress are over."""
        self._native = None

    def _open(self) -> Client:
        if self._native is None:
            raise InvalidInput("the client is closed: make calls inside its with block", option="client")
        return self._native

    def make(self, call: Call[T]) -> T:
        """Make a call and wait for it."""
        return answer(call, *self._open().call(call.name, _options.encode(call.options)))

    async def make_async(self, call: Call[T]) -> T:
        """Make a call in the running event loop."""
        return answer(call, *await self._open().call_async(call.name, _options.encode(call.options)))


def answer(call: Call[T], succeeded: bool, text: str) -> T:
    """Read an answer, or raise the error."""
    if not succeeded:
        raise from_json(text)
    read: Any = json.loads(text)
    return call.read(read)
