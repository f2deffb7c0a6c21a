"""Options as callers write them, and as they cross to the core: JSON with units."""

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

from chronq._contract import Method
from chronq._errors import InvalidInput

T = TypeVar("T")

Duration: TypeAlias = timedelta | str
"""A timedelta, or text such as ``"500ms"``, ``"45s"``, ``"2m"``, ``"1h"`` or ``"1d10h30m"``."""

Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
"""Header names and values."""

Body: TypeAlias = str | bytes | bytearray | memoryview
"""A body: text or bytes."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a client repeats a call; ``None`` in its place turns it off."""

    attempts: int = 4
    """Attempts in all."""
    base: Duration = timedelta(milliseconds=250)
    """The first wait; it doubles, and full jitter shortens it."""
    cap: Duration = timedelta(seconds=8)
    """The longest wait by that curve. Retry-After is waited for besides, up to a minute."""


@dataclass(frozen=True)
class Callback:
    """Where the outcome of a message is reported."""

    url: str
    method: Method | str | None = None
    """POST where not given."""
    timeout: Duration | None = None
    """30 s where not given."""
    headers: Headers = field(default_factory=dict)
    """Sent with the callback."""


class PublishOptions(TypedDict, total=False):
    """What a publish may say besides its destination. What is not given is the queue's setting."""

    body: Body | None
    """Sent as it is: bytes as application/octet-stream, text as text/plain."""
    json: Any
    """Sent as application/json; ``None`` is null. Excludes body."""
    queue: str | None
    method: Method | str | None
    headers: Headers | None
    """Sent to the destination."""
    content_type: str | None
    retries: int | None
    """Attempts after the first, 0 to 100."""
    retry_delay: Duration | None
    """Base of the wait between attempts, to 1 d."""
    delay: Duration | None
    """Wait before the first attempt, to 365 d."""
    not_before: int | datetime | None
    """Unix seconds or an aware datetime; wins over delay."""
    timeout: Duration | None
    """Bound of one attempt, to 2 h."""
    deduplication_id: str | None
    """A second publish with the same id inside ten minutes is not queued again. One is minted where none is
    given, so that a call can be repeated safely."""
    content_based_deduplication: bool | None
    callback: str | Callback | None
    """Called once when the destination accepted."""
    failure_callback: str | Callback | None
    """Called once when the message failed for good."""
    labels: Iterable[str] | None
    """Up to ten, to find the message by."""


class Publish:
    """One entry of a batch: a destination, and the same options as ``publish`` takes."""

    __slots__ = ("destination", "options")

    destination: str
    options: PublishOptions

    def __init__(self, destination: str, **options: Unpack[PublishOptions]) -> None:
        self.destination = destination
        self.options = options

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Publish({self.destination!r}{given})"


@dataclass(frozen=True, kw_only=True)
class _Timer:
    payload: Any
    delay: Duration
    txn: str | None = None
    partition: str | None = None


@dataclass(frozen=True)
class TimerSchedule(_Timer):
    """Puts a timer, in a batch; see ``timers.schedule``."""

    queue: str
    key: str


@dataclass(frozen=True)
class TimerReschedule(_Timer):
    """Replaces a timer, in a batch; see ``timers.reschedule``."""

    queue: str
    key: str


@dataclass(frozen=True)
class TimerCancel:
    """Takes a timer back, in a batch: needs ``allow_cancel``.

    A cancel in a batch has chosen the schedule route's authorization. Where scheduling is paused, gated or
    over quota, the whole batch is refused, its cancels too, while the timers keep firing.
    ``timers.cancel`` takes the route that always works.
    """

    queue: str
    key: str
    txn: str | None = None


TimerOperation: TypeAlias = TimerSchedule | TimerReschedule | TimerCancel
"""One operation of a batch of timers."""


def encode(options: Mapping[str, Any]) -> str:
    """Write options as the core reads them; what is not given is left out."""
    given = {name: plain(name, value) for name, value in options.items() if value is not None}
    return json.dumps(given, separators=(",", ":"))


def plain(option: str, value: Any) -> Any:
    """Give the JSON form of an option, or refuse it by name."""
    if isinstance(value, str):
        return _text(option, value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() >= 64:
            raise InvalidInput(f"{option} is out of range", option=option)
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, timedelta):
        return {"milliseconds": value / timedelta(milliseconds=1)}
    if isinstance(value, Mapping):
        return {_text(option, str(name)): plain(option, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(option, inner) for inner in value]
    raise InvalidInput(f"{option} cannot be of type {type(value).__name__}", option=option)


def _text(option: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{option} must not hold a lone surrogate", option=option) from None
    return str(value)


def published(destination: str, options: PublishOptions) -> dict[str, Any]:
    """Write the options of one publish."""
    given: dict[str, Any] = dict(options)
    wire = _content(given)
    wire["destination"] = destination
    if (moment := given.pop("not_before", None)) is not None:
        wire["not_before"] = _unix_seconds("not_before", moment)
    if (headers := given.pop("headers", None)) is not None:
        wire["headers"] = pairs("headers", headers)
    if (labels := given.pop("labels", None)) is not None:
        wire["labels"] = labels if isinstance(labels, str) else items("labels", labels)
    for option in ("callback", "failure_callback"):
        if isinstance(callback := given.get(option), Callback):
            given[option] = _callback(option, callback)
    return given | wire


def _content(given: dict[str, Any]) -> dict[str, Any]:
    body = given.pop("body", None)
    if "json" in given:
        if body is not None:
            raise InvalidInput("body and json exclude each other: give one of them", option="body")
        return {"json_text": json_text("json", given.pop("json"))}
    if body is None:
        return {}
    if isinstance(body, str):
        return {"body": body}
    return {"body_base64": _base64("body", body)}


def json_text(option: str, value: Any) -> str:
    """Write a value as JSON, or refuse it by name."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{option} has no JSON form: {error}", option=option) from None
    return _text(option, text)


def _base64(option: str, value: object) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidInput(
            f"{option} must be bytes or text, got {type(value).__name__}: pass a value as json", option=option
        )
    return base64.b64encode(value).decode("ascii")


def payload(value: Any) -> dict[str, Any]:
    """Write what a timer carries: text and bytes as they are, any other value as JSON."""
    if isinstance(value, str):
        return {"payload": value}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"payload_base64": _base64("payload", value)}
    return {"json_text": json_text("payload", value)}


def operation(value: TimerOperation) -> dict[str, Any]:
    """Write one operation of a batch of timers."""
    identity = {"queue": value.queue, "key": value.key, "txn": value.txn}
    if isinstance(value, TimerCancel):
        return _given({"op": "cancel", **identity})
    word = "schedule" if isinstance(value, TimerSchedule) else "reschedule"
    timer = {"delay": value.delay, "partition": value.partition, **payload(value.payload)}
    return _given({"op": word, **identity, **timer})


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def pairs(option: str, headers: Headers) -> list[list[Any]]:
    """Write headers in their order."""
    given = list(headers.items()) if isinstance(headers, Mapping) else items(option, headers)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in given):
        raise InvalidInput(f"{option} must be header names with text values", option=option)
    return [list(pair) for pair in given]


def numbered(write: Callable[[T], dict[str, Any]], entries: Iterable[T]) -> list[dict[str, Any]]:
    """Write each entry of a batch; a refusal says which one it was."""
    written = []
    for index, entry in enumerate(entries):
        try:
            options = {name: value for name, value in write(entry).items() if value is not None}
            written.append({name: plain(name, value) for name, value in options.items()})
        except InvalidInput as refused:
            raise InvalidInput(
                f"entry {index}: {refused}", option=refused.option, value=refused.value, index=index
            ) from None
    return written


def items(option: str, values: Any) -> list[Any]:
    """Write a list of anything that can be gone through; text by itself is no list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{option} must be a list, got {type(values).__name__}", option=option)
    return list(values)


def _callback(option: str, callback: Callback) -> dict[str, Any]:
    return _given(
        {
            "url": callback.url,
            "method": callback.method,
            "timeout": callback.timeout,
            "headers": pairs(f"{option} headers", callback.headers),
        }
    )


def _unix_seconds(option: str, moment: int | datetime) -> Any:
    if not isinstance(moment, datetime):
        return moment
    # Rounded up: not before means not before.
    return math.ceil(_aware(option, moment).timestamp())


def instant(option: str, moment: datetime | str | None) -> str | None:
    """Write an instant to the microsecond, in UTC."""
    if not isinstance(moment, datetime):
        return moment
    since = _aware(option, moment)
    return since.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _aware(option: str, moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise InvalidInput(
            f"{option} must be an aware datetime: give it a timezone, such as datetime.now(UTC)",
            option=option,
            value=str(moment),
        )
    return moment.astimezone(UTC)
