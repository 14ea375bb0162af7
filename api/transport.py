"""One HTTP exchange over a Unix socket or TCP, within a total time. Standard library only."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..events.errors import LogUnavailable, NotRunning, RecallError, Refused

MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""The server refuses a longer body, so the client does not send it."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""A text of MAX_REQUEST_BYTES with every character escaped fits; anything longer is no answer of ours."""


BUSY_S = 0.002
"""Between two tries to get into a Unix socket at which many are waiting, in seconds."""


class ConnectionCut(LogUnavailable):
    """The connection broke before the whole answer came. See `instant-recall status`, then try again."""

    def __init__(self, *, sent: bool, reused: bool) -> None:
        super().__init__()
        self.sent = sent
        """The whole request went out, so it may have been carried out."""
        self.reused = reused
        """It was a kept connection, which the server may close at any moment: a fresh one can do better."""


class StrangeAnswer(RecallError):
    """What answered does not speak as Instant Recall does. See which program holds the socket or port."""


class Deadline(NamedTuple):
    """A moment of the monotonic clock, in seconds, by which everything must be done."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds left, always above zero.

        Raises:
            TimeoutError: none are.
        """
        seconds = self.at - time.monotonic()
        if not seconds > 0:  # so put because a deadline that is not a number has no time left either
            raise TimeoutError
        return seconds


class _Timed:
    """Gives every read and write only the time that is left, so that a server cannot stretch it drop by drop."""

    deadline: Deadline

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(self.deadline.left())  # type: ignore[attr-defined]
        return super().recv_into(*args, **kwargs)  # type: ignore[misc,no-any-return]

    def send(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(self.deadline.left())  # type: ignore[attr-defined]
        return super().send(*args, **kwargs)  # type: ignore[misc,no-any-return]

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self.settimeout(self.deadline.left())  # type: ignore[attr-defined]
        super().sendall(*args, **kwargs)  # type: ignore[misc]


class _TimedSocket(_Timed, socket.socket):
    pass


class _TimedTLS(_Timed, ssl.SSLSocket):
    pass


@dataclass(frozen=True)
class Endpoint:
    """Where an API listens: a Unix socket's path, or a host and port with TLS or without."""

    path: Path | None = None
    host: str = "localhost"
    port: int = 0
    tls: ssl.SSLContext | None = None

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Read `http://127.0.0.1:PORT` or `https://HOST[:PORT]`.

        Raises:
            RecallError: it is another kind of URL, or would send the token in clear over a network.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as exc:
            raise RecallError("The API's URL cannot be read. Give it as http://127.0.0.1:PORT.") from exc
        if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc or parts.path not in {"", "/"}:
            raise RecallError(
                "The API's URL has the form http://127.0.0.1:PORT or https://HOST, and no more than that."
            )
        if parts.scheme == "https":
            context = ssl.create_default_context()
            context.sslsocket_class = _TimedTLS
            return cls(host=host, port=port or 443, tls=context)
        if port is None:
            raise RecallError("The API's URL needs a port, as in http://127.0.0.1:PORT.")
        if not _is_loopback(host):
            raise RecallError(f"http://{host} would send the token in clear over the network. Use https, or 127.0.0.1.")
        return cls(host=host, port=port)

    def __str__(self) -> str:
        """The path, or host:port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return str(self.path) if self.path else f"{host}:{self.port}"

    def connect(self, deadline: Deadline) -> _TimedSocket | _TimedTLS:
        """Open a connection.

        Raises:
            NotRunning: nobody listens there.
            Refused: the socket belongs to another user.
            LogUnavailable: the host has no address.
            TimeoutError: the deadline passed; the server may have been too busy to take the connection.
        """
        try:
            if self.path:
                return _open(socket.AF_UNIX, str(self.path), deadline)
            family, address = _resolve(self.host, self.port, deadline)
            plain = _open(family, address, deadline)
            return self._secured(plain, deadline) if self.tls else plain
        except TimeoutError:
            raise
        except (FileNotFoundError, ConnectionRefusedError) as exc:
            raise NotRunning(f"Nobody answers at {self}. Start Instant Recall with `instant-recall up`.") from exc
        except PermissionError as exc:
            raise Refused(f"This user may not use {self}. Run as the user who started Instant Recall.") from exc
        except OSError as exc:
            raise LogUnavailable(f"Cannot connect to {self} ({type(exc).__name__}). Try again.") from exc

    def _secured(self, plain: _TimedSocket, deadline: Deadline) -> _TimedTLS:
        assert self.tls is not None  # noqa: S101 - the caller has looked
        plain.settimeout(deadline.left())
        try:
            secured = self.tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        assert isinstance(secured, _TimedTLS)  # noqa: S101 - set in `parse`
        secured.deadline = deadline
        return secured


def _open(family: int, address: str | tuple[Any, ...], deadline: Deadline) -> _TimedSocket:
    opened = _TimedSocket(family, socket.SOCK_STREAM)
    try:
        opened.deadline = deadline
        while not _connected(opened, address, deadline):
            time.sleep(BUSY_S)
        if family != socket.AF_UNIX:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return opened


def _connected(opening: _TimedSocket, address: str | tuple[Any, ...], deadline: Deadline) -> bool:
    """Whether a connection could be opened; not when as many wait on a Unix socket already as may wait there."""
    opening.settimeout(deadline.left())
    try:
        opening.connect(address)
    except BlockingIOError:
        return False
    return True


def _resolve(host: str, port: int, deadline: Deadline) -> tuple[int, tuple[Any, ...]]:
    """Look a host up in a thread of its own: getaddrinfo takes no time limit and can hang for many seconds."""
    if host == "localhost":
        host = "127.0.0.1"
    found: list[Any] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as exc:
            found.append(exc)

    if _is_loopback(host):
        look_up()
    else:
        looking = threading.Thread(target=look_up, daemon=True)
        looking.start()
        looking.join(deadline.left())
    if not found:
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise OSError(f"no address for {host}") from found[0]
    return found[0][0], found[0][4]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Connection:
    """A kept connection to one endpoint, for one thread. Opened at the first exchange, closed by any failure."""

    def __init__(self, endpoint: Endpoint, headers: Mapping[str, str]) -> None:
        self._endpoint = endpoint
        host = "localhost" if endpoint.path else str(endpoint)
        self._head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": host, **headers}.items())
        self._socket: _TimedSocket | _TimedTLS | None = None

    def exchange(
        self, method: str, path: str, body: bytes | None, deadline: Deadline, most: int = MAX_ANSWER_BYTES
    ) -> tuple[int, bytes]:
        """Send one request and give back the status and the body of the answer.

        Raises:
            TimeoutError: the deadline passed; a request that was sent may have been carried out.
            ConnectionCut: the connection broke; its `sent` says whether the request may have been carried out.
            StrangeAnswer: the answer is not HTTP, or longer than `most` bytes.
            NotRunning, Refused, LogUnavailable: no connection was to be had; nothing was sent.
        """
        reused = self._socket is not None
        try:
            link = self._socket = self._socket or self._endpoint.connect(deadline)
            link.deadline = deadline
            self._send(link, method, path, body, reused)
            return self._receive(link, method, most, reused)
        except BaseException:
            # Half an answer may be on its way (Ctrl-C too lands here): the next request must not read it as its own.
            self.close()
            raise

    def _send(self, link: _Timed, method: str, path: str, body: bytes | None, reused: bool) -> None:
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{length}\r\n".encode("latin-1")
        try:
            link.sendall(head + (body or b""))  # one write, so that the server wakes up once
        except TimeoutError:
            raise
        except OSError as exc:
            raise ConnectionCut(sent=False, reused=reused) from exc

    def _receive(self, link: _TimedSocket | _TimedTLS, method: str, most: int, reused: bool) -> tuple[int, bytes]:
        answer = http.client.HTTPResponse(link, method=method)
        try:
            answer.begin()
            content = _content(answer, most)
        except TimeoutError:
            raise
        except (OSError, http.client.IncompleteRead) as exc:
            raise ConnectionCut(sent=True, reused=reused) from exc
        except (http.client.HTTPException, ValueError) as exc:
            raise StrangeAnswer from exc
        finally:
            answer.close()
        if answer.will_close:
            self.close()
        return answer.status, content

    def close(self) -> None:
        """Close it; the next exchange opens a fresh one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __del__(self) -> None:
        """Close it when its thread or client is gone, without Python's warning about a socket left open."""
        self.close()


def _content(answer: http.client.HTTPResponse, most: int) -> bytes:
    """The body; with a declared length `read()` notices one that ends early, which `read(n)` does not."""
    if answer.length is not None and answer.length > most:
        raise StrangeAnswer
    content = answer.read() if answer.length is not None else answer.read(most + 1)
    if len(content) > most:
        raise StrangeAnswer
    return content
