"""A rollback names an older generation as the current one, after verifying it; no later write is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from instant_recall.api.messages import CorrectRequest, PushRequest, RememberRequest
from instant_recall.api.service import Service
from instant_recall.events.errors import CorruptSnapshot, IncompatibleSnapshot, NotFound, SnapshotFailed, StaleBuild
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import Position
from instant_recall.projections.building import build
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import encoder


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "snapshots")


def write(directory: Path) -> dict[str, int]:
    (directory / "items.bin").write_text("text")
    return {"items": 1}


def publish(store: SnapshotStore, count: int = 1, fill: Callable[[Path], dict[str, int]] = write) -> None:
    for _ in range(count):
        now = store.current()
        store.publish(fill, position=Position(10 + (now or 0), 0), encoder="e1", started_from=now)


def test_after_a_rollback_the_older_generation_is_read(store: SnapshotStore) -> None:
    publish(store, 3)
    assert store.rollback(1).generation == 1
    opened = store.latest()
    assert opened
    assert (store.current(), opened.manifest.generation, store.generations()) == (1, 1, [1, 2, 3])
    assert not (store.root / "CURRENT.tmp").exists()


def test_a_rollback_can_be_rolled_back(store: SnapshotStore) -> None:
    publish(store, 2)
    store.rollback(1)
    assert store.rollback(2).generation == store.current() == 2


def test_what_was_rolled_back_from_is_gone_with_the_next_publish_and_never_a_fallback(store: SnapshotStore) -> None:
    publish(store, 3)
    store.rollback(1)
    publish(store)
    assert (store.current(), store.generations()) == (4, [1, 4])
    (store.root / "gen-000004" / "items.bin").write_text("damaged")
    opened = store.latest()
    assert opened and opened.manifest.generation == 1


def test_a_rollback_to_a_damaged_generation_is_refused_and_changes_nothing(store: SnapshotStore) -> None:
    publish(store, 2)
    (store.root / "gen-000001" / "items.bin").write_text("damaged")
    with pytest.raises(CorruptSnapshot, match=r"items\.bin"):
        store.rollback(1)
    assert store.current() == 2


def test_a_rollback_to_nothing_is_refused_and_makes_no_folder(store: SnapshotStore) -> None:
    with pytest.raises(NotFound):
        store.rollback(1)
    assert not store.root.exists()


def test_a_rollback_to_what_no_reader_would_use_is_refused(store: SnapshotStore) -> None:
    publish(store, 2)
    with pytest.raises(IncompatibleSnapshot, match="e1"):
        store.rollback(1, encoder="e2")
    assert store.current() == 2
    assert store.rollback(1, encoder="e1").generation == 1


def test_a_rollback_mends_a_garbled_current(store: SnapshotStore) -> None:
    publish(store, 2)
    (store.root / "CURRENT").write_bytes(b"\xff\x00")
    store.rollback(2)
    assert store.current() == 2


def test_a_current_that_cannot_be_written_is_a_clear_error(store: SnapshotStore) -> None:
    publish(store, 2)
    (store.root / "CURRENT.tmp").mkdir()
    with pytest.raises(SnapshotFailed, match="as before"):
        store.rollback(1)
    assert store.current() == 2


def test_a_builder_that_began_before_a_rollback_is_too_late(store: SnapshotStore) -> None:
    publish(store, 2)
    building, rolled_back = threading.Event(), threading.Event()

    def slow(directory: Path) -> dict[str, int]:
        building.set()
        assert rolled_back.wait(10)
        return write(directory)

    refused: list[BaseException] = []

    def build_slowly() -> None:
        try:
            publish(store, fill=slow)
        except StaleBuild as error:
            refused.append(error)

    builder = threading.Thread(target=build_slowly)
    builder.start()
    assert building.wait(10)
    store.rollback(1)
    rolled_back.set()
    builder.join(10)
    assert len(refused) == 1
    assert store.current() == 1


def test_a_rollback_keeps_every_later_write(store: SnapshotStore) -> None:
    log = MemoryEventLog()
    service = Service(log, encoder(), store)
    service.remember(RememberRequest(text="Feeds paper to the printer", name="Lark", kind="skill"))
    build(log, store, encoder())
    service.remember(RememberRequest(text="Cuts map tiles", name="Wren", kind="skill"))
    service.correct(CorrectRequest(request="get the quarterly figures", item="skill:lark"))
    build(log, store, encoder())
    service.remember(RememberRequest(text="Tells the tides", name="Tern", kind="skill"))
    asked = ["use the Lark skill", "use the Wren skill", "get the quarterly figures", "use the Tern skill"]

    def pushed(service: Service) -> list[list[str]]:
        return [[p.item for p in service.push(PushRequest(request=request)).pointers] for request in asked]

    service.refresh()
    before = pushed(service)
    assert all(before)
    store.rollback(1)
    assert service.refresh()
    assert pushed(service) == before
    assert service.push(PushRequest(request=asked[0])).generation == 1
    assert pushed(Service(log, encoder(), store)) == before
    assert build(log, store, encoder()).generation == 3
    assert pushed(Service(log, encoder(), store)) == before
