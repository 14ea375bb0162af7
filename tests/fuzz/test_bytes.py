"""What is no HTTP, or lies: whatever is written into the socket, the next good request is answered well and at once."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import statistics
import time
from contextlib import ExitStack, suppress

import pytest
from instant_recall.tests.fuzz_target import Target
from instant_recall.tests.helpers import wait_until

LONG = int(os.environ.get("INSTANT_RECALL_FUZZ_BYTES") or 20_000)
GROWTH_BYTES = 24 << 20
"""What is not freed again after thousands of wrong requests is no more than this: the allocator keeps some."""

POST = b"POST /v1/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GOOD = POST + b'Content-Length: 15\r\n\r\n{"request":"x"}'
WRONG = {
    "nothing": b"",
    "a line end": b"\r\n" * 1_000,
    "no request line": b"\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "zero bytes": bytes(1_000),
    "a greeting of TLS": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(40),
    "HTTP/0.9": b"GET /healthz\r\n",
    "HTTP/9.9": b"GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "another scheme": b"GET gopher://x/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a proxy's request": b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n",
    "a path out of here": b"GET /../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a path of bytes": b"GET /%ff%fe%00%0d%0a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a path that is not ASCII": "GET /ü HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    "a query of bytes": b"GET /v1/status?as_of=%ff%00&reader=%c3%28 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a very long path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "a huge header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
    "10,000 headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
    "a header without a colon": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n",
    "a header of bytes": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: \xff\x00\x01\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
    "a token of bytes": b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    "a token without end": b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
    + b"a" * 50_000
    + b"\r\n\r\n",
    "two tokens": b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n" + b"Authorization: Bearer a\r\n" * 2 + b"\r\n",
    "two lengths": POST + b'Content-Length: 15\r\nContent-Length: 2\r\n\r\n{"request":"x"}',
    "a length and chunks": POST + b"Content-Length: 15\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GOOD,
    "a negative length": POST + b'Content-Length: -1\r\n\r\n{"request":"x"}',
    "a length that is no number": POST + b'Content-Length: 0x0f\r\n\r\n{"request":"x"}',
    "a length without end": POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{",
    "a length that is a lie": POST + b'Content-Length: 100\r\n\r\n{"request":"x"}',
    "a length too short": POST + b'Content-Length: 3\r\n\r\n{"request":"x"}',
    "a chunk that is a lie": POST + b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"request":"x"}\r\n0\r\n\r\n',
    "a chunk of a negative size": POST + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n",
    "a chunk without end": POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{",
    "a chunk's extension without end": POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * 200_000,
    "chunks within chunks": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": POST + b"Transfer-Encoding: gzip\r\n\r\n\x1f\x8b",
    "a body that is squeezed": POST + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    "a body that is too long": POST + b"Content-Length: 9000000\r\n\r\n" + b"x" * 9_000_000,
    "deep JSON": POST + b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
    "deep JSON in a body": POST
    + b"Content-Length: 100014\r\n\r\n"
    + b'{"request":'
    + b"[" * 50_000
    + b"]" * 50_000
    + b"}  ",
    "half a character": POST + b'Content-Length: 20\r\n\r\n{"request":"\\ud83d"}',
    "bytes that are no text": POST + b'Content-Length: 17\r\n\r\n{"request":"\xff\xfe"}',
    "an upgrade": b"GET /v1/push HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
    "a promise to go on": POST + b"Expect: 100-continue\r\nContent-Length: 15\r\n\r\n",
    "another expectation": POST + b'Expect: a miracle\r\nContent-Length: 15\r\n\r\n{"request":"x"}',
    "another method": b"BREW /v1/push HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a method without end": b"G" * 100_000,
    "a thousand at once": GOOD * 1_000,
}


def sent(target: Target, data: bytes, *, tcp: bool, half_closed: bool = False, read_s: float = 0.0) -> bytes:
    """Write bytes into a fresh connection and drop it; what was answered within `read_s`."""
    with suppress(ConnectionError, TimeoutError), target.connect(tcp=tcp) as link:
        link.settimeout(2)
        link.sendall(data)
        if half_closed:
            link.shutdown(socket.SHUT_WR)
        if read_s:
            link.settimeout(read_s)
            return link.recv(1 << 16)
    return b""


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_whatever_is_written_the_next_good_request_is_answered_at_once(target: Target, tcp: bool) -> None:
    for what, data in WRONG.items():
        for half_closed in (False, True):
            answer = sent(target, data, tcp=tcp, half_closed=half_closed, read_s=0.02)
            assert not answer.startswith(b"HTTP/1.1 5"), (what, answer)
        target.answers_well()


def test_over_tcp_nothing_wrong_is_answered_with_anything_but_a_refusal(target: Target) -> None:
    for what, data in WRONG.items():
        answer = sent(target, data, tcp=True, read_s=0.02)
        assert b" 200 " not in answer.partition(b"\r\n")[0] or b"/healthz" in data, (what, answer)


def wrong_bytes(chance: random.Random) -> bytes:
    """A good request with something done to it, or bytes of no sense at all."""
    if chance.random() < 0.3:
        return chance.randbytes(chance.randrange(2_000))
    data = bytearray(chance.choice([GOOD, *WRONG.values()])[:5_000] or GOOD)
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                del data[place : place + chance.randrange(1, 20)]
            case 2:
                data[place:place] = chance.randbytes(chance.randrange(1, 20))
            case _:
                data[place:place] = data[: chance.randrange(1, 60)]
        data = data or bytearray(GOOD)
    return bytes(data)


def rain(target: Target, number: int, seed: int) -> None:
    chance = random.Random(seed)
    for n in range(number):
        read_s = 0.01 if n % 10 == 0 else 0.0
        answer = sent(
            target, wrong_bytes(chance), tcp=chance.random() < 0.5, half_closed=chance.random() < 0.3, read_s=read_s
        )
        assert not answer.startswith(b"HTTP/1.1 5"), answer
        if n % 500 == 499:
            target.answers_well()


def test_random_bytes_harm_nothing(target: Target) -> None:
    rain(target, 300, seed=1)
    target.answers_well()


def drop(target: Target, number: int, *, tcp: bool) -> None:
    """Open connections and drop them, some with half a request in them."""
    for n in range(number):
        with suppress(ConnectionError, TimeoutError, BlockingIOError), target.connect(tcp=tcp) as link:
            if n % 3 == 0:
                link.sendall(GOOD[: n % len(GOOD)])


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_connections_that_are_opened_and_dropped_leave_nothing_behind(target: Target, tcp: bool) -> None:
    target.answers_well()
    files = target.files()
    drop(target, 1_000, tcp=tcp)
    target.answers_well()
    wait_until(lambda: target.files() <= files + 3, 10, "an end of the dropped connections")


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_connections_that_are_kept_open_shut_nobody_out(target: Target, tcp: bool) -> None:
    with ExitStack() as stack:
        for n in range(1_500):
            try:
                link = stack.enter_context(target.connect(tcp=tcp))
                link.sendall(GOOD[: n % len(GOOD)])  # a slow loris
            except (BlockingIOError, ConnectionError, TimeoutError):
                continue
            except OSError:  # as many files as this process may open
                break
            if n % 250 == 0:
                target.answers_well()
        target.answers_well()
    wait_until(lambda: target.files() < 300, 10, "an end of the dropped connections")


def test_an_answer_over_tcp_does_not_wait_for_the_other_side_to_say_that_it_has_its_first_half(target: Target) -> None:
    link = http.client.HTTPConnection("127.0.0.1", target.port, timeout=10)
    took = []
    try:
        for _ in range(15):
            began = time.perf_counter()
            link.request("GET", "/v1/status", headers={"Authorization": f"Bearer {target.token}"})
            assert json.loads(link.getresponse().read())["owner"] == "owner"
            took.append(time.perf_counter() - began)
    finally:
        link.close()
    assert statistics.median(took) < 0.035  # it would be over 0.040


@pytest.mark.fuzz
def test_after_thousands_of_wrong_requests_the_process_is_as_it_was(target: Target) -> None:
    rain(target, 2_000, seed=2)
    drop(target, 2_000, tcp=True)
    before, files, began = target.memory(), target.files(), time.monotonic()
    rain(target, LONG, seed=3)
    for tcp in (False, True):
        drop(target, 10_000, tcp=tcp)
        target.answers_well()
    wait_until(lambda: target.files() <= files + 3, 20, "an end of the dropped connections")
    grown = target.memory() - before
    print(  # noqa: T201
        f"{LONG:,} wrong requests and 20,000 dropped connections in {time.monotonic() - began:.0f} s, "
        f"memory {before / 1e6:.0f} MB -> {grown / 1e6:+.1f} MB, a push after it {target.answers_well() * 1e3:.1f} ms"
    )
    assert grown < GROWTH_BYTES
