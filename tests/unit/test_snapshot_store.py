"""Generations are published whole or not at all, and a reader always finds the newest good one."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from instant_recall.events.errors import CorruptSnapshot, IncompatibleSnapshot, NotFound, SnapshotFailed, StaleBuild
from instant_recall.events.position import START, Position
from instant_recall.projections.manifest import MANIFEST
from instant_recall.projections.snapshot_store import SnapshotStore
from structlog.testing import capture_logs


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "snapshots", clock=lambda: 1767225600000)


def _write(text: str = "text") -> Callable[[Path], dict[str, int]]:
    def write(directory: Path) -> dict[str, int]:
        (directory / "docs").mkdir()
        (directory / "docs" / "items.bin").write_text(text)
        return {"items": 1}

    return write


def _publish(store: SnapshotStore, count: int = 1) -> None:
    for _ in range(count):
        at = Position(10 + (store.current() or 0), 0)
        store.publish(_write(f"at {at}"), position=at, encoder="e1", started_from=store.current())


def _entries(store: SnapshotStore) -> set[str]:
    return {path.name for path in store.root.iterdir()}


def _damage(store: SnapshotStore, generation: int) -> None:
    (store.root / f"gen-{generation:06d}" / "docs" / "items.bin").write_text("damaged")


def _latest(store: SnapshotStore) -> tuple[int | None, list[tuple[str, int | None]]]:
    with capture_logs() as logs:
        opened = store.latest()
    return opened.manifest.generation if opened else None, [(line["event"], line.get("generation")) for line in logs]


def test_what_is_published_is_current_and_opens_as_it_was_written(store: SnapshotStore) -> None:
    made = store.publish(_write("hello"), position=Position(5, 1), encoder="e1", started_from=None)
    opened = store.latest()
    assert opened is not None
    assert opened.manifest == made
    assert (made.generation, made.position, made.counts, made.created_at) == (1, (5, 1), {"items": 1}, 1767225600000)
    assert (opened.path / "docs" / "items.bin").read_text() == "hello"
    assert _entries(store) == {"CURRENT", "gen-000001", "publish.lock"}
    assert (store.root / "CURRENT").read_text() == "gen-000001\n"


def test_everything_is_on_the_disk_before_current_names_it(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    sync = os.fsync

    def noted(file: int) -> None:
        synced.append(os.fstat(file).st_ino)
        sync(file)

    monkeypatch.setattr(os, "fsync", noted)
    _publish(store)
    generation = store.root / "gen-000001"
    pointer = synced.index((store.root / "CURRENT").stat().st_ino)

    for path in (generation, *generation.rglob("*"), store.root):
        assert path.stat().st_ino in synced[:pointer], path
    assert store.root.stat().st_ino in synced[pointer:]


def test_a_fresh_folder_has_no_generation_and_says_nothing(store: SnapshotStore) -> None:
    assert store.current() is None
    assert store.generations() == []
    assert _latest(store) == (None, [])
    assert store.collect() == []
    assert not store.root.exists()


def test_an_empty_log_can_be_published(store: SnapshotStore) -> None:
    assert store.publish(lambda _: {}, position=START, encoder="", started_from=None).files == ()
    assert _latest(store) == (1, [])


def test_numbers_go_up_and_each_generation_stays_as_it_was(store: SnapshotStore) -> None:
    _publish(store, 3)
    assert store.generations() == [1, 2, 3]
    assert [store.open(number).manifest.position.ms for number in (1, 2, 3)] == [10, 11, 12]


def test_only_this_user_can_enter_the_folder(store: SnapshotStore) -> None:
    _publish(store)
    assert store.root.stat().st_mode & 0o777 == 0o700
    assert (store.root / "gen-000001").stat().st_mode & 0o777 == 0o700


def test_a_builder_that_started_from_an_older_generation_loses_and_leaves_nothing(store: SnapshotStore) -> None:
    _publish(store, 2)
    before = _entries(store)
    with pytest.raises(StaleBuild, match="Generation 2 was published while"):
        store.publish(_write(), position=Position(99, 0), encoder="e1", started_from=1)
    assert store.current() == 2
    assert _entries(store) == before


def test_of_builders_at_the_same_time_exactly_one_wins(store: SnapshotStore) -> None:
    _publish(store)
    together = threading.Barrier(6)
    outcomes: list[str] = []

    def build() -> None:
        own = SnapshotStore(store.root)
        started_from = own.current()

        def write(directory: Path) -> dict[str, int]:
            together.wait(timeout=20)
            return _write()(directory)

        try:
            outcomes.append(
                f"won {own.publish(write, position=START, encoder='', started_from=started_from).generation}"
            )
        except StaleBuild:
            outcomes.append("lost")

    threads = [threading.Thread(target=build) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [*["lost"] * 5, "won 2"]
    assert _entries(store) == {"CURRENT", "gen-000001", "gen-000002", "publish.lock"}


def test_a_writer_that_fails_leaves_the_old_generation_and_no_trace(store: SnapshotStore) -> None:
    _publish(store)
    before = _entries(store)

    def write(directory: Path) -> dict[str, int]:
        _write()(directory)
        raise KeyError("items")

    with pytest.raises(KeyError):
        store.publish(write, position=START, encoder="", started_from=1)
    assert _entries(store) == before
    assert _latest(store) == (1, [])


@pytest.mark.parametrize("step", ["written", "synced", "described", "renamed", "verified", "pointer_written"])
def test_an_error_after_any_step_leaves_the_old_generation_and_no_trace(store: SnapshotStore, step: str) -> None:
    _publish(store)
    before = _entries(store)

    def fail(done: str) -> None:
        if done == step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    failing = SnapshotStore(store.root, after_step=fail)
    with pytest.raises(SnapshotFailed, match=r"No space left on device.*Free some space"):
        failing.publish(_write(), position=START, encoder="", started_from=1)
    assert _entries(store) - {"CURRENT.tmp"} == before
    assert _latest(store) == (1, [])
    _publish(store)
    assert _latest(store) == (2, [])


def test_a_timeout_right_after_the_switch_does_not_take_the_new_generation_away(store: SnapshotStore) -> None:
    def time_out(done: str) -> None:
        if done == "current":
            raise TimeoutError

    with pytest.raises(SnapshotFailed):
        SnapshotStore(store.root, after_step=time_out).publish(_write(), position=START, encoder="", started_from=None)
    assert _latest(store) == (1, [])


def test_what_reads_back_differently_is_never_current(store: SnapshotStore) -> None:
    _publish(store)

    def damage(done: str) -> None:
        if done == "renamed":
            _damage(store, 2)

    with pytest.raises(CorruptSnapshot):
        SnapshotStore(store.root, after_step=damage).publish(_write(), position=START, encoder="", started_from=1)
    assert store.generations() == [1]
    assert _latest(store) == (1, [])


def test_a_full_disk_is_a_clear_error_and_leaves_the_old_generation(store: SnapshotStore) -> None:
    """The limit on a file's size stands in for the disk: the kernel refuses the write in the same place."""
    _publish(store)
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from instant_recall.projections.snapshot_store import SnapshotStore\n"
        "from instant_recall.events.position import START\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "write = lambda directory: {'items': (directory / 'big').write_bytes(b'x' * 50_000)}\n"
        "SnapshotStore(Path(sys.argv[1])).publish(write, position=START, encoder='', started_from=1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, store.root], check=False, capture_output=True, text=True, timeout=60
    )
    assert "SnapshotFailed: The snapshot could not be written below" in done.stderr
    assert _entries(store) == {"CURRENT", "gen-000001", "publish.lock"}
    assert _latest(store) == (1, [])


def test_a_link_in_the_place_of_the_folder_is_refused(store: SnapshotStore, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    store.root.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="is not a folder of this user"):
        _publish(store)


# --- reading damaged folders ------------------------------------------------------------------------------------------


def test_a_damaged_generation_gives_way_to_the_newest_good_one_before_it(store: SnapshotStore) -> None:
    _publish(store, 4)
    _damage(store, 4)
    (store.root / "gen-000003" / MANIFEST).unlink()
    assert _latest(store) == (2, [("snapshot.corrupt", 4), ("snapshot.corrupt", 3)])


def test_when_every_generation_is_damaged_there_is_none(store: SnapshotStore) -> None:
    _publish(store, 2)
    _damage(store, 1)
    _damage(store, 2)
    assert _latest(store) == (None, [("snapshot.corrupt", 2), ("snapshot.corrupt", 1)])


def test_a_current_that_points_nowhere_gives_way_to_an_older_generation(store: SnapshotStore) -> None:
    _publish(store, 2)
    shutil.rmtree(store.root / "gen-000002")
    assert _latest(store) == (1, [("snapshot.corrupt", 2)])


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\n",
        b"\x00\xff\xfe",
        b"gen-",
        b"gen-2",
        b"../gen-000002",
        b"gen-000002/../..",
        b"gen-000002\ngen-000001",
        b"x" * 9_999,
    ],
)
def test_a_garbled_current_gives_way_to_the_newest_good_generation(store: SnapshotStore, garbage: bytes) -> None:
    _publish(store, 2)
    (store.root / "CURRENT").write_bytes(garbage)
    assert store.current() is None
    assert _latest(store) == (2, [("snapshot.corrupt", None)])


def test_a_missing_current_gives_way_to_the_newest_good_generation(store: SnapshotStore) -> None:
    _publish(store, 2)
    (store.root / "CURRENT").unlink()
    assert _latest(store) == (2, [])


def test_a_folder_in_the_place_of_current_is_survived(store: SnapshotStore) -> None:
    _publish(store)
    (store.root / "CURRENT").unlink()
    (store.root / "CURRENT").mkdir()
    assert _latest(store) == (1, [("snapshot.corrupt", None)])


def test_another_format_gives_way_and_is_told_from_damage(store: SnapshotStore) -> None:
    _publish(store, 2)
    (store.root / "gen-000002" / MANIFEST).write_text('{"format": 99}')
    assert _latest(store) == (1, [("snapshot.incompatible", 2)])
    with pytest.raises(IncompatibleSnapshot):
        store.open(2)


def test_a_generation_by_another_encoder_is_passed_over_when_asked(store: SnapshotStore) -> None:
    store.publish(_write(), position=START, encoder="old", started_from=None)
    store.publish(_write(), position=START, encoder="new", started_from=1)
    with capture_logs() as logs:
        opened = store.latest(encoder="old")
        assert store.latest(encoder="third") is None
    assert opened is not None
    assert opened.manifest.generation == 1
    assert [line["event"] for line in logs] == ["snapshot.incompatible"] * 3


def test_generations_newer_than_current_are_not_read(store: SnapshotStore) -> None:
    """Somebody set CURRENT back on purpose: then what is newer is what they wanted to get away from."""
    _publish(store, 3)
    (store.root / "CURRENT").write_text("gen-000002\n")
    _damage(store, 2)
    assert _latest(store) == (1, [("snapshot.corrupt", 2)])


def test_a_generation_under_another_number_is_corrupt(store: SnapshotStore) -> None:
    _publish(store)
    (store.root / "gen-000001").rename(store.root / "gen-000004")
    with pytest.raises(CorruptSnapshot, match="that of generation 1"):
        store.open(4)


def test_a_generation_that_is_a_link_is_not_found(store: SnapshotStore, tmp_path: Path) -> None:
    _publish(store)
    (store.root / "gen-000001").rename(tmp_path / "gen-000001")
    (store.root / "gen-000001").symlink_to(tmp_path / "gen-000001")
    assert store.generations() == []
    with pytest.raises(NotFound):
        store.open(1)


def test_a_folder_removed_while_in_use_reads_as_empty_and_can_be_published_to(store: SnapshotStore) -> None:
    _publish(store, 2)
    shutil.rmtree(store.root)
    assert _latest(store) == (None, [])
    _publish(store)
    assert _latest(store) == (1, [])


def test_a_folder_removed_during_a_build_is_a_clear_error(store: SnapshotStore) -> None:
    _publish(store)

    def write(directory: Path) -> dict[str, int]:
        shutil.rmtree(store.root)
        return _write()(directory)

    with pytest.raises(SnapshotFailed, match="No such file"):
        store.publish(write, position=START, encoder="", started_from=1)


@pytest.mark.parametrize("harm", ["garbled", "nowhere", "corrupt"])
def test_the_next_publish_mends_a_bad_folder_under_a_number_never_used_before(store: SnapshotStore, harm: str) -> None:
    _publish(store, 3)
    if harm == "garbled":
        (store.root / "CURRENT").write_text("?")
    elif harm == "nowhere":
        (store.root / "CURRENT").write_text("gen-000009\n")
    else:
        _damage(store, 3)
    _publish(store)
    assert _latest(store) == (10 if harm == "nowhere" else 4, [])


# --- collecting -------------------------------------------------------------------------------------------------------


def test_collect_keeps_current_and_the_newest_before_it(store: SnapshotStore) -> None:
    _publish(store, 5)
    assert store.collect(keep=3) == [1, 2]
    assert store.collect(keep=3) == []
    assert store.collect(keep=1) == [3, 4]
    assert store.generations() == [5]
    with pytest.raises(ValueError, match="at least"):
        store.collect(keep=0)


def test_collect_removes_what_a_dead_builder_renamed_but_never_made_current(store: SnapshotStore) -> None:
    _publish(store, 2)
    shutil.copytree(store.root / "gen-000002", store.root / "gen-000003")
    assert store.collect() == [3]
    assert store.current() == 2


def test_collect_removes_a_damaged_generation_that_is_not_in_use(store: SnapshotStore) -> None:
    _publish(store, 5)
    (store.root / "gen-000003" / "manifest.json").unlink()
    (store.root / "gen-000004" / "docs" / "items.bin").write_text("harmed!")
    (store.root / "gen-000005" / "docs" / "items.bin").write_text("harmed!")
    assert store.collect(keep=3) == [3, 4]  # the current one goes when there is another
    assert store.generations() == [1, 2, 5]


def test_collect_without_a_current_keeps_the_newest(store: SnapshotStore) -> None:
    _publish(store, 4)
    (store.root / "CURRENT").unlink()
    assert store.collect(keep=2) == [1, 2]


def test_collect_removes_what_dead_builders_left_and_spares_a_live_one(store: SnapshotStore) -> None:
    _publish(store)
    left = store.root / f"gen-000002.tmp-{os.getpid()}-0badcafe"
    left.mkdir()
    (left / "items.bin").write_text("half")
    seen: list[str] = []

    def write(directory: Path) -> dict[str, int]:
        SnapshotStore(store.root).collect()
        seen.extend(path.name for path in store.root.glob("*.tmp-*"))
        return _write()(directory)

    store.publish(write, position=START, encoder="", started_from=1)
    assert len(seen) == 1
    assert seen[0].startswith(f"gen-000002.tmp-{os.getpid()}-")
    assert not left.exists()


def test_collect_leaves_what_is_not_ours(store: SnapshotStore) -> None:
    _publish(store, 2)
    (store.root / "gen-notes").mkdir()
    (store.root / "gen-000001.bak").mkdir()
    (store.root / "README").write_text("mine")
    store.collect(keep=1)
    assert _entries(store) == {"CURRENT", "gen-000002", "publish.lock", "gen-notes", "gen-000001.bak", "README"}


def test_a_generation_that_cannot_be_removed_is_said_and_tried_again(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _publish(store, 2)

    def refuse(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched, capture_logs() as logs:
        patched.setattr(shutil, "rmtree", refuse)
        assert store.collect(keep=1) == []
    assert [(line["event"], line["path"]) for line in logs] == [("snapshot.not_removed", "gen-000001")]
    assert _latest(store) == (2, [])
    assert store.collect(keep=1) == [1]


def test_a_file_that_is_open_goes_on_working_after_its_generation_was_collected(store: SnapshotStore) -> None:
    _publish(store)
    opened = store.open(1)
    with (opened.path / "docs" / "items.bin").open() as stream:
        _publish(store)
        assert store.collect(keep=1) == [1]
        assert stream.read() == "at 10-0"


def test_the_manifest_on_disk_is_readable_and_says_what_made_it(store: SnapshotStore) -> None:
    _publish(store)
    found = json.loads((store.root / "gen-000001" / MANIFEST).read_text())
    assert set(found) == {
        "format", "generation", "position", "encoder", "package", "usearch", "counts", "files", "created_at",
    }  # fmt: skip
