"""Who may see what was derived from what, and what the owner says by hand about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instant_recall.events import types as ev
from instant_recall.events.codec import decode, encode
from instant_recall.events.envelope import Actor, EventDraft, Source, draft
from instant_recall.events.errors import CorruptSnapshot
from instant_recall.events.position import Position
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.policy.policies import shared
from instant_recall.projections.snapshot import catch_up, latest_base, open_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.projections.state import State
from instant_recall.tests.small_world import NOW, World, answers, counting, encoder, note, skill

LAB = ("lab",)
BOTH = ("lab", "web")
ASKED = "feed the letters through the scanner by night"


def world() -> World:
    made = World()
    made.happens(*(ev.ReaderGranted(reader=f"sub:{scope}", scopes=(scope,)) for scope in BOTH))
    return made


def turn(number: int, text: str = ASKED, session: str = "s1", role: ev.Role = "owner") -> ev.TurnRecorded:
    return ev.TurnRecorded(session=session, turn=number, role=role, text=text)


def audience(made: World, item: str) -> tuple[str, ...]:
    found = made.overlay.state.get(item)
    assert found is not None
    return found.audience


def keys(made: World, item: str = "skill:lark") -> dict[str, tuple[str, ...]]:
    found = made.overlay.state.get(item)
    assert found is not None
    return {key.phrase: key.audience for key in found.keys}


def by_hand(item: str, *labels: str) -> ev.AudienceChanged:
    return ev.AudienceChanged(item=item, audience=labels)


@pytest.mark.parametrize(
    ("audiences", "left"),
    [
        ([BOTH, LAB], LAB),
        ([LAB, BOTH], LAB),
        ([LAB, ("web",)], ("owner",)),
        ([BOTH, LAB, ("web",)], ("owner",)),
        ([(), LAB], ("owner",)),
        ([("owner", "lab"), ("owner",)], ("owner",)),
        ([BOTH], BOTH),
    ],
)
def test_what_is_derived_has_the_labels_that_all_of_its_sources_have(
    audiences: list[tuple[str, ...]], left: tuple[str, ...]
) -> None:
    assert shared(*audiences) == left


def test_a_session_is_for_those_who_may_see_all_of_its_turns() -> None:
    made = world()
    made.happens(turn(1), audience=BOTH)
    assert made.searcher("sub:web").get("session:s1") is not None

    made.happens(turn(2, "and tell nobody of the raise"), audience=LAB)
    assert audience(made, "session:s1") == LAB
    assert made.searcher("sub:web").get("session:s1") is None

    made.happens(turn(3, "anything"), audience=("web", "home"))
    assert audience(made, "session:s1") == ("owner",)
    assert made.searcher("sub:lab").get("session:s1") is None


def test_a_narrower_turn_is_never_found_by_a_reader_of_the_wider_session() -> None:
    made = world()
    made.happens(turn(1), turn(2, "the lens stands on the left of the bench"), audience=BOTH)
    made.happens(turn(3, "the raise was agreed with the treasurer"), audience=("owner",))

    assert made.found("the raise agreed with the treasurer", "sub:lab") == []


def test_a_key_learned_from_a_session_is_for_those_who_may_see_session_and_end() -> None:
    made = world()
    made.happens(skill("lark", "Feeds paper"), audience=BOTH)
    made.happens(turn(1), audience=BOTH)
    made.happens(turn(2, "and what shall we do about the raise"), audience=LAB)
    made.happens(ev.SessionClosed(session="s1", helped=("skill:lark",)), audience=BOTH)

    assert set(keys(made).values()) == {LAB}
    assert made.overlay.state.get("skill:lark") in [made.searcher("sub:web").get("skill:lark")]
    assert made.searcher("sub:web").visible_keys(made.overlay.state.items["skill:lark"]) == []


def test_a_key_learned_from_a_session_is_narrowed_with_it() -> None:
    made = world()
    made.happens(skill("lark", "Feeds paper"), audience=BOTH)
    made.happens(turn(1), audience=BOTH)
    made.happens(ev.SessionClosed(session="s1", helped=("skill:lark",)), audience=BOTH)
    assert keys(made) == {ASKED: BOTH}

    made.happens(by_hand("session:s1", "lab"))
    assert keys(made) == {ASKED: LAB}

    made.happens(turn(2, "no more of this"), audience=("owner",))
    assert keys(made) == {ASKED: ("owner",)}
    assert made.found(ASKED, "sub:lab") in ([], ["skill:lark"])
    assert made.searcher("sub:lab").visible_keys(made.overlay.state.items["skill:lark"]) == []


def test_a_correction_is_for_those_who_may_see_the_session_in_which_it_was_made() -> None:
    made = world()
    made.happens(skill("lark", "Feeds paper"), audience=BOTH)
    made.happens(turn(1), audience=LAB)
    corrected = ev.OwnershipCorrected(item="skill:lark", request="scan my divorce papers")
    made.happens(draft(corrected, source=Source(session="s1"), audience=BOTH))
    made.happens(draft(ev.OwnershipCorrected(item="skill:lark", request="scan the bills"), audience=BOTH))

    assert keys(made) == {"scan my divorce papers": LAB, "scan the bills": BOTH}


def test_a_correction_is_narrowed_when_its_session_is_recorded_only_afterwards() -> None:
    made = world()
    made.happens(skill("lark", "Feeds paper"), audience=BOTH)
    corrected = ev.OwnershipCorrected(
        item="skill:lark", request="scan my divorce papers", said="you have lark for that"
    )
    made.happens(draft(corrected, source=Source(session="s1"), audience=BOTH))
    assert set(keys(made).values()) == {BOTH}

    made.happens(turn(1), audience=LAB)
    assert set(keys(made).values()) == {LAB}
    made.happens(ev.SessionClosed(session="s1"), audience=("owner",))
    assert set(keys(made).values()) == {("owner",)}


def test_what_was_learned_from_a_session_is_forgotten_with_it_at_once() -> None:
    made = world()
    made.happens(skill("lark", "Feeds paper", use_when=("letters to file",)))
    made.happens(turn(1), ev.SessionClosed(session="s1", helped=("skill:lark",)))
    corrected = ev.OwnershipCorrected(item="skill:lark", request="scan the bills")
    made.happens(draft(corrected, source=Source(session="s1")))
    assert set(keys(made)) == {"letters to file", ASKED, "scan the bills"}

    made.happens(ev.ItemForgotten(item="session:s1"))
    assert set(keys(made)) == {"letters to file", "scan the bills"}


def test_the_keys_of_an_item_are_hidden_with_it_and_what_it_says_of_itself_is_shown_with_it() -> None:
    made = world()
    made.happens(skill("lark", "Feeds paper", use_when=("letters to file",)), audience=LAB)
    made.happens(ev.KeyAdded(item="skill:lark", phrase="a stack of bills"), audience=LAB)
    assert made.found("letters to file", "sub:lab") == ["skill:lark"]

    made.happens(by_hand("skill:lark", "web"))
    assert made.found("letters to file", "sub:lab") == []
    assert made.found("letters to file", "sub:web") == ["skill:lark"]
    assert keys(made) == {"letters to file": ("web",), "a stack of bills": LAB}


def test_what_the_owner_says_by_hand_counts_at_once_and_outlives_every_later_record() -> None:
    made = world()
    importer = Actor(kind="import", name="notes")
    made.happens(draft(note("lens", "The lens cap is on the left"), actor=importer, audience=BOTH))
    made.happens(by_hand("note:lens", "lab"))
    assert made.found("where is the lens cap", "sub:web") == []

    made.happens(draft(note("lens", "The lens cap is on the right"), actor=importer, audience=BOTH))
    made.happens(draft(note("lens", "The lens cap is lost"), audience=("web",)))
    assert audience(made, "note:lens") == LAB
    assert made.found("where is the lens cap", "sub:web") == []
    assert made.found("where is the lens cap", "sub:lab") == ["note:lens"]

    made.happens(by_hand("note:lens", "web"))
    assert made.found("where is the lens cap", "sub:web") == ["note:lens"]
    made.happens(by_hand("note:lens"))
    assert audience(made, "note:lens") == ("owner",)


def test_an_audience_said_before_the_item_is_recorded_holds_for_it() -> None:
    made = world()
    made.happens(by_hand("note:lens", "lab"), note("lens", "The lens cap is on the left"))
    assert made.found("where is the lens cap", "sub:lab") == ["note:lens"]


def test_by_hand_a_session_is_opened_for_what_was_said_and_not_for_what_is_said_later() -> None:
    made = world()
    made.happens(turn(1), turn(2, "the lens stands on the left of the bench"))
    made.happens(by_hand("session:s1", "lab"))
    made.happens(turn(1))  # an importer reads the file again
    assert made.searcher("sub:lab").get("session:s1") is not None

    made.happens(turn(3, "the raise was agreed with the treasurer"))
    assert audience(made, "session:s1") == ("owner",)


@pytest.mark.parametrize("kind", ["agent", "tool", "web", "import", "system"])
def test_only_the_owner_changes_an_audience(kind: str) -> None:
    made = world()
    made.happens(note("lens", "The lens cap is on the left"))
    made.happens(draft(by_hand("note:lens", "lab"), actor=Actor(kind=kind)))  # type: ignore[arg-type]
    assert audience(made, "note:lens") == ("owner",)


def test_what_was_forgotten_gets_no_audience() -> None:
    made = world()
    made.happens(note("lens", "The lens cap"), ev.ItemForgotten(item="note:lens"), by_hand("note:lens", "lab"))
    found = made.overlay.state.get("note:lens")
    assert found is not None
    assert (found.forgotten, found.audience, found.by_hand) == (True, ("owner",), False)


def story() -> list[EventDraft]:
    importer = Actor(kind="import", name="notes")
    return [
        draft(ev.ReaderGranted(reader="sub:lab", scopes=LAB)),
        draft(skill("lark", "Feeds paper", use_when=("letters to file",)), audience=BOTH),
        draft(turn(1), audience=BOTH),
        draft(ev.SessionClosed(session="s1", helped=("skill:lark",)), audience=BOTH),
        draft(note("lens", "The lens cap is on the left"), actor=importer),
        draft(by_hand("note:lens", "lab")),
        draft(by_hand("session:s1", "web")),
        draft(note("lens", "The lens cap is on the right"), actor=importer),
        draft(ev.TopicMuted(phrase="bills")),
        draft(note("bill", "Bills for the lens are in the drawer"), audience=LAB),
        draft(ev.ItemMuted(item="skill:lark", session="s9")),
        draft(by_hand("skill:lark", "lab")),
        draft(
            ev.OwnershipCorrected(item="skill:lark", request="scan the bills"),
            source=Source(session="s2"),
            audience=BOTH,
        ),
        draft(turn(1, "what was that about the bills", "s2"), audience=LAB),
    ]


@pytest.mark.parametrize("cut", range(len(story()) + 1))
def test_a_snapshot_with_an_overlay_answers_as_a_replay_does(tmp_path: Path, cut: int) -> None:
    made, store, events = World(), SnapshotStore(tmp_path), story()
    requests = [ASKED, "where is the lens cap", "letters to file", "bills for the lens"]
    made.log.append(events[:cut]) if cut else None
    build(made.log, store, encoder())
    overlay = Overlay(latest_base(store, encoder()), encoder())
    made.log.append(events[cut:]) if cut < len(events) else None
    catch_up(overlay, made.log)
    catch_up(made.overlay, made.log)

    assert list(overlay.state.all()) == list(made.overlay.state.all())
    assert overlay.state.mutes == made.overlay.state.mutes
    for reader in ("owner", "sub:lab"):
        assert answers(overlay, requests, reader, NOW + 10**12) == answers(made.overlay, requests, reader, NOW + 10**12)


@pytest.mark.parametrize("number", [7, -1])
def test_a_snapshot_with_a_row_of_no_audience_is_not_read(tmp_path: Path, number: int) -> None:
    made, store = World(), SnapshotStore(tmp_path)
    made.happens(note("lens", "The lens cap is on the left"))
    build(made.log, store, encoder())
    opened = store.latest()
    assert opened is not None
    column = opened.path / "rows/audience.npy"
    column.chmod(0o600)
    np.save(column, np.load(column) * 0 + number)

    with pytest.raises(CorruptSnapshot):
        open_base(opened)


def test_a_change_of_audience_encodes_nothing_anew() -> None:
    encoders, counted = counting()
    made = World()
    made.overlay = Overlay(empty_base(encoders.dims), encoders)
    made.happens(note("lens", "The lens cap is on the left"))
    before = counted.texts
    made.happens(by_hand("note:lens", "lab"))
    assert counted.texts == before


UNREADABLE: dict[str, ev.Event] = {
    "mute": ev.ItemMuted(item="note:lens", reason="x"),
    "quarantine": ev.ItemQuarantined(item="note:lens", reason="x"),
    "end": ev.ItemClosed(item="note:lens", reason="x"),
    "replacement": ev.ItemSuperseded(item="note:lens", by="note:other", reason="x"),
}


def damaged(event: ev.Event, n: int, audience: tuple[str, ...] = ("owner",)) -> object:
    """The event as it is read when its free text does not fit its checksum any more."""
    written = draft(event, audience=audience, occurred_at=NOW)
    stored = encode(written)
    spoiled = stored.payload[:-1] + bytes([stored.payload[-1] ^ 1])
    return decode("owner", Position(NOW, n), written.event_id, stored.envelope, spoiled)


@pytest.mark.parametrize("event", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_event_that_keeps_something_back_does_so_when_it_cannot_be_read(event: ev.Event) -> None:
    made = world()
    made.happens(note("lens", "The lens cap is on the left"), audience=LAB)
    made.overlay.apply([damaged(event, 1_000)])  # type: ignore[list-item]

    assert made.found("where is the lens cap", "sub:lab", NOW + 1) == []
    assert not made.searcher(now=NOW + 1).sees("note:lens")


def test_a_record_that_cannot_be_read_narrows_what_is_told_of_the_item() -> None:
    made = world()
    made.happens(note("lens", "The lens cap is on the left"), audience=BOTH)
    made.overlay.apply([damaged(note("lens", "The lens cap is on the right"), 1_000, LAB)])  # type: ignore[list-item]
    assert audience(made, "note:lens") == LAB


def test_a_mute_of_which_the_topic_cannot_be_read_keeps_everything_back_until_it_is_undone() -> None:
    made = world()
    made.happens(note("lens", "The lens cap is on the left"), audience=BOTH)
    lost = damaged(ev.TopicMuted(phrase="the raise"), 1_000)
    made.overlay.apply([lost])  # type: ignore[list-item]
    assert made.found("where is the lens cap") == []
    assert made.searcher().refused_by("note:lens") == "unreadable"

    made.overlay.apply([_at(ev.TopicUnmuted(mute=lost.event_id), 1_001)])  # type: ignore[attr-defined]
    assert made.found("where is the lens cap") == ["note:lens"]


def test_a_grant_that_cannot_be_read_ends_the_earlier_one() -> None:
    state = State()
    state.apply(_at(ev.ReaderGranted(reader="scout", scopes=BOTH), 1))
    assert state.reader("scout", NOW).scopes == frozenset(BOTH)
    state.apply(damaged(ev.ReaderGranted(reader="scout", scopes=LAB, reason="less"), 2))  # type: ignore[arg-type]
    assert state.reader("scout", NOW).scopes == frozenset()


def _at(event: ev.Event, n: int):
    written = draft(event, occurred_at=NOW)
    stored = encode(written)
    return decode("owner", Position(NOW, n), written.event_id, stored.envelope, stored.payload or None)
