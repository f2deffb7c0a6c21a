"""Calls of the asyncio client: the same calls, cancellation, several loops and threads."""

import asyncio
import inspect
import threading
from typing import Any

import pytest
from chronq import (
    AsyncChronq,
    Chronq,
    InvalidInput,
    NotFound,
    Publish,
    Published,
    Transport,
    _async_client,
    _client,
)
from conftest import QUICK, TOKEN
from fake_server import Answer, Drop, FakeServer, Hold

PUBLISHED = {"messageId": "m1", "queue": "default", "deduplicated": False}


def test_a_publish_is_awaited(fake: FakeServer) -> None:
    fake.answer(Drop(), Answer(202, PUBLISHED), Answer(200, [PUBLISHED]), Answer(404, {"error": "no"}))

    async def run() -> None:
        async with AsyncChronq(fake.url, TOKEN, retry=QUICK) as client:
            assert client.url == fake.url
            assert (await client.publish("https://example.com/", json=1)).deduplicated
            assert await client.batch([Publish("https://example.com/")]) == [
                Published("m1", "default", deduplicated=False)
            ]
            with pytest.raises(NotFound):
                await client.messages.get("m1")

    asyncio.run(run())
    assert (
        fake.requests[0].headers["chronq-deduplication-id"]
        == fake.requests[1].headers["chronq-deduplication-id"]
    )


def test_cancelling_a_task_cancels_its_call(fake: FakeServer) -> None:
    hold = Hold(body=[])
    fake.answer(hold, Answer(200, []))

    async def run() -> None:
        async with AsyncChronq(fake.url, TOKEN, retry=QUICK) as client:
            task = asyncio.create_task(client.queues.list())
            assert await asyncio.to_thread(hold.asked.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            hold.released.set()
            # The loop and the client go on; the cancelled call is not repeated.
            assert await client.queues.list() == []

    asyncio.run(run())
    assert len(fake.requests) == 2


def test_a_timeout_of_asyncio_ends_a_call(fake: FakeServer) -> None:
    hold = Hold(body=[])
    fake.answer(hold)

    async def run() -> None:
        async with AsyncChronq(fake.url, TOKEN, retry=QUICK) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.queues.list()

    asyncio.run(run())
    hold.released.set()


def test_calls_run_side_by_side_in_one_loop(fake: FakeServer) -> None:
    holds = [Hold(body=[]) for _ in range(5)]
    fake.answer(*holds)

    async def run() -> None:
        async with AsyncChronq(fake.url, TOKEN) as client:
            calls = asyncio.gather(*(client.queues.list() for _ in holds))
            for hold in holds:
                assert await asyncio.to_thread(hold.asked.wait, 10)
            for hold in holds:
                hold.released.set()
            assert await calls == [[]] * len(holds)

    asyncio.run(run())


def test_one_client_serves_several_loops_and_threads(fake: FakeServer) -> None:
    fake.handle(lambda _: Answer(200, []))
    client = AsyncChronq(fake.url, TOKEN)
    failures: list[BaseException] = []

    def run() -> None:
        async def twice() -> None:
            assert await client.queues.list() == []
            assert await client.groups.list() == []

        try:
            asyncio.run(twice())
            asyncio.run(twice())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(fake.requests) == 16


def test_input_is_refused_before_the_network(fake: FakeServer) -> None:
    async def run() -> None:
        async with AsyncChronq(fake.url, TOKEN) as client:
            with pytest.raises(InvalidInput):
                await client.publish("https://example.com/", retries=101)
            with pytest.raises(InvalidInput):
                await client.messages.cancel("")
        with pytest.raises(InvalidInput, match="closed"):
            await client.queues.list()

    asyncio.run(run())
    assert fake.requests == []


def test_a_lost_server_is_a_transport_error() -> None:
    with FakeServer() as gone:
        url = gone.url

    async def run() -> None:
        async with AsyncChronq(url, TOKEN, retry=None) as client:
            with pytest.raises(Transport) as raised:
                await client.queues.list()
            assert not raised.value.may_have_been_sent

    asyncio.run(run())


def surface(kind: type) -> dict[str, Any]:
    return {
        name: inspect.signature(member).replace(return_annotation=None)
        for name, member in vars(kind).items()
        if not name.startswith("_") and callable(member) and name not in ("close", "aclose")
    }


@pytest.mark.parametrize("group", ["Messages", "Groups", "Queues", "Schedules", "Timers", "Log"])
def test_both_clients_have_the_same_calls(group: str) -> None:
    assert surface(getattr(_client, group)) == surface(getattr(_async_client, f"Async{group}"))


def test_both_clients_have_the_same_face() -> None:
    assert surface(Chronq) == surface(AsyncChronq)
    assert inspect.signature(Chronq) == inspect.signature(AsyncChronq)
