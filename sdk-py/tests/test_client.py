"""Calls of the blocking client against a scripted server."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from chronq import (
    Callback,
    Chronq,
    ChronqError,
    Conflict,
    EntryError,
    ErrorCode,
    FeatureGated,
    Forbidden,
    HorizonExceeded,
    InvalidInput,
    MessageState,
    Missed,
    NotFound,
    Protocol,
    Publish,
    Published,
    QuotaExceeded,
    RetryPolicy,
    Throttled,
    TooLarge,
    Transport,
    Unauthorized,
    Unavailable,
)
from conftest import QUICK, TOKEN
from fake_server import Answer, Drop, FakeServer, Hold

PUBLISHED = {"messageId": "m1", "queue": "default", "deduplicated": False}
MESSAGE = {
    "messageId": "m1",
    "queue": "orders",
    "state": "completed",
    "url": "https://example.com/",
    "labels": ["a"],
    "cronjob": None,
    "createdAt": "2026-11-30T12:00:00.000Z",
    "startedAt": "2026-11-30T12:00:01.000Z",
    "completedAt": None,
    "retried": 1,
    "maxRetries": 3,
    "response": {"status": 200, "headers": {"a": "b"}, "body": "ok", "durationMs": 1500, "truncated": False},
}


def test_a_publish_says_everything_it_was_told(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, PUBLISHED))
    published = client.publish(
        "https://example.com/hook?a=1&b=%20",
        json={"n": 1, "name": "Zoë"},
        queue="orders",
        method="put",
        headers={"X-Tenant": "7"},
        retries=5,
        retry_delay=timedelta(seconds=1.5),
        delay="1h",
        not_before=datetime(2026, 11, 30, 13, 0, 0, 1, timezone(timedelta(hours=1))),
        timeout=timedelta(minutes=2),
        deduplication_id="order-7",
        callback="https://example.com/done",
        failure_callback=Callback(
            "https://example.com/failed", method="PUT", timeout="5s", headers=[("x-a", "1")]
        ),
        labels=["a", "b"],
    )
    assert published == Published("m1", "default", deduplicated=False)
    [request] = fake.requests
    assert (request.method, request.target) == (
        "POST",
        "/v2/publish/orders/https://example.com/hook?a=1&b=%20",
    )
    assert request.body == '{"n":1,"name":"Zoë"}'.encode()
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert {name: value for name, value in request.headers.items() if name.startswith("chronq-")} == {
        "chronq-method": "PUT",
        "chronq-forward-x-tenant": "7",
        "chronq-retries": "5",
        "chronq-retry-delay": "1s500ms",
        "chronq-delay": "1h",
        "chronq-not-before": "1796040001",
        "chronq-timeout": "2m",
        "chronq-deduplication-id": "order-7",
        "chronq-callback": "https://example.com/done",
        "chronq-failure-callback": "https://example.com/failed",
        "chronq-failure-callback-method": "PUT",
        "chronq-failure-callback-timeout": "5s",
        "chronq-failure-callback-forward-x-a": "1",
        "chronq-label": "a,b",
    }


@pytest.mark.parametrize(
    ("content", "body", "content_type"),
    [
        ({"json": None}, b"null", "application/json"),
        ({"body": "text"}, b"text", "text/plain"),
        ({"body": b"bytes"}, b"bytes", "application/octet-stream"),
        ({"body": bytearray(b"bytes")}, b"bytes", "application/octet-stream"),
        ({"body": memoryview(b"bytes")}, b"bytes", "application/octet-stream"),
        ({"body": "<a/>", "content_type": "text/xml"}, b"<a/>", "text/xml"),
        ({}, b"", "application/octet-stream"),
    ],
)
def test_a_content_type_is_always_sent(
    fake: FakeServer, client: Chronq, content: Any, body: bytes, content_type: str
) -> None:
    fake.answer(Answer(200, PUBLISHED))
    client.publish("https://example.com/", **content)
    assert (fake.requests[0].body, fake.requests[0].headers["content-type"]) == (body, content_type)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"queue": 5}, "queue"),
        ({"queue": "no spaces"}, "queue"),
        ({"queue": "\ud800"}, "queue"),
        ({"method": "BREW"}, "method"),
        ({"retries": 101}, "retries"),
        ({"retries": 1.5}, "retries"),
        ({"retries": 10**40}, "retries"),
        ({"retry_delay": 5}, "retry_delay"),
        ({"delay": "5 minutes"}, "delay"),
        ({"delay": timedelta(seconds=-1)}, "delay"),
        ({"timeout": timedelta(hours=3)}, "timeout"),
        ({"not_before": datetime(2026, 11, 30)}, "not_before"),
        ({"not_before": "soon"}, "not_before"),
        ({"json": object()}, "json"),
        ({"json": float("nan")}, "json"),
        ({"json": "\ud800"}, "json"),
        ({"body": {}}, "body"),
        ({"body": "a", "json": 1}, "body"),
        ({"body": b"\xff"}, "body"),
        ({"content_type": "multipart/form-data"}, "content_type"),
        ({"headers": {"Host": "h"}}, "headers"),
        ({"headers": {"x": 5}}, "headers"),
        ({"headers": 5}, "headers"),
        ({"headers": [("a",)]}, "headers"),
        ({"labels": "one"}, "labels"),
        ({"labels": 5}, "labels"),
        ({"callback": 5}, "callback"),
        ({"callback": "nowhere"}, "callback"),
        ({"retires": 5}, "retires"),
        ({"deduplication_id": ""}, "deduplication_id"),
    ],
)
def test_what_the_contract_refuses_is_refused_before_the_network(
    fake: FakeServer, client: Chronq, options: Any, option: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        client.publish("https://example.com/", **options)
    assert raised.value.option is not None
    assert raised.value.option.startswith(option)
    assert (raised.value.code, raised.value.attempts, fake.requests) == ("invalid_input", 0, [])


@pytest.mark.parametrize("destination", ["", "nowhere", "ftp://h/", "http://h/#x", 5, None])
def test_a_destination_is_an_absolute_url(client: Chronq, destination: Any) -> None:
    with pytest.raises(InvalidInput) as raised:
        client.publish(destination)
    assert raised.value.option == "destination"


def test_a_lost_answer_is_repeated_under_the_same_id(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Drop(), Answer(202, PUBLISHED))
    assert client.publish("https://example.com/", body="hi").deduplicated
    first, second = fake.requests
    assert first.headers["chronq-deduplication-id"] == second.headers["chronq-deduplication-id"]
    assert first.body == second.body == b"hi"


def test_what_acts_twice_is_not_repeated_when_it_may_have_arrived(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Drop())
    with pytest.raises(Transport) as raised:
        client.messages.retry("m1")
    assert (raised.value.attempts, raised.value.may_have_been_sent) == (1, True)


def test_a_refused_connection_was_not_sent() -> None:
    with FakeServer() as gone:
        url = gone.url
    with Chronq(url, TOKEN, retry=QUICK) as client, pytest.raises(Transport) as raised:
        client.queues.list()
    assert (raised.value.attempts, raised.value.may_have_been_sent) == (4, False)
    assert raised.value.code is ErrorCode.TRANSPORT


def test_503_is_waited_out_as_the_server_asks(fake: FakeServer, client: Chronq) -> None:
    # How long is waited is tested on a virtual clock, where the retry machine lives.
    fake.answer(Answer(503, {"error": "down"}, {"retry-after": "0"}), Answer(200, []))
    assert client.queues.list() == []
    assert len(fake.requests) == 2


def test_a_suffix_is_added_to_the_user_agent(fake: FakeServer) -> None:
    fake.answer(Answer(200, []), Answer(200, []))
    for suffix in (None, "orders/7"):
        with Chronq(fake.url, TOKEN, user_agent=suffix) as client:
            client.queues.list()
    plain, suffixed = (request.headers["user-agent"] for request in fake.requests)
    assert plain.startswith("chronq-sdk/")
    assert suffixed == f"{plain} orders/7"


def test_retry_none_makes_one_attempt(fake: FakeServer) -> None:
    fake.answer(Answer(503, {"error": "the store is unavailable"}))
    with Chronq(fake.url, TOKEN, retry=None) as client, pytest.raises(Unavailable) as raised:
        client.queues.list()
    assert (raised.value.attempts, raised.value.status) == (1, 503)


def test_a_destination_that_http_stacks_rewrite_arrives_as_written(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, [PUBLISHED]))
    assert client.publish("http://h/a/../b%2f?x=%20", body="hi").message_id == "m1"
    assert fake.requests[0].json[0]["destination"] == "http://h/a/../b%2f?x=%20"


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (400, {"error": "retries must be between 0 and 100"}, InvalidInput, "invalid_input"),
        (400, {"error": "timers_bad_request", "reason": "timers_bad_op"}, InvalidInput, "timers_bad_request"),
        (401, {"error": "unauthorized"}, Unauthorized, "unauthorized"),
        (403, {"error": "forbidden"}, Forbidden, "forbidden"),
        (403, {"error": "timers_quota_exceeded"}, QuotaExceeded, "timers_quota_exceeded"),
        (403, {"error": "timer_horizon_exceeded"}, HorizonExceeded, "timer_horizon_exceeded"),
        (403, {"error": "feature_gated"}, FeatureGated, "feature_gated"),
        (404, {"error": "no such message"}, NotFound, "not_found"),
        (409, {"error": "already completed", "state": "completed"}, Conflict, "conflict"),
        (413, {"error": "too large"}, TooLarge, "payload_too_large"),
        (429, {"error": "slow down"}, Throttled, "rate_limited"),
        (500, {"error": "oops"}, Unavailable, "unavailable"),
        (503, {"error": "timers_disabled"}, Unavailable, "timers_disabled"),
        (302, None, Protocol, "protocol"),
        (200, {"no": "message"}, Protocol, "protocol"),
    ],
)
def test_each_refusal_has_its_class(
    fake: FakeServer, status: int, body: Any, kind: type[ChronqError], code: str
) -> None:
    fake.answer(Answer(status, body, {"retry-after": "7"}))
    with Chronq(fake.url, TOKEN, retry=None) as client, pytest.raises(ChronqError) as raised:
        client.messages.get("m1")
    error = raised.value
    assert (type(error), error.code, error.status, error.attempts) == (kind, code, status, 1)
    if kind in (Throttled, Unavailable):
        assert error.retry_after == timedelta(seconds=7)
    if isinstance(error, Conflict):
        assert error.state is MessageState.COMPLETED
    if code == "timers_bad_request":
        assert error.reason == "timers_bad_op"


def test_a_batch_answers_entry_by_entry(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, [PUBLISHED, {"error": 'unknown queue: "nope"'}]))
    results = client.batch(
        [
            Publish("https://example.com/", json=1),
            Publish("https://example.com/", queue="nope", labels=("a",)),
        ]
    )
    assert results == [Published("m1", "default", deduplicated=False), EntryError('unknown queue: "nope"')]
    first, second = fake.requests[0].json
    assert (first["body"], first["headers"]["content-type"]) == ("1", "application/json")
    assert second["queue"] == "nope"


@pytest.mark.parametrize(
    ("entry", "option"),
    [({"retries": -1}, "retries"), ({"json": object()}, "json"), ({"queue": object()}, "queue")],
)
def test_a_batch_names_the_entry(client: Chronq, entry: Any, option: str) -> None:
    with pytest.raises(InvalidInput, match=r"^entry 1: ") as raised:
        client.batch([Publish("https://example.com/"), Publish("https://example.com/", **entry)])
    assert (raised.value.index, raised.value.option) == (1, option)


def test_a_group_gets_one_copy_per_endpoint(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, [PUBLISHED | {"url": "https://a.example.com/"}]))
    [copy] = client.publish_to_group("customers", json=1)
    assert copy.url == "https://a.example.com/"
    assert fake.requests[0].target == "/v2/publish/customers"


@pytest.mark.parametrize(
    ("call", "method", "target"),
    [
        (lambda client: client.messages.get("a/b"), "GET", "/v2/messages/a%2Fb"),
        (lambda client: client.messages.cancel("m1"), "DELETE", "/v2/messages/m1"),
        (lambda client: client.messages.retry("m1"), "POST", "/v2/messages/m1/retry"),
        (
            lambda client: client.messages.events(
                queue="q", state=MessageState.FAILED, label="a b", limit=5, offset=0
            ),
            "GET",
            "/v2/events?queue=q&state=failed&label=a%20b&limit=5&offset=0",
        ),
        (lambda client: client.groups.list(), "GET", "/v2/topics"),
        (lambda client: client.groups.get("g"), "GET", "/v2/topics/g"),
        (lambda client: client.groups.add_endpoints("g", ["http://h/"]), "POST", "/v2/topics/g/endpoints"),
        (
            lambda client: client.groups.remove_endpoints("g", ("http://h/",)),
            "DELETE",
            "/v2/topics/g/endpoints",
        ),
        (lambda client: client.groups.delete("g"), "DELETE", "/v2/topics/g"),
        (
            lambda client: client.queues.put("q", retry_limit=1, expire=timedelta(minutes=1)),
            "PUT",
            "/v2/queues/q",
        ),
        (lambda client: client.queues.list(), "GET", "/v2/queues"),
        (lambda client: client.queues.get("q"), "GET", "/v2/queues/q"),
        (lambda client: client.queues.delete("q"), "DELETE", "/v2/queues/q"),
        (
            lambda client: client.schedules.put(name="s", cron="@daily", url="http://h/"),
            "POST",
            "/v2/schedules",
        ),
        (lambda client: client.schedules.list(), "GET", "/v2/schedules"),
        (lambda client: client.schedules.get("s"), "GET", "/v2/schedules/s"),
        (lambda client: client.schedules.delete("s"), "DELETE", "/v2/schedules/s"),
        (lambda client: client.schedules.run("s"), "POST", "/v2/schedules/s/run"),
        (lambda client: client.log.push("q", {"a": 1}), "POST", "/api/v1/push"),
        (lambda client: client.log.configure("q", retention="1h"), "POST", "/api/v1/configure"),
    ],
)
def test_each_call_has_its_route(
    fake: FakeServer, call: Callable[[Chronq], object], method: str, target: str
) -> None:
    fake.answer(Answer(404, {"error": "not here"}))
    with Chronq(fake.url, TOKEN, retry=None) as client, pytest.raises(NotFound):
        call(client)
    assert (fake.requests[0].method, fake.requests[0].target) == (method, target)


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.messages.get(""),
        lambda client: client.messages.cancel(""),
        lambda client: client.messages.cancel(None),
        lambda client: client.groups.delete(""),
        lambda client: client.queues.delete(""),
        lambda client: client.queues.delete(".."),
        lambda client: client.schedules.delete(""),
        lambda client: client.timers.cancel("q", ""),
        lambda client: client.timers.cancel("", "k"),
        lambda client: client.log.find("q", ""),
        lambda client: client.groups.add_endpoints("g", "http://h/"),
        lambda client: client.groups.add_endpoints("g", []),
    ],
)
def test_no_call_means_all_by_accident(
    fake: FakeServer, client: Chronq, call: Callable[[Chronq], object]
) -> None:
    with pytest.raises(InvalidInput):
        call(client)
    assert fake.requests == []


def test_a_message_is_read_with_pythons_types(fake: FakeServer, client: Chronq) -> None:
    fake.answer(Answer(200, MESSAGE), Answer(200, {"jobs": [MESSAGE], "total": 9}))
    message = client.messages.get("m1")
    assert message.state is MessageState.COMPLETED
    assert message.created_at == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert (message.completed_at, message.labels) == (None, ("a",))
    assert message.response is not None
    assert message.response.duration == timedelta(seconds=1.5)
    events = client.messages.events()
    assert (events.jobs, events.total) == ((message,), 9)


def test_groups_queues_and_schedules_are_read_with_pythons_types(fake: FakeServer, client: Chronq) -> None:
    group = {"name": "g", "createdAt": 1000, "updatedAt": 2000, "endpoints": [{"url": "http://h/"}]}
    queue = {"name": "q", "retryLimit": 2, "retryDelay": "1m30s", "keepCompleted": "7d", "enabled": True}
    schedule = {
        "name": "s", "cron": "@daily", "url": "http://h/", "method": "POST", "headers": {"x-a": "1"},
        "body": "", "timezone": "UTC", "missed": "once", "timeoutMs": 5000, "queue": "schedule-s",
        "enabled": True, "description": None, "failureCallback": None, "createdAt": 1, "updatedAt": 2,
        "nextRunAt": 3000, "lastRunAt": None,
    }  # fmt: skip
    run = {"messageId": "m1", "queue": "schedule-s"}
    fake.answer(Answer(200, [group]), Answer(201, queue), Answer(201, schedule), Answer(200, run))
    [read] = client.groups.list()
    assert (read.endpoints, read.updated_at) == (("http://h/",), datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC))
    made = client.queues.put("q", retry_limit=2, retry_delay=timedelta(seconds=90))
    assert (made.retry_delay, made.keep_completed) == (timedelta(seconds=90), timedelta(days=7))
    put = client.schedules.put(
        name="s", cron="@daily", url="http://h/", missed=Missed.ONCE, timeout="5s", headers={"X-A": "1"}
    )
    assert (put.created, put.schedule.missed, put.schedule.timeout) == (
        True,
        Missed.ONCE,
        timedelta(seconds=5),
    )
    assert put.schedule.next_run_at == datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert client.schedules.run("s").message_id == "m1"
    assert fake.requests[1].json == {"retryLimit": 2, "retryDelay": "1m30s"}
    assert fake.requests[2].json["headers"] == {"x-a": "1"}


def test_several_threads_share_a_client(fake: FakeServer, client: Chronq) -> None:
    hold = Hold(body=[])
    fake.answer(hold, Answer(200, []))
    slow = threading.Thread(target=client.queues.list)
    slow.start()
    assert hold.asked.wait(10)
    # The second call is answered while the first one waits: neither the GIL nor the client is held.
    assert client.queues.list() == []
    hold.released.set()
    slow.join()


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ({"url": "nowhere"}, "url"),
        ({"url": "http://h/?a"}, "url"),
        ({"url": 5}, "url"),
        ({"token": ""}, "token"),
        ({"token": "a b"}, "token"),
        ({"timeout": 5}, "timeout"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"retry": RetryPolicy(attempts=0)}, "attempts"),
        ({"retry": RetryPolicy(base="2s", cap="1s")}, "base"),
        ({"retry": False}, "retry"),
        ({"user_agent": "a\nb"}, "user_agent"),
    ],
)
def test_a_client_is_refused_by_option(arguments: dict[str, Any], option: str) -> None:
    given: dict[str, Any] = {"url": "http://127.0.0.1:1", "token": TOKEN} | arguments
    with pytest.raises(InvalidInput) as raised:
        Chronq(**given)
    assert raised.value.option == option


def test_url_and_token_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHRONQ_URL", "http://127.0.0.1:1/base/")
    monkeypatch.setenv("CHRONQ_TOKEN", TOKEN)
    assert Chronq().url == "http://127.0.0.1:1/base"
    monkeypatch.delenv("CHRONQ_TOKEN")
    with pytest.raises(InvalidInput, match="CHRONQ_TOKEN"):
        Chronq()


def test_a_closed_client_says_so(client: Chronq) -> None:
    client.close()
    with pytest.raises(InvalidInput, match="closed"):
        client.queues.list()


def test_an_attempt_ends_at_its_bound(fake: FakeServer) -> None:
    hold = Hold()
    fake.answer(hold)
    with Chronq(fake.url, TOKEN, retry=None, timeout="50ms") as client, pytest.raises(Transport) as raised:
        client.queues.list()
    hold.released.set()
    assert raised.value.may_have_been_sent
