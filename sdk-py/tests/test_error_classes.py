"""Every error class from a real server's answer, through both clients."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import chronq
import pytest
from chronq import AsyncChronq, Chronq, ChronqError, MessageState, _errors
from chronq.testing import Server, find_binary, start_server

UNKNOWN = "01936b0e-8d2c-7c3a-9f00-000000000001"
CUT_OFF_FRAME = bytes.fromhex("28b52ffd")
TIMER: dict[str, Any] = {"payload": "12345678", "delay": "1m", "txn": "t"}


class World(NamedTuple):
    """A server, and who calls it."""

    server: Server
    closed: str
    """Where a server was."""
    tokens: dict[str, str]
    taken: str
    """A message that was taken back."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    if find_binary() is None:
        pytest.skip("no chronq binary: set CHRONQ_SERVER_BIN")
    with start_server() as gone:
        closed = gone.url
    with start_server(arguments=["--tenancy"]) as server:
        acme = {"maxTimers": 1, "maxTimerHorizonSeconds": 3600, "maxPayloadBytes": 8}
        server.fetch("PUT", "/v2/admin/tenants/acme", acme)
        # The next call would be allowed in twelve days; an SDK believes in one at most.
        server.fetch("PUT", "/v2/admin/tenants/slow", {"maxSchedulesPerSecond": 0.000_001, "burst": 1})
        tokens = {"admin": server.token, "stranger": "chronq_not-a-real-token"}
        for name, tenant, level in [
            ("acme", "acme", "read-write"),
            ("reader", "acme", "read-only"),
            ("slow", "slow", "read-write"),
            ("gated", "gated", "read-write"),
        ]:
            minted = server.fetch(
                "POST", "/v2/admin/tokens", {"name": name, "level": level, "tenant": tenant}
            )
            tokens[name] = minted["token"]
        server.inbox("nonsense").script([{"status": 200, "body": "nothing of the contract"}])
        with Chronq(server.url, tokens["acme"]) as client:
            client.timers.schedule("q", "a", **TIMER)
        with Chronq(server.url, tokens["slow"]) as client:
            client.timers.schedule("q", "a", **TIMER)
        with Chronq(server.url, server.token) as client:
            taken = client.publish(server.inbox("taken").url, body="x", delay="1d").message_id
            client.messages.cancel(taken)
        yield World(server, closed, tokens, taken)


Ask = Callable[[Any, World], Any]
"""A call of a client: answered by the blocking one, awaited of the other."""

CASES: list[tuple[str, Ask, str, str, int | None, str | None, timedelta | None]] = [
    # Who asks for what, then: class, code, status, reason, retry_after.
    (
        "admin",
        lambda client, _: client.publish("http://127.0.0.1:1/", queue="nope"),
        "InvalidInput", "invalid_input", 400, None, None,
    ),
    (
        "acme",
        lambda client, _: client.timers.schedule(
            "q", "a", **TIMER | {"payload": CUT_OFF_FRAME}, payload_zstd=True
        ),
        "InvalidInput", "timers_bad_request", 400, "timers_payload_not_zstd", None,
    ),
    ("stranger", lambda client, _: client.queues.list(), "Unauthorized", "unauthorized", 401, None, None),
    (
        "reader",
        lambda client, _: client.publish("http://127.0.0.1:1/"),
        "Forbidden", "forbidden", 403, None, None,
    ),
    ("admin", lambda client, _: client.messages.get(UNKNOWN), "NotFound", "not_found", 404, None, None),
    (
        "admin",
        lambda client, world: client.messages.cancel(world.taken),
        "Conflict", "conflict", 409, None, None,
    ),
    (
        "acme",
        lambda client, _: client.timers.schedule("q", "a", **TIMER | {"payload": "123456789"}),
        "TooLarge", "payload_too_large", 413, "timers_payload_too_large", None,
    ),
    (
        "slow",
        lambda client, _: client.timers.schedule("q", "a", **TIMER),
        "Throttled", "rate_limited", 429, "rate_limited", timedelta(days=1),
    ),
    (
        "acme",
        lambda client, _: client.timers.schedule("q", "b", **TIMER),
        "QuotaExceeded", "timers_quota_exceeded", 403, "timers_quota_exceeded", None,
    ),
    (
        "acme",
        lambda client, _: client.timers.schedule("q", "a", **TIMER | {"delay": "2h"}),
        "HorizonExceeded", "timer_horizon_exceeded", 403, "timers_horizon", None,
    ),
    (
        "gated",
        lambda client, _: client.timers.schedule("q", "a", **TIMER),
        "FeatureGated", "feature_gated", 403, "feature_gated", None,
    ),
]  # fmt: skip


def refusals(url: str, token: str, ask: Ask, world: World) -> Iterator[ChronqError]:
    """What either client raises."""
    with Chronq(url, token, retry=None) as client, pytest.raises(ChronqError) as raised:
        ask(client, world)
    yield raised.value

    async def run() -> None:
        async with AsyncChronq(url, token, retry=None) as client:
            await ask(client, world)

    with pytest.raises(ChronqError) as raised:
        asyncio.run(run())
    yield raised.value


def seen(error: ChronqError) -> tuple[object, ...]:
    return (type(error).__name__, error.code, error.status, error.reason, error.retry_after)


@pytest.mark.parametrize(("who", "ask", "name", "code", "status", "reason", "retry_after"), CASES)
def test_a_servers_refusal_has_its_class(
    world: World,
    who: str,
    ask: Ask,
    name: str,
    code: str,
    status: int | None,
    reason: str | None,
    retry_after: timedelta | None,
) -> None:
    for error in refusals(world.server.url, world.tokens[who], ask, world):
        assert type(error) is getattr(chronq, name)
        assert seen(error) == (name, code, status, reason, retry_after)
        assert (error.attempts, error.may_have_been_sent) == (1, False)
        assert error.detail is None or error.detail == str(error)
        if isinstance(error, chronq.Conflict):
            assert error.state is MessageState.CANCELLED


def test_a_paused_scheduler_is_unavailable(world: World) -> None:
    world.server.fetch("POST", "/api/v1/system/timers", {"schedule": False})
    try:
        for error in refusals(
            world.server.url,
            world.tokens["acme"],
            lambda client, _: client.timers.schedule("q", "a", **TIMER),
            world,
        ):
            expected = ("Unavailable", "timers_disabled", 503, "timers_disabled", timedelta(seconds=1))
            assert seen(error) == expected
    finally:
        world.server.fetch("POST", "/api/v1/system/timers", {"schedule": True})


def test_a_server_that_is_gone_is_a_transport_error(world: World) -> None:
    for error in refusals(world.closed, "chronq_fake", lambda client, _: client.queues.list(), world):
        assert seen(error) == ("Transport", "transport", None, None, None)
        assert (error.attempts, error.may_have_been_sent) == (1, False)


def test_an_answer_that_is_none_of_the_contracts_is_a_protocol_error(world: World) -> None:
    url = world.server.inbox("nonsense").url
    for error in refusals(url, "chronq_fake", lambda client, _: client.queues.list(), world):
        assert seen(error) == ("Protocol", "protocol", 200, None, None)


def test_a_delivery_that_was_changed_is_a_signature_error(world: World) -> None:
    inbox = world.server.inbox()
    with Chronq(world.server.url, world.server.token) as client:
        client.publish(inbox.url, body="signed")
    [request] = inbox.wait()
    for body, url, code, difference in [
        (b"other", inbox.url, "body_mismatch", None),
        (b"signed", f"{inbox.url}/x", "url_mismatch", "path"),
    ]:
        with pytest.raises(chronq.SignatureError) as raised:
            world.server.receiver().verify_headers(request.headers, body, url)
        error = raised.value
        assert seen(error) == ("SignatureError", code, None, None, None)
        assert (error.difference, error.attempts) == (difference, 0)


def test_no_class_is_left_out() -> None:
    elsewhere = {"Unavailable", "Transport", "Protocol", "SignatureError"}
    assert {name for _, _, name, *_ in CASES} | elsewhere == set(_errors.BY_KIND)
