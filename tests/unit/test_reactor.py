"""What the reactor makes of events, without a server: which items count, what is asked for, and how often."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import OWNER_ONLY, Actor, RecordedEvent, Source, UnreadableEvent
from instant_recall.events.errors import CorruptEvent, RecallError
from instant_recall.events.position import START, Position
from instant_recall.projections.state import State
from instant_recall.workers.reactions import DROPPED_AT_ONCE, Derived, Effect, Reaction, erasures, react


def at(event: ev.Event, ms: int) -> RecordedEvent:
    return RecordedEvent(
        event=event,
        event_id=f"00000000-0000-7000-8000-{ms:012}",
        position=Position(ms, 0),
        occurred_at=ms,
        owner="owner",
        actor=Actor(),
        source=Source(),
        audience=OWNER_ONLY,
    )


OF_EACH_TYPE: list[ev.Event] = [
    ev.AssetRecorded(item="skill:a", kind="skill", name="a", supersedes="skill:b"),
    ev.NoteRecorded(item="note:a", text="the long lens"),
    ev.TurnRecorded(session="s", turn=1, role="owner", text="which lens does the lab camera take today?"),
    ev.SessionClosed(session="s", used=("skill:u",), helped=("skill:h",), outcome="found"),
    ev.KeyAdded(item="skill:k", phrase="at night"),
    ev.KeyRemoved(item="skill:k", key="k"),
    ev.KeyWeighed(item="skill:k", key="k", weight=1.1),
    ev.OwnershipCorrected(item="skill:c", request="what lens?"),
    ev.ItemSuperseded(item="skill:a", by="skill:z"),
    ev.ItemClosed(item="skill:c"),
    ev.ItemMuted(item="skill:c"),
    ev.ItemUnmuted(item="skill:c"),
    ev.ItemQuarantined(item="skill:c"),
    ev.ItemReleased(item="skill:c"),
    ev.ReaderGranted(reader="r", scopes=("lab",)),
    ev.ReaderRevoked(reader="r"),
    ev.PointerRejected(item="skill:c"),
    ev.PushServed(reader="owner", session="s", items=("skill:p",), seen=("1-1",)),
    ev.SearchServed(reader="owner", items=("skill:p",)),
    ev.ItemOpened(item="skill:p", reader="owner"),
    ev.ItemHelped(item="skill:p"),
    ev.ContextReset(session="s"),
    ev.ItemForgotten(item="skill:c"),
    ev.ErasureCompleted(item="skill:c"),
    ev.SnapshotPublished(generation=1, through="5-0"),
    ev.LogArchived(segment="x", first="1-0", last="2-0"),
    ev.AudienceChanged(item="skill:c", audience=("lab",)),
    ev.TopicMuted(phrase="the divorce"),
    ev.TopicUnmuted(mute="00000000-0000-7000-8000-000000000027"),
    ev.WhyServed(item="skill:p", reader="r"),
    ev.BarSet(bar=0.5),
    ev.RankerRefitted(base="b", features=(), weights=(), bias=0.0),
    ev.RankerReverted(refit="00000000-0000-7000-8000-000000000030"),
]


def test_what_counts_as_touched_is_what_readers_keep_beside_the_snapshot() -> None:
    state = State()
    for n, event in enumerate(OF_EACH_TYPE, 1):
        recorded = at(event, n)
        assert set(state.apply(recorded)) <= set(react(recorded).touched), event
    assert {type(event) for event in OF_EACH_TYPE} == set(ev.EVENT_TYPES.values()), "an event type is not asked about"


_ACCESSES = [event for event in OF_EACH_TYPE if event.type_name() in {
    "push_served", "search_served", "why_served", "item_opened", "item_helped", "context_reset",
}]  # fmt: skip


@pytest.mark.parametrize("event", _ACCESSES, ids=lambda event: event.type_name())
def test_an_access_touches_nothing_and_asks_for_nothing(event: ev.Event) -> None:
    assert react(at(event, 1)) == Reaction()


def test_an_event_of_a_later_version_is_passed_over_and_a_damaged_one_is_an_error() -> None:
    assert react(at(UnreadableEvent(stored_type="moon_seen", stored_version=1, why="unknown_type"), 1)) == Reaction()
    with pytest.raises(CorruptEvent):
        react(at(UnreadableEvent(stored_type="", stored_version=0, why="corrupt"), 1))
    with pytest.raises(RecallError, match="not a position"):
        react(at(ev.SnapshotPublished(generation=1, through="yesterday"), 1))


def test_items_count_once_however_often_they_are_touched() -> None:
    derived = folded([note("a"), note("b"), note("a")])
    assert derived.touched == {"note:a": Position(3, 0), "note:b": Position(2, 0)}


def test_past_the_threshold_one_rebuild_is_asked_for_and_the_next_one_only_after_another_snapshot() -> None:
    derived = folded([note("a"), note("b")])
    assert derived.rebuild_wanted(2, "mark") is None
    derived.apply(Position(3, 0), Reaction(touched=("note:c",)))
    first = derived.rebuild_wanted(2, "mark")
    assert first == Effect(job_id="snapshot-mark-after-0-0", job="rebuild", position=Position(3, 0))
    derived.apply(Position(4, 0), Reaction(touched=("note:d",)))
    assert derived.rebuild_wanted(2, "mark") is None
    derived.apply(Position(5, 0), Reaction(snapshot=Position(2, 0)))
    assert set(derived.touched) == {"note:c", "note:d"}
    derived.apply(Position(6, 0), Reaction(touched=("note:e",)))
    second = derived.rebuild_wanted(2, "mark")
    assert second is not None
    assert second.job_id == "snapshot-mark-after-2-0"


def test_a_rebuild_is_not_asked_for_again_by_whoever_loads_what_was_stored() -> None:
    derived = folded([note("a"), note("b")])
    assert derived.rebuild_wanted(1, "mark")
    again = Derived.load(derived.fields(), {item: str(place) for item, place in derived.touched.items()})
    assert again == derived
    assert again.rebuild_wanted(1, "mark") is None


def test_an_older_snapshot_that_is_heard_of_late_takes_nothing_back() -> None:
    derived = folded([note("a"), note("b")])
    derived.apply(Position(3, 0), Reaction(snapshot=Position(2, 0)))
    derived.apply(Position(4, 0), Reaction(snapshot=Position(1, 0)))
    assert derived.snapshot == Position(2, 0)
    assert derived.touched == {}


def test_what_a_snapshot_holds_is_taken_out_of_the_store_piece_by_piece() -> None:
    many = DROPPED_AT_ONCE + 10
    derived = folded([note(str(n)) for n in range(many)])
    derived.apply(Position(many + 1, 0), Reaction(snapshot=Position(many, 0)))
    derived.apply(Position(many + 2, 0), Reaction(touched=("note:0",)))
    assert len(derived.take_outdated()) == DROPPED_AT_ONCE
    rest = derived.take_outdated()
    assert len(rest) == 9
    assert "note:0" not in rest, "it was touched again"
    assert derived.take_outdated() == []


def test_a_reactor_that_stopped_in_the_middle_of_that_goes_on_with_it() -> None:
    derived = Derived.load({"snapshot": "2-0"}, {"note:a": "1-0", "note:b": "10-0"})
    assert derived.touched == {"note:b": Position(10, 0)}
    assert derived.take_outdated() == ["note:a"]


def test_closed_sessions_are_counted_with_the_time_of_the_last() -> None:
    derived = folded([ev.SessionClosed(session="a"), ev.SessionClosed(session="b")])
    assert (derived.sessions_closed, derived.session_closed_at) == (2, 2)


def test_an_erasure_has_an_id_of_its_event_so_that_forgetting_twice_erases_twice_and_handling_twice_does_not() -> None:
    first, second = at(ev.ItemForgotten(item="note:a/b c"), 1), at(ev.ItemForgotten(item="note:a/b c"), 2)
    once = erasures([(first, react(first))], "mark")
    assert once == erasures([(first, react(first))], "mark")
    assert once != erasures([(second, react(second))], "mark")
    assert once[0].item == "note:a/b c"
    assert once[0].job_id.replace("-", "").isalnum(), "rq takes no other characters"


def note(name: str) -> ev.NoteRecorded:
    return ev.NoteRecorded(item=f"note:{name}", text=name)


def folded(events: list[ev.Event]) -> Derived:
    derived = Derived()
    for n, event in enumerate(events, 1):
        derived.apply(Position(n, 0), react(at(event, n)))
    assert derived.snapshot == START
    return derived


@pytest.mark.parametrize("kind", ["agent", "tool", "web", "import", "system"])
def test_only_the_owner_has_something_erased(kind: Any) -> None:
    forged = msgspec.structs.replace(at(ev.ItemForgotten(item="skill:c"), 5), actor=Actor(kind=kind))

    assert react(forged) == Reaction()
