"""The blocking client."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, Self, Unpack

from chronq import _calls
from chronq._calls import LogQueueOptions, PopOptions, QueueSettings, ScheduleOptions, TimerOptions
from chronq._connection import Connection
from chronq._contract import AckStatus, MessageState
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
from chronq._options import Duration, Publish, PublishOptions, RetryPolicy, TimerOperation


class Chronq:
    """A client of one server; its calls block their thread, and several threads may share it.

    What is not given comes from CHRONQ_URL and CHRONQ_TOKEN. ``timeout`` bounds one attempt, 30 s where not
    given; ``retry=None`` makes one attempt and no more. Ctrl-C ends a call in progress.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: Duration | None = None,
        retry: RetryPolicy | None = RetryPolicy(),  # noqa: B008  frozen
        user_agent: str | None = None,
    ) -> None:
        self._connection = Connection(url, token, timeout, retry, user_agent)
        self.messages: Messages = Messages(self._connection)
        self.groups: Groups = Groups(self._connection)
        self.queues: Queues = Queues(self._connection)
        self.schedules: Schedules = Schedules(self._connection)
        self.timers: Timers = Timers(self._connection)
        self.log: Log = Log(self._connection)

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return self._connection.url

    def publish(self, destination: str, **options: Unpack[PublishOptions]) -> Published:
        """Publish one message to a URL, byte for byte as written.

        Safe to repeat: without a deduplication id one is minted, the same for every attempt of this call.
        """
        return self._connection.make(_calls.publish(destination, options))

    def publish_to_group(self, group: str, **options: Unpack[PublishOptions]) -> list[Published]:
        """Publish one message to every URL of a group; one answer per URL."""
        return self._connection.make(_calls.publish_to_group(group, options))

    def batch(self, entries: Iterable[Publish]) -> list[Published | EntryError]:
        """Publish up to a hundred messages in one request; one result per entry, in order."""
        return self._connection.make(_calls.batch(entries))

    def close(self) -> None:
        """Let go of the connections; the client makes no more calls."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Chronq(url={self.url!r})"


class _Calls:
    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


class Messages(_Calls):
    """Calls on messages."""

    __slots__ = ()

    def get(self, id: str) -> Message:  # noqa: A002
        """Look a message up."""
        return self._connection.make(_calls.get_message(id))

    def cancel(self, id: str) -> None:  # noqa: A002
        """Take a message back before its next attempt. One that is over raises Conflict with its state."""
        self._connection.make(_calls.cancel_message(id))

    def retry(self, id: str) -> None:  # noqa: A002
        """Give a failed message one more attempt."""
        self._connection.make(_calls.retry_message(id))

    def events(
        self,
        *,
        queue: str | None = None,
        state: MessageState | str | None = None,
        label: str | None = None,
        cronjob: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Events:
        """Read a page of the event log, newest first."""
        return self._connection.make(_calls.list_events(queue, state, label, cronjob, limit, offset))


class Groups(_Calls):
    """Calls on URL groups."""

    __slots__ = ()

    def list(self) -> list[Group]:
        """List the groups by name."""
        return self._connection.make(_calls.list_groups())

    def get(self, name: str) -> Group:
        """Read one group."""
        return self._connection.make(_calls.get_group(name))

    def add_endpoints(self, name: str, urls: Iterable[str]) -> Group:
        """Add URLs; the group is made where it is missing."""
        return self._connection.make(_calls.add_endpoints(name, urls))

    def remove_endpoints(self, name: str, urls: Iterable[str]) -> Group:
        """Remove URLs; the group stays, even empty."""
        return self._connection.make(_calls.remove_endpoints(name, urls))

    def delete(self, name: str) -> None:
        """Delete a group; messages already queued still go."""
        self._connection.make(_calls.delete_group(name))


class Queues(_Calls):
    """Calls on queues."""

    __slots__ = ()

    def put(self, name: str, **settings: Unpack[QueueSettings]) -> Queue:
        """Make or change a queue."""
        return self._connection.make(_calls.put_queue(name, settings))

    def list(self) -> list[Queue]:
        """List the queues by name."""
        return self._connection.make(_calls.list_queues())

    def get(self, name: str) -> Queue:
        """Read one queue."""
        return self._connection.make(_calls.get_queue(name))

    def delete(self, name: str) -> None:
        """Delete a queue with all its messages."""
        self._connection.make(_calls.delete_queue(name))


class Schedules(_Calls):
    """Calls on schedules."""

    __slots__ = ()

    def put(self, *, name: str, cron: str, url: str, **options: Unpack[ScheduleOptions]) -> SchedulePut:
        """Make or change a schedule: what is left out falls back to its default."""
        return self._connection.make(_calls.put_schedule(name, cron, url, options))

    def list(self) -> list[Schedule]:
        """List the schedules by name."""
        return self._connection.make(_calls.list_schedules())

    def get(self, name: str) -> Schedule:
        """Read one schedule."""
        return self._connection.make(_calls.get_schedule(name))

    def delete(self, name: str) -> None:
        """Delete a schedule; messages of its earlier runs stay."""
        self._connection.make(_calls.delete_schedule(name))

    def run(self, name: str) -> ScheduleRun:
        """Make one run now, whether or not the schedule is enabled."""
        return self._connection.make(_calls.run_schedule(name))


class Timers(_Calls):
    """Calls on timers: messages that are not in the log yet, and that you can take back."""

    __slots__ = ()

    def schedule(
        self, queue: str, key: str, *, payload: Any, delay: Duration, **options: Unpack[TimerOptions]
    ) -> TimerOutcome[Settled]:
        """Put a timer; where one stands under the same key, it is replaced.

        Text and bytes are carried as they are, any other payload as JSON.
        """
        return self._connection.make(
            _calls.schedule_timer("schedule", queue, key, payload, delay, options, self._settle)
        )

    def reschedule(
        self, queue: str, key: str, *, payload: Any, delay: Duration, **options: Unpack[TimerOptions]
    ) -> TimerOutcome[Settled]:
        """Put a timer, under the name of the intent: it is a new message with a txn of its own."""
        return self._connection.make(
            _calls.schedule_timer("reschedule", queue, key, payload, delay, options, self._settle)
        )

    def cancel(self, queue: str, key: str, *, txn: str | None = None) -> TimerOutcome[Settled]:
        """Take a timer back. Absent does not mean undelivered: settle it before you compensate."""
        return self._connection.make(_calls.cancel_timer(queue, key, txn, self._settle))

    def batch(
        self, operations: Iterable[TimerOperation], *, allow_cancel: bool = False
    ) -> list[TimerOutcome[Settled]]:
        """Apply several operations in order; more than 256 are sent as several calls.

        Each call is one transaction: where a later one fails, the earlier ones stay applied.
        """
        return self._connection.make(_calls.batch_timers(operations, allow_cancel, self._settle))

    def peek(self, queue: str, key: str) -> PeekedTimer | None:
        """Look at one pending timer with its payload."""
        return self._connection.make(_calls.peek_timer(queue, key))

    def list(self, queue: str, *, page_size: int | None = None) -> Iterator[TimerRow]:
        """Go through the pending timers of a queue by key; pages are fetched as they are needed."""
        after: str | None = None
        while True:
            rows, after = self._connection.make(_calls.list_timers(queue, after, page_size))
            yield from rows
            if after is None:
                return

    def _settle(self, queue: str, key: str, txn: str, since: datetime | None) -> Settled:
        return self._connection.make(_calls.settle_timer(queue, key, txn, since))


class Log(_Calls):
    """Calls on the log, where delivered timers are read."""

    __slots__ = ()

    def find(self, queue: str, txn: str, *, since: datetime | None = None) -> list[LogMessage]:
        """Find the frames of a queue that carry a transaction id, oldest first."""
        return self._connection.make(_calls.find(queue, txn, since))

    def pop(self, queue: str, **options: Unpack[PopOptions]) -> list[PoppedMessage]:
        """Take messages under a lease; an empty list where there is nothing to take."""
        return self._connection.make(_calls.pop(queue, options))

    def ack(
        self,
        message: PoppedMessage,
        status: AckStatus | str = AckStatus.COMPLETED,
        *,
        error: str | None = None,
    ) -> AckResult:
        """Settle one message under its lease."""
        return self._connection.make(_calls.ack(message, status, error))

    def push(
        self, queue: str, payload: Any, *, partition: str | None = None, txn: str | None = None
    ) -> Pushed:
        """Append one message. Not repeated after a lost answer: the log takes a transaction id twice."""
        return self._connection.make(_calls.push(queue, payload, partition, txn))[0]

    def configure(self, queue: str, **options: Unpack[LogQueueOptions]) -> None:
        """Set a queue's options; it is made where it does not exist."""
        self._connection.make(_calls.configure(queue, options))
