"""Timers and the log against a scripted server."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

import pytest
from chronq import (
    Absent,
    AsyncChronq,
    Cancelled,
    Chronq,
    Delivered,
    InvalidInput,
    NotFoundSince,
    Pending,
    Protocol,
    Rescheduled,
    Scheduled,
    Settled,
    TimerCancel,
    TimerOperation,
    TimerOutcome,
    TimerReschedule,
    TimerSchedule,
    TimerStatus,
    TooLate,
)
from conftest import QUICK, TOKEN
from fake_server import Answer, Drop, FakeServer, Request

DELIVER_AT = "2026-12-07T00:00:00.000000Z"


def element(status: str, key: str = "k", **fields: Any) -> dict[str, Any]:
    ok = status in ("scheduled", "rescheduled", "cancelled")
    placed = {"txn": "t", "messageId": "m1", "deliverAt": DELIVER_AT}
    rest: dict[str, Any] = placed if "scheduled" in status else {} if status == "too_late" else {"txn": "t"}
    return {"ok": ok, "status": status, "queue": "q", "timerKey": key, **rest, **fields}


def row(key: str = "k", **changes: Any) -> dict[str, Any]:
    return {
        "queue": "q", "timerKey": key, "partition": "Default", "deliverAt": DELIVER_AT, "txn": "t",
        "messageId": "m1", "payloadZstd": False, "encrypted": False, "producerSub": None, "attempts": 0,
        "lastError": None, "claimed": False, "createdAt": DELIVER_AT, "updatedAt": DELIVER_AT,
    } | changes  # fmt: skip


FRAME = {
    "id": "m1", "transactionId": "t", "queue": "q", "partition": "Default", "partitionId": "p", "offset": 0,
    "data": {"n": 1}, "producerSub": None, "createdAt": DELIVER_AT,
}  # fmt: skip


def test_a_schedule_sends_what_it_was_told(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, {"results": [element("scheduled")]}))
    outcome = client.timers.schedule(
        "q", "k", payload={"n": 1}, delay=timedelta(days=7), txn="t", partition="p"
    )
    assert outcome == Scheduled("q", "k", "t", "m1", datetime(2026, 12, 7, tzinfo=UTC))
    assert fake.requests[0].json == {
        "operations": [
            {
                "op": "schedule", "queue": "q", "timerKey": "k", "delayMs": 604_800_000, "txn": "t",
                "payload": "eyJuIjoxfQ==", "partition": "p",
            }
        ]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("payload", "written"),
    [(b"\xff", "/w=="), ("hi", "aGk="), (None, "bnVsbA=="), ([1], "WzFd"), (memoryview(b"a"), "YQ==")],
)
def test_text_and_bytes_are_carried_as_they_are_the_rest_as_json(
    fake: FakeServer, client: Chronq, payload: Any, written: str
) -> None:
    fake.answer(Answer(200, {"results": [element("rescheduled")]}))
    assert isinstance(client.timers.reschedule("q", "k", payload=payload, delay="1s"), Rescheduled)
    assert fake.requests[0].json["operations"][0]["payload"] == written


def test_a_txn_is_minted_and_kept_over_retries(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Drop(), Answer(200, {"results": [element("rescheduled")]}))
    client.timers.schedule("q", "k", payload="x", delay=timedelta(0))
    first, second = (request.json["operations"][0] for request in fake.requests)
    assert first["txn"] == second["txn"]
    assert len(first["txn"]) == 36


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ({"delay": 5}, "delay"),
        ({"delay": "soon"}, "delay"),
        ({"payload": object()}, "payload"),
        ({"payload": b"x" * (1024 * 1024 + 1)}, "payload"),
        ({"txn": ""}, "txn"),
        ({"partition": ""}, "partition"),
        ({"key": "\0"}, "timer_key"),
        ({"queue": 5}, "queue"),
    ],
)
def test_a_timer_is_refused_before_the_network(
    fake: FakeServer, client: Chronq, arguments: dict[str, Any], option: str
) -> None:
    given: dict[str, Any] = {"queue": "q", "key": "k", "payload": "x", "delay": "1s"} | arguments
    with pytest.raises(InvalidInput) as raised:
        client.timers.schedule(**given)
    assert (raised.value.option, fake.requests) == (option, [])


def said(outcome: TimerOutcome[Settled]) -> str:
    """A match that a type checker holds to be complete."""
    match outcome:
        case Scheduled() | Rescheduled():
            return outcome.message_id
        case Cancelled(txn=txn):
            return txn
        case Absent():
            return "absent"
        case TooLate():
            return "too late"
        case _:
            assert_never(outcome)


@pytest.mark.parametrize(
    ("status", "kind", "ok", "sentence"),
    [
        ("cancelled", Cancelled, True, "t"),
        ("absent", Absent, False, "absent"),
        ("too_late", TooLate, False, "too late"),
    ],
)
def test_an_outcome_is_true_only_where_it_did_what_was_asked(
    fake: FakeServer, client: Chronq, status: str, kind: type, ok: bool, sentence: str
) -> None:
    fake.answer(Answer(200, element(status)))
    outcome = client.timers.cancel("q", "k", txn="t")
    assert type(outcome) is kind
    assert (bool(outcome), outcome.ok, outcome.status) == (ok, ok, TimerStatus(status))
    assert said(outcome) == sentence
    assert fake.requests[0].target == "/api/v1/timers/q/k?txn=t"


@pytest.mark.parametrize(
    "answer", [element("paused"), element("absent") | {"ok": True}, element("scheduled")]
)
def test_an_unknown_or_impossible_outcome_is_no_guess(fake: FakeServer, client: Chronq, answer: Any) -> None:
    fake.answer(Answer(200, answer))
    with pytest.raises(Protocol):
        client.timers.cancel("q", "k")


def test_absent_after_a_lost_answer_says_so(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Drop(), Answer(200, element("absent")), Answer(200, element("absent")))
    outcome, calm = client.timers.cancel("q", "k"), client.timers.cancel("q", "k")
    assert isinstance(outcome, Absent)
    assert isinstance(calm, Absent)
    assert (outcome.after_lost_answer, calm.after_lost_answer) == (True, False)


@pytest.mark.parametrize(
    ("answers", "settled"),
    [
        ([{"messages": [FRAME]}], Delivered),
        ([{"messages": []}, {"found": True, "payload": "YQ==", **row()}], Pending),
        (
            [{"messages": []}, {"found": False, "queue": "q", "timerKey": "k"}, {"messages": []}],
            NotFoundSince,
        ),
    ],
)
def test_absent_settles_against_the_log(
    fake: FakeServer, client: Chronq, answers: list[Any], settled: type
) -> None:
    fake.answer(Answer(200, element("absent")), *(Answer(200, answer) for answer in answers))
    outcome = client.timers.cancel("q", "k", txn="t")
    assert isinstance(outcome, Absent)
    since = datetime(2026, 11, 30, tzinfo=UTC)
    result = outcome.settle(since=since)
    assert type(result) is settled
    assert "from=2026-11-30T00%3A00%3A00.000000Z" in fake.requests[1].target
    if isinstance(result, Delivered):
        assert result.message.data == {"n": 1}
    if isinstance(result, Pending):
        assert result.timer.payload == b"a"
    if isinstance(result, NotFoundSince):
        assert result.since == since


def test_absent_settles_in_an_event_loop(fake: FakeServer) -> None:
    fake.answer(Answer(200, element("absent")), Answer(200, {"messages": [FRAME]}))

    async def run() -> Settled:
        async with AsyncChronq(fake.url, TOKEN, retry=QUICK) as client:
            outcome = await client.timers.cancel("q", "k", txn="t")
            assert isinstance(outcome, Absent)
            settling: Awaitable[Settled] = outcome.settle()
            return await settling

    assert isinstance(asyncio.run(run()), Delivered)


def test_settling_needs_the_txn(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, element("absent", txn=None)))
    outcome = client.timers.cancel("q", "k")
    assert isinstance(outcome, Absent)
    with pytest.raises(InvalidInput) as raised:
        outcome.settle()
    assert raised.value.option == "txn"


def test_a_batch_keeps_its_order_over_several_calls(fake: FakeServer, client: Chronq) -> None:
    def results(request: Request) -> Answer:
        done = {"schedule": "scheduled", "reschedule": "rescheduled", "cancel": "cancelled"}
        operations = request.json["operations"]
        return Answer(200, {"results": [element(done[op["op"]], op["timerKey"]) for op in operations]})

    fake.handle(results)
    operations: list[TimerOperation] = [
        *(TimerSchedule("q", f"k{number}", payload="x", delay="1s") for number in range(300)),
        TimerReschedule("q", "again", payload="x", delay="1s"),
        TimerCancel("q", "gone", txn="t"),
    ]
    outcomes = client.timers.batch(operations, allow_cancel=True)
    assert [outcome.timer_key for outcome in outcomes[:2]] == ["k0", "k1"]
    assert [type(outcome) for outcome in outcomes[-3:]] == [Scheduled, Rescheduled, Cancelled]
    assert [len(request.json["operations"]) for request in fake.requests] == [256, 46]


@pytest.mark.parametrize(
    ("operations", "option"),
    [
        ([TimerCancel("q", "k")], "allow_cancel"),
        ([TimerSchedule("q", "k", payload="x", delay="1s")] * 2, "timer_key"),
        ([TimerSchedule("q", "k", payload=object(), delay="1s")], "payload"),
        ([TimerSchedule("q", "k", payload="x", delay=5)], "delay"),  # type: ignore[arg-type]
    ],
)
def test_a_batch_of_timers_names_the_operation(
    fake: FakeServer, client: Chronq, operations: Any, option: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        client.timers.batch(operations)
    assert (raised.value.option, raised.value.index) == (option, len(operations) - 1)
    assert fake.requests == []


def test_a_list_fetches_pages_as_they_are_needed(fake: FakeServer, client: Chronq) -> None:
    fake.answer(
        Answer(200, {"rows": [row("a"), row("b")], "truncated": True, "nextAfter": "b"}),
        Answer(200, {"rows": [row("c")], "truncated": False, "nextAfter": None}),
    )
    timers = client.timers.list("q", page_size=2)
    assert fake.requests == []
    assert [next(timers).timer_key, next(timers).timer_key] == ["a", "b"]
    assert len(fake.requests) == 1
    assert [timer.timer_key for timer in timers] == ["c"]
    assert fake.requests[1].target == "/api/v1/timers/q?after=b&limit=2"


def test_a_list_is_lazy_in_an_event_loop(fake: FakeServer) -> None:
    fake.answer(
        Answer(200, {"rows": [row("a")], "truncated": True, "nextAfter": "a"}),
        Answer(200, {"rows": [row("b")], "truncated": False, "nextAfter": None}),
    )

    async def keys() -> list[str]:
        async with AsyncChronq(fake.url, TOKEN) as client:
            return [timer.timer_key async for timer in client.timers.list("q")]

    assert asyncio.run(keys()) == ["a", "b"]


def test_a_peek_answers_the_timer_or_none(fake: FakeServer, client: Chronq) -> None:
    fake.answer(
        Answer(200, {"found": True, "payload": "YQ==", **row(claimed=True)}),
        Answer(200, {"found": False, "queue": "q", "timerKey": "k"}),
    )
    timer = client.timers.peek("q", "k")
    assert timer is not None
    assert (timer.payload, timer.claimed) == (b"a", True)
    assert client.timers.peek("q", "k") is None


def test_the_log_is_read_under_a_lease(fake: FakeServer, client: Chronq) -> None:
    popped = {name: FRAME[name] for name in ("id", "transactionId", "partition", "partitionId", "data")} | {
        "producerSub": None, "createdAt": DELIVER_AT, "leaseId": "l", "consumerGroup": "g",
    }  # fmt: skip
    taken = {
        "success": True, "queue": "q", "partition": "Default", "partitionId": "p", "leaseId": "l",
        "consumerGroup": "g", "messages": [popped],
    }  # fmt: skip
    fake.answer(
        Answer(200, taken),
        Answer(200, [{"index": 0, "transactionId": "t", "success": True, "error": None}]),
        Answer(204),
        Answer(404, {"error": "unknown queue"}),
    )
    [message] = client.log.pop("q", batch=10, wait=timedelta(seconds=1), consumer_group="g")
    assert (message.data, message.lease_id) == ({"n": 1}, "l")
    assert client.log.ack(message, "completed")
    assert client.log.pop("q") == []
    assert client.log.find("q", "t", since=datetime(2026, 11, 30, tzinfo=UTC)) == []
    assert fake.requests[0].target == "/api/v1/pop/queue/q?batch=10&wait=true&timeout=1000&consumerGroup=g"
    assert fake.requests[1].json == {
        "transactionId": "t", "partitionId": "p", "leaseId": "l", "status": "completed", "consumerGroup": "g",
    }  # fmt: skip


def test_what_appended_to_the_log_is_json(fake: FakeServer, client: Chronq) -> None:
    answer = {"index": 0, "message_id": "m1", "transaction_id": "t", "queueName": "q", "status": "queued"}
    fake.answer(Answer(201, [answer]))
    assert client.log.push("q", {"n": [1, None, "é"]}, txn="t").message_id == "m1"
    assert fake.requests[0].json == {
        "items": [{"queue": "q", "payload": {"n": [1, None, "é"]}, "transactionId": "t"}]
    }
