"""A server that loses its answer after it has committed: one message, and a true answer."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from chronq import Absent, AsyncChronq, Chronq, MessageState, NotFoundSince, Publish, Published
from chronq.testing import Server
from conftest import QUICK, TOKEN
from fake_server import Answer, FakeServer
from lossy_proxy import LossyProxy

Run = Callable[[Callable[[Any], Any]], Any]
"""Makes a call through the proxy, which loses its first answer."""


@pytest.fixture
def proxy(live: Server) -> Iterator[LossyProxy]:
    with LossyProxy(live.url) as proxy:
        yield proxy


@pytest.fixture(params=["blocking", "asyncio"])
def run(request: pytest.FixtureRequest, live: Server, proxy: LossyProxy) -> Run:
    def blocking(call: Callable[[Any], Any]) -> Any:
        with Chronq(proxy.url, live.token, retry=QUICK) as client:
            return call(client)

    def awaited(call: Callable[[Any], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            async with AsyncChronq(proxy.url, live.token, retry=QUICK) as client:
                return await call(client)

        return asyncio.run(main())

    def lossy(call: Callable[[Any], Any]) -> Any:
        lost = proxy.lost
        proxy.lose()
        answer = (blocking if request.param == "blocking" else awaited)(call)
        assert proxy.lost == lost + 1
        return answer

    return lossy


@pytest.fixture
def api(live: Server) -> Iterator[Chronq]:
    with Chronq(live.url, live.token) as client:
        yield client


def test_one_publish_is_one_message(run: Run, live: Server, api: Chronq) -> None:
    inbox = live.inbox()
    published = run(lambda client: client.publish(inbox.url, body="x", labels=[inbox.name]))
    assert published.deduplicated, "it was already there"
    events = api.messages.events(label=inbox.name)
    assert [message.message_id for message in events.jobs] == [published.message_id]
    assert inbox.wait()[0].header("chronq-message-id") == published.message_id


def test_one_batch_is_one_message_per_entry(run: Run, live: Server, api: Chronq) -> None:
    inbox = live.inbox()
    entries = [Publish(inbox.url, body=text, labels=[inbox.name]) for text in "ab"]
    results = run(lambda client: client.batch(entries))
    ids = [result.message_id for result in results if isinstance(result, Published) and result.deduplicated]
    events = api.messages.events(label=inbox.name)
    assert sorted(message.message_id for message in events.jobs) == sorted(ids)
    assert len(ids) == 2


def test_a_cancel_that_came_first_is_this_calls_own(run: Run, live: Server, api: Chronq) -> None:
    published = api.publish(live.inbox().url, body="x", delay="1d")
    assert run(lambda client: client.messages.cancel(published.message_id)) is None
    assert api.messages.get(published.message_id).state is MessageState.CANCELLED


def test_one_timer_stands(run: Run, live: Server, api: Chronq) -> None:
    queue = live.inbox().name
    outcome = run(lambda client: client.timers.schedule(queue, "k", payload="x", delay="1d"))
    assert outcome
    timer = api.timers.peek(queue, "k")
    assert timer is not None
    assert (timer.txn, timer.message_id) == (outcome.txn, outcome.message_id)
    assert [row.timer_key for row in api.timers.list(queue)] == ["k"]


def test_a_timers_cancel_says_that_absent_may_be_its_own_doing(run: Run, live: Server, api: Chronq) -> None:
    queue = live.inbox().name
    api.timers.schedule(queue, "k", payload="x", delay="1d", txn="t")
    outcome = run(lambda client: client.timers.cancel(queue, "k", txn="t"))
    assert isinstance(outcome, Absent)
    assert outcome.after_lost_answer
    with Chronq(live.url, live.token) as client:
        again = client.timers.cancel(queue, "k", txn="t")
        assert isinstance(again, Absent)
        assert isinstance(again.settle(), NotFoundSince)


def test_503_with_retry_after_is_waited_out_twice() -> None:
    published = {"messageId": "m1", "queue": "default", "deduplicated": False}

    def script(server: FakeServer) -> None:
        unavailable = Answer(503, {"error": "the store is unavailable"}, {"retry-after": "2"})
        server.answer(unavailable, unavailable, Answer(200, published))

    async def awaited(url: str) -> None:
        async with AsyncChronq(url, TOKEN) as client:
            answers.append(await client.publish("https://example.com/", body="x"))

    answers: list[Published] = []
    with FakeServer() as first, FakeServer() as second, Chronq(first.url, TOKEN) as client:
        script(first)
        script(second)
        # Side by side, because the waits are real.
        thread = threading.Thread(target=asyncio.run, args=(awaited(second.url),))
        thread.start()
        answers.append(client.publish("https://example.com/", body="x"))
        thread.join()
    assert answers == [Published("m1", "default", deduplicated=False)] * 2
    for server in (first, second):
        ids = {request.headers["chronq-deduplication-id"] for request in server.requests}
        assert (len(server.requests), len(ids)) == (3, 1)
