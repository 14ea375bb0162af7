"""What became of the pushed pointers, counted by day in the state and told by `status`."""

from __future__ import annotations

from pathlib import Path

import pytest
from instant_recall.api.messages import PushRequest, StatusRequest
from instant_recall.api.precision import Precision
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops import precision as words
from instant_recall.ops.evaluation import statistics
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.learning.feedback import DAY_MS, DAYS, SESSIONS, Day, Feedback
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, encoder, skill


def push(*items: str, session: str = "s", reader: str = "owner", request: str = "asked") -> ev.PushServed:
    return ev.PushServed(reader=reader, session=session, items=items, seen=("1-0",) * len(items), request=request)


def opened(item: str, session: str = "s") -> ev.ItemOpened:
    return ev.ItemOpened(item=item, reader="owner", session=session)


def log_of(*events: ev.Event | EventDraft) -> MemoryEventLog:
    log = MemoryEventLog(clock=lambda: NOW)
    log.append([one if isinstance(one, EventDraft) else draft(one, occurred_at=NOW) for one in events])
    return log


def overlay_of(log: MemoryEventLog, store: SnapshotStore | None = None) -> Overlay:
    overlay = Overlay(latest_base(store, encoder()) if store else empty_base(encoder().dims), encoder())
    catch_up(overlay, log)
    return overlay


def last_week(*events: ev.Event | EventDraft) -> Day:
    return overlay_of(log_of(*events)).state.feedback.last(7, NOW)


def test_pushes_pointers_and_what_became_of_them_are_counted() -> None:
    counts = last_week(
        push(),
        push("skill:a", "skill:b", "skill:c"),
        push("skill:d", session="t"),
        push("skill:a", session=""),
        opened("skill:a"),
        opened("skill:a"),
        ev.ItemHelped(item="skill:a", session="s"),
        ev.ItemHelped(item="skill:b", session="s"),
        ev.PointerRejected(item="skill:c", session="s"),
        opened("skill:d", "another session"),
        opened("skill:never-pushed"),
        ev.SessionClosed(session="t", used=("skill:d",), helped=("skill:d",)),
    )

    assert counts == Day(pushes=4, spoke=3, pointers=5, followed=4, opened=2, helped=3, used=3, rejected=1)


def test_only_what_comes_after_the_push_counts_and_for_the_last_push_that_showed_it() -> None:
    assert last_week(opened("skill:a"), push("skill:a")).used == 0
    assert last_week(push("skill:a"), opened("skill:a"), push("skill:a")) == Day(2, 2, 2, 2, 1, 0, 1)


def test_what_became_of_a_pointer_counts_on_the_day_of_its_push() -> None:
    before = draft(push("skill:a"), occurred_at=NOW - 7 * DAY_MS)
    feedback = overlay_of(log_of(before, opened("skill:a"))).state.feedback

    assert feedback.last(7, NOW) == Day()
    assert feedback.last(8, NOW) == feedback.last(28, NOW) == Day(1, 1, 1, 1, 1, 0, 1)


def test_days_and_sessions_are_bounded_and_a_fast_clock_drops_none() -> None:
    feedback = Feedback()
    for day in range(200):
        feedback.pushed(day * DAY_MS, f"s{day}", ("skill:a",), "asked")
    for n in range(2 * SESSIONS):
        feedback.pushed(199 * DAY_MS, f"t{n}", ("skill:a",), "asked")
    feedback.pushed(0, "late", (), "")
    assert sorted(feedback.days) == list(range(200 - DAYS, 200))
    assert len(feedback.sessions) == SESSIONS

    far = draft(push("skill:a"), occurred_at=NOW + 1_000 * DAY_MS)
    assert last_week(push("skill:a"), far).pushes == 2


def story() -> list[EventDraft]:
    events = [
        skill("a", "Feeds paper through the scanner"),
        push("skill:a"),
        push("skill:a", "skill:b", session="t", request="read the letters"),
        opened("skill:a"),
        ev.PointerRejected(item="skill:a", session="t"),
        ev.ContextReset(session="s"),
        push("skill:a"),
        ev.ItemForgotten(item="skill:b"),
        ev.SessionClosed(session="s", used=("skill:a",), helped=("skill:a",)),
        ev.PointerRejected(item="skill:a", session="t"),
        ev.ItemForgotten(item="session:s"),
        opened("skill:a"),
    ]
    return [draft(event, occurred_at=NOW - (len(events) - n) * DAY_MS // 4) for n, event in enumerate(events)]


@pytest.mark.parametrize("cut", range(1, len(story()) + 1))
def test_a_snapshot_at_any_point_plus_the_rest_counts_as_a_replay_from_zero(cut: int, tmp_path: Path) -> None:
    events = story()
    log, store = log_of(*events[:cut]), SnapshotStore(tmp_path)
    build(log, store, encoder())
    if events[cut:]:
        log.append(events[cut:])
    base = latest_base(store, encoder())
    before = base.state.feedback.copy()
    resumed, replayed = Overlay(base, encoder()), overlay_of(log)
    catch_up(resumed, log)

    assert resumed.state.feedback == replayed.state.feedback
    assert resumed.state.get("skill:a") == replayed.state.get("skill:a")
    assert base.state.feedback == before


def test_a_forgotten_item_or_session_leaves_counts_and_neither_id_nor_text() -> None:
    log = log_of(
        push("skill:a", session="t", request="secret one"),
        push("skill:b", session="secret", request="secret two"),
        ev.ItemForgotten(item="skill:a"),
        ev.ItemForgotten(item="session:secret"),
    )
    feedback = overlay_of(log).state.feedback

    assert "secret" not in repr(feedback)
    assert feedback.last(7, NOW).pointers == 2


def test_status_tells_the_owner_and_nobody_else() -> None:
    log = log_of(skill("lark", "Feeds paper through the scanner"), ev.ReaderGranted(reader="sub:a", scopes=("lab",)))
    service = Service(log, encoder(), clock=lambda: NOW)
    service.push(PushRequest(request="ask lark", session="s"))
    service.push(PushRequest(request="thanks", session="s"))
    log.append([draft(opened("skill:lark"), occurred_at=NOW)])

    week, month = service.status().precision
    assert week == Precision(days=7, pushes=2, spoke=1, pointers=1, followed=1, opened=1, used=1)
    assert month == Precision(days=28, pushes=2, spoke=1, pointers=1, followed=1, opened=1, used=1)
    assert service.status(StatusRequest(reader="sub:a")).precision == ()


@pytest.mark.parametrize(("used", "shown"), [(0, 1), (1, 1), (0, 40), (40, 40), (53, 97), (1, 1_000)])
def test_the_interval_is_wilsons(used: int, shown: int) -> None:
    pytest.importorskip("scipy")

    assert words.wilson(used, shown) == pytest.approx(tuple(statistics.wilson(used, shown)), abs=1e-12)


def test_it_reads_as_a_sentence() -> None:
    week = Precision(days=7, pushes=212, spoke=66, pointers=97, followed=97, opened=41, helped=12, used=53, rejected=3)
    quiet = Precision(days=28, pushes=1)
    loose = Precision(days=28, pushes=2, spoke=2, pointers=3)
    half = Precision(days=28, pushes=2, spoke=2, pointers=3, followed=2, opened=1, used=1)

    assert words.told([Precision(days=7), week, quiet, loose, half]) == [
        (
            "last 7 days",
            "212 pushes, 31 % with pointers; 97 pointers, 41 opened, 12 helped, 3 rejected: "
            "55 % were used (45 to 64 %)",
        ),
        ("last 28 days", "1 push, 0 % with pointers"),
        (
            "last 28 days",
            "2 pushes, 100 % with pointers; 3 pointers, none in a session, so nobody can tell how many were used",
        ),
        (
            "last 28 days",
            "2 pushes, 100 % with pointers; 3 pointers, 2 of them in a session, 1 opened, 0 helped, 0 rejected: "
            "50 % were used (9 to 91 %)",
        ),
    ]


def test_pushes_of_other_readers_are_not_counted_and_crowd_out_no_session_of_the_owners() -> None:
    crowd = [push("skill:x", session=f"s{n}", reader="scout") for n in range(SESSIONS + 20)]
    state = overlay_of(log_of(push("skill:a", session="mine"), *crowd, opened("skill:a", session="mine"))).state

    assert state.feedback.last(7, NOW) == Day(pushes=1, spoke=1, pointers=1, followed=1, opened=1, used=1)
    assert "mine" in state.feedback.sessions
