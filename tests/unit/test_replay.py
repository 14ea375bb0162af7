"""Replay: the fold from zero, and its comparison with what a snapshot leads to."""

from pathlib import Path

from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import ItemMuted, NoteRecorded
from instant_recall.ops.importing import BATCH, BATCH_BYTES, batches
from instant_recall.ops.replay import digest, fold, replay
from instant_recall.projections.encoder import load_encoder
from instant_recall.projections.snapshot import build
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.projections.state import State


def note(number: int, text: str = "the long lens") -> NoteRecorded:
    return NoteRecorded(item=f"note:{number}", name=f"lens {number}", text=text)


def filled(count: int) -> MemoryEventLog:
    log = MemoryEventLog()
    log.append([draft(note(number)) for number in range(count)])
    return log


def test_a_replay_folds_every_event_and_tells_of_each_batch() -> None:
    told: list[int] = []
    found = fold(filled(2_500), on_batch=told.append)
    assert (found.events, sum(told), len(list(found.state.all()))) == (2_500, 2_500, 2_500)


def test_the_digest_tells_states_apart_by_any_field_but_not_by_the_order_of_items() -> None:
    log = filled(3)
    before = digest(fold(log).state)
    assert digest(fold(log).state) == before
    log.append([draft(ItemMuted(item="note:1"))])
    assert digest(fold(log).state) != before
    one, two = fold(filled(3)).state, State()
    two.items = dict(reversed(one.items.items()))
    assert digest(one) == digest(two)


def test_a_snapshot_with_the_events_behind_it_is_the_same_as_a_replay(tmp_path: Path) -> None:
    log, store = filled(20), SnapshotStore(tmp_path)
    alone = replay(log, store)
    assert (alone.same, alone.generation, alone.items) == (True, 0, {"note": 20})
    build(log, store, load_encoder())
    log.append([draft(note(3, "the other lens")), draft(ItemMuted(item="note:4"))])
    report = replay(log, store)
    assert (report.same, report.generation, report.events) == (True, 1, 22)
    assert report.generation_digest == report.digest != alone.digest


def test_a_snapshot_that_does_not_belong_to_the_log_is_noticed(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    build(filled(20), store, load_encoder())
    report = replay(filled(10), store)
    assert not report.same


def test_an_import_is_cut_into_batches_that_the_log_takes_in_one_short_step() -> None:
    small = [draft(note(number)) for number in range(BATCH * 2 + 1)]
    assert [len(batch) for batch in batches(small)] == [BATCH, BATCH, 1]
    large = [draft(note(number, "x" * (BATCH_BYTES // 2))) for number in range(3)]
    assert [len(batch) for batch in batches(large)] == [1, 1, 1]
    assert list(batches([])) == []
