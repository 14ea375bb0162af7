"""Backup and restore on real servers: what comes back answers as what was saved did, every position as it was."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from instant_recall.api.auth import store_new_token, stored_token_hash
from instant_recall.api.messages import PushRequest
from instant_recall.api.service import Service
from instant_recall.events.archive import Archive
from instant_recall.events.codec import Stored
from instant_recall.events.connect import connect, open_log
from instant_recall.events.envelope import draft
from instant_recall.events.errors import AlreadyRunning, CorruptBackup, LogFull, LogGap, RecallError
from instant_recall.events.position import START, Position
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemForgotten, ItemMuted, NoteRecorded, OwnershipCorrected
from instant_recall.ops import embedded
from instant_recall.ops.backup import backup, restore
from instant_recall.ops.mending import mend_archive
from instant_recall.ops.raw_log import RawEvent, RawLog
from instant_recall.ops.running_lock import sole_runner
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.small_world import encoder
from instant_recall.workers.jobs import build_snapshot
from instant_recall.workers.trimming import Stream

ASKED = ["which lens does the camera take?", "the long one", "calibrate the sensor", "use lens 3"]


@pytest.fixture
def here(embedded_settings: Settings, owner: str, tmp_path: Path) -> Settings:
    """A data folder whose log is in the session's server."""
    return at(embedded_settings, tmp_path / "here", owner)


@pytest.fixture(scope="module")
def second_server() -> Iterator[Settings]:
    """A server of another machine."""
    folder = Path(tempfile.mkdtemp(prefix="ir-"))
    settings = Settings(home=folder)
    try:
        embedded.ensure_running(settings)
        yield settings
    finally:
        embedded.stop(settings)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def there(second_server: Settings, owner: str, tmp_path: Path) -> Settings:
    """Another machine: an empty data folder, and the other server."""
    return at(second_server, tmp_path / "there", owner)


def at(server: Settings, home: Path, owner: str) -> Settings:
    home.mkdir()
    return Settings(home=home, redis_url=f"unix://{server.server_socket}", owner=owner)


def build(settings: Settings) -> str:
    return str(build_snapshot(str(settings.home), settings.redis_url, settings.owner)["outcome"])


def archive(settings: Settings) -> None:
    """Move all there is into the archive, without the snapshot that archiving would wait for."""
    kept, events = Archive(settings.archive_dir, settings.owner), stored(settings)
    with kept.lock(), closing(connect(settings)) as client:
        kept.write(events)
        assert Stream(client, settings.owner).trim(events, START) == []


def fill(settings: Settings) -> None:
    """Notes, a correction, a mute, an erased text; the first part archived."""
    log = open_log(settings)
    notes = [
        draft(NoteRecorded(item=f"note:{n}", name=f"lens {n}", text=f"the long lens of camera {n}")) for n in range(9)
    ]
    log.append(notes)
    log.append([draft(ItemMuted(item="note:5")), draft(ItemForgotten(item="note:6"))])
    log.erase_payload(notes[6].event_id)
    archive(settings)
    log.append([draft(OwnershipCorrected(item="note:3", request="calibrate the sensor"))])
    assert log.trimmed() > START


def answers(settings: Settings) -> list[object]:
    """What a replay from zero would push, and what it knows."""
    events: list[object] = []
    log = open_log(settings)
    service = Service(log, encoder(), record=events.append)
    return [
        [(p.item, p.score, p.line) for p in service.push(PushRequest(request=request), now=1_800_000_000_000).pointers]
        for request in ASKED
    ]


def stored(settings: Settings) -> list[Stored]:
    return open_log(settings).stored(START, 1_000)


def test_after_a_restore_every_answer_and_every_position_is_as_before(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    fill(here)
    store_new_token(here.home)
    before = answers(here), stored(here), open_log(here).last_position()
    report = backup(here, tmp_path / "b.tar.zst")
    assert (report.position, report.archive_files, report.damaged) == (str(before[2]), 2, ())

    restored = restore(there, tmp_path / "b.tar.zst")
    assert restored.events == report.events
    assert (answers(there), stored(there), open_log(there).last_position()) == before
    assert stored_token_hash(there.home) == stored_token_hash(here.home)
    assert open_log(there).trimmed() == open_log(here).trimmed()


def test_an_event_that_was_archived_or_restored_is_still_stored_once(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    log = open_log(here)
    drafts = [draft(NoteRecorded(item="note:1", text="the long lens"))]
    at = log.append(drafts)[0].position
    archive(here)
    assert log.trimmed() >= at
    backup(here, tmp_path / "b.tar.zst")
    restore(there, tmp_path / "b.tar.zst")
    assert [tuple(one) for one in open_log(there).append(drafts)] == [(at, True)]
    later = open_log(there).append([draft(ItemMuted(item="note:1"))])[0]
    assert later.position > open_log(here).last_position()


def test_snapshots_of_before_are_not_needed_and_those_made_after_answer_the_same(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    fill(here)
    backup(here, tmp_path / "b.tar.zst")
    restore(there, tmp_path / "b.tar.zst")
    before = answers(here)
    assert build(there) == "published"
    service = Service(open_log(there), encoder(), SnapshotStore(there.snapshots_dir), record=lambda _: None)
    pushed = [
        [(p.item, p.score, p.line) for p in service.push(PushRequest(request=asked), now=1_800_000_000_000).pointers]
        for asked in ASKED
    ]
    assert pushed == before


def test_a_backup_while_somebody_writes_is_whole_at_one_position(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    fill(here)
    stop, log = threading.Event(), open_log(here)

    def write() -> None:
        n = 0
        while not stop.is_set():
            log.append(
                [draft(NoteRecorded(item=f"note:w{n}", text="a short lens")), draft(ItemMuted(item=f"note:w{n}"))]
            )
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: len(open_log(here).read(START, 200)) > 50, what="some writing")
        report = backup(here, tmp_path / "b.tar.zst")
    finally:
        stop.set()
        writer.join()
    until = Position.parse(report.position)
    restore(there, tmp_path / "b.tar.zst")
    assert stored(there) == [one for one in open_log(here).stored(START, 100_000) if one.position <= until]
    assert open_log(here).last_position() > until


def test_an_event_that_this_version_cannot_read_is_kept_byte_for_byte(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    log = open_log(here)
    log.append([draft(ItemMuted(item="note:1"))])
    with closing(connect(here)) as client:
        client.xadd(f"ir:{{{here.owner}}}:log", {"id": "from-the-future", "e": b"\x00\xff not ours"})
    backup(here, tmp_path / "b.tar.zst")
    restore(there, tmp_path / "b.tar.zst")
    assert stored(there) == stored(here)


def test_an_empty_log_can_be_saved_and_put_back(here: Settings, there: Settings, tmp_path: Path) -> None:
    assert backup(here, tmp_path / "b.tar.zst").events == 0
    assert restore(there, tmp_path / "b.tar.zst").position == "0-0"
    assert open_log(there).last_position() == START


def test_where_there_is_a_log_nothing_is_replaced_unless_asked_and_then_it_is_kept(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    fill(here)
    fill(there)
    mine = stored(there)
    backup(here, tmp_path / "b.tar.zst")
    with pytest.raises(RecallError, match="--replace"):
        restore(there, tmp_path / "b.tar.zst")
    assert stored(there) == mine
    with closing(connect(there)) as client:
        client.hset(f"ir:{{{there.owner}}}:reactor", "checkpoint", "9999999999999-0")
        report = restore(there, tmp_path / "b.tar.zst", replace=True)
        assert not client.exists(f"ir:{{{there.owner}}}:reactor"), "a checkpoint of another log"
    assert stored(there) == stored(here)
    assert SnapshotStore(there.snapshots_dir).generations() == []
    restore(there, Path(report.kept_before), replace=True)
    assert stored(there) == mine


def test_snapshots_of_another_log_are_in_the_way_too(here: Settings, there: Settings, tmp_path: Path) -> None:
    fill(here)
    build(here)
    backup(here, tmp_path / "b.tar.zst")
    shutil.copytree(here.snapshots_dir, there.snapshots_dir)
    with pytest.raises(RecallError, match="--replace"):
        restore(there, tmp_path / "b.tar.zst")
    restore(there, tmp_path / "b.tar.zst", replace=True)
    assert SnapshotStore(there.snapshots_dir).latest() is None


def test_a_damaged_backup_changes_nothing(here: Settings, there: Settings, tmp_path: Path) -> None:
    fill(here)
    fill(there)
    path = tmp_path / "b.tar.zst"
    backup(here, path)
    path.write_bytes(path.read_bytes()[:-200])
    mine = stored(there)
    with pytest.raises(CorruptBackup):
        restore(there, path, replace=True)
    assert stored(there) == mine
    assert not list(there.home.glob("before-restore-*"))
    assert not list(there.home.glob(".restore*"))


def test_what_cannot_be_right_is_refused(here: Settings, there: Settings, tmp_path: Path) -> None:
    path = tmp_path / "b.tar.zst"
    backup(here, path)
    with pytest.raises(RecallError, match="never replaces"):
        backup(here, path)
    with pytest.raises(RecallError, match="cannot be used"):
        backup(here, tmp_path / "no" / "such" / "folder" / "b.tar.zst")
    with pytest.raises(RecallError, match="cannot be used"):
        restore(there, tmp_path / "nothing.tar.zst")
    with pytest.raises(RecallError, match="INSTANT_RECALL_OWNER"):
        restore(Settings(home=there.home, redis_url=there.redis_url, owner="somebody"), path)
    with sole_runner(there), pytest.raises(AlreadyRunning, match="down"):
        restore(there, path)


def test_a_segment_that_is_missing_is_named_and_no_half_backup_is_made(here: Settings, tmp_path: Path) -> None:
    fill(here)
    for path in here.archive_dir.glob("*.zst"):
        path.unlink()
    with pytest.raises(LogGap):
        backup(here, tmp_path / "b.tar.zst")
    assert not [path for path in tmp_path.iterdir() if path != here.home]


def test_a_damaged_segment_is_told_and_the_rest_saved(here: Settings, there: Settings, tmp_path: Path) -> None:
    fill(here)
    segment = next(path for path in here.archive_dir.glob("*.zst") if "payloads" not in path.name)
    segment.write_bytes(segment.read_bytes()[:-9])
    report = backup(here, tmp_path / "b.tar.zst")
    assert report.damaged == (segment.name,)
    restore(there, tmp_path / "b.tar.zst")
    assert open_log(there).stored(open_log(there).trimmed()) == open_log(here).stored(open_log(here).trimmed())


def test_a_restore_that_the_server_has_no_room_for_leaves_the_log_as_it_was(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    fill(here)
    backup(here, tmp_path / "b.tar.zst")
    with closing(connect(there)) as client:
        client.config_set("maxmemory", "1")
        try:
            with pytest.raises(LogFull):
                restore(there, tmp_path / "b.tar.zst")
        finally:
            client.config_set("maxmemory", "0")
        assert open_log(there).last_position() == START
    restore(there, tmp_path / "b.tar.zst")
    assert stored(there) == stored(here)


def test_a_log_that_somebody_began_meanwhile_is_not_overwritten(embedded_client: redis.Redis, owner: str) -> None:
    raw = RawLog(embedded_client, owner)
    raw.write([RawEvent(Position(5, 0), b"id", b"e", None)], last=Position(7, 0), trimmed="")
    embedded_client.xadd(f"ir:{{{owner}}}:log", {"id": "x"})
    assert not raw.switch(replace=False)
    raw.drop()
    assert embedded_client.xlen(f"ir:{{{owner}}}:log") == 1


def test_an_owner_with_odd_letters_keeps_its_neighbours_keys(embedded_client: redis.Redis, owner: str) -> None:
    odd, neighbour = f"{owner}*", f"{owner}x"
    embedded_client.set(f"ir:{{{neighbour}}}:reactor", "mine")
    raw = RawLog(embedded_client, odd)
    raw.write([RawEvent(Position(5, 0), b"id", b"e", None)], last=Position(7, 0), trimmed="")
    assert raw.switch(replace=True)
    assert embedded_client.get(f"ir:{{{neighbour}}}:reactor") == b"mine"
    assert embedded_client.xinfo_stream(f"ir:{{{odd}}}:log")["last-generated-id"] == b"7-0"


def test_files_of_the_archive_that_are_damaged_or_missing_are_put_back_and_the_log_stays(
    here: Settings, tmp_path: Path
) -> None:
    fill(here)
    backup(here, tmp_path / "b.tar.zst")
    log = open_log(here)
    later = log.append([draft(ItemMuted(item="note:8"))])[0].position
    before = stored(here)
    assert mend_archive(log, here, tmp_path / "b.tar.zst").segments == ()
    segment, payloads = sorted(here.archive_dir.glob("*.zst"), key=lambda path: "payloads" in path.name)
    segment.write_bytes(segment.read_bytes()[:-9])
    assert mend_archive(log, here, tmp_path / "b.tar.zst").segments == (segment.name,)
    assert stored(here) == before
    payloads.unlink()
    assert mend_archive(log, here, tmp_path / "b.tar.zst").segments == (segment.name,)
    assert stored(here) == before
    assert open_log(here).last_position() == later


def test_a_text_that_was_erased_since_the_backup_does_not_come_back(here: Settings, tmp_path: Path) -> None:
    fill(here)
    backup(here, tmp_path / "b.tar.zst")
    log = open_log(here)
    log.append([draft(ItemForgotten(item="note:2"))])
    assert log.erase_payload(stored(here)[2].event_id.decode())
    before = stored(here)
    for path in here.archive_dir.glob("*.zst"):
        path.unlink()
    report = mend_archive(log, here, tmp_path / "b.tar.zst")
    assert (len(report.segments), report.erased) == (1, 1)
    assert stored(here) == before


def test_a_backup_of_another_owner_mends_nothing(here: Settings, there: Settings, tmp_path: Path) -> None:
    fill(here)
    backup(here, tmp_path / "b.tar.zst")
    other = Settings(home=there.home, redis_url=there.redis_url, owner="somebody")
    with pytest.raises(RecallError, match="another backup"):
        mend_archive(open_log(other), other, tmp_path / "b.tar.zst")
