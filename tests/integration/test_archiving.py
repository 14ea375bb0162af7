"""Events move from a real server into real files; whatever goes wrong on the way, each is there once."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import redis
from instant_recall.events.archive import Archive
from instant_recall.events.connect import connect, log_on, open_log
from instant_recall.events.envelope import RecordedEvent, draft
from instant_recall.events.errors import ArchiveFailed, CorruptArchive, LogFull, LogGap
from instant_recall.events.position import LARGEST, START, Position
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.events.types import LogArchived, NoteRecorded
from instant_recall.ops import embedded
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.contract.event_log import names, note, read_all
from instant_recall.workers.archiving import Archiver, archive_log, limit
from instant_recall.workers.jobs import build_snapshot
from instant_recall.workers.queue import enqueue_archive, queue
from instant_recall.workers.schedule import nightly_id
from instant_recall.workers.trimming import Stream
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.worker import SimpleWorker

EVERYTHING = Position(LARGEST, 0)
STEPS = ("read", "payloads_written", "segment_written", "written", "verified", "trimmed", "told")


class World:
    """A log on the session's server with a data folder of its own."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.archive = Archive(settings.archive_dir, settings.owner)
        self.log = log_on(client, settings)
        self.stream = Stream(client, settings.owner)
        self.store = SnapshotStore(settings.snapshots_dir)
        self.archiver = Archiver(self.log, self.stream, self.archive)

    def record(self, first: int, count: int) -> list[Position]:
        return [one.position for one in self.log.append([note(str(n)) for n in range(first, first + count)])]

    def snapshot_at(self, position: Position) -> None:
        def write(folder: Path) -> dict[str, int]:
            (folder / "items").write_bytes(b"some")
            return {"items": 1}

        self.store.publish(write, position=position, encoder="e", started_from=self.store.current())

    def run(self, **wanted: Any) -> dict[str, Any]:
        wanted = {"older_than": 0, "at_least": 1, **wanted}
        return archive_log(str(self.settings.home), self.settings.redis_url, self.settings.owner, **wanted)

    def in_stream(self) -> int:
        return int(self.client.xlen(f"ir:{{{self.settings.owner}}}:log"))

    def fresh(self) -> RedisEventLog:
        return log_on(self.client, self.settings)

    def notes(self) -> list[str]:
        return names(read_all(self.fresh(), 7))

    def told(self) -> list[LogArchived]:
        return [one.event for one in read_all(self.fresh(), 1_000) if isinstance(one.event, LogArchived)]


@pytest.fixture
def world(embedded_client: redis.Redis, embedded_settings: Settings, owner: str, tmp_path: Path) -> World:
    url = f"unix://{embedded_settings.server_socket}"
    return World(embedded_client, Settings(home=tmp_path, redis_url=url, owner=owner))


def numbers(count: int) -> list[str]:
    return [str(n) for n in range(count)]


# --- what is moved ----------------------------------------------------------------------------------------------------


def test_archived_events_leave_the_server_and_are_read_as_before(world: World) -> None:
    positions = world.record(0, 30)
    before = read_all(world.log, 7)

    segment = world.archiver.move(positions[19])

    assert segment is not None
    assert (segment.first, segment.last) == (positions[0], positions[19])
    assert world.in_stream() == 11  # ten of ours, and the one that tells of it
    assert int(world.client.hlen(f"ir:{{{world.settings.owner}}}:payloads")) == 10
    assert read_all(world.log, 7)[:30] == before
    assert read_all(world.fresh(), 1_000)[:30] == before
    assert world.log.trimmed() == positions[19]
    [told] = world.told()
    assert told == LogArchived(segment=segment.path.name, first=str(positions[0]), last=str(positions[19]))


def test_an_archived_event_sent_again_is_still_the_event_that_is_there(world: World) -> None:
    first = note("first")
    [stored] = world.log.append([first])
    world.archiver.move(EVERYTHING)

    [again] = world.log.append([first])

    assert again == (stored.position, True)
    assert world.notes() == ["first"]


def test_only_what_the_oldest_kept_snapshot_has_is_moved(world: World) -> None:
    positions = world.record(0, 30)
    world.snapshot_at(positions[9])
    world.snapshot_at(positions[19])

    facts = world.run()

    assert json.loads(json.dumps(facts)) == facts
    assert facts["through"] == facts["limit"] == str(positions[9])
    assert facts["held_by"] == "snapshot 1"
    assert world.log.trimmed() == positions[9]
    assert world.notes() == numbers(30)


def test_without_a_snapshot_nothing_is_moved(world: World) -> None:
    world.record(0, 5)

    facts = world.run()

    assert (facts["segments"], facts["held_by"]) == ([], "there is no snapshot yet")
    assert world.in_stream() == 5


def test_a_snapshot_that_nobody_can_start_from_holds_nothing_back(world: World) -> None:
    positions = world.record(0, 20)
    world.snapshot_at(positions[4])
    world.snapshot_at(positions[9])
    (world.settings.snapshots_dir / "gen-000001" / "manifest.json").write_bytes(b"garbage")

    assert world.run()["through"] == str(positions[9])


@pytest.mark.parametrize("acknowledged", [True, False])
def test_what_a_consumer_group_still_needs_stays(world: World, acknowledged: bool) -> None:
    positions = world.record(0, 20)
    world.snapshot_at(positions[-1])
    key = f"ir:{{{world.settings.owner}}}:log"
    world.client.xgroup_create(key, "readers", "0")
    [[_, entries]] = cast("list[Any]", world.client.xreadgroup("readers", "one", {key: ">"}, count=10))
    if acknowledged:
        world.client.xack(key, "readers", *[at for at, _ in entries])
    else:
        world.client.xack(key, "readers", *[at for at, _ in entries if at != str(positions[4]).encode()])

    facts = world.run()

    assert facts["held_by"] == "the group readers"
    assert world.log.trimmed() == positions[9 if acknowledged else 3]
    assert world.notes() == numbers(20)


def test_what_the_reactor_has_not_handled_stays_though_its_group_is_lost(world: World) -> None:
    positions = world.record(0, 20)
    world.snapshot_at(positions[-1])
    world.client.hset(f"ir:{{{world.settings.owner}}}:reactor", "checkpoint", str(positions[6]))

    assert world.run()["held_by"] == "the checkpoint of reactor"
    assert world.log.trimmed() == positions[6]


def test_young_events_stay_unless_they_take_too_much_room(world: World) -> None:
    positions = world.record(0, 20)
    world.snapshot_at(positions[-1])

    assert world.run(older_than=1)["segments"] == []
    assert len(world.run(older_than=1, keep_bytes=0)["segments"]) == 1

    assert world.log.trimmed() == positions[-1]
    assert world.notes() == numbers(20)


def test_what_is_too_much_goes_oldest_first_until_it_is_not(world: World) -> None:
    for n in range(8):
        world.log.append([note(str(n), text=random.Random(n).randbytes(500_000).hex())])
    world.snapshot_at(world.log.last_position())
    keep = world.stream.bytes_used() // 2

    facts = world.run(older_than=1, keep_bytes=keep)

    assert facts["log_bytes"] <= keep
    assert names(world.log.read(world.log.trimmed())) == ["5", "6", "7"]
    assert world.notes() == numbers(8)


def test_a_few_old_events_are_not_worth_a_segment_every_night(world: World) -> None:
    positions = world.record(0, 20)
    world.snapshot_at(positions[-1])

    assert world.run(at_least=21)["segments"] == []
    assert len(world.run(at_least=20)["segments"]) == 1
    assert world.run(at_least=1)["segments"] == []


def test_segments_have_a_size_and_follow_one_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("instant_recall.workers.archiving.SEGMENT_EVENTS", 10)
    positions = world.record(0, 35)
    world.snapshot_at(positions[-1])

    assert len(world.run()["segments"]) == 4

    assert [one.number for one in world.archive.segments()] == [1, 2, 3, 4]
    assert world.notes() == numbers(35)
    assert len(world.told()) == 4


def test_erased_text_is_erased_from_the_archive_too(world: World) -> None:
    secret = note("secret", text="the secret")
    world.log.append([note("before"), secret])
    world.archiver.move(EVERYTHING)

    assert world.fresh().erase_payload(secret.event_id) is True
    assert world.fresh().erase_payload(secret.event_id) is False

    assert [one.erased for one in world.log.read(START, 2)] == [False, True]
    assert not any(b"the secret" in (one.payload or b"") for one in world.archive.read(START, 10))


def test_the_log_of_another_owner_is_not_touched(world: World) -> None:
    other = RedisEventLog(world.client, f"{world.settings.owner}-other")
    other.append([note("theirs")])
    world.record(0, 5)

    world.archiver.move(EVERYTHING)

    assert names(other.read(START)) == ["theirs"]
    assert other.trimmed() == START


# --- what goes wrong on the way ---------------------------------------------------------------------------------------

DYING = """
import os, sys
from pathlib import Path
from instant_recall.events.archive import Archive
from instant_recall.events.connect import connect
from instant_recall.events.position import Position
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.workers.archiving import Archiver
from instant_recall.workers.trimming import Stream

root, url, owner, last_step = sys.argv[1:]

def die(step):
    if step == last_step:
        os._exit(9)

client = connect(Settings(home=Path(root), redis_url=url, owner=owner))
archive = Archive(Path(root), owner, after_step=die)
log = RedisEventLog(client, owner, archive=archive)
Archiver(log, Stream(client, owner), archive, after_step=die).move(Position(1 << 60, 0))
"""


@pytest.mark.parametrize("step", STEPS)
def test_an_archiver_that_dies_after_any_step_loses_nothing_and_the_next_one_ends_its_work(
    world: World, step: str
) -> None:
    world.record(0, 20)
    secret = note("20", text="the secret")
    world.log.append([secret])
    arguments = [str(world.archive.root), world.settings.redis_url, world.settings.owner, step]
    assert subprocess.run([sys.executable, "-c", DYING, *arguments], check=False, timeout=60).returncode == 9

    assert world.notes() == numbers(21)
    assert world.fresh().erase_payload(secret.event_id) is True
    world.archiver.finish()
    while world.archiver.move(EVERYTHING, at_least=2):
        pass

    [left] = [one for one in read_all(world.fresh(), 1_000) if one.event_id == secret.event_id]
    assert left.erased
    assert world.notes() == [*numbers(20), ""]
    assert [one.segment for one in world.told()] == [one.path.name for one in world.archive.segments()]
    assert world.in_stream() == 1
    assert not any(b"the secret" in (one.payload or b"") for one in world.archive.read(START, 100))
    assert not list(world.archive.root.glob("*.tmp"))


@pytest.mark.parametrize("step", ["written", "verified"])
def test_text_that_is_erased_while_it_is_moved_does_not_come_back(world: World, step: str) -> None:
    world.record(0, 5)
    secret = note("secret", text="the secret")
    world.log.append([secret])

    def erase(done: str) -> None:
        if done == step:
            # As a process without the archive does it: then only the archiver itself can notice.
            world.client.hdel(f"ir:{{{world.settings.owner}}}:payloads", secret.event_id)

    Archiver(world.log, world.stream, world.archive, after_step=erase).move(EVERYTHING)

    assert world.log.trimmed() > START
    assert [one.payload for one in world.archive.read(START, 10)][5] is None
    assert [one.erased for one in world.fresh().read(START, 6)] == [False] * 5 + [True]


def test_erasing_and_archiving_at_the_same_time_leaves_no_text_behind(world: World) -> None:
    drafts = [note(str(n), text="the secret") for n in range(60)]
    world.log.append(drafts)
    done = threading.Event()

    def erase() -> None:
        for one in drafts:
            assert world.fresh().erase_payload(one.event_id) is True
        done.set()

    thread = threading.Thread(target=erase)
    thread.start()
    while not done.is_set():
        world.archiver.move(EVERYTHING, most_bytes=2_000)
    thread.join()
    world.archiver.move(EVERYTHING)

    assert all(one.erased for one in read_all(world.fresh(), 100) if isinstance(one.event, NoteRecorded))
    assert not any(one.payload for one in world.fresh().stored(START, 60))


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_full_disk_stops_the_archiver_and_nothing_has_left_the_server(
    world: World, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record(0, 20)
    world.snapshot_at(world.log.last_position())
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ArchiveFailed, match="nothing left the log"):
            world.run()
    assert world.in_stream() == 20
    assert world.notes() == numbers(20)

    world.run()
    assert world.notes() == numbers(20)
    assert len(world.told()) == 1


def test_a_disk_that_keeps_something_else_than_was_written_is_noticed_before_the_trim(world: World) -> None:
    world.record(0, 20)

    def rot(step: str) -> None:
        if step == "segment_written":
            [segment] = world.archive.segments()
            data = segment.path.read_bytes()
            segment.path.write_bytes(data[:-5] + b"\0" * 5)

    rotten = Archive(world.archive.root, world.settings.owner, after_step=rot)
    with pytest.raises(CorruptArchive):
        Archiver(world.log, world.stream, rotten).move(EVERYTHING)
    assert world.in_stream() == 20

    assert world.archiver.finish() == []
    world.archiver.move(EVERYTHING)
    assert world.notes() == numbers(20)


def test_of_two_archivers_with_folders_of_their_own_only_one_moves_events(world: World, tmp_path: Path) -> None:
    positions = world.record(0, 20)
    elsewhere = Archive(tmp_path / "elsewhere", world.settings.owner)

    def interfere(step: str) -> None:
        if step == "verified":
            world.archiver.move(EVERYTHING)

    other = Archiver(world.log, world.stream, elsewhere, after_step=interfere)
    with pytest.raises(ArchiveFailed, match="Another process archives"):
        other.move(positions[9])

    assert world.notes() == numbers(20)
    with pytest.raises(LogGap, match=r"archived up to .* ends at"):
        other.finish()


def test_an_archive_that_is_newer_than_a_restored_server_is_not_overwritten(world: World) -> None:
    world.record(0, 20)
    world.archiver.move(EVERYTHING)
    for key in ("log", "ids", "payloads", "trimmed"):
        world.client.delete(f"ir:{{{world.settings.owner}}}:{key}")
    world.record(0, 20)
    files = {path.name: path.read_bytes() for path in world.archive.root.glob("*.zst")}

    with pytest.raises(CorruptArchive, match="older backup"):
        world.archiver.finish()

    assert {path.name: path.read_bytes() for path in world.archive.root.glob("*.zst")} == files
    assert world.in_stream() == 20


def test_a_server_at_its_memory_limit_can_be_relieved(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    with closing(connect(settings)) as client:
        world = World(client, settings)
        world.record(0, 200)
        world.snapshot_at(world.log.last_position())
        client.config_set("maxmemory", 1)
        with pytest.raises(LogFull, match="memory limit"):  # the log cannot be told of it yet
            world.archiver.move(EVERYTHING)
        assert world.in_stream() == 0
        client.config_set("maxmemory", 0)
        world.run()
        assert world.notes() == numbers(200)
        assert len(world.told()) == 1


# --- reading when the archive is not whole ----------------------------------------------------------------------------


def test_a_log_without_its_archive_refuses_to_pass_over_the_gap(world: World) -> None:
    positions = world.record(0, 20)
    world.archiver.move(positions[9])

    with pytest.raises(LogGap, match="no archive is at hand"):
        RedisEventLog(world.client, world.settings.owner).read(START)
    with pytest.raises(LogGap, match="no archive is at hand"):
        RedisEventLog(world.client, world.settings.owner).erase_payload(world.log.read(START, 1)[0].event_id)

    assert names(RedisEventLog(world.client, world.settings.owner).read(positions[9])) == numbers(20)[10:]


def test_a_gap_between_archive_and_stream_names_both_ends(world: World) -> None:
    positions = world.record(0, 20)
    world.archiver.move(positions[4])
    world.archiver.move(positions[9])
    world.archive.segments()[1].path.unlink()

    log = world.fresh()
    with pytest.raises(LogGap, match=rf"behind {positions[4]} and up to {positions[9]} left the server"):
        log.read(START)
    assert names(log.read(START, 5)) == numbers(5)
    assert names(log.read(positions[9])) == numbers(20)[10:]


def test_whoever_starts_from_a_snapshot_needs_no_archive(world: World) -> None:
    from instant_recall.api.follower import Follower
    from instant_recall.projections.meaning.encoders import load_encoders

    world.record(0, 20)
    build_snapshot(str(world.settings.home), world.settings.redis_url, world.settings.owner)
    assert len(world.run()["segments"]) == 1
    world.record(20, 3)
    shutil.rmtree(world.settings.archive_dir)

    with closing(connect(world.settings)):
        log = open_log(world.settings)
    follower = Follower(log, load_encoders(), SnapshotStore(world.settings.snapshots_dir))

    with follower.at_tail(1.0) as (overlay, complete):
        assert complete
        assert len(list(overlay.state.all())) == 23
    build_snapshot(str(world.settings.home), world.settings.redis_url, world.settings.owner)
    with pytest.raises(LogGap):
        build_snapshot(str(world.settings.home), world.settings.redis_url, world.settings.owner, full=True)


def test_a_replay_from_zero_reads_archive_and_stream_as_one(world: World) -> None:
    from instant_recall.projections.state import State

    world.record(0, 50)
    world.log.append([draft(NoteRecorded(item="note:7", name="7", text="changed"))])
    build_snapshot(str(world.settings.home), world.settings.redis_url, world.settings.owner)

    def replay() -> dict[str, Any]:
        state = State()
        for event in read_all(world.fresh(), 13):
            state.apply(event)
        return {item.id: item for item in state.all()}

    before = replay()
    assert len(world.run()["segments"]) == 1

    assert replay() == before
    facts = build_snapshot(str(world.settings.home), world.settings.redis_url, world.settings.owner, full=True)
    assert facts["counts"]["items"] == 50


# --- by command and at night ------------------------------------------------------------------------------------------


def test_the_command_archives_and_tells_what_it_did(world: World) -> None:
    world.record(0, 20)
    world.snapshot_at(world.log.last_position())
    env = {**os.environ, "REDIS_URL": world.settings.redis_url, "INSTANT_RECALL_OWNER": world.settings.owner}
    command = [sys.executable, "-m", "instant_recall.ops.cli", "--home", str(world.settings.home), "archive"]

    told = subprocess.run([*command, "--older-than", "0", "--json"], env=env, capture_output=True, check=True)
    again = subprocess.run(command, env=env, capture_output=True, check=True, text=True)

    facts = json.loads(told.stdout)
    assert facts["segments"] == [one.path.name for one in world.archive.segments()]
    assert facts["archive_bytes"] > 0
    assert again.stdout.startswith("Nothing to archive")
    assert "snapshot 1" in again.stdout
    assert world.notes() == numbers(20)


def test_the_nightly_job_archives_by_the_limits_that_were_set(world: World) -> None:
    world.record(0, 20)
    world.snapshot_at(world.log.last_position())
    settings = replace(world.settings, keep_bytes=1)
    job_id = nightly_id(settings, 0, "archive")
    assert job_id.startswith("archive-1970-01-01-")

    enqueue_archive(settings, job_id=job_id)
    enqueue_archive(settings, job_id=job_id)
    jobs = queue(world.client, settings.owner)
    SimpleWorker([jobs], connection=world.client, serializer=JSONSerializer).work(burst=True, logging_level="WARNING")

    facts = Job.fetch(job_id, connection=world.client, serializer=JSONSerializer).return_value()
    assert facts is not None
    assert facts["segments"] == [one.path.name for one in world.archive.segments()] != []
    assert world.notes() == numbers(20)


def test_limits_are_read_without_opening_a_snapshot(world: World) -> None:
    positions = world.record(0, 5)
    world.snapshot_at(positions[2])
    (world.settings.snapshots_dir / "gen-000001" / "items").unlink()

    assert limit(world.store, world.stream) == (positions[2], "snapshot 1")


# --- a million --------------------------------------------------------------------------------------------------------


@pytest.fixture
def big(home: Path) -> Iterator[World]:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    with closing(connect(settings)) as client:
        yield World(client, settings)


@pytest.mark.soak
def test_the_start_with_a_million_archived_events_is_that_of_the_newest_snapshot(
    big: World, capsys: pytest.CaptureFixture[str]
) -> None:
    from time import monotonic

    from instant_recall.api.follower import Follower
    from instant_recall.events.types import ItemOpened
    from instant_recall.projections.meaning.encoders import load_encoders

    began = monotonic()
    big.record(0, 2_000)
    for _ in range(200):
        big.log.append([draft(ItemOpened(item=f"note:{n % 2_000}", reader="owner")) for n in range(5_000)])
    appended = monotonic() - began
    build_snapshot(str(big.settings.home))
    before = big.stream.bytes_used()

    began = monotonic()
    facts = big.run()
    archived = monotonic() - began
    assert facts["through"] == facts["limit"]
    ids = int(big.client.memory_usage("ir:{owner}:ids", samples=100) or 0)

    def start() -> float:
        began = monotonic()
        Follower(log_on(big.client, big.settings), load_encoders(), SnapshotStore(big.settings.snapshots_dir))
        return monotonic() - began

    start()
    with_archive = start()
    big.archive.root.rename(big.archive.root.with_name("away"))
    without = start()
    big.archive.root.with_name("away").rename(big.archive.root)

    began = monotonic()
    last: list[RecordedEvent] = []
    count, log = 0, log_on(big.client, big.settings)
    while page := log.read(last[-1].position if last else START, 5_000):
        count, last = count + len(page), page
    replayed = monotonic() - began
    assert count >= 1_002_000
    with capsys.disabled():
        sys.stdout.write(
            f"\n1,002,000 events: appended in {appended:.0f} s, archived in {archived:.1f} s; "
            f"{before / 1e6:.0f} MB in the server, then {facts['log_bytes'] / 1e6:.1f} MB and {ids / 1e6:.0f} MB of "
            f"ids, {facts['archive_bytes'] / 1e6:.1f} MB of files\n"
            f"start from the snapshot {with_archive:.3f} s, with no archive folder at all {without:.3f} s; "
            f"reading all of it from the archive {replayed:.1f} s, {count / replayed:,.0f} events a second\n"
        )
    assert with_archive < 5
