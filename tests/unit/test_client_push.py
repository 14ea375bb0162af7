"""A push never raises and never outlasts its deadline, whatever the server does."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from instant_recall import AsyncClient, Client
from instant_recall.api.messages import ErrorResponse, PushResponse
from instant_recall.events.settings import Settings
from instant_recall.tests.raw_server import answer, raw_server, read_request

Handle = Callable[[socket.socket], None]

DEADLINE_MS = 150
SLACK_S = 0.25
"""Two busy cores shared with other tests may keep a thread waiting this long."""

FULL = PushResponse(block="[skill] x: y", tokens=5, position="7-0")
GOOD = answer(msgspec.json.encode(FULL))


def timed_push(client: Client, request: str = "find it", **options: Any) -> PushResponse:
    started = time.monotonic()
    pushed = client.push(request, **options)
    took = time.monotonic() - started
    assert took < DEADLINE_MS / 1000 + SLACK_S
    return pushed


def test_an_answer_comes_through() -> None:
    def handle(connection: socket.socket) -> None:
        while True:
            read_request(connection)
            connection.sendall(GOOD)

    with raw_server(handle) as server:
        client = Client(server.home)
        assert client.push("find it") == FULL
        assert client.push("and again") == FULL
        assert server.connections == 1


def test_a_request_carries_what_was_said_around_it() -> None:
    bodies: list[Any] = []

    def handle(connection: socket.socket) -> None:
        bodies.append(msgspec.json.decode(read_request(connection)))
        connection.sendall(GOOD)

    with raw_server(handle) as server:
        Client(server.home, reader="helper", session="s1").push("r", recent=["a", "b"], already_shown={"skill:x"})
    assert bodies == [
        {
            "request": "r",
            "reader": "helper",
            "session": "s1",
            "recent": ["a", "b"],
            "already_shown": ["skill:x"],
        }
    ]


def never(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)


def drip(connection: socket.socket) -> None:
    read_request(connection)
    for byte in GOOD * 1000:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def drip_endless_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.02)


def endless_continue(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


@pytest.mark.parametrize("handle", [never, drip, drip_endless_headers, endless_continue])
def test_a_server_that_does_not_finish_is_left_at_the_deadline(handle: Handle) -> None:
    with raw_server(handle) as server:
        client = Client(server.home, deadline_ms=DEADLINE_MS)
        assert timed_push(client) == PushResponse(reason="deadline")


def test_a_server_that_does_not_read_is_left_at_the_deadline() -> None:
    with raw_server(lambda _connection: time.sleep(1)) as server:
        client = Client(server.home, deadline_ms=DEADLINE_MS)
        assert timed_push(client, "x" * 4_000_000).reason == "deadline"


def test_a_full_backlog_counts_as_unreachable_or_late() -> None:
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        path = Settings.from_env(folder).api_socket
        path.parent.mkdir()
        waiting: list[socket.socket] = []
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(0)
            for _ in range(4):
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                waiting.append(one)
                if one.connect_ex(str(path)):
                    break
            assert timed_push(Client(folder, deadline_ms=DEADLINE_MS)).reason in {"unreachable", "deadline"}
        for one in waiting:
            one.close()


GARBAGE = [
    b"",
    b"\x00\xff" * 500,
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 500 + b"\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    answer(b"not json"),
    answer(b"[1, 2]"),
    answer(b'{"pointers": 5}'),
    answer(b"\xff\xfe"),
    answer(b"[" * 100_000),
    answer(b'{"hello": "world"}', "404 Not Found"),
    answer(b"<html>Bad gateway</html>", "502 Bad Gateway"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_answer_that_is_none_is_an_empty_push(garbage: bytes) -> None:
    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(garbage)
        connection.shutdown(socket.SHUT_RDWR)

    with raw_server(handle) as server:
        pushed = timed_push(Client(server.home, deadline_ms=DEADLINE_MS))
        assert pushed in {PushResponse(reason="error"), PushResponse(reason="unreachable")}


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n",
    ],
)
def test_a_huge_answer_is_not_read_to_its_end(head: bytes) -> None:
    sent = 0

    def handle(connection: socket.socket) -> None:
        nonlocal sent
        read_request(connection)
        connection.sendall(head)
        while True:
            connection.sendall(b" " * 65536)
            sent += 65536

    with raw_server(handle) as server:
        assert Client(server.home, deadline_ms=5_000).push("x") == PushResponse(reason="error")
    assert sent < 4 * 1024 * 1024


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        ("500 Oops", "internal", "error"),
        ("400 Bad", "invalid", "error"),
        ("401 No", "refused", "refused"),
        ("403 No", "refused", "refused"),
        ("503 Away", "unavailable", "unreachable"),
    ],
)
def test_a_failure_told_by_the_server_is_an_empty_push_with_a_reason(status: str, code: str, reason: str) -> None:
    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer(msgspec.json.encode(ErrorResponse(error=code, message="m")), status))

    with raw_server(handle) as server:
        assert Client(server.home).push("x") == PushResponse(reason=reason)


def test_no_server_is_an_empty_push() -> None:
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        client = Client(folder)
        assert client.push("x") == PushResponse(reason="unreachable")
        path = Settings.from_env(folder).api_socket
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        assert client.push("x") == PushResponse(reason="unreachable")
        assert Client(url="http://127.0.0.1:9").push("x") == PushResponse(reason="unreachable")


class Hostile:
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")


@pytest.mark.parametrize("request_", [None, b"bytes", 7, "\ud800 alone", ["list"], object(), "x" * 9_000_000])
def test_a_request_that_cannot_be_sent_is_an_empty_push(request_: Any) -> None:
    with raw_server(never) as server:
        assert Client(server.home).push(request_) == PushResponse(reason="error")
        assert server.connections == 0


@pytest.mark.parametrize(
    "options",
    [
        {"recent": "one text"},
        {"recent": None},
        {"recent": Hostile()},
        {"recent": [b"x"]},
        {"already_shown": 5},
        {"session": 5},
        {"deadline_ms": "soon"},
        {"turn": None},
        {"min_position": 3},
    ],
)
def test_options_that_cannot_be_sent_are_an_empty_push(options: dict[str, Any]) -> None:
    with raw_server(never) as server:
        assert Client(server.home).push("x", **options) == PushResponse(reason="error")
        assert server.connections == 0


@pytest.mark.parametrize("deadline_ms", [0, -1, float("nan")])
def test_a_deadline_with_no_time_in_it_has_passed(deadline_ms: float) -> None:
    with raw_server(never) as server:
        assert Client(server.home).push("x", deadline_ms=deadline_ms) == PushResponse(reason="deadline")


def test_an_answer_that_comes_after_the_deadline_is_not_taken_for_the_next_one() -> None:
    late = threading.Event()

    def handle(connection: socket.socket) -> None:
        body = msgspec.json.decode(read_request(connection))
        if body["request"] == "slow":
            late.wait(5)
        connection.sendall(answer(msgspec.json.encode(PushResponse(block=body["request"]))))

    with raw_server(handle) as server:
        client = Client(server.home)
        assert client.push("slow", deadline_ms=50).reason == "deadline"
        late.set()
        assert client.push("fast", deadline_ms=2_000).block == "fast"


def test_a_connection_that_the_server_closed_meanwhile_is_replaced_unseen() -> None:
    closed = threading.Event()

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(GOOD)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    with raw_server(handle) as server:
        client = Client(server.home, deadline_ms=2_000)
        for _ in range(5):
            closed.clear()
            assert client.push("x") == FULL
            assert closed.wait(5)
        assert server.connections == 5


def test_ctrl_c_goes_through_and_leaves_the_client_usable() -> None:
    calls: list[socket.socket] = []

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        calls.append(connection)
        if len(calls) == 1:
            connection.recv(1)
        connection.sendall(GOOD)

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with raw_server(handle) as server:
            client = Client(server.home, deadline_ms=5_000)
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                client.push("x")
            timer.join()
            assert client.push("x") == FULL
    finally:
        signal.signal(signal.SIGUSR1, before)


FORKING = """
import os, sys
from instant_recall import Client
client = Client(sys.argv[1], deadline_ms=5000)
assert client.push("parent").block == "parent"
child = os.fork()
for n in range(200):
    who = f"{'parent' if child else 'child'}-{n}"
    if client.push(who).block != who:
        os._exit(1)
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
os._exit(0)
"""


def test_after_a_fork_parent_and_child_each_get_their_own_answers() -> None:
    def handle(connection: socket.socket) -> None:
        while True:
            body = msgspec.json.decode(read_request(connection))
            connection.sendall(answer(msgspec.json.encode(PushResponse(block=body["request"]))))

    with raw_server(handle) as server:
        subprocess.run([sys.executable, "-c", FORKING, server.home], check=True, timeout=60)
        assert server.connections == 2


def test_the_async_twin_answers_and_keeps_to_the_deadline_too() -> None:
    async def go(home: Path) -> None:
        client = AsyncClient(home, deadline_ms=DEADLINE_MS)
        started = time.monotonic()
        pushes = await asyncio.gather(*(client.push("x") for _ in range(100)))
        assert time.monotonic() - started < DEADLINE_MS / 1000 + 2 * SLACK_S
        assert {pushed.reason for pushed in pushes} == {"deadline"}
        assert (await client.push(cast(Any, None))).reason == "error"
        assert (await client.push("x", deadline_ms=cast(Any, "soon"))).reason == "error"
        assert (await client.push("x", nonsense=1)).reason == "error"

    with raw_server(never) as server:
        asyncio.run(go(server.home))
