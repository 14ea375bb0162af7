"""The reactor as `up` runs it: a bulk import leads to a snapshot by itself, and what is forgotten leaves the files."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import redis
from instant_recall.events import types as ev
from instant_recall.events.connect import connect, open_log
from instant_recall.events.envelope import draft
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.running import environment, recall, up
from instant_recall.workers.archiving import archive_log
from instant_recall.workers.dead_letters import reactor_status
from instant_recall.workers.erasing import erase
from instant_recall.workers.jobs import build_snapshot
from instant_recall.workers.queue import queue
from instant_recall.workers.reactor import Reactor

KEPT = "xyzzy: the key hangs behind the desk"
THRESHOLD = 50
REACTOR = """
from instant_recall.events.settings import Settings
from instant_recall.workers.reactor import run_reactor
run_reactor(Settings.from_env(), lease_ms=500)
"""


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=home)


@contextmanager
def reactor(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", REACTOR],
        env=environment(settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_bulk_import_past_the_threshold_leads_by_itself_to_a_snapshot(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSTANT_RECALL_REBUILD_AFTER", str(THRESHOLD))
    sections = "".join(f"\n## Lens {n}\n\nThe lens number {n} is in drawer {n}.\n" for n in range(THRESHOLD + 10))
    (tmp_path / "lenses.md").write_text(f"# Lenses\n{sections}")
    with up(settings):
        assert recall(settings, "status")["generation"] in {None, 0}
        assert recall(settings, "import", "notes", str(tmp_path))["new"] > THRESHOLD
        wait_until(lambda: recall(settings, "status")["generation"] == 1, 30, "the snapshot")
        log = open_log(settings)
        forgotten = notes(log)[0].item
        log.append([draft(ev.ItemForgotten(item=forgotten))])
        wait_until(lambda: receipts(log), 30, "the receipt")
        assert recall(settings, "replay")["same"]


def test_what_is_forgotten_leaves_the_files_and_a_receipt_names_every_place(settings: Settings) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(ev.NoteRecorded(item="note:key", text=KEPT)), draft(ev.NoteRecorded(item="note:b", text="lens"))])
    build_snapshot(str(settings.home))
    log.append([draft(ev.OwnershipCorrected(item="note:key", request="xyzzy: where is it?"))])
    assert {path.parts[len(settings.home.parts)] for path in files_with(settings, "xyzzy")} == {"log", "snapshots"}
    log.append([draft(ev.ItemForgotten(item="note:key"))])
    with closing(connect(settings)) as client:
        reactor = Reactor(settings, client)
        reactor.open()
        reactor.turn()
        [job] = queue(client).jobs
    assert erase(*job.args)["payloads"] == 2
    wait_until(lambda: not files_with(settings, "xyzzy"), 10, "the end of the old files")
    [receipt] = receipts(log)
    assert receipt.item == "note:key"
    assert set(receipt.places) == {"log and archive", "snapshots", "append-only file"}
    assert any("backups" in place for place in receipt.unreachable)
    assert [one.text for one in notes(log)] == ["", "lens"]
    assert len(SnapshotStore(settings.snapshots_dir).generations()) == 1


def test_one_erasure_takes_all_that_wait_and_the_next_finds_nothing_to_do(settings: Settings) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(ev.NoteRecorded(item=f"note:{name}", text=f"text of {name}")) for name in "abc"])
    log.append([draft(ev.SessionClosed(session="s", used=("note:a",), outcome="found the lens"))])
    log.append([draft(ev.ItemForgotten(item=f"note:{name}")) for name in "ab"])
    first = erase(str(settings.home), "note:a")
    assert (first["items"], first["payloads"]) == (["note:a", "note:b"], 2)
    assert erase(str(settings.home), "note:b") == {"outcome": "already"}
    assert erase(str(settings.home), "note:c") == {"outcome": "already"}
    assert [one.item for one in receipts(log)] == ["note:a", "note:b"]
    assert [note.text for note in notes(log)] == ["", "", "text of c"]
    [closed] = [one.event for one in log.read(START) if isinstance(one.event, ev.SessionClosed)]
    assert closed.outcome == "found the lens", "it is the session's, which nobody forgot"


def test_an_erasure_that_died_before_its_receipt_is_done_again_and_gives_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(ev.NoteRecorded(item="note:a", text=KEPT)), draft(ev.ItemForgotten(item="note:a"))])
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(RedisEventLog, "append", interrupt_at_a_receipt(RedisEventLog.append))
        erase(str(settings.home), "note:a")
    assert receipts(log) == []
    assert erase(str(settings.home), "note:a")["outcome"] == "erased"
    assert len(receipts(log)) == 1


def test_a_second_reactor_waits_until_the_first_is_gone(settings: Settings, owner: str) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings)
    with closing(connect(settings)) as client, reactor(settings) as first:
        wait_until(lambda: status(client, log).running, 10, "the first reactor")
        with reactor(settings) as second:
            log.append([draft(ev.ItemForgotten(item="note:a"))])
            wait_until(lambda: jobs(client) == 1, 10, "the first job")
            assert second.poll() is None
            first.send_signal(signal.SIGTERM)
            assert first.wait(10) == 0
            log.append([draft(ev.ItemForgotten(item="note:b"))])
            wait_until(lambda: jobs(client) == 2, 10, "the second's first job")
            second.send_signal(signal.SIGTERM)
            assert second.wait(10) == 0
        assert not status(client, log).running


def test_a_reactor_outlives_the_death_of_its_server(settings: Settings) -> None:
    embedded.ensure_running(settings)
    with reactor(settings) as process:
        with closing(connect(settings)) as client:
            wait_until(lambda: status(client, open_log(settings)).running, 10, "the reactor")
        os.kill(int((settings.log_dir / "server.pid").read_text()), signal.SIGKILL)
        embedded.ensure_running(settings)
        open_log(settings).append([draft(ev.ItemForgotten(item="note:a"))])
        with closing(connect(settings)) as client:
            wait_until(lambda: jobs(client) == 1, 20, "the job")
        assert process.poll() is None


def test_events_that_are_in_the_archive_only_are_handled_too(settings: Settings) -> None:
    """As after a restore: the log is there, what the reactor knew is not."""
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(ev.ItemForgotten(item=f"note:{n}")) for n in range(20)])
    build_snapshot(str(settings.home))
    assert archive_log(str(settings.home), older_than=0, at_least=1)["segments"]
    log.append([draft(ev.ItemForgotten(item="note:last"))])
    with reactor(settings), closing(connect(settings)) as client:
        wait_until(lambda: jobs(client) == 21, 20, "all jobs")
        names = [job.args[1] for job in queue(client).jobs]
        assert names == [*(f"note:{n}" for n in range(20)), "note:last"]


def test_from_the_command_line_one_sees_how_it_stands_and_retries_what_was_set_aside(settings: Settings) -> None:
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(ev.SnapshotPublished(generation=1, through="yesterday")), draft(ev.SessionClosed(session="s"))])
    with closing(connect(settings)) as client:
        reactor = Reactor(settings, client)
        reactor.open()
        while reactor.turn(block_ms=1):
            pass
    seen = recall(settings, "reactor")
    assert (seen["checkpoint"], seen["dead"], seen["sessions_closed"]) == (str(log.last_position()), 1, 1)
    [letter] = recall(settings, "dead-letters", "list")["dead_letters"]
    assert recall(settings, "dead-letters", "retry", letter["event_id"])["error"] == "RecallError"
    assert recall(settings, "dead-letters", "retry", "other", code=1)["error"] == "not_found"
    assert recall(settings, "reactor", "--start-over")["checkpoint"] == "0-0"


def test_a_rebuild_threshold_that_is_no_number_is_refused_by_name(settings: Settings) -> None:
    with pytest.raises(Exception, match="INSTANT_RECALL_REBUILD_AFTER"):
        Settings.from_env(settings.home, {"INSTANT_RECALL_REBUILD_AFTER": "many"})
    assert dataclasses.replace(settings).rebuild_after == 5_000


def interrupt_at_a_receipt(append):
    def interrupted(log, drafts):
        if any(isinstance(one.event, ev.ErasureCompleted) for one in drafts):
            raise KeyboardInterrupt
        return append(log, drafts)

    return interrupted


def notes(log: RedisEventLog) -> list[ev.NoteRecorded]:
    return [one.event for one in log.read(START, 10_000) if isinstance(one.event, ev.NoteRecorded)]


def receipts(log: RedisEventLog) -> list[ev.ErasureCompleted]:
    return [one.event for one in log.read(START, 10_000) if isinstance(one.event, ev.ErasureCompleted)]


def files_with(settings: Settings, text: str) -> list[Path]:
    found = []
    for path in settings.home.rglob("*"):
        try:
            if path.is_file() and text.encode() in path.read_bytes():
                found.append(path)
        except FileNotFoundError:  # removed while we looked
            continue
    return found


def status(client: redis.Redis, log: RedisEventLog):
    return reactor_status(client, "owner", log.last_position())


def jobs(client: redis.Redis) -> int:
    return int(queue(client).count)
