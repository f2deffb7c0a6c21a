"""Reads the core's answers, which it has checked, into what calls answer."""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from chronq._contract import MessageState, Method, Missed, TimerStatus
from chronq._models import (
    Absent,
    AckResult,
    AttemptResponse,
    Cancelled,
    Delivered,
    EntryError,
    Events,
    Group,
    LogMessage,
    Message,
    NotFoundSince,
    PeekedTimer,
    Pending,
    PoppedMessage,
    Published,
    Pushed,
    Queue,
    Rescheduled,
    Schedule,
    Scheduled,
    SchedulePut,
    ScheduleRun,
    Settled,
    TimerOutcome,
    TimerRow,
    TooLate,
    duration,
    moment,
    moment_or_none,
    unexpected,
    unix_ms,
    unix_ms_or_none,
)

T = TypeVar("T")
SettledT = TypeVar("SettledT")
Settle = Callable[[str, str, str, datetime | None], SettledT]
"""Asks what became of queue, key, txn since an instant: at once, or as an awaitable."""


def nothing(_: Any) -> None:
    """There is nothing to say."""


def list_of(read: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    """Read a list."""
    return lambda answer: [read(item) for item in answer]


def published(answer: Any) -> Published:
    """Read what a publish answers."""
    return Published(answer["messageId"], answer["queue"], answer["deduplicated"], answer.get("url"))


def entry(answer: Any) -> Published | EntryError:
    """Read what became of one entry of a batch."""
    return EntryError(answer["error"]) if "error" in answer else published(answer)


def message(answer: Any) -> Message:
    """Read a message."""
    response = answer["response"]
    return Message(
        message_id=answer["messageId"],
        queue=answer["queue"],
        state=MessageState(answer["state"]),
        url=answer["url"],
        labels=tuple(answer["labels"]),
        cronjob=answer["cronjob"],
        created_at=moment(answer["createdAt"]),
        started_at=moment_or_none(answer["startedAt"]),
        completed_at=moment_or_none(answer["completedAt"]),
        retried=answer["retried"],
        max_retries=answer["maxRetries"],
        response=None if response is None else _response(response),
    )


def _response(answer: Any) -> AttemptResponse:
    took = timedelta(milliseconds=answer["durationMs"])
    return AttemptResponse(answer["status"], answer["headers"], answer["body"], took, answer["truncated"])


def events(answer: Any) -> Events:
    """Read a page of the event log."""
    return Events(tuple(message(job) for job in answer["jobs"]), answer["total"])


def group(answer: Any) -> Group:
    """Read a URL group."""
    endpoints = tuple(endpoint["url"] for endpoint in answer["endpoints"])
    return Group(answer["name"], endpoints, unix_ms(answer["createdAt"]), unix_ms(answer["updatedAt"]))


def queue(answer: Any) -> Queue:
    """Read a queue."""
    return Queue(
        name=answer["name"],
        retry_limit=answer.get("retryLimit"),
        retry_delay=duration(answer.get("retryDelay")),
        max_delay=duration(answer.get("maxDelay")),
        backoff=answer.get("backoff"),
        expire=duration(answer.get("expire")),
        concurrency=answer.get("concurrency"),
        keep_completed=duration(answer.get("keepCompleted")),
        keep_queued=duration(answer.get("keepQueued")),
        dead_letter_queue=answer.get("deadLetterQueue"),
        enabled=answer.get("enabled"),
        description=answer.get("description"),
    )


def schedule(answer: Any) -> Schedule:
    """Read a schedule."""
    return Schedule(
        name=answer["name"],
        cron=answer["cron"],
        url=answer["url"],
        method=Method(answer["method"]),
        headers=answer["headers"],
        body=answer["body"],
        timezone=answer["timezone"],
        missed=Missed(answer["missed"]),
        timeout=timedelta(milliseconds=answer["timeoutMs"]),
        queue=answer["queue"],
        enabled=answer["enabled"],
        description=answer["description"],
        failure_callback=answer["failureCallback"],
        created_at=unix_ms(answer["createdAt"]),
        updated_at=unix_ms(answer["updatedAt"]),
        next_run_at=unix_ms_or_none(answer["nextRunAt"]),
        last_run_at=unix_ms_or_none(answer["lastRunAt"]),
    )


def schedule_put(answer: Any) -> SchedulePut:
    """Read what putting a schedule did."""
    return SchedulePut(answer["created"], schedule(answer))


def schedule_run(answer: Any) -> ScheduleRun:
    """Read the message of a run."""
    return ScheduleRun(answer["messageId"], answer["queue"])


def _row(answer: Any) -> dict[str, Any]:
    return {
        "queue": answer["queue"],
        "timer_key": answer["timerKey"],
        "partition": answer["partition"],
        "deliver_at": moment(answer["deliverAt"]),
        "txn": answer["txn"],
        "message_id": answer["messageId"],
        "payload_zstd": answer["payloadZstd"],
        "encrypted": answer["encrypted"],
        "producer_sub": answer["producerSub"],
        "attempts": answer["attempts"],
        "last_error": answer["lastError"],
        "claimed": answer["claimed"],
        "created_at": moment(answer["createdAt"]),
        "updated_at": moment(answer["updatedAt"]),
    }


def peeked(answer: Any) -> PeekedTimer | None:
    """Read a peek; a miss is an answer."""
    return (
        None if answer is None else PeekedTimer(**_row(answer), payload=base64.b64decode(answer["payload"]))
    )


def timer_page(answer: Any) -> tuple[list[TimerRow], str | None]:
    """Read a page of timers and where the next one begins."""
    return [TimerRow(**_row(row)) for row in answer["rows"]], answer["nextAfter"]


def outcome(settle: Settle[SettledT]) -> Callable[[Any], TimerOutcome[SettledT]]:
    """Read what became of a timer operation."""

    def read(answer: Any) -> TimerOutcome[SettledT]:
        queue, key = answer["queue"], answer["timerKey"]
        match TimerStatus(answer["status"]):
            case TimerStatus.SCHEDULED:
                deliver_at = moment(answer["deliverAt"])
                return Scheduled(queue, key, answer["txn"], answer["messageId"], deliver_at)
            case TimerStatus.RESCHEDULED:
                deliver_at = moment(answer["deliverAt"])
                return Rescheduled(queue, key, answer["txn"], answer["messageId"], deliver_at)
            case TimerStatus.CANCELLED:
                return Cancelled(queue, key, answer["txn"])
            case TimerStatus.ABSENT:
                return Absent(queue, key, answer["txn"], answer["afterLostAnswer"], settle)
            case TimerStatus.TOO_LATE:
                return TooLate(queue, key)

    return read


def settled(answer: Any) -> Settled:
    """Read what became of an absent timer."""
    match answer["settled"]:
        case "delivered":
            return Delivered(log_message(answer["message"]))
        case "pending":
            timer = peeked(answer["timer"])
            assert timer is not None, "a pending timer is there"  # noqa: S101
            return Pending(timer)
        case "not_found":
            return NotFoundSince(moment_or_none(answer["since"]))
        case other:
            raise unexpected("the state of a timer", other)


def log_message(answer: Any) -> LogMessage:
    """Read a frame."""
    return LogMessage(
        id=answer["id"],
        transaction_id=answer["transactionId"],
        queue=answer["queue"],
        partition=answer["partition"],
        partition_id=answer["partitionId"],
        offset=answer["offset"],
        data=answer["data"],
        producer_sub=answer["producerSub"],
        created_at=moment(answer["createdAt"]),
    )


def popped(answer: Any) -> list[PoppedMessage]:
    """Read what a pop took."""
    messages = [] if answer is None else answer["messages"]
    return [
        PoppedMessage(
            id=message["id"],
            transaction_id=message["transactionId"],
            partition=message["partition"],
            partition_id=message["partitionId"],
            data=message["data"],
            producer_sub=message["producerSub"],
            created_at=moment(message["createdAt"]),
            lease_id=message["leaseId"],
            consumer_group=message["consumerGroup"],
        )
        for message in messages
    ]


def ack_result(answer: Any) -> AckResult:
    """Read what became of an ack."""
    return AckResult(answer["transactionId"], answer["success"], answer["error"])


def pushed(answer: Any) -> Pushed:
    """Read what was appended."""
    return Pushed(answer["message_id"], answer["transaction_id"], answer["queueName"])
