"""Stands before a real server, and loses answers: what it dropped was committed."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class LossyProxy:
    """Carries bytes both ways; after `lose()`, the next answer ends its connection instead."""

    def __init__(self, url: str) -> None:
        upstream = urlsplit(url)
        assert upstream.port is not None
        self._upstream = ("127.0.0.1", upstream.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.lost = 0
        self._losing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = [self._listener]

    def lose(self) -> None:
        self._losing.set()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            _end(each)
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()

    def _start(self, run: object, *arguments: socket.socket) -> None:
        assert callable(run)
        thread = threading.Thread(target=run, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._upstream)
                self._sockets += [client, server]
                self._start(self._carry, client, server)
                self._start(self._answer, server, client)

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65_536):
                server.sendall(data)
        _end(server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65_536):
                # The answer has begun, so what was asked is committed.
                if self._losing.is_set():
                    self._losing.clear()
                    self.lost += 1
                    break
                client.sendall(data)
        _end(client)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
