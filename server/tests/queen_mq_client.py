"""The public client's whole timer surface against a running server (PyPI queen-mq 2.6.0, unchanged).

    chronq dev --listen 127.0.0.1:0                         # prints its url and token
    CHRONQ_TENANCY=true chronq dev --listen 127.0.0.1:0     # another, where tenants have quotas
    CHRONQ_URL=... CHRONQ_TENANCY_URL=... CHRONQ_TOKEN=... python server/tests/queen_mq_client.py

Every check says what it found; the last line is `ok` only if all held.
"""

import asyncio
import os
from datetime import timedelta

import httpx
from queen import Queen
from queen.errors import TimerError

URL = os.environ["CHRONQ_URL"]
TENANCY_URL = os.environ["CHRONQ_TENANCY_URL"]
TOKEN = os.environ["CHRONQ_TOKEN"]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def config(url, token=TOKEN):
    return {"url": url, "bearer_token": token, "handle_signals": False, "enable_failover": False}


def without_retries(client):
    client._http_client._retry_attempts = 1
    client._http_client._retry_429 = {"max_attempts": 1}
    return client


async def refusal(call):
    try:
        await call
    except TimerError as error:
        return (error.status, error.code, error.reason)
    raise AssertionError("it was not refused")


async def until_absent(client, queue, key):
    for _ in range(1000):
        if not await client.timers.peek(queue, key):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{key} was never fired")


async def tokens_and_their_levels(operator):
    async with Queen(config(URL, "chronq_nobody_has_this_token")) as client:
        stranger = await refusal(without_retries(client).timers.schedule("q", "k", 1, delay_ms=1))
        assert stranger[:2] == (401, "unauthorized"), stranger
    made = await operator.post("/v2/admin/tokens", json={"name": "reader", "level": "read-only"})
    async with Queen(config(URL, made.json()["token"])) as client:
        low = await refusal(without_retries(client).timers.schedule("q", "k", 1, delay_ms=1))
        assert low[:2] == (403, "forbidden"), low
        assert await client.timers.list_all("q") == []


async def grants_quotas_and_rates():
    operator = httpx.AsyncClient(base_url=TENANCY_URL, headers=HEADERS)
    plan = "/v2/admin/tenants/default"
    async with Queen(config(TENANCY_URL)) as client:
        timers = without_retries(client).timers
        gated = await refusal(timers.schedule("q", "a", 1, delay_ms=60_000))
        assert gated[:2] == (403, "feature_gated"), gated

        (await operator.put(plan, json={"maxTimers": 2, "maxTimerHorizonSeconds": 3_600})).raise_for_status()
        for key in ["a", "b"]:
            assert await timers.schedule("q", key, 1, delay_ms=60_000)
        full = await refusal(timers.schedule("q", "c", 1, delay_ms=60_000))
        assert full[:2] == (403, "timers_quota_exceeded"), full
        again = await timers.schedule("q", "a", 2, delay_ms=60_000)
        assert again["status"] == "rescheduled", "an upsert of a pending key needs no room"
        mixed = [timers.op.cancel("q", "a"), timers.op.schedule("q", "c", 1, delay_ms=60_000)]
        assert (await refusal(timers.batch(mixed)))[:2] == (403, "timers_quota_exceeded")
        assert await timers.cancel("q", "a"), "a cancel passes every gate"
        assert await timers.schedule("q", "c", 1, delay_ms=60_000)
        far = await refusal(timers.schedule("q", "b", 1, delay=timedelta(hours=2)))
        assert far == (403, "timer_horizon_exceeded", "timers_horizon"), far

        (await operator.put(plan, json={"maxSchedulesPerSecond": 0.001, "burst": 1})).raise_for_status()
        assert await timers.schedule("q", "d", 1, delay_ms=60_000)
        try:
            await timers.schedule("q", "e", 1, delay_ms=60_000)
            raise AssertionError("it was not refused")
        except TimerError as error:
            assert (error.status, error.code) == (429, "rate_limited"), error
            assert 900 < error.retry_after_seconds <= 1_000, error.retry_after_seconds
    await operator.aclose()


async def main():
    operator = httpx.AsyncClient(base_url=URL, headers=HEADERS)
    await tokens_and_their_levels(operator)
    await grants_quotas_and_rates()
    async with Queen(config(URL)) as client:
        timers = client.timers

        new = await timers.reschedule("reminders", "unknown", 1, delay_ms=60_000)
        assert new["status"] == "scheduled", "a reschedule of a missing key schedules it"
        assert await timers.cancel("reminders", "unknown")

        first = await timers.schedule("reminders", "trial:acme:day7", {"kind": "day7"}, delay=timedelta(days=7))
        assert first and first["status"] == "scheduled", first
        assert set(first) == {"ok", "status", "queue", "timerKey", "txn", "messageId", "deliverAt"}, first
        again = await timers.reschedule("reminders", "trial:acme:day7", {"kind": "day7"}, delay_ms=60_000)
        assert again and again["status"] == "rescheduled" and again["txn"] != first["txn"], again
        assert again["messageId"] != first["messageId"]

        peek = await timers.peek("reminders", "trial:acme:day7")
        assert peek and peek["txn"] == again["txn"] and peek["payload"] == "eyJraW5kIjogImRheTcifQ==", peek
        assert not await timers.peek("reminders", "nothing")

        cancelled = await timers.cancel("reminders", "trial:acme:day7", txn=again["txn"])
        assert cancelled and cancelled["status"] == "cancelled", cancelled
        absent = await timers.cancel("reminders", "trial:acme:day7", txn="a txn + more")
        assert not absent and absent["status"] == "absent" and absent["txn"] == "a txn + more", absent

        built = await client.timer("reminders").key("tenant/42").payload([1, 2]).after_ms(60_000).partition("p").schedule()
        assert built["timerKey"] == "tenant/42"
        assert (await timers.peek("reminders", "tenant/42"))["partition"] == "p"
        assert await client.timer("reminders").key("tenant/42").cancel()

        ops = [timers.op.schedule("many", f"key-{n:03}", n, delay_ms=3_600_000) for n in range(256)]
        results = await timers.batch(ops)
        assert [r["timerKey"] for r in results] == [f"key-{n:03}" for n in range(256)]
        rows = await timers.list_all("many", limit=100)
        assert [row["timerKey"] for row in rows] == [f"key-{n:03}" for n in range(256)]
        assert all("payload" not in row for row in rows)
        page = await timers.list("many", after="key-253", limit=2)
        assert [row["timerKey"] for row in page["rows"]] == ["key-254", "key-255"] and not page["truncated"], page
        ops.append(timers.op.schedule("many", "key-256", 256, delay_ms=3_600_000))
        assert await refusal(timers.batch(ops)) == (400, "timers_bad_request", "timers_too_many_ops")
        twice = [timers.op.schedule("many", "twice", n, delay_ms=1) for n in range(2)]
        assert await refusal(timers.batch(twice)) == (400, "timers_bad_request", "timers_duplicate_key")

        far = timers.schedule("reminders", "far", 1, delay=timedelta(days=91))
        assert await refusal(far) == (403, "timer_horizon_exceeded", "timers_horizon")
        large = timers.schedule("reminders", "large", b"x" * (1_048_576 + 1), delay_ms=1)
        assert await refusal(large) == (413, "payload_too_large", "timers_payload_too_large")
        await operator.post("/api/v1/system/timers", json={"schedule": False})
        without_retries(client)
        paused = await refusal(timers.schedule("reminders", "paused", 1, delay_ms=1))
        assert paused[:2] == (503, "timers_disabled"), paused
        assert await timers.cancel("many", "key-000"), "a cancel passes every gate"
        await operator.post("/api/v1/system/timers", json={"schedule": True})

        due = await timers.schedule("orders", "order:1", {"orderId": 1}, delay_ms=-5)
        [message] = await client.queue("orders").batch(1).pop()
        assert message["transactionId"] == due["txn"] and message["id"] == due["messageId"], message
        assert message["data"] == {"orderId": 1}
        assert (await client.ack(message, True))["success"]
        delivered = await timers.cancel("orders", "order:1", txn=due["txn"])
        assert delivered["status"] == "absent"
        found = await client.admin.list_messages(queue="orders", transactionId=due["txn"])
        assert [m["id"] for m in found["messages"]] == [due["messageId"]], found
        newest = await client.admin.get_message(message["partitionId"], due["txn"])
        assert newest["id"] == due["messageId"]
        assert not await client.queue("orders").wait(False).pop()

        await operator.post("/dev/timers/fault", json={"queue": "held", "holdMs": 60_000})
        await timers.schedule("held", "k", 1, delay_ms=0)
        while not (await timers.peek("held", "k"))["claimed"]:
            await asyncio.sleep(0.01)
        for late in [
            await timers.cancel("held", "k"),
            await timers.schedule("held", "k", 2, delay_ms=1),
            await timers.reschedule("held", "k", 3, delay_ms=1),
        ]:
            assert not late and late["status"] == "too_late", late

        created = await client.queue("configured").config({"retry_limit": 0}).create()
        assert created["configured"] is True, created
        pushed = await client.queue("configured").push([{"data": {"n": 1}}])
        assert pushed[0]["status"] == "queued", pushed
        [message] = await client.queue("configured").group("workers").batch(1).pop()
        assert (await client.ack(message, False, {"group": "workers", "error": "no luck"}))["success"]
        dead = await client.queue("configured").dlq("workers").get()
        assert dead["total"] == 1 and dead["messages"][0]["transactionId"] == message["transactionId"], dead

        await operator.post("/dev/timers/fault", json={"queue": "broken", "fail": "permanent", "times": 5})
        doomed = await timers.schedule("broken", "k", {"n": 1}, delay_ms=0)
        for _ in range(5):
            await asyncio.sleep(0.3)
            await operator.post("/dev/clock/advance", json={"ms": 60_000})
        await until_absent(client, "broken", "k")
        dead = await client.queue("broken").dlq().get()
        letter = dead["messages"][0]
        assert (letter["consumerGroup"], letter["offset"], letter["transactionId"]) == ("__timer__", -1, doomed["txn"]), dead
        replay = await operator.post(f"/api/v1/dlq/{letter['id']}/replay")
        assert (replay.status_code, replay.json()["error"]) == (409, "dlq_not_replayable")

        deleted = await client.queue("many").delete()
        assert deleted["deleted"] is True, deleted
        assert await timers.list_all("many") == []
    await operator.aclose()
    print("ok")


asyncio.run(main())
