"""Which requests have an outcome, what of them was right, and who has no say in it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, EventDraft, Source, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.learning.outcomes import CREDIT_MS, SETTLED_MS, Outcome, Outcomes

NOW = 1_790_000_000_000
LATER = NOW + SETTLED_MS


def push(request: str, *items: str, session: str = "s1", reader: str = "owner", at: int = NOW) -> EventDraft:
    served = ev.PushServed(reader=reader, session=session, items=items, seen=("1-0",) * len(items), request=request)
    return draft(served, occurred_at=at)


def said(event: ev.Event, *, at: int = NOW, **around: object) -> EventDraft:
    return draft(event, occurred_at=at, **around)  # type: ignore[arg-type]


def opened(item: str, *, session: str = "s1", reader: str = "owner", at: int = NOW) -> EventDraft:
    return said(ev.ItemOpened(item=item, reader=reader, session=session), at=at)


def known(*events: EventDraft, now: int = LATER) -> list[Outcome]:
    log = MemoryEventLog(clock=lambda: NOW)
    log.append(events)
    found = Outcomes()
    found.take(log.read(START))
    return found.known(now)


def told(*events: EventDraft, now: int = LATER) -> list[tuple[str, Sequence[str]]]:
    return [(one.request, sorted(one.right)) for one in known(*events, now=now)]


def test_what_was_opened_was_right_and_what_was_shown_beside_it_was_not() -> None:
    assert told(push("count the seals", "a", "b"), opened("a"), push("write to them", "c")) == [
        ("count the seals", ["a"]),
        ("write to them", []),
    ]


def test_what_helped_or_was_used_when_the_session_closed_was_right() -> None:
    assert told(push("one", "a"), said(ev.ItemHelped(item="a", session="s1"))) == [("one", ["a"])]
    assert told(push("one", "a", "b"), said(ev.SessionClosed(session="s1", helped=("b",)))) == [("one", ["b"])]


def test_a_session_in_which_nothing_was_ever_opened_tells_nothing() -> None:
    assert told(push("one", "a"), push("two", "b"), said(ev.SessionClosed(session="s1"))) == []


def test_what_was_opened_and_then_rejected_was_not_right() -> None:
    assert told(
        push("one", "a"), opened("a"), said(ev.PointerRejected(item="a", request="one", session="s1"))
    ) == [("one", [])]  # fmt: skip


def test_a_rejection_without_its_request_means_the_last_push_that_showed_it() -> None:
    events = [push("one", "a"), opened("a"), push("two", "b"), opened("b")]
    assert told(*events, said(ev.PointerRejected(item="a", session="s1"))) == [("one", []), ("two", ["b"])]


def test_what_was_found_by_other_means_was_right_for_the_last_request() -> None:
    assert told(push("one", "a"), push("two"), opened("z")) == [("one", []), ("two", ["z"])]


def test_what_is_opened_a_day_later_has_nothing_to_do_with_the_push() -> None:
    assert told(push("one", "a"), opened("a", at=NOW + CREDIT_MS), now=NOW + 2 * CREDIT_MS) == []


def test_a_correction_names_what_was_right_for_the_request_that_missed() -> None:
    correction = said(ev.OwnershipCorrected(item="a", request="one"), source=Source(session="s1"), audience=("lab",))

    assert told(push("one", "b"), push("two", "c"), correction) == [("one", ["a"])]
    assert told(correction) == [("one", ["a"])]


def test_a_correction_without_a_push_is_a_request_just_before_it() -> None:
    [one] = known(said(ev.OwnershipCorrected(item="a", request="one"), at=NOW + 5))
    assert (one.at, one.pushed) == (NOW + 5, frozenset())


def test_what_the_session_had_in_front_of_it_is_noted_until_its_context_is_cleared() -> None:
    reset = said(ev.ContextReset(session="s1"))
    found = known(push("one", "a", "b"), opened("a"), push("two", "b", "c"), reset, push("three", "d"))

    assert [sorted(one.shown_before) for one in found] == [[], ["a"], []]


def test_a_fresh_push_is_not_judged_yet() -> None:
    assert told(push("one", "a"), opened("a"), push("two", "b", at=NOW + 1), now=LATER) == [("one", ["a"])]


def test_trivial_turns_and_erased_requests_are_no_requests() -> None:
    assert told(push("ok", "a"), push("", "b"), push("one", "c"), opened("c")) == [("one", ["c"])]


@pytest.mark.parametrize(
    "event",
    [
        push("theirs", "a", reader="sub:lab"),
        opened("a", reader="sub:lab"),
        said(ev.ItemHelped(item="a", session="s1"), audience=("lab",)),
        said(ev.ItemHelped(item="a", session="s1"), actor=Actor(kind="tool")),
        said(ev.ItemHelped(item="a", session="elsewhere")),
        said(ev.SessionClosed(session="s1", used=("a",)), audience=("lab",)),
        said(ev.SessionClosed(session="s1", used=("a",)), actor=Actor(kind="system")),
        said(ev.OwnershipCorrected(item="a", request="one"), actor=Actor(kind="web")),
        said(ev.OwnershipCorrected(item="a", request="one"), actor=Actor(kind="import")),
        said(ev.OwnershipCorrected(item="a", request=" ")),
    ],
)
def test_who_is_not_the_owner_or_their_agent_moves_nothing(event: EventDraft) -> None:
    assert told(push("one", "a"), event) == []


def test_a_rejection_by_another_reader_takes_nothing_away() -> None:
    theirs = said(ev.PointerRejected(item="a", request="one", session="s1"), audience=("lab",))
    assert told(push("one", "a"), opened("a"), theirs) == [("one", ["a"])]
