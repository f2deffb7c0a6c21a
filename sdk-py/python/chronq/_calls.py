"""Every call, once: its name, its options, and how its answer is read. Both clients make them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar

from chronq import _options, _read
from chronq._contract import AckStatus, MessageState, Method, Missed
from chronq._models import (
    AckResult,
    EntryError,
    Events,
    Group,
    LogMessage,
    Message,
    PeekedTimer,
    PoppedMessage,
    Published,
    Pushed,
    Queue,
    Schedule,
    SchedulePut,
    ScheduleRun,
    Settled,
    TimerOutcome,
    TimerRow,
)
from chronq._options import Body, Duration, Headers, Publish, PublishOptions, TimerOperation

T = TypeVar("T", covariant=True)
SettledT = TypeVar("SettledT")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of the API."""

    name: str
    options: Mapping[str, Any]
    read: Callable[[Any], T]


class QueueSettings(TypedDict, total=False):
    """Settings of a queue; each is the default of what its messages do not say themselves."""

    retry_limit: int | None
    """Attempts after the first, 0 to 100; 3."""
    retry_delay: Duration | None
    """Base of the wait between attempts, to 1 d; 10 s."""
    max_delay: Duration | None
    """Cap of that wait; 6 h."""
    backoff: bool | None
    """Whether the wait doubles with each attempt; true."""
    expire: Duration | None
    """Bound of one attempt, to 2 h; 30 s."""
    concurrency: int | None
    """Deliveries at once, per process, 1 to 100; 10."""
    keep_completed: Duration | None
    """How long finished messages are kept; 7 d."""
    keep_queued: Duration | None
    """How long queued messages are kept; 14 d."""
    dead_letter_queue: str | None
    """Where failed messages go as new ones."""
    enabled: bool | None
    """Whether publishes and schedules may put messages in; true."""
    description: str | None


class ScheduleOptions(TypedDict, total=False):
    """What a schedule may say besides name, rule and URL: what is left out falls back to its default."""

    method: Method | str | None
    """POST where not given."""
    headers: Headers | None
    body: str | None
    timezone: str | None
    """IANA name of the zone in which the rule is read; UTC where not given."""
    missed: Missed | str | None
    """What becomes of runs that came due while nothing ran."""
    timeout: Duration | None
    """Bound of one attempt; 30 s."""
    queue: str | None
    """An existing queue; the schedule's own where not given."""
    enabled: bool | None
    description: str | None
    failure_callback: str | None
    """Called once when a run fails for good."""


class LogQueueOptions(TypedDict, total=False):
    """Options of a queue of the log; what is not given keeps the server's default."""

    encryption_enabled: bool | None
    """Payloads are sealed at rest; a timer's when it is scheduled."""
    retention: Duration | None
    """How long frames are kept."""
    lease: Duration | None
    """How long a pop's lease holds."""
    retry_limit: int | None
    """Failed acks before a message becomes a dead letter."""


def publish(destination: str, options: PublishOptions) -> Call[Published]:
    return Call("publish", _options.published(destination, options), _read.published)


def publish_to_group(group: str, options: PublishOptions) -> Call[list[Published]]:
    written = _options.published("", options)
    del written["destination"]
    return Call("publish_to_group", written | {"group": group}, _read.list_of(_read.published))


def batch(entries: Iterable[Publish]) -> Call[list[Published | EntryError]]:
    written = _options.numbered(lambda entry: _options.published(entry.destination, entry.options), entries)
    return Call("batch", {"entries": written}, _read.list_of(_read.entry))


def get_message(message_id: str) -> Call[Message]:
    return Call("messages.get", {"id": message_id}, _read.message)


def cancel_message(message_id: str) -> Call[None]:
    return Call("messages.cancel", {"id": message_id}, _read.nothing)


def retry_message(message_id: str) -> Call[None]:
    return Call("messages.retry", {"id": message_id}, _read.nothing)


def list_events(
    queue: str | None,
    state: MessageState | str | None,
    label: str | None,
    cronjob: str | None,
    limit: int | None,
    offset: int | None,
) -> Call[Events]:
    options = {
        "queue": queue,
        "state": state,
        "label": label,
        "cronjob": cronjob,
        "limit": limit,
        "offset": offset,
    }
    return Call("messages.events", options, _read.events)


def list_groups() -> Call[list[Group]]:
    return Call("groups.list", {}, _read.list_of(_read.group))


def get_group(name: str) -> Call[Group]:
    return Call("groups.get", {"name": name}, _read.group)


def add_endpoints(name: str, urls: Iterable[str]) -> Call[Group]:
    options = {"name": name, "urls": _options.items("urls", urls)}
    return Call("groups.add_endpoints", options, _read.group)


def remove_endpoints(name: str, urls: Iterable[str]) -> Call[Group]:
    options = {"name": name, "urls": _options.items("urls", urls)}
    return Call("groups.remove_endpoints", options, _read.group)


def delete_group(name: str) -> Call[None]:
    return Call("groups.delete", {"name": name}, _read.nothing)


def put_queue(name: str, settings: QueueSettings) -> Call[Queue]:
    return Call("queues.put", {**settings, "name": name}, _read.queue)


def list_queues() -> Call[list[Queue]]:
    return Call("queues.list", {}, _read.list_of(_read.queue))


def get_queue(name: str) -> Call[Queue]:
    return Call("queues.get", {"name": name}, _read.queue)


def delete_queue(name: str) -> Call[None]:
    return Call("queues.delete", {"name": name}, _read.nothing)


def put_schedule(name: str, cron: str, url: str, options: ScheduleOptions) -> Call[SchedulePut]:
    written: dict[str, Any] = {**options, "name": name, "cron": cron, "url": url}
    if (headers := options.get("headers")) is not None:
        written["headers"] = _options.pairs("headers", headers)
    return Call("schedules.put", written, _read.schedule_put)


def list_schedules() -> Call[list[Schedule]]:
    return Call("schedules.list", {}, _read.list_of(_read.schedule))


def get_schedule(name: str) -> Call[Schedule]:
    return Call("schedules.get", {"name": name}, _read.schedule)


def delete_schedule(name: str) -> Call[None]:
    return Call("schedules.delete", {"name": name}, _read.nothing)


def run_schedule(name: str) -> Call[ScheduleRun]:
    return Call("schedules.run", {"name": name}, _read.schedule_run)


class TimerOptions(TypedDict, total=False):
    """What a timer may say besides its payload and delay."""

    txn: str | None
    """The transaction id that the frame will carry; one is minted where none is given."""
    partition: str | None
    """``Default`` where none is given."""
    payload_zstd: bool | None
    """The payload is a zstd frame."""
    encrypted: bool | None
    """You have encrypted the payload; refused where the queue encrypts at rest."""


def schedule_timer(
    word: str,
    queue: str,
    key: str,
    payload: Body | Any,
    delay: Duration,
    options: TimerOptions,
    settle: _read.Settle[SettledT],
) -> Call[TimerOutcome[SettledT]]:
    written = {**options, "queue": queue, "key": key, "delay": delay, **_options.payload(payload)}
    return Call(f"timers.{word}", written, _read.outcome(settle))


def cancel_timer(
    queue: str, key: str, txn: str | None, settle: _read.Settle[SettledT]
) -> Call[TimerOutcome[SettledT]]:
    return Call("timers.cancel", {"queue": queue, "key": key, "txn": txn}, _read.outcome(settle))


def batch_timers(
    operations: Iterable[TimerOperation], allow_cancel: bool, settle: _read.Settle[SettledT]
) -> Call[list[TimerOutcome[SettledT]]]:
    written = _options.numbered(_options.operation, operations)
    options = {"operations": written, "allow_cancel": allow_cancel}
    return Call("timers.batch", options, _read.list_of(_read.outcome(settle)))


def peek_timer(queue: str, key: str) -> Call[PeekedTimer | None]:
    return Call("timers.peek", {"queue": queue, "key": key}, _read.peeked)


def list_timers(
    queue: str, after: str | None, page_size: int | None
) -> Call[tuple[list[TimerRow], str | None]]:
    return Call("timers.list", {"queue": queue, "after": after, "limit": page_size}, _read.timer_page)


def settle_timer(queue: str, key: str, txn: str, since: datetime | None) -> Call[Settled]:
    options = {"queue": queue, "key": key, "txn": txn, "since": _options.instant("since", since)}
    return Call("timers.settle", options, _read.settled)


def find(queue: str, txn: str, since: datetime | str | None) -> Call[list[LogMessage]]:
    options = {"queue": queue, "txn": txn, "since": _options.instant("since", since)}
    return Call("log.find", options, _read.list_of(_read.log_message))


class PopOptions(TypedDict, total=False):
    """What a pop may say."""

    partition: str | None
    """Any where none is given."""
    batch: int | None
    """Most messages; 1."""
    wait: Duration | None
    """How long to wait for the first message; not at all where not given."""
    consumer_group: str | None
    """Each has its own place in the log."""
    auto_ack: bool | None
    """Commit at delivery: no lease, nothing to ack, at most once."""


def pop(queue: str, options: PopOptions) -> Call[list[PoppedMessage]]:
    return Call("log.pop", {**options, "queue": queue}, _read.popped)


def ack(message: PoppedMessage, status: AckStatus | str, error: str | None) -> Call[AckResult]:
    options = {
        "transaction_id": message.transaction_id,
        "partition_id": message.partition_id,
        "lease_id": message.lease_id,
        "consumer_group": message.consumer_group,
        "status": status,
        "error": error,
    }
    return Call("log.ack", options, _read.ack_result)


def push(queue: str, payload: Any, partition: str | None, txn: str | None) -> Call[list[Pushed]]:
    # The payload travels as the JSON that it is; writing it once refuses what has no such form.
    _options.json_text("payload", payload)
    item = {"queue": queue, "payload": payload, "partition": partition, "txn": txn}
    return Call("log.push", {"items": [item]}, _read.list_of(_read.pushed))


def configure(queue: str, options: LogQueueOptions) -> Call[None]:
    return Call("log.configure", {**options, "queue": queue}, _read.nothing)
