"""What calls answer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from chronq._contract import MessageState, Method, Missed, TimerStatus
from chronq._errors import InvalidInput, Protocol


@dataclass(frozen=True, slots=True)
class Published:
    """A message that was queued."""

    message_id: str
    """The id to look the message up by, and the receiver's idempotency key."""
    queue: str
    deduplicated: bool
    """Whether it was already there. On the answer to a repeated publish: the attempt before had arrived."""
    url: str | None = None
    """The endpoint, where a group was published to."""


@dataclass(frozen=True, slots=True)
class EntryError:
    """Why one entry of a batch was not queued although the batch was taken."""

    error: str


@dataclass(frozen=True, slots=True)
class AttemptResponse:
    """What the last attempt brought. Status 0 means that no answer came; the body then says why."""

    status: int
    headers: Mapping[str, str]
    body: str
    """To 8 KiB; see truncated."""
    duration: timedelta
    truncated: bool


@dataclass(frozen=True, slots=True)
class Message:
    """A message as its lookup shows it."""

    message_id: str
    queue: str
    state: MessageState
    url: str
    labels: tuple[str, ...]
    cronjob: str | None
    """The schedule whose run it is."""
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    retried: int
    max_retries: int
    response: AttemptResponse | None


@dataclass(frozen=True, slots=True)
class Events:
    """A page of the event log, newest first."""

    jobs: tuple[Message, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Group:
    """A URL group."""

    name: str
    endpoints: tuple[str, ...]
    """Where its copies go."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue and its settings in force."""

    name: str
    retry_limit: int | None = None
    retry_delay: timedelta | None = None
    max_delay: timedelta | None = None
    backoff: bool | None = None
    expire: timedelta | None = None
    concurrency: int | None = None
    keep_completed: timedelta | None = None
    keep_queued: timedelta | None = None
    dead_letter_queue: str | None = None
    enabled: bool | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as the server knows it."""

    name: str
    cron: str
    url: str
    method: Method
    headers: Mapping[str, str]
    body: str
    timezone: str
    missed: Missed
    timeout: timedelta
    queue: str | None
    enabled: bool
    description: str | None
    failure_callback: str | None
    created_at: datetime
    updated_at: datetime
    next_run_at: datetime | None
    last_run_at: datetime | None


@dataclass(frozen=True, slots=True)
class SchedulePut:
    """What putting a schedule did."""

    created: bool
    """Whether it was made anew."""
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """The message of a run made by hand."""

    message_id: str
    queue: str


@dataclass(frozen=True)
class TimerRow:
    """A pending timer, without its payload."""

    queue: str
    timer_key: str
    partition: str
    deliver_at: datetime
    txn: str
    message_id: str
    payload_zstd: bool
    encrypted: bool
    producer_sub: str | None
    attempts: int
    last_error: str | None
    claimed: bool
    """In somebody's hands: a cancel would be too late."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class PeekedTimer(TimerRow):
    """A pending timer with its payload as stored: peek never decrypts."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A frame in the log."""

    id: str
    transaction_id: str
    queue: str
    partition: str
    partition_id: str
    offset: int
    data: Any
    """The payload as JSON, or ``{"_raw_b64": …}`` where it is none."""
    producer_sub: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PoppedMessage:
    """A frame under a lease."""

    id: str
    transaction_id: str
    partition: str
    partition_id: str
    data: Any
    producer_sub: str | None
    created_at: datetime
    lease_id: str | None
    consumer_group: str | None


@dataclass(frozen=True, slots=True)
class AckResult:
    """Whether the server took an ack: a lease that has passed is an answer, not an error."""

    transaction_id: str
    success: bool
    error: str | None

    def __bool__(self) -> bool:
        return self.success


@dataclass(frozen=True, slots=True)
class Pushed:
    """A message that was appended to the log."""

    message_id: str
    transaction_id: str
    queue: str


@dataclass(frozen=True)
class _Outcome:
    queue: str
    timer_key: str

    status: ClassVar[TimerStatus]
    ok: ClassVar[bool]

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class _Placed(_Outcome):
    txn: str
    """The transaction id that the delivered frame will carry."""
    message_id: str
    """The id that the delivered frame will have; minted anew at each reschedule."""
    deliver_at: datetime
    """Not before this instant."""


@dataclass(frozen=True)
class Scheduled(_Placed):
    """The timer did not exist and now does."""

    status: ClassVar[Literal[TimerStatus.SCHEDULED]] = TimerStatus.SCHEDULED
    ok: ClassVar[Literal[True]] = True


@dataclass(frozen=True)
class Rescheduled(_Placed):
    """It existed and has been replaced: a new message under an old key."""

    status: ClassVar[Literal[TimerStatus.RESCHEDULED]] = TimerStatus.RESCHEDULED
    ok: ClassVar[Literal[True]] = True


@dataclass(frozen=True)
class Cancelled(_Outcome):
    """It existed, was not claimed, and is gone."""

    txn: str
    """The stored timer's transaction id."""

    status: ClassVar[Literal[TimerStatus.CANCELLED]] = TimerStatus.CANCELLED
    ok: ClassVar[Literal[True]] = True


SettledT = TypeVar("SettledT", covariant=True)


@dataclass(frozen=True)
class Absent(_Outcome, Generic[SettledT]):
    """No longer pending, and **maybe already delivered**: settle it, in the log, before you compensate."""

    txn: str | None
    """The transaction id that the cancel carried."""
    after_lost_answer: bool
    """An earlier attempt of this call may have reached the server, its answer lost: the timer may be absent
    because this very call cancelled it."""
    _settle: Callable[[str, str, str, datetime | None], SettledT] = field(repr=False, compare=False)

    status: ClassVar[Literal[TimerStatus.ABSENT]] = TimerStatus.ABSENT
    ok: ClassVar[Literal[False]] = False

    def settle(self, *, since: datetime | None = None) -> SettledT:
        """Ask the log what became of it; since bounds the search. From an AsyncChronq, await it."""
        if self.txn is None:
            raise InvalidInput(
                "txn is needed to settle: pass the txn of the schedule to cancel", option="txn"
            )
        return self._settle(self.queue, self.timer_key, self.txn, since)


@dataclass(frozen=True)
class TooLate(_Outcome):
    """A live lease: it is about to be delivered. Use a new key, or wait for the delivery."""

    status: ClassVar[Literal[TimerStatus.TOO_LATE]] = TimerStatus.TOO_LATE
    ok: ClassVar[Literal[False]] = False


TimerOutcome: TypeAlias = Scheduled | Rescheduled | Cancelled | Absent[SettledT] | TooLate
"""What became of one timer operation: closed, so that a match over it can be complete."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The timer is in the log."""

    message: LogMessage


@dataclass(frozen=True, slots=True)
class Pending:
    """It is pending (again), with this very txn."""

    timer: PeekedTimer


@dataclass(frozen=True, slots=True)
class NotFoundSince:
    """Neither pending nor in the log since then: cancelled, replaced, never scheduled, or no longer kept."""

    since: datetime | None
    """Where the search began; ``None`` is the whole log."""


Settled: TypeAlias = Delivered | Pending | NotFoundSince
"""What became of an absent timer."""


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(text: str) -> datetime:
    """Read an instant."""
    return datetime.fromisoformat(text).astimezone(UTC)


def moment_or_none(text: str | None) -> datetime | None:
    """Read an instant that may be missing."""
    return None if text is None else moment(text)


def unix_ms(milliseconds: int) -> datetime:
    """Read unix milliseconds."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def unix_ms_or_none(milliseconds: int | None) -> datetime | None:
    """Read unix milliseconds that may be missing."""
    return None if milliseconds is None else unix_ms(milliseconds)


_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}


def duration(text: str | None) -> timedelta | None:
    """Read a duration of a queue's settings, which the core has checked."""
    if text is None:
        return None
    parts = re.findall(r"(\d+)(ms|[dhms]|$)", text)
    return sum(
        (timedelta(**{_UNITS[unit or "ms"]: int(count)}) for count, unit in parts if count), timedelta()
    )


def unexpected(what: str, got: object) -> Protocol:
    """Make the error of an answer that this version does not know."""
    return Protocol(f"{what} of an unknown kind: {got!r}")
