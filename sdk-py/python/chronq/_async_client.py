"""The client for asyncio; the same calls as `chronq._client`, awaited."""

from collections.abc import AsyncIterator, Awaitable, Iterable
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


class AsyncChronq:
    """A client of one server for asyncio; several event loops and threads may share it.

    What is not given comes from CHRONQ_URL and CHRONQ_TOKEN. ``timeout`` bounds one attempt, 30 s where not
    given; ``retry=None`` makes one attempt and no more. Cancelling a task cancels its call.
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
        self.messages: AsyncMessages = AsyncMessages(self._connection)
        self.groups: AsyncGroups = AsyncGroups(self._connection)
        self.queues: AsyncQueues = AsyncQueues(self._connection)
        self.schedules: AsyncSchedules = AsyncSchedules(self._connection)
        self.timers: AsyncTimers = AsyncTimers(self._connection)
        self.log: AsyncLog = AsyncLog(self._connection)

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return self._connection.url

    async def publish(self, destination: str, **options: Unpack[PublishOptions]) -> Published:
        """Publish one message to a URL, byte for byte as written.

        Safe to repeat: without a deduplication id one is minted, the same for every attempt of this call.
        """
        return await self._connection.make_async(_calls.publish(destination, options))

    async def publish_to_group(self, group: str, **options: Unpack[PublishOptions]) -> list[Published]:
        """Publish one message to every URL of a group; one answer per URL."""
        return await self._connection.make_async(_calls.publish_to_group(group, options))

    async def batch(self, entries: Iterable[Publish]) -> list[Published | EntryError]:
        """Publish up to a hundred messages in one request; one result per entry, in order."""
        return await self._connection.make_async(_calls.batch(entries))

    async def aclose(self) -> None:
        """Let go of the connections; the client makes no more calls."""
        self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncChronq(url={self.url!r})"


class _Calls:
    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


class AsyncMessages(_Calls):
    """Calls on messages."""

    __slots__ = ()

    async def get(self, id: str) -> Message:  # noqa: A002
        """Look a message up."""
        return await self._connection.make_async(_calls.get_message(id))

    async def cancel(self, id: str) -> None:  # noqa: A002
        """Take a message back before its next attempt. One that is over raises Conflict with its state."""
        await self._connection.make_async(_calls.cancel_message(id))

    async def retry(self, id: str) -> None:  # noqa: A002
        """Give a failed message one more attempt."""
        await self._connection.make_async(_calls.retry_message(id))

    async def events(
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
        return await self._connection.make_async(
            _calls.list_events(queue, state, label, cronjob, limit, offset)
        )


class AsyncGroups(_Calls):
    """Calls on URL groups."""

    __slots__ = ()

    async def list(self) -> list[Group]:
        """List the groups by name."""
        return await self._connection.make_async(_calls.list_groups())

    async def get(self, name: str) -> Group:
        """Read one group."""
        return await self._connection.make_async(_calls.get_group(name))

    async def add_endpoints(self, name: str, urls: Iterable[str]) -> Group:
        """Add URLs; the group is made where it is missing."""
        return await self._connection.make_async(_calls.add_endpoints(name, urls))

    async def remove_endpoints(self, name: str, urls: Iterable[str]) -> Group:
        """Remove URLs; the group stays, even empty."""
        return await self._connection.make_async(_calls.remove_endpoints(name, urls))

    async def delete(self, name: str) -> None:
        """Delete a group; messages already queued still go."""
        await self._connection.make_async(_calls.delete_group(name))


class AsyncQueues(_Calls):
    """Calls on queues."""

    __slots__ = ()

    async def put(self, name: str, **settings: Unpack[QueueSettings]) -> Queue:
        """Make or change a queue."""
        return await self._connection.make_async(_calls.put_queue(name, settings))

    async def list(self) -> list[Queue]:
        """List the queues by name."""
        return await self._connection.make_async(_calls.list_queues())

    async def get(self, name: str) -> Queue:
        """Read one queue."""
        return await self._connection.make_async(_calls.get_queue(name))

    async def delete(self, name: str) -> None:
        """Delete a queue with all its messages."""
        await self._connection.make_async(_calls.delete_queue(name))


class AsyncSchedules(_Calls):
    """Calls on schedules."""

    __slots__ = ()

    async def put(self, *, name: str, cron: str, url: str, **options: Unpack[ScheduleOptions]) -> SchedulePut:
        """Make or change a schedule: what is left out falls back to its default."""
        return await self._connection.make_async(_calls.put_schedule(name, cron, url, options))

    async def list(self) -> list[Schedule]:
        """List the schedules by name."""
        return await self._connection.make_async(_calls.list_schedules())

    async def get(self, name: str) -> Schedule:
        """Read one schedule."""
        return await self._connection.make_async(_calls.get_schedule(name))

    async def delete(self, name: str) -> None:
        """Delete a schedule; messages of its earlier runs stay."""
        await self._connection.make_async(_calls.delete_schedule(name))

    async def run(self, name: str) -> ScheduleRun:
        """Make one run now, whether or not the schedule is enabled."""
        return await self._connection.make_async(_calls.run_schedule(name))


class AsyncTimers(_Calls):
    """Calls on timers: messages that are not in the log yet, and that you can take back."""

    __slots__ = ()

    async def schedule(
        self, queue: str, key: str, *, payload: Any, delay: Duration, **options: Unpack[TimerOptions]
    ) -> TimerOutcome[Awaitable[Settled]]:
        """Put a timer; where one stands under the same key, it is replaced.

        Text and bytes are carried as they are, any other payload as JSON.
        """
        return await self._connection.make_async(
            _calls.schedule_timer("schedule", queue, key, payload, delay, options, self._settle)
        )

    async def reschedule(
        self, queue: str, key: str, *, payload: Any, delay: Duration, **options: Unpack[TimerOptions]
    ) -> TimerOutcome[Awaitable[Settled]]:
        """Put a timer, under the name of the intent: it is a new message with a txn of its own."""
        return await self._connection.make_async(
            _calls.schedule_timer("reschedule", queue, key, payload, delay, options, self._settle)
        )

    async def cancel(
        self, queue: str, key: str, *, txn: str | None = None
    ) -> TimerOutcome[Awaitable[Settled]]:
        """Take a timer back. Absent does not mean undelivered: settle it before you compensate."""
        return await self._connection.make_async(_calls.cancel_timer(queue, key, txn, self._settle))

    async def batch(
        self, operations: Iterable[TimerOperation], *, allow_cancel: bool = False
    ) -> list[TimerOutcome[Awaitable[Settled]]]:
        """Apply several operations in order; more than 256 are sent as several calls.

        Each call is one transaction: where a later one fails, the earlier ones stay applied.
        """
        return await self._connection.make_async(_calls.batch_timers(operations, allow_cancel, self._settle))

    async def peek(self, queue: str, key: str) -> PeekedTimer | None:
        """Look at one pending timer with its payload."""
        return await self._connection.make_async(_calls.peek_timer(queue, key))

    async def list(self, queue: str, *, page_size: int | None = None) -> AsyncIterator[TimerRow]:
        """Go through the pending timers of a queue by key; pages are fetched as they are needed."""
        after: str | None = None
        while True:
            rows, after = await self._connection.make_async(_calls.list_timers(queue, after, page_size))
            for row in rows:
                yield row
            if after is None:
                return

    async def _settle(self, queue: str, key: str, txn: str, since: datetime | None) -> Settled:
        return await self._connection.make_async(_calls.settle_timer(queue, key, txn, since))


class AsyncLog(_Calls):
    """Calls on the log, where delivered timers are read."""

    __slots__ = ()

    async def find(self, queue: str, txn: str, *, since: datetime | None = None) -> list[LogMessage]:
        """Find the frames of a queue that carry a transaction id, oldest first."""
        return await self._connection.make_async(_calls.find(queue, txn, since))

    async def pop(self, queue: str, **options: Unpack[PopOptions]) -> list[PoppedMessage]:
        """Take messages under a lease; an empty list where there is nothing to take."""
        return await self._connection.make_async(_calls.pop(queue, options))

    async def ack(
        self,
        message: PoppedMessage,
        status: AckStatus | str = AckStatus.COMPLETED,
        *,
        error: str | None = None,
    ) -> AckResult:
        """Settle one message under its lease."""
        return await self._connection.make_async(_calls.ack(message, status, error))

    async def push(
        self, queue: str, payload: Any, *, partition: str | None = None, txn: str | None = None
    ) -> Pushed:
        """Append one message. Not repeated after a lost answer: the log takes a transaction id twice."""
        return (await self._connection.make_async(_calls.push(queue, payload, partition, txn)))[0]

    async def configure(self, queue: str, **options: Unpack[LogQueueOptions]) -> None:
        """Set a queue's options; it is made where it does not exist."""
        await self._connection.make_async(_calls.configure(queue, options))
