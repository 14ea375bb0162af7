"""Snapshots large enough for a graph, built anew and brought up to date. (The limit is lowered for the test.)"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import ItemForgotten
from instant_recall.projections import building
from instant_recall.projections.building import build
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.snapshot import latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, answers, encoder, note

THINGS = ("camera", "kettle", "printer", "ferry", "garden", "invoice", "scanner", "recipe", "bicycle", "telescope")
PLACES = ("bench", "kitchen", "office", "harbour", "shed", "desk", "hall", "oven", "road", "roof")


@pytest.fixture(autouse=True)
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "EXACT_UP_TO", 50)


def grown(log: MemoryEventLog) -> None:
    notes = [note(f"{a}-{b}", f"The {a} stands near the {b}") for a in THINGS for b in PLACES]
    log.append([draft(each, occurred_at=NOW) for each in notes])


def graph_bytes(store: SnapshotStore) -> bytes:
    opened = store.latest()
    assert opened is not None
    return (opened.path / "assets/texts.usearch").read_bytes()


def test_an_updated_snapshot_answers_as_one_built_from_zero(tmp_path: Path) -> None:
    log, store, fresh = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path / "a"), SnapshotStore(tmp_path / "b")
    grown(log)
    build(log, store, encoder())
    changes = [note("camera-bench", "Now it says something about whales"), note("new", "An anchor lies on the beach")]
    log.append([draft(each, occurred_at=NOW) for each in changes])
    build(log, store, encoder())
    build(log, fresh, encoder(), full=True)
    requests = ["whales", "anchor on the beach", "the telescope near the roof", "camera near the bench"]

    for request in requests:
        updated, anew = (answers(Overlay(latest_base(s, encoder()), encoder()), [request])[0] for s in (store, fresh))
        assert updated[:3] == anew[:3]


def test_the_vector_of_a_forgotten_item_is_in_no_file_of_the_next_snapshot(tmp_path: Path) -> None:
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    grown(log)
    log.append([draft(note("secret", "zeppelin nutmeg"), occurred_at=NOW)])
    build(log, store, encoder())
    vector = np.asarray(encoder().bulk.encode(["secret zeppelin nutmeg"])[0], dtype=np.float16).tobytes()
    before = graph_bytes(store)
    log.append([draft(ItemForgotten(item="note:secret"), occurred_at=NOW)])
    build(log, store, encoder())

    assert vector in before
    opened = store.latest()
    assert opened is not None
    for file in filter(Path.is_file, opened.path.rglob("*")):
        content = file.read_bytes()
        assert vector not in content
        assert b"zeppelin" not in content
