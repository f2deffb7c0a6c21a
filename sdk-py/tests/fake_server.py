"""A server that answers from a list and records what it was asked."""

import json
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """Takes the request, and closes the connection without an answer."""


@dataclass(frozen=True)
class Hold:
    """Answers only once it is released; `asked` is set when the request is there."""

    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    body: Any = None


Step = Answer | Drop | Hold


class FakeServer:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._steps: deque[Step] = deque()
        self._handler: Callable[[Request], Answer] | None = None
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _handler_of(self))
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def answer(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def handle(self, handler: Callable[[Request], Answer]) -> None:
        """Answer every request by a function."""
        self._handler = handler

    def take(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            if self._handler is not None:
                return self._handler(request)
            return self._steps.popleft() if self._steps else Answer(500, {"error": "the script is over"})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_of(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            step = server.take(Request(self.command, self.path, headers, body))
            match step:
                case Drop():
                    self.close_connection = True
                    return
                case Hold():
                    step.asked.set()
                    # Data or an end: either way the client is no longer waiting for this answer.
                    step.released.wait(10)
                    self._send(Answer(200, step.body))
                case Answer():
                    self._send(step)

        def _send(self, answer: Answer) -> None:
            text = b"" if answer.body is None else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
