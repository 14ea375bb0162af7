"""A Unix socket on which a test answers byte by byte, well or badly."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from instant_recall.events.settings import Settings


class RawServer:
    """Runs `handle` in a thread for each connection that comes in."""

    def __init__(self, home: Path, handle: Callable[[socket.socket], None]) -> None:
        self.home = home
        self.connections = 0
        self._handle = handle
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        path = Settings.from_env(home).api_socket
        path.parent.mkdir(parents=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._start(self._accept)

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._start(lambda connection=connection: self._run(connection))  # type: ignore[misc]

    def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._handle(connection)

    def close_listener(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(5)


@contextlib.contextmanager
def raw_server(handle: Callable[[socket.socket], None]) -> Iterator[RawServer]:
    """A server in a throw-away data folder."""
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        server = RawServer(Path(folder), handle)
        try:
            yield server
        finally:
            server.close()


def read_request(connection: socket.socket) -> bytes:
    """The body of the next request; raises OSError when there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += _more(connection)
    return body


def _more(connection: socket.socket) -> bytes:
    got = connection.recv(65536)
    if not got:
        raise ConnectionError
    return got


def answer(body: bytes, status: str = "200 OK") -> bytes:
    """A whole HTTP answer."""
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
