"""Schedule a timer, take it back, and find out what became of one that is no longer there.

Wants CHRONQ_URL and CHRONQ_TOKEN.
"""

import asyncio
from datetime import timedelta
from typing import assert_never

from chronq import (
    Absent,
    AsyncChronq,
    Cancelled,
    Delivered,
    NotFoundSince,
    Pending,
    Rescheduled,
    Scheduled,
    TooLate,
)


async def take_back(client: AsyncChronq, queue: str, key: str, txn: str) -> str:
    match outcome := await client.timers.cancel(queue, key, txn=txn):
        case Cancelled():
            return "taken back in time"
        case TooLate():
            return "about to be delivered"
        case Absent():
            # Not pending any more. That alone does not mean that it was not delivered: ask the log.
            match await outcome.settle():
                case Delivered(message):
                    return f"already delivered: {message.data}"
                case Pending():
                    return "pending again"
                case NotFoundSince():
                    return "never delivered"
        case Scheduled() | Rescheduled():
            raise AssertionError("a cancel does not schedule")
        case _:
            assert_never(outcome)


async def main() -> None:
    async with AsyncChronq() as client:
        reminder = {"text": "your trial ends today"}
        later = await client.timers.schedule(
            "reminders", "trial:acme:day7", payload=reminder, delay=timedelta(days=7)
        )
        assert isinstance(later, Scheduled | Rescheduled)
        print("not before", later.deliver_at)
        print("day 7:", await take_back(client, "reminders", "trial:acme:day7", later.txn))

        now = await client.timers.schedule(
            "reminders", "trial:acme:now", payload=reminder, delay=timedelta(0)
        )
        assert isinstance(now, Scheduled | Rescheduled)
        while not await client.log.find("reminders", now.txn):
            await asyncio.sleep(0.05)
        print("now:", await take_back(client, "reminders", "trial:acme:now", now.txn))


asyncio.run(main())
