"""The fold of the log into items."""

from __future__ import annotations

from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.items import Item
from instant_recall.projections.shown import SESSIONS_REMEMBERED
from instant_recall.projections.state import State

NOW = 1_790_000_000_000


def fold(*events: ev.Event, audience: tuple[str, ...] = ("owner",), at: int = NOW) -> State:
    log = MemoryEventLog(clock=lambda: NOW)
    log.append([draft(event, occurred_at=at, audience=audience) for event in events])
    state = State()
    for recorded in log.read(START, 5_000):
        state.apply(recorded)
    return state


def item_after(*events: ev.Event, item: str = "skill:lark", at: int = NOW) -> Item:
    found = fold(*events, at=at).get(item)
    assert found is not None
    return found


LARK = ev.AssetRecorded(
    item="skill:lark", kind="skill", name="lark", use_when=("paper has to become text",), request="get this pile in"
)


def test_an_asset_carries_its_authors_phrases_and_the_request_under_way_as_use_keys() -> None:
    keys = item_after(LARK).keys

    assert [(k.phrase, k.source) for k in keys] == [
        ("paper has to become text", "use_when"),
        ("get this pile in", "stored"),
    ]


def test_a_correction_makes_the_missed_request_and_the_reply_use_keys() -> None:
    keys = item_after(LARK, ev.OwnershipCorrected(item="skill:lark", request="type this up", said="feed it")).keys

    assert [(k.phrase, k.source) for k in keys[2:]] == [("type this up", "correction"), ("feed it", "correction")]


def test_the_same_correction_twice_is_one_key() -> None:
    wrong = ev.OwnershipCorrected(item="skill:lark", request="type this up")

    assert len(item_after(LARK, wrong, wrong).keys) == 3


def test_recording_again_replaces_the_authors_keys_and_keeps_the_learned_ones() -> None:
    again = ev.AssetRecorded(item="skill:lark", kind="skill", name="lark", use_when=("new phrase",))
    keys = item_after(LARK, ev.OwnershipCorrected(item="skill:lark", request="type this up"), again).keys

    assert [k.phrase for k in keys] == ["new phrase", "type this up"]


def test_a_correction_that_comes_before_its_item_is_not_lost() -> None:
    keys = item_after(ev.OwnershipCorrected(item="skill:lark", request="type this up"), LARK).keys

    assert "type this up" in [k.phrase for k in keys]


def test_a_mute_that_comes_before_its_item_holds() -> None:
    assert item_after(ev.ItemMuted(item="skill:lark"), LARK).muted


def test_mute_and_quarantine_are_undone_by_their_opposites() -> None:
    item = item_after(
        LARK,
        ev.ItemMuted(item="skill:lark"),
        ev.ItemQuarantined(item="skill:lark"),
        ev.ItemUnmuted(item="skill:lark"),
        ev.ItemReleased(item="skill:lark"),
    )

    assert not item.muted
    assert not item.quarantined


def test_what_supersedes_closes_the_older_version_and_links_both() -> None:
    newer = ev.AssetRecorded(item="skill:lark2", kind="skill", name="lark two", supersedes="skill:lark")
    state = fold(LARK, newer)
    old, new = state.get("skill:lark"), state.get("skill:lark2")

    assert old is not None
    assert new is not None
    assert (old.superseded_by, old.valid_until, new.supersedes) == ("skill:lark2", NOW, "skill:lark")


def test_closing_keeps_the_reason_and_recording_again_reopens() -> None:
    closed = item_after(LARK, ev.ItemClosed(item="skill:lark", reason="sold"))
    reopened = item_after(LARK, ev.ItemClosed(item="skill:lark", reason="sold"), LARK)

    assert (closed.valid_until, closed.reason) == (NOW, "sold")
    assert (reopened.valid_until, reopened.reason) == (None, "")


def test_a_writers_fast_clock_does_not_postpone_a_close() -> None:
    an_hour_ahead = NOW + 3_600_000

    assert item_after(LARK, ev.ItemClosed(item="skill:lark"), at=an_hour_ahead).valid_until == NOW


def test_a_close_that_names_a_later_day_holds_from_that_day() -> None:
    assert item_after(LARK, ev.ItemClosed(item="skill:lark", closed_at=NOW + 5)).valid_until == NOW + 5


def test_forgotten_is_final_and_keeps_nothing_but_the_id() -> None:
    item = item_after(LARK, ev.ItemForgotten(item="skill:lark"), LARK)

    assert item == Item(id="skill:lark", kind="skill", forgotten=True)


def test_a_session_gathers_its_turns_and_its_outcome() -> None:
    session = item_after(
        ev.TurnRecorded(session="s1", turn=1, role="owner", text="hello", project="lab"),
        ev.TurnRecorded(session="s1", turn=2, role="agent", text="hi"),
        ev.SessionClosed(session="s1", outcome="greeted"),
        item="session:s1",
    )

    assert [(p.anchor, p.role, p.text) for p in session.parts] == [("t1", "owner", "hello"), ("t2", "agent", "hi")]
    assert (session.project, session.purpose, session.kind) == ("lab", "greeted", "session")


def test_a_session_that_helped_gives_its_requests_to_what_helped() -> None:
    item = item_after(
        LARK,
        ev.TurnRecorded(session="s1", turn=1, role="owner", text="get mother's three pages into text"),
        ev.TurnRecorded(session="s1", turn=2, role="owner", text="ok"),
        ev.TurnRecorded(session="s1", turn=3, role="agent", text="I fed them through the scanner for you"),
        ev.SessionClosed(session="s1", helped=("skill:lark",)),
    )

    assert [k.phrase for k in item.keys if k.source == "session"] == ["get mother's three pages into text"]


def test_a_turn_for_more_eyes_does_not_widen_who_sees_the_session() -> None:
    log = MemoryEventLog(clock=lambda: NOW)
    turn = ev.TurnRecorded(session="s1", turn=1, role="owner", text="private")
    log.append([draft(turn, audience=("owner",))])
    log.append([draft(ev.TurnRecorded(session="s1", turn=2, role="owner", text="x"), audience=("owner", "lab"))])
    state = State()
    for recorded in log.read(START):
        state.apply(recorded)
    session = state.get("session:s1")

    assert session is not None
    assert session.audience == ("owner",)


def test_keys_are_added_removed_and_negative() -> None:
    log = MemoryEventLog(clock=lambda: NOW)
    added = draft(ev.KeyAdded(item="skill:lark", phrase="scan a letter"))
    log.append([added, draft(ev.KeyAdded(item="skill:lark", phrase="photos", negative=True))])
    log.append([draft(ev.KeyRemoved(item="skill:lark", key=f"{added.event_id}/0"))])
    state = State()
    for recorded in log.read(START):
        state.apply(recorded)
    item = state.get("skill:lark")

    assert item is not None
    assert [(k.phrase, k.negative) for k in item.keys] == [("photos", True)]


def test_an_event_that_was_applied_changes_nothing_when_it_is_delivered_again() -> None:
    log = MemoryEventLog(clock=lambda: NOW)
    log.append([draft(LARK), draft(ev.ItemMuted(item="skill:lark"))])
    first, second = log.read(START)
    state = State()
    state.apply(first)
    state.apply(second)

    assert state.apply(first) == ()
    item = state.get("skill:lark")
    assert item is not None
    assert item.muted


def test_a_reader_nobody_knows_has_no_scopes_and_a_revoked_one_loses_them() -> None:
    granted = ev.ReaderGranted(reader="sub:lab", scopes=("lab",))

    assert fold().reader("sub:lab", NOW).scopes == frozenset()
    assert fold(granted).reader("sub:lab", NOW).scopes == {"lab"}
    assert fold(granted, ev.ReaderRevoked(reader="sub:lab")).reader("sub:lab", NOW).scopes == frozenset()


def test_what_was_shown_in_a_session_is_known_until_its_context_is_reset() -> None:
    pushed = ev.PushServed(reader="owner", session="s1", items=("skill:lark",), seen=("1-0",))

    assert fold(pushed).shown == {"s1": {"skill:lark": "1-0"}}
    assert fold(pushed, ev.ContextReset(session="s1")).shown == {}


def test_only_the_latest_sessions_are_remembered() -> None:
    pushes = [
        ev.PushServed(reader="owner", session=f"s{n}", items=("skill:lark",), seen=("1-0",))
        for n in range(SESSIONS_REMEMBERED + 1)
    ]

    shown = fold(*pushes).shown
    assert len(shown) == SESSIONS_REMEMBERED
    assert "s0" not in shown


def test_a_state_over_a_base_leaves_the_base_as_it_was() -> None:
    base = fold(LARK)
    over = State(base)
    log = MemoryEventLog(clock=lambda: NOW + 1)
    log.append([draft(ev.ItemMuted(item="skill:lark"))])
    for recorded in log.read(START):
        over.apply(recorded)
    before, after = base.get("skill:lark"), over.get("skill:lark")

    assert before is not None
    assert after is not None
    assert (before.muted, after.muted) == (False, True)
    assert [item.id for item in over.all()] == ["skill:lark"]


def test_a_section_that_only_moved_is_not_a_change_and_new_words_are() -> None:
    first = ev.NoteRecorded(item="note:a", name="Lens", text="the cap", address="a.md#lens:L1-L2")
    moved = ev.NoteRecorded(item="note:a", name="Lens", text="the cap", address="a.md#lens:L5-L6")
    rewritten = ev.NoteRecorded(item="note:a", name="Lens", text="no cap", address="a.md#lens:L5-L6")
    before = item_after(first, item="note:a")

    assert item_after(first, moved, item="note:a").changed == before.changed
    assert item_after(first, moved, item="note:a").address == "a.md#lens:L5-L6"
    assert item_after(first, rewritten, item="note:a").changed > before.changed
