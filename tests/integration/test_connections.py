"""Whoever keeps the server waiting is cut off, and everybody else is answered meanwhile."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from instant_recall import Client
from instant_recall.api import connections, server
from instant_recall.api.transport import Deadline, Endpoint
from instant_recall.events.settings import Settings
from instant_recall.tests.api_stand_in import StandIn, serving

HEAD = b"POST /v1/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SOON_S = 0.2


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server that has little patience."""
    for name in ("HEAD_S", "BODY_S", "SILENT_S"):
        monkeypatch.setattr(connections, name, 60.0)
    monkeypatch.setattr(server, "TICKS_BETWEEN_LOOKS", 1)
    with serving(StandIn()) as home:
        yield home


def opened(home: Path) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(5)
    link.connect(str(Settings.from_env(home).api_socket))
    return link


def is_cut(link: socket.socket, within_s: float = 3.0) -> bool:
    """Whether the server hangs up; what it says before does not matter."""
    link.settimeout(within_s)
    try:
        while link.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


@pytest.mark.parametrize(
    ("limit", "sent"),
    [
        ("SILENT_S", b""),
        ("HEAD_S", b"P"),
        ("HEAD_S", HEAD),
        ("BODY_S", HEAD + b"Content-Length: 100\r\n\r\n{"),
        ("BODY_S", HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"),
    ],
    ids=["nothing", "one letter", "half a head", "half a body", "half a chunk"],
)
def test_who_begins_and_does_not_go_on_is_cut_off(
    home: Path, monkeypatch: pytest.MonkeyPatch, limit: str, sent: bytes
) -> None:
    with opened(home) as patient, opened(home) as link:
        link.sendall(sent)
        assert not is_cut(link, 0.3)
        monkeypatch.setattr(connections, limit, SOON_S)
        assert is_cut(link)
        if limit != "SILENT_S":
            assert not is_cut(patient, 0.1)


def test_a_head_that_comes_drop_by_drop_has_no_more_time_than_any_other(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.5)
    with opened(home) as link:
        began = time.monotonic()
        link.sendall(HEAD + b"X-Long: ")
        with pytest.raises(ConnectionError):
            while time.monotonic() < began + 5:
                link.sendall(b"x")
                time.sleep(0.02)
        assert began + 0.4 < time.monotonic() < began + 3


def test_a_connection_that_was_answered_may_wait_and_is_then_asked_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEAD_S", "BODY_S"):
        monkeypatch.setattr(connections, name, SOON_S)
    link = http.client.HTTPConnection("localhost")
    link.sock = opened(home)
    try:
        for _ in range(3):
            link.request("POST", "/v1/push", b'{"request": "x"}', {"Content-Type": "application/json"})
            assert json.loads(link.getresponse().read())["block"] == "x"
            time.sleep(0.4)
    finally:
        link.close()


def test_who_does_not_read_the_answers_is_cut_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_S", SOON_S)
    with opened(home) as link:
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        link.settimeout(1)
        with pytest.raises((ConnectionError, TimeoutError)):
            for _ in range(1_000):
                link.sendall(ask)
                time.sleep(0.005)


def test_of_too_many_connections_the_ones_that_wait_the_longest_go(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 20)
    with ExitStack() as stack:
        links = [stack.enter_context(opened(home)) for _ in range(60)]
        assert is_cut(links[0])
        assert not is_cut(links[-1], 0.2)
        assert Client(home, deadline_ms=5_000).push("still there").block == "still there"


def test_a_client_waits_at_a_socket_where_as_many_wait_as_may(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("s") / "s"
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen(0)
        while _fits(stack, path):
            pass
        with pytest.raises(TimeoutError):
            Endpoint(path).connect(Deadline.after(0.05))
        taking = threading.Timer(0.1, lambda: [stack.enter_context(listener.accept()[0]) for _ in range(1)])
        taking.start()
        Endpoint(path).connect(Deadline.after(5)).close()
        taking.join()


def _fits(stack: ExitStack, path: Path) -> bool:
    link = stack.enter_context(socket.socket(socket.AF_UNIX))
    link.setblocking(False)
    try:
        link.connect(str(path))
    except BlockingIOError:
        return False
    return True
