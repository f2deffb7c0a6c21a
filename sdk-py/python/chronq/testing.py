"""A real server for tests: `chronq dev` on a free port, with an inbox that records and a clock that moves.

>>> from chronq import Chronq
>>> from chronq.testing import start_server
>>> with start_server() as server, Chronq(server.url, server.token) as client:  # doctest: +SKIP
...     inbox = server.inbox()
...     client.publish(inbox.url, json={"order": 7})
...     [request] = inbox.wait()

The pytest fixture `chronq_server` is one of these for the whole run.
"""

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
import time
import urllib.request
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

from chronq._errors import InvalidInput
from chronq._native import Receiver

BINARY_VARIABLE = "CHRONQ_SERVER_BIN"
_SETTINGS = ("CHRONQ_", "QUEEN_")
_START_SECONDS = 30.0
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived at an inbox."""

    method: str
    target: str
    """Byte for byte."""
    headers: tuple[tuple[str, str], ...]
    body: bytes
    received_at: datetime

    def header(self, name: str) -> str | None:
        """Give the first value of a header; the name in any case."""
        wanted = name.lower()
        return next((value for known, value in self.headers if known.lower() == wanted), None)


class Answer(TypedDict, total=False):
    """One answer of an inbox's script."""

    status: int
    headers: dict[str, str]
    body: str
    delay: timedelta


class Inbox:
    """A receiver inside the server: it records what arrives and answers as it is told."""

    def __init__(self, server: "Server", name: str) -> None:
        self.name: str = name
        self.url: str = f"{server.url}/dev/inbox/{name}"
        """What to publish to."""
        self._server = server

    def requests(self) -> list[Received]:
        """List what has arrived, in order."""
        return [_received(request) for request in self._server.fetch("GET", f"{self._path}/requests")]

    def wait(self, count: int = 1, *, timeout: timedelta = timedelta(seconds=10)) -> list[Received]:
        """Wait until so many requests have arrived, and list them."""
        deadline = time.monotonic() + timeout.total_seconds()
        while len(requests := self.requests()) < count:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"{len(requests)} of {count} requests arrived at inbox {self.name}")
            time.sleep(_LOOK_SECONDS)
        return requests

    def clear(self) -> None:
        """Forget what has arrived."""
        self._server.fetch("DELETE", f"{self._path}/requests")

    def script(self, answers: Iterable[Answer]) -> None:
        """Answer so from now on; the last answer repeats."""
        written: list[dict[str, Any]] = []
        for answer in answers:
            fields: dict[str, Any] = {name: value for name, value in answer.items() if name != "delay"}
            if (delay := answer.get("delay")) is not None:
                fields["delayMs"] = delay // timedelta(milliseconds=1)
            written.append(fields)
        self._server.fetch("PUT", f"{self._path}/script", {"respond": written})

    @property
    def _path(self) -> str:
        return f"/dev/inbox/{self.name}"


class Clock:
    """The server's clock: everything it takes as time moves with it, but the dates in signatures."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def advance(self, by: timedelta) -> None:
        """Move it ahead: a seven-day timer is due in a moment."""
        self._server.fetch("POST", "/dev/clock/advance", {"ms": by // timedelta(milliseconds=1)})


class Server:
    """A running `chronq dev`. Its secrets are public and fake."""

    def __init__(self, ready: dict[str, Any]) -> None:
        self.url: str = ready["url"]
        self.token: str = ready["token"]
        self.current_signing_key: str = ready["signingKey"]
        self.next_signing_key: str | None = ready.get("nextSigningKey")
        self.clock: Clock = Clock(self)
        self._names = (f"inbox-{number}" for number in itertools.count(1))

    def inbox(self, name: str | None = None) -> Inbox:
        """Give an inbox; a new one where no name is given."""
        return Inbox(self, next(self._names) if name is None else name)

    def receiver(self) -> Receiver:
        """Make a receiver of what this server delivers."""
        return Receiver(self.current_signing_key, self.next_signing_key)

    def fetch(self, method: str, path: str, body: object = None) -> Any:
        """Make a request to a route of dev mode, and read its JSON."""
        request = urllib.request.Request(  # noqa: S310  our own server
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
            text = response.read()
        return json.loads(text) if text else None


def find_binary() -> Path | None:
    """Find the server: CHRONQ_SERVER_BIN, else `chronq` on PATH, else beside this interpreter.

    The last is where pip puts a package's programs; an environment that is not activated has it not on PATH.
    """
    given = os.environ.get(BINARY_VARIABLE)
    found = given or shutil.which("chronq") or shutil.which("chronq", path=sysconfig.get_path("scripts"))
    return None if found is None else Path(found)


@contextlib.contextmanager
def start_server(
    binary: str | os.PathLike[str] | None = None, *, arguments: Iterable[str] = ()
) -> Generator[Server]:
    """Start a server on a free port, in memory. It ends with the block, or with this process.

    ``arguments`` are further ones of ``chronq dev``.
    """
    program = find_binary() if binary is None else Path(binary)
    if program is None or not program.is_file():
        raise InvalidInput(
            f"binary is missing: pass the path of the chronq server, set {BINARY_VARIABLE}, "
            "or put chronq on PATH",
            option="binary",
        )
    command = [str(program), "dev", "--listen", "127.0.0.1:0", "--exit-with-parent", *arguments]
    # What configures the machine's own server, or a client of it, is not for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    with (
        tempfile.TemporaryFile() as errors,
        # The server ends when its stdin closes, which it does when this process is gone.
        subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
        ) as process,
    ):
        try:
            yield Server(_ready(process, errors))
        finally:
            process.terminate()


def _ready(process: subprocess.Popen[bytes], errors: Any) -> dict[str, Any]:
    assert process.stdout is not None, "a pipe was asked for"  # noqa: S101
    watchdog = threading.Timer(_START_SECONDS, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline()
    finally:
        watchdog.cancel()
    try:
        ready = json.loads(line)
    except ValueError:
        errors.seek(0)
        said = errors.read().decode(errors="replace")
        raise RuntimeError(f"the server did not start within {_START_SECONDS:.0f} s:\n{said}") from None
    assert isinstance(ready, dict), "one line of JSON"  # noqa: S101
    return ready


def _received(request: dict[str, Any]) -> Received:
    encoded = request.get("bodyBase64")
    body = request.get("body", "").encode() if encoded is None else base64.b64decode(encoded)
    return Received(
        method=request["method"],
        target=request["target"],
        headers=tuple((name, value) for name, value in request["headers"]),
        body=body,
        received_at=datetime.fromisoformat(request["receivedAt"]),
    )
