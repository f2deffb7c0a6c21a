"""What the tests share: a scripted server, signed deliveries, and the real server where there is one."""

from collections.abc import Iterator

import pytest
from chronq import Chronq, RetryPolicy
from chronq.testing import Server, find_binary, start_server
from fake_server import FakeServer
from hypothesis import settings

# No deadline: a slow machine is no fault.
settings.register_profile("chronq", deadline=None, max_examples=60)
settings.load_profile("chronq")

pytest_plugins = ["pytester"]

TOKEN = "chronq_not-a-real-token"
QUICK = RetryPolicy(base="1ms", cap="1ms")


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
def client(fake: FakeServer) -> Iterator[Chronq]:
    with Chronq(fake.url, TOKEN, retry=QUICK) as client:
        yield client


@pytest.fixture(scope="session")
def live() -> Iterator[Server]:
    """The bundled server; `cargo xtask test python` builds it and says where it is."""
    if find_binary() is None:
        pytest.skip("no chronq binary: set CHRONQ_SERVER_BIN")
    with start_server() as server:
        yield server
