"""The fixture `chronq_server`: a real server for a test run. pytest finds this by itself."""

from collections.abc import Iterator

import pytest

from chronq.testing import Server, start_server


@pytest.fixture(scope="session")
def chronq_server() -> Iterator[Server]:
    """Start `chronq dev` for the run: url, token, signing keys, inbox(), clock.

    The binary is CHRONQ_SERVER_BIN, else `chronq` on PATH.
    """
    with start_server() as server:
        yield server
