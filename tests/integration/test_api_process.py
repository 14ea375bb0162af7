"""The server as a process of its own: stopped, hung, killed, started twice, restarted under a living client."""

from __future__ import annotations

import contextlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from instant_recall import Client
from instant_recall.api.auth import hash_token, store_new_token, stored_token_hash, token_file
from instant_recall.api.messages import PushResponse
from instant_recall.api.server import Tcp, create_app, serve
from instant_recall.events.errors import AlreadyRunning, LogUnavailable, NotRunning, RecallError
from instant_recall.events.settings import Settings
from instant_recall.tests.api_stand_in import StandIn, serving, wait_until


@contextlib.contextmanager
def server_process(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "instant_recall.tests.api_stand_in", str(home), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            yield process
        finally:
            process.kill()


def rest_of(process: subprocess.Popen[str]) -> list[str]:
    """What a server still says until its end."""
    out, _ = process.communicate(timeout=15)
    return out.splitlines()


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_the_service_is_closed(home: Path, how: signal.Signals) -> None:
    with server_process(home) as process:
        assert Client(home, deadline_ms=5_000).push("x").block == "x"
        process.send_signal(how)
        assert rest_of(process)[-1] == "closed"
        assert process.returncode == 0
    assert not Settings.from_env(home).api_socket.exists()


def test_a_write_under_way_is_answered_before_it_stops(home: Path) -> None:
    with server_process(home, "slow-writes") as process:
        answers: list[str] = []
        writing = threading.Thread(target=lambda: answers.append(Client(home).remember("x").item))
        writing.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGTERM)
        writing.join(15)
        assert answers == ["note:x"]
        assert rest_of(process)[-1] == "closed"


def test_a_hung_server_costs_a_push_its_deadline_and_a_woken_one_answers_again(home: Path) -> None:
    with server_process(home) as process:
        client = Client(home, deadline_ms=200, timeout_s=0.2)
        assert client.push("x", deadline_ms=5_000).block == "x"
        process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(3):
                started = time.monotonic()
                assert client.push("x") == PushResponse(reason="deadline")
                assert time.monotonic() - started < 0.5
            with pytest.raises(LogUnavailable, match="may or may not be stored"):
                client.remember("x")
        finally:
            process.send_signal(signal.SIGCONT)
        assert client.push("y", deadline_ms=5_000).block == "y"


def test_a_client_lives_through_a_kill_and_a_restart(home: Path) -> None:
    client = Client(home, deadline_ms=5_000)
    with server_process(home) as process:
        assert client.push("one").block == "one"
        process.kill()
        process.wait(5)
        assert client.push("two") == PushResponse(reason="unreachable")
        with pytest.raises(NotRunning, match="instant-recall up"):
            client.remember("x")
    assert Settings.from_env(home).api_socket.exists()  # a killed server leaves its socket, which is no hindrance
    with server_process(home):
        assert client.push("three").block == "three"
        assert client.remember("x").item == "note:x"


def test_a_second_server_on_the_same_socket_is_refused_and_the_first_goes_on() -> None:
    with serving(StandIn()) as home:
        second = StandIn()
        with pytest.raises(AlreadyRunning):
            serve(create_app(cast(Any, second)), socket_path=Settings.from_env(home).api_socket)
        assert second.closed
        assert Client(home, deadline_ms=5_000).push("x").block == "x"


def test_a_socket_that_another_program_answers_on_is_left_alone(home: Path) -> None:
    path = Settings.from_env(home).api_socket
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(AlreadyRunning):
            serve(create_app(cast(Any, StandIn())), socket_path=path)
    assert path.exists()


def test_a_file_in_the_sockets_place_is_not_removed(home: Path) -> None:
    path = Settings.from_env(home).api_socket
    path.parent.mkdir()
    path.write_text("somebody's")
    with pytest.raises(RecallError, match="is no socket"):
        serve(create_app(cast(Any, StandIn())), socket_path=path)
    assert path.read_text() == "somebody's"


def test_two_that_start_at_once_become_one_server(home: Path) -> None:
    path = Settings.from_env(home).api_socket
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    command = [sys.executable, "-m", "instant_recall.tests.api_stand_in", str(home)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        wait_until(lambda: any(process.poll() is not None for process in both), 20)
        loser, winner = sorted(both, key=lambda process: process.poll() is None)
        assert "AlreadyRunning" in loser.communicate(timeout=5)[1]
        assert winner.stdout is not None
        assert winner.stdout.readline() == "started\n"
        assert Client(home, deadline_ms=5_000).push("x").block == "x"
    finally:
        for process in both:
            process.kill()
            process.communicate()


def test_a_taken_port_is_a_clear_error_and_the_socket_is_given_up(home: Path) -> None:
    path = Settings.from_env(home).api_socket
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        service = StandIn()
        with pytest.raises(RecallError, match=f"127.0.0.1:{port} .*Choose another port"):
            serve(create_app(cast(Any, service)), socket_path=path, tcp=Tcp(port), token_hash=hash_token("x"))
    assert service.closed
    assert not path.exists()


def test_tcp_without_a_token_is_refused(home: Path) -> None:
    with pytest.raises(RecallError, match="token"):
        serve(create_app(cast(Any, StandIn())), socket_path=Settings.from_env(home).api_socket, tcp=Tcp(1))


def test_a_socket_path_that_is_too_long_is_a_clear_error(home: Path) -> None:
    long = home / ("x" * 120) / "api.sock"
    with pytest.raises(RecallError, match="Choose another data folder"):
        serve(create_app(cast(Any, StandIn())), socket_path=long)


# --- the token's file -------------------------------------------------------------------------------------------------


def test_a_new_token_replaces_the_old_and_only_its_hash_is_kept_for_the_owner_alone(home: Path) -> None:
    assert stored_token_hash(home) == ""
    first, second = store_new_token(home), store_new_token(home)
    assert stored_token_hash(home) == hash_token(second) != hash_token(first)
    assert second not in token_file(home).read_text()
    assert stat.S_IMODE(token_file(home).stat().st_mode) == 0o600


def test_a_token_file_that_is_damaged_or_open_to_others_is_refused(home: Path) -> None:
    store_new_token(home)
    token_file(home).chmod(0o644)
    with pytest.raises(RecallError, match="open to other users"):
        stored_token_hash(home)
    for damage in (b"", b"short", b"\xff" * 64, b"a" * 64 + b"\n" + b"b" * 64):
        token_file(home).unlink()
        token_file(home).write_bytes(damage)
        token_file(home).chmod(0o600)
        with pytest.raises(RecallError, match="make a new token"):
            stored_token_hash(home)
