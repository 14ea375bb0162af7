"""The HTTP edge over a real socket: routes, failures, limits, log lines, the token."""

from __future__ import annotations

import http.client
import json
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from instant_recall import Client
from instant_recall.api.auth import hash_token, make_token
from instant_recall.events.errors import (
    CorruptSnapshot,
    InvalidEvent,
    LogFull,
    LogUnavailable,
    NotFound,
    NotRunning,
    RecallError,
    Refused,
)
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemMuted
from instant_recall.tests.api_stand_in import StandIn, serving, wait_until
from structlog.testing import capture_logs

JSON = {"Content-Type": "application/json"}


def ask(home: Path, verb: str, path: str, body: bytes | None = None) -> tuple[int, Any, http.client.HTTPMessage]:
    """One request over the Unix socket, without our client."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(Settings.from_env(home).api_socket))
    return _answer(connection, verb, path, body, JSON)


def ask_tcp(port: int, headers: dict[str, str], path: str = "/v1/status") -> tuple[int, Any, http.client.HTTPMessage]:
    """One GET over TCP."""
    return _answer(http.client.HTTPConnection("127.0.0.1", port), "GET", path, None, headers)


def _answer(
    connection: http.client.HTTPConnection, verb: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, Any, http.client.HTTPMessage]:
    try:
        connection.request(verb, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null"), answer.headers
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# --- what is asked and answered ---------------------------------------------------------------------------------------


def test_every_call_of_the_client_reaches_the_service() -> None:
    with serving(service := StandIn()) as home:
        client = Client(home, deadline_ms=5_000)
        assert client.push("find it").block == "find it"
        assert client.push("").reason == "trivial_turn"
        assert client.search("x", min_position="5-0").position == "5-0"
        assert client.open("note:x").text == "text of x"
        assert client.publish([ItemMuted(item="a"), ItemMuted(item="b")]).position == "1-0"
        assert client.helped("a").position == "0-0"
        assert service.written == [] and client.remember("x").event_id == service.written[0]
        assert client.correct("request", "skill:x").item == "skill:x"
        assert client.status().owner == "owner"
        assert ask(home, "GET", "/healthz")[:2] == (200, {"status": "ok"})
        assert ask(home, "GET", "/openapi.json")[1]["openapi"] == "3.1.0"


@pytest.mark.parametrize("request_", ["🦊 עברית", "line\r\nends", "nul \x00", "x" * 100_000])
def test_any_text_comes_through_as_it_is(request_: str) -> None:
    with serving(StandIn()) as home:
        assert Client(home, deadline_ms=5_000).push(request_).block == request_


def test_eight_threads_share_one_client() -> None:
    with serving(StandIn()) as home, ThreadPoolExecutor(8) as pool:
        client = Client(home, deadline_ms=10_000)
        asked = [f"request {n}" for n in range(400)]
        assert [pushed.block for pushed in pool.map(client.push, asked)] == asked


def test_a_write_that_waits_for_the_disk_does_not_hold_up_a_push() -> None:
    service = StandIn()
    service.hold = threading.Event()
    with serving(service) as home, ThreadPoolExecutor(1) as pool:
        client = Client(home, deadline_ms=5_000)
        writing = pool.submit(client.remember, "x")
        assert service.held.wait(5)
        assert client.push("meanwhile").block == "meanwhile"
        assert not writing.done()
        service.hold.set()
        assert writing.result(5).item == "note:x"


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"not json", "malformed"),
        (b"", "truncated"),
        (b"[1]", "Expected `object`"),
        (b"{}", "`request`"),
        (b'{"request": 5}', "$.request"),
        (b'{"request": "x", "scope": ["lab"]}', "unknown field `scope`"),
        (b'{"request": "\xff\xfe"}', "UTF-8"),
        (b'{"request": "\\ud800"}', "not as the route wants it"),
        (b'{"request": "x", "recent": ' + b"[" * 100_000, "not as the route wants it"),
    ],
)
def test_a_body_that_is_not_as_described_is_refused_with_the_place(body: bytes, named: str) -> None:
    with serving(StandIn()) as home:
        status, answer, _ = ask(home, "POST", "/v1/push", body)
    assert (status, answer["error"]) == (400, "invalid")
    assert named in answer["message"]


def test_a_deeply_nested_event_body_is_refused_and_the_server_goes_on() -> None:
    deep = b'{"events": [{"type": "x", "body": {"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}]}"
    with serving(StandIn()) as home:
        assert ask(home, "POST", "/v1/publish", deep)[0] == 400
        assert Client(home).status().owner == "owner"


@pytest.mark.parametrize("extra", [1, 1024 * 1024])
def test_a_body_over_8_mib_is_refused(extra: int) -> None:
    body = b'{"request": "' + b"x" * (8 * 1024 * 1024 + extra) + b'"}'
    with serving(StandIn()) as home:
        status, answer, _ = ask(home, "POST", "/v1/push", body)
    assert (status, answer["error"]) == (413, "invalid")
    assert "8 MiB" in answer["message"]


def test_another_method_and_an_unknown_route_are_refused_in_the_form_of_all_failures() -> None:
    with serving(StandIn()) as home:
        status, answer, headers = ask(home, "GET", "/v1/push")
        assert (status, answer["error"], headers["allow"]) == (405, "invalid", "POST")
        assert "POST" in answer["message"]
        status, answer, _ = ask(home, "POST", "/v2/push", b"{}")
        assert (status, answer["error"]) == (404, "not_found")
        assert ask(home, "POST", "/v1/push/", b"{}")[0] == 404


@pytest.mark.parametrize(
    ("failure", "status", "raised"),
    [
        (NotFound("there is none"), 404, NotFound),
        (Refused("not you"), 403, Refused),
        (InvalidEvent("field x"), 400, InvalidEvent),
        (LogUnavailable("log is away"), 503, LogUnavailable),
        (NotRunning("log is away"), 503, LogUnavailable),
        (LogFull("disk is full"), 507, LogFull),
        (RecallError("'x' is not a position"), 400, InvalidEvent),
    ],
)
def test_a_failure_of_the_service_keeps_its_kind_and_words(
    failure: Exception, status: int, raised: type[RecallError]
) -> None:
    service = StandIn()
    service.failure = failure
    with serving(service) as home:
        assert ask(home, "GET", "/v1/status")[0] == status
        with pytest.raises(raised, match=str(failure)):
            Client(home).status()


@pytest.mark.parametrize("failure", [KeyError("the secret request"), CorruptSnapshot("the secret request")])
def test_a_failure_inside_is_told_by_an_id_and_never_by_its_text(failure: Exception) -> None:
    service = StandIn()
    service.failure = failure
    with serving(service) as home, capture_logs() as lines:
        status, answer, _ = ask(home, "GET", "/v1/status")
        wait_until(lambda: len(lines) == 2)
    failed = lines[0]
    assert (status, answer["error"]) == (500, "internal")
    assert failed["event"] == "request.failed"
    assert failed["error"] == type(failure).__name__
    assert failed["error_id"] in answer["message"]
    assert "secret" not in f"{answer} {lines}"


# --- the log line -----------------------------------------------------------------------------------------------------


def test_each_request_leaves_one_line_with_ids_and_counts_and_no_text() -> None:
    with serving(StandIn()) as home, capture_logs() as lines:
        client = Client(home, deadline_ms=5_000)
        client.push("the secret request")
        wrote = client.remember("the secret text")
        ask(home, "GET", "/the/secret/path")
        ask(home, "POST", "/v1/push", b'{"request": "the secret request", "more": 1}')
        wait_until(lambda: len(lines) == 4)
    told = [(line["event"], line["method"], line["route"], line["status"]) for line in lines]
    assert told == [
        ("request.served", "POST", "/v1/push", 200),
        ("request.served", "POST", "/v1/remember", 200),
        ("request.served", "GET", "unknown", 404),
        ("request.served", "POST", "/v1/push", 400),
    ]
    assert lines[0]["pointers"] == 1
    assert lines[1]["event_ids"] == [wrote.event_id]
    assert all(line["ms"] >= 0 for line in lines)
    assert "secret" not in str(lines)


# --- who may come in --------------------------------------------------------------------------------------------------


def test_the_socket_and_its_folder_are_the_owners_alone() -> None:
    with serving(StandIn()) as home:
        path = Settings.from_env(home).api_socket
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_over_tcp_the_token_is_asked_for_and_over_the_socket_it_is_not() -> None:
    token, port = make_token(), free_port()
    with serving(StandIn(), tcp_port=port, token_hash=hash_token(token)) as home, capture_logs() as lines:
        assert ask(home, "GET", "/v1/status")[0] == 200
        assert ask_tcp(port, {"Authorization": f"Bearer {token}"})[0] == 200
        wrong = [
            {},
            {"Authorization": ""},
            {"Authorization": token},
            {"Authorization": f"Basic {token}"},
            {"Authorization": "Bearer "},
            {"Authorization": f"Bearer {token}x"},
            {"Authorization": f"Bearer {hash_token(token)}"},
            {"X-Forwarded-For": "unix", "Forwarded": "for=unix"},
        ]
        for headers in wrong:
            for path in ("/v1/status", "/healthz", "/openapi.json", "/none"):
                status, answer, sent = ask_tcp(port, headers, path)
                assert (status, answer["error"], sent["www-authenticate"]) == (401, "refused", "Bearer")
        assert token not in str(lines)


def test_the_client_reaches_tcp_with_the_token_and_is_refused_without() -> None:
    token, port = make_token(), free_port()
    with serving(StandIn(), tcp_port=port, token_hash=hash_token(token)):
        url = f"http://127.0.0.1:{port}"
        assert Client(url=url, token=token, deadline_ms=5_000).push("find it").block == "find it"
        assert Client(url=url, token="w" + token, deadline_ms=5_000).push("x").reason == "refused"
        assert Client(url=url, deadline_ms=5_000).push("x").reason == "refused"
        with pytest.raises(Refused, match="token"):
            Client(url=url).status()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:80", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost@evil.example", 403),
        ("", 403),
    ],
)
def test_over_tcp_a_host_of_another_name_is_refused_even_with_the_token(host: str, status: int) -> None:
    token, port = make_token(), free_port()
    with serving(StandIn(), tcp_port=port, token_hash=hash_token(token)):
        assert ask_tcp(port, {"Authorization": f"Bearer {token}", "Host": host})[0] == status


# --- the background ---------------------------------------------------------------------------------------------------


def test_newer_snapshots_are_looked_for_and_a_failure_there_is_told_once_and_ends_nothing() -> None:
    service = StandIn()
    service.refresh_failure = OSError("the secret path")
    with serving(service) as home, capture_logs() as lines:
        wait_until(lambda: service.refreshed >= 3)
        assert Client(home, deadline_ms=5_000).push("x").block == "x"
        wait_until(lambda: len(lines) >= 2)
    assert service.closed
    failed = [line for line in lines if line["event"] == "background.failed"]
    assert [(line["work"], line["error"]) for line in failed] == [("refresh", "OSError")]
    assert "secret" not in str(lines)
