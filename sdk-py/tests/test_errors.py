"""The exceptions: one base, one class per kind of the core, nothing secret in any of them."""

import copy
import json
import pickle
import traceback
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import chronq
import pytest
from chronq import AsyncChronq, Chronq, ChronqError, InvalidInput, Publish, Receiver, SignatureError, _errors
from conftest import TOKEN
from signing import CURRENT, NEXT, NOW, token

KINDS = [
    "InvalidInput", "Unauthorized", "Forbidden", "NotFound", "Conflict", "TooLarge", "Throttled",
    "Unavailable", "QuotaExceeded", "HorizonExceeded", "FeatureGated", "Transport", "Protocol",
    "SignatureError",
]  # fmt: skip


def test_every_kind_of_the_core_has_its_class() -> None:
    assert list(_errors.BY_KIND) == KINDS
    for name in KINDS:
        kind = getattr(chronq, name)
        assert issubclass(kind, ChronqError)
        assert kind.__name__ == name
        assert name in chronq.__all__


@pytest.mark.parametrize("name", KINDS)
def test_an_error_crosses_the_bridge_whole(name: str) -> None:
    code = "expired" if name == "SignatureError" else "protocol"
    said: dict[str, Any] = {
        "kind": name, "message": "a sentence", "code": code, "status": 503, "reason": "r", "detail": "d",
        "retryAfter": 1.5, "attempts": 2, "mayHaveBeenSent": True, "option": "delay", "value": "5",
        "index": 0, "state": "completed", "claim": "exp", "seconds": 5, "difference": None,
    }  # fmt: skip
    error = _errors.from_json(json.dumps(said))
    assert type(error).__name__ == name
    assert (str(error), error.code) == ("a sentence", code)
    if name != "SignatureError":
        assert (error.status, error.retry_after, error.attempts) == (503, timedelta(seconds=1.5), 2)
        assert (error.may_have_been_sent, error.reason, error.detail) == (True, "r", "d")
    copy = pickle.loads(pickle.dumps(error))
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


@pytest.mark.parametrize("name", KINDS)
def test_an_error_can_be_made_by_hand(name: str) -> None:
    error = getattr(chronq, name)("a sentence")
    assert (str(error), error.attempts, error.may_have_been_sent) == ("a sentence", 0, False)
    assert error.code


def _members(thing: object, depth: int = 4) -> Iterator[str]:
    """Everything that can be reached by name, shown."""
    for name in dir(thing):
        if name.startswith("__"):
            continue
        member = getattr(thing, name)
        yield f"{name} {member!r}"
        if depth > 0 and type(member).__module__.startswith("chronq"):
            yield from _members(member, depth - 1)


def test_no_secret_shows_anywhere() -> None:
    secrets = (TOKEN, CURRENT, NEXT)
    receiver = Receiver(CURRENT, NEXT)
    shown = [
        repr(Chronq("http://127.0.0.1:1", TOKEN)),
        repr(AsyncChronq("http://127.0.0.1:1", TOKEN)),
        repr(Chronq("http://127.0.0.1:1", TOKEN)._connection._native),
        repr(receiver),
        str(receiver),
        repr(Publish("https://example.com/", body="b")),
    ]
    for thing in (Chronq("http://127.0.0.1:1", TOKEN), AsyncChronq("http://127.0.0.1:1", TOKEN), receiver):
        shown += _members(thing)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            # Handing them on would hand the secret on.
            with pytest.raises(TypeError) as refused:
                pickle.dumps(thing, protocol)
            shown.append(repr(refused.value))
        with pytest.raises(TypeError):
            copy.deepcopy(thing)
    attempts: list[Any] = [
        lambda: receiver.verify(signature=token(b"", now=1), body=b"", now=NOW),
        lambda: receiver.verify(signature=CURRENT, body=b""),
        lambda: Receiver(CURRENT + " "),
        lambda: Receiver(CURRENT, NEXT + "\n"),
        lambda: Chronq("http://127.0.0.1:1", TOKEN + "\n"),
        lambda: Chronq("http://127.0.0.1:1", TOKEN, retry=None).queues.list(),
    ]
    for attempt in attempts:
        with pytest.raises(ChronqError) as raised:
            attempt()
        error = raised.value
        assert isinstance(error, InvalidInput | SignatureError | chronq.Transport)
        shown += [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
        shown += [repr(pickle.dumps(error)), repr(copy.deepcopy(error).__dict__)]
    for text in shown:
        assert not any(secret in text for secret in secrets), text
