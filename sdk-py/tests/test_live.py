"""Against the bundled server: what the scripted one only claims."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from chronq import (
    Absent,
    AsyncChronq,
    Cancelled,
    Chronq,
    Conflict,
    Delivered,
    EntryError,
    InvalidInput,
    MessageState,
    NotFound,
    Publish,
    Published,
    Rescheduled,
    Scheduled,
    SignatureError,
    TimerCancel,
    TimerSchedule,
    TooLarge,
    Unauthorized,
)
from chronq.testing import Server


@pytest.fixture
def api(live: Server) -> Chronq:
    return Chronq(live.url, live.token)


def test_a_publish_is_delivered_signed(live: Server, api: Chronq) -> None:
    inbox = live.inbox()
    published = api.publish(f"{inbox.url}?a=%20", json={"n": "é"}, headers={"x-tenant": "7"}, labels=["live"])
    [request] = inbox.wait()
    claims = live.receiver().verify(
        signature=request.header("chronq-signature"), body=request.body, url=f"{inbox.url}?a=%20"
    )
    assert (claims.iss, claims.key) == ("chronq", "current")
    assert request.body == '{"n":"é"}'.encode()
    assert request.target.endswith("?a=%20")
    assert (request.header("x-tenant"), request.header("chronq-message-id")) == ("7", published.message_id)
    with pytest.raises(SignatureError, match="body"):
        live.receiver().verify_headers(request.headers, request.body + b" ", f"{inbox.url}?a=%20")
    assert api.messages.events(label="live").jobs[0].message_id == published.message_id


def test_a_deduplication_id_is_queued_once(live: Server, api: Chronq) -> None:
    inbox = live.inbox()
    first = api.publish(inbox.url, body="a", deduplication_id="once")
    again = api.publish(inbox.url, body="a", deduplication_id="once")
    assert (first.deduplicated, again.deduplicated) == (False, True)
    assert first.message_id == again.message_id


def test_a_destination_arrives_as_written(live: Server, api: Chronq) -> None:
    inbox = live.inbox()
    api.publish(f"{inbox.url}/a/../b%2f?x=1&y=%20", body="hi")
    [request] = inbox.wait()
    assert request.target.endswith("/a/../b%2f?x=1&y=%20")


def test_failures_are_retried_on_a_clock_that_moves(live: Server, api: Chronq) -> None:
    inbox = live.inbox()
    inbox.script([{"status": 503}, {"status": 200}])
    published = api.publish(inbox.url, body="x", retries=3, retry_delay="1h")
    inbox.wait()
    while (message := api.messages.get(published.message_id)).state is not MessageState.RETRY:
        pass
    assert message.response is not None
    assert message.response.status == 503
    live.clock.advance(timedelta(hours=2))
    assert inbox.wait(2)[1].header("chronq-retried") == "1"


def test_a_message_is_taken_back_once(live: Server, api: Chronq) -> None:
    published = api.publish(live.inbox().url, body="x", delay="1d")
    assert api.messages.get(published.message_id).state is MessageState.CREATED
    api.messages.cancel(published.message_id)
    with pytest.raises(Conflict) as raised:
        api.messages.cancel(published.message_id)
    assert (raised.value.state, raised.value.status) == (MessageState.CANCELLED, 409)


def test_queues_groups_batches_and_schedules(live: Server, api: Chronq) -> None:
    queue = api.queues.put("orders", retry_limit=1, retry_delay=timedelta(seconds=90), concurrency=2)
    assert (queue.retry_limit, queue.retry_delay) == (1, timedelta(seconds=90))
    assert api.queues.get("orders") == queue
    assert "orders" in [known.name for known in api.queues.list()]

    first, second = live.inbox(), live.inbox()
    assert api.groups.add_endpoints("all", [first.url, second.url]).endpoints == (first.url, second.url)
    copies = api.publish_to_group("all", json=1, queue="orders")
    assert [copy.url for copy in copies] == [first.url, second.url]
    first.wait()
    second.wait()
    assert api.groups.remove_endpoints("all", [first.url]).endpoints == (second.url,)
    api.groups.delete("all")
    with pytest.raises(NotFound):
        api.groups.get("all")

    queued, refused = api.batch([Publish(first.url, json=1), Publish(first.url, queue="nope")])
    assert isinstance(queued, Published)
    assert isinstance(refused, EntryError)
    assert "nope" in refused.error

    put = api.schedules.put(
        name="daily", cron="0 3 * * *", url=first.url, body="{}", timezone="Europe/Berlin"
    )
    assert put.created
    assert not api.schedules.put(name="daily", cron="0 4 * * *", url=first.url).created
    assert api.schedules.get("daily").next_run_at is not None
    run = api.schedules.run("daily")
    assert api.messages.get(run.message_id).cronjob == "daily"
    api.schedules.delete("daily")
    assert api.schedules.list() == []
    api.queues.delete("orders")


def test_timers_are_scheduled_taken_back_and_settled(live: Server, api: Chronq) -> None:
    scheduled = api.timers.schedule("live-timers", "k/1", payload={"n": 1}, delay=timedelta(days=7))
    assert isinstance(scheduled, Scheduled)
    again = api.timers.schedule("live-timers", "k/1", payload={"n": 2}, delay=timedelta(days=7))
    assert isinstance(again, Rescheduled)
    timer = api.timers.peek("live-timers", "k/1")
    assert timer is not None
    assert (timer.payload, timer.txn) == (b'{"n":2}', again.txn)
    assert [row.timer_key for row in api.timers.list("live-timers")] == ["k/1"]
    assert isinstance(api.timers.cancel("live-timers", "k/1", txn=again.txn), Cancelled)

    fired = api.timers.schedule("live-timers", "k/2", payload={"n": 3}, delay=timedelta(hours=1))
    assert isinstance(fired, Scheduled)
    live.clock.advance(timedelta(hours=2))
    while not api.log.find("live-timers", fired.txn):
        pass
    absent = api.timers.cancel("live-timers", "k/2", txn=fired.txn)
    assert isinstance(absent, Absent)
    assert not absent
    settled = absent.settle()
    assert isinstance(settled, Delivered)
    assert (settled.message.data, settled.message.id) == ({"n": 3}, fired.message_id)

    [message] = api.log.pop("live-timers", batch=10)
    assert message.transaction_id == fired.txn
    assert api.log.ack(message)


def test_batches_of_timers(api: Chronq) -> None:
    operations = [TimerSchedule("bulk", f"k{n:03}", payload="x", delay="1d") for n in range(300)]
    assert all(api.timers.batch(operations))
    assert sum(1 for _ in api.timers.list("bulk", page_size=100)) == 300
    [outcome] = api.timers.batch([TimerCancel("bulk", "k000")], allow_cancel=True)
    assert isinstance(outcome, Cancelled)


def test_the_servers_refusals_have_their_classes(live: Server, api: Chronq) -> None:
    with pytest.raises(Unauthorized):
        Chronq(live.url, "chronq_not-a-real-token").queues.list()
    with pytest.raises(NotFound):
        api.messages.get("01936b0e-8d2c-7c3a-9f00-000000000001")
    with pytest.raises(InvalidInput) as raised:
        api.schedules.put(name="never", cron="0 0 31 2 *", url="http://127.0.0.1:1/")
    assert raised.value.status == 400
    with pytest.raises(TooLarge) as large:
        api.publish("http://127.0.0.1:1/", body="x" * (1024 * 1024 + 1))
    assert large.value.attempts == 0


def test_asyncio_against_the_server(live: Server) -> None:
    inbox = live.inbox()

    async def run() -> None:
        async with AsyncChronq(live.url, live.token) as client:
            await asyncio.gather(*(client.publish(inbox.url, json=number) for number in range(20)))
            outcome = await client.timers.schedule("async", "k", payload=b"x", delay="1h")
            assert outcome
            assert [row.timer_key async for row in client.timers.list("async")] == ["k"]

    asyncio.run(run())
    assert len(inbox.wait(20)) == 20


def test_the_fixture_starts_a_server(pytester: pytest.Pytester, live: Server) -> None:
    example = Path(__file__).parents[2] / "examples" / "python" / "test_seven_days.py"
    pytester.makepyfile(example.read_text())
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
