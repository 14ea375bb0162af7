"""Replay: the fold from zero, and its comparison with what a snapshot leads to."""

from pathlib import Path

import pytest
from instant_recall.events.envelope import draft
from instant_recall.events.errors import RecallError
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.events.types import ItemMuted, NoteRecorded
from instant_recall.ops.compare import differences
from instant_recall.ops.importing import BATCH, BATCH_BYTES, batches
from instant_recall.ops.replay import digest, fold, replay
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build, write
from instant_recall.projections.items import Part
from instant_recall.projections.meaning.encoders import load_encoders
from instant_recall.projections.policy.readers import Grant
from instant_recall.projections.snapshot import open_base
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
    build(log, store, load_encoders())
    log.append([draft(note(3, "the other lens")), draft(ItemMuted(item="note:4"))])
    report = replay(log, store)
    assert (report.same, report.generation, report.events) == (True, 1, 22)
    assert report.generation_digest == report.digest != alone.digest


def test_a_snapshot_that_does_not_belong_to_the_log_is_noticed(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    build(filled(20), store, load_encoders())
    report = replay(filled(10), store)
    assert not report.same


def test_an_import_is_cut_into_batches_that_the_log_takes_in_one_short_step() -> None:
    small = [draft(note(number)) for number in range(BATCH * 2 + 1)]
    assert [len(batch) for batch in batches(small)] == [BATCH, BATCH, 1]
    large = [draft(note(number, "x" * (BATCH_BYTES // 2))) for number in range(3)]
    assert [len(batch) for batch in batches(large)] == [1, 1, 1]
    assert list(batches([])) == []


def test_a_replay_up_to_a_position_is_compared_with_the_state_of_then(tmp_path: Path) -> None:
    log, store = filled(3), SnapshotStore(tmp_path)
    build(log, store, load_encoders())
    then = log.last_position()
    log.append([draft(note(number, "the other lens")) for number in range(3, 1_500)])
    build(log, store, load_encoders())
    until = log.read(then, 700)[-1].position
    report = replay(log, store, until=until, compare=True)
    assert (report.events, report.position, report.generation, report.same) == (703, str(until), 1, True)
    assert replay(log, store, until=then).events == 3
    first = log.read(START, 1)[0].position
    assert (replay(log, store, until=first).generation, replay(log, store, until=first).events) == (0, 1)


def test_a_replay_from_a_position_counts_only_what_came_after(tmp_path: Path) -> None:
    log, store = filled(10), SnapshotStore(tmp_path)
    build(log, store, load_encoders())
    fourth = log.read(START, 4)[-1].position
    report = replay(log, store, after=fourth)
    assert (report.events, report.items, report.generation, report.same) == (6, {"note": 6}, 0, True)


def test_a_replay_into_a_folder_makes_a_snapshot_that_answers_the_same(tmp_path: Path) -> None:
    log, store = filled(12), SnapshotStore(tmp_path / "live")
    report = replay(log, store, into=tmp_path / "fresh")
    opened = SnapshotStore(tmp_path / "fresh").latest()
    assert opened and opened.manifest.counts["items"] == 12
    assert digest(open_base(opened).state) == report.digest
    with pytest.raises(RecallError, match="not an empty folder"):
        replay(log, store, into=tmp_path / "fresh")


def test_differences_name_item_and_field_and_no_text_unless_asked() -> None:
    one, other = fold(filled(3)).state, fold(filled(4)).state
    other.edit("note:1", muted=True, parts=(Part("a secret"),))
    other.readers.grant("scout", Grant(("work",), token_hash="5" * 64))
    other.shown["s1"] = {"note:1": "1-0"}
    found = list(differences(one, other))
    # The two logs were filled at two moments, so positions and times differ as well.
    named = {(d.item, d.field) for d in found if d.field not in {"changed", "recorded_at"}}
    assert named == {
        ("note:1", "muted"),
        ("note:1", "parts"),
        ("note:3", ""),
        ("reader:scout", "grant"),
        ("shown:s1", "items"),
    }
    assert all(d.replayed is None and d.live is None for d in found)
    told = {(d.item, d.field): (d.replayed, d.live) for d in differences(one, other, verbose=True)}
    assert told["note:1", "muted"] == ("false", "true")
    assert "a secret" in str(told["note:1", "parts"])
    assert "5" * 20 not in str(told["reader:scout", "grant"])
    assert told["note:3", ""] == ("missing", "there")
    assert list(differences(one, fold(filled(0), State(one)).state)) == []


def test_the_order_in_which_sessions_were_last_touched_is_part_of_the_state() -> None:
    one, other = State(), State()
    one.shown = {"a": {"note:1": "1-0"}, "b": {"note:1": "1-0"}}
    other.shown = dict(reversed(one.shown.items()))
    assert [(d.item, d.field) for d in differences(one, other)] == [("shown", "order")]
    assert digest(one) != digest(other)


def test_a_snapshot_that_says_something_else_than_the_log_is_told_field_by_field(tmp_path: Path) -> None:
    log, store = filled(3), SnapshotStore(tmp_path)
    state = fold(log).state
    state.edit("note:2", muted=True)
    write_wrong(store, state)
    report = replay(log, store, compare=True)
    assert not report.same
    assert (report.differing, [(d.item, d.field) for d in report.differences]) == (1, [("note:2", "muted")])


def write_wrong(store: SnapshotStore, state: State) -> None:
    """A snapshot that is well formed, and wrong."""
    encoder = load_encoders()
    store.publish(
        lambda folder: write(state, empty_base(encoder.dims), encoder, folder),
        position=state.position,
        encoder=encoder.fingerprint,
        started_from=store.current(),
    )
