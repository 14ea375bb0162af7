"""Who saw what: told from the log, by reader and by item, for any time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import pytest
from instant_recall.api.messages import OpenRequest, PushRequest, RememberRequest, SearchRequest, WhyRequest
from instant_recall.api.recorder import Recorder
from instant_recall.api.service import Service
from instant_recall.events.envelope import EventDraft, RecordedEvent, draft
from instant_recall.events.errors import InvalidEvent, LogUnavailable, NotFound, RecallError
from instant_recall.events.log import Appended
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START, Position
from instant_recall.events.types import (
    ItemForgotten,
    ItemOpened,
    ItemSuperseded,
    NoteRecorded,
    PushServed,
    ReaderGranted,
    ReaderRevoked,
    SearchServed,
    WhyServed,
)
from instant_recall.ops.auditing import Access, Subject, Tally, accesses, moment, must_be_known, newest, span
from instant_recall.tests.helpers import NEW_YEAR_2026, FixedClock, wait_until
from instant_recall.tests.small_world import encoder

DAY = 86_400_000
REPORT = "download the quarterly report from the portal"


@pytest.fixture
def log(clock: FixedClock) -> MemoryEventLog:
    """Three days: a grant and a push, a search and an open, a revoke."""
    log = MemoryEventLog(clock=clock)
    days: list[list[EventDraft]] = [
        [
            draft(NoteRecorded(item="note:1", text="one")),
            draft(ReaderGranted(reader="scout", scopes=("lab",))),
            draft(PushServed(reader="scout", session="s", items=("note:2", "note:1"), request="what is one?")),
            draft(PushServed(reader="scout", session="s", request="ok?")),
        ],
        [
            draft(SearchServed(reader="owner", items=("note:1",), request="one")),
            draft(ItemOpened(item="note:1", reader="scout", anchor="t3")),
        ],
        [draft(ReaderRevoked(reader="scout")), draft(ItemOpened(item="note:1", reader="other"))],
    ]
    for day in days:
        log.append(day)
        clock.advance(DAY)
    return log


def told(
    log: MemoryEventLog, subject: Subject, *, requests: bool = False, when: Mapping[str, str] = {}
) -> list[Access]:
    within = span(log, NEW_YEAR_2026 + 3 * DAY, **when)
    return list(accesses(log, subject, within, Tally(), requests=requests))


def test_a_reader_that_was_revoked_still_answers_for_what_it_saw(log: MemoryEventLog) -> None:
    first, empty, second = told(log, Subject(reader="scout"))
    assert (first.route, first.items, first.session) == ("push", ("note:2", "note:1"), "s")
    assert first.at == "2026-01-01T00:00:00.000Z"
    assert (empty.route, empty.items) == ("push", ())
    assert (second.route, second.items, second.anchor) == ("open", ("note:1",), "t3")


def test_of_an_item_everybody_is_told_who_saw_it(log: MemoryEventLog) -> None:
    seen = [(one.reader, one.route) for one in told(log, Subject(item="note:1"))]
    assert seen == [("scout", "push"), ("owner", "search"), ("scout", "open"), ("other", "open")]
    assert [one.route for one in told(log, Subject(reader="scout", item="note:1"))] == ["push", "open"]


def test_no_name_is_taken_for_one_that_it_begins_with(log: MemoryEventLog) -> None:
    assert told(log, Subject(reader="sco")) == []
    assert told(log, Subject(item="note:")) == []


@pytest.mark.parametrize(
    ("when", "routes"),
    [
        ({"since": "2026-01-02"}, ["open"]),
        ({"until": "2026-01-01T00:00:00+00:00"}, ["push", "push"]),
        ({"since": "36h"}, []),
        ({"since": "2d"}, ["open"]),
        ({"since": "3d", "until": "36h"}, ["push", "push", "open"]),
        ({"since": f"{NEW_YEAR_2026}-3"}, ["push", "open"]),
        ({"until": f"{NEW_YEAR_2026}-2"}, ["push"]),
        ({"before": f"{NEW_YEAR_2026 + DAY}-1"}, ["push", "push"]),
        ({"since": "1w", "until": "2036-01-01"}, ["push", "push", "open"]),
        ({"since": "2030-01-01", "until": "2036-01-01"}, []),
    ],
    ids=str,
)
def test_a_span_holds_both_of_its_ends(
    log: MemoryEventLog, when: dict[str, str], routes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert [one.route for one in told(log, Subject(reader="scout"), when=when)] == routes


@pytest.mark.parametrize("said", ["yesterday", "7", "7y", "-3d", "2026-13-01", "", "9" * 30 + "d"])
def test_what_is_no_moment_is_refused_with_examples(said: str) -> None:
    with pytest.raises(RecallError, match="Say 7d"):
        moment(said, NEW_YEAR_2026)


def test_a_span_that_ends_before_it_begins_is_refused(log: MemoryEventLog) -> None:
    with pytest.raises(RecallError, match="before it begins"):
        span(log, NEW_YEAR_2026, since="2026-02-01", until="2026-01-01")


def test_requests_are_told_only_when_they_are_wanted_and_not_after_they_were_erased(log: MemoryEventLog) -> None:
    assert {one.request for one in told(log, Subject(reader="scout"))} == {""}
    assert told(log, Subject(reader="scout"), requests=True)[0].request == "what is one?"

    log.append([draft(ItemForgotten(item="note:1"))])
    for one in log.read(START):
        log.erase_payload(one.event_id)
    first, *_ = told(log, Subject(item="note:1"), requests=True)
    assert (first.items, first.request, first.erased) == (("note:2", "note:1"), "", True)


def test_an_item_that_was_replaced_is_found_by_its_id(log: MemoryEventLog) -> None:
    log.append([draft(ItemSuperseded(item="note:1", by="note:9"))])
    assert len(told(log, Subject(item="note:1"))) == 4
    must_be_known(log, Subject(item="note:1"))


def test_who_and_what_was_never_heard_of_is_said_to_be_so(log: MemoryEventLog) -> None:
    with pytest.raises(NotFound, match="No reader 'stranger'"):
        must_be_known(log, Subject(reader="stranger"))
    with pytest.raises(NotFound, match="No item 'note:77'"):
        must_be_known(log, Subject(item="note:77"))
    log.append([draft(ReaderGranted(reader="quiet"))])
    must_be_known(log, Subject(reader="quiet", item="note:1"))
    must_be_known(MemoryEventLog(), Subject(reader="owner"))


def test_pages_go_back_through_all_of_it_without_a_gap(log: MemoryEventLog) -> None:
    log.append([draft(ItemOpened(item="note:1", reader="scout", anchor=f"t{n}")) for n in range(23)])
    everything = told(log, Subject(reader="scout"))[::-1]
    paged: list[Access] = []
    more, before = True, ""
    while more:
        within = span(log, NEW_YEAR_2026, before=before)
        page, more = newest(accesses(log, Subject(reader="scout"), within, Tally()), 5)
        paged, before = paged + page, page[-1].position
    assert paged == everything


def test_counts_are_by_reader_item_and_route(log: MemoryEventLog) -> None:
    tally = Tally()
    list(accesses(log, Subject(item="note:1"), span(log, NEW_YEAR_2026), tally))
    assert tally.routes == {"push": 1, "search": 1, "open": 2, "why": 0}
    assert tally.seen[("scout", "note:1")] == [1, 0, 1, 0, NEW_YEAR_2026 + DAY]
    assert ("scout", "note:2") not in tally.seen


def test_a_long_log_is_never_held_in_memory() -> None:
    class Endless(MemoryEventLog):
        """Makes its events as they are read."""

        size = 40_000

        def last_position(self) -> Position:
            return Position(self.size, 0)

        def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
            if after.ms >= self.size:
                return []
            one = MemoryEventLog(clock=lambda: after.ms + 1)
            one.append([draft(ItemOpened(item="note:1", reader="scout", session="s" * 100))])
            [recorded] = one.read(START)
            return [
                msgspec.structs.replace(recorded, position=Position(at, 0))
                for at in range(after.ms + 1, min(after.ms + 1 + limit, self.size + 1))
            ]

    log = Endless()
    tracemalloc.start()
    try:
        page, more = newest(accesses(log, Subject(reader="scout"), span(log, 0), Tally()), 50)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(page), more, page[0].position) == (50, True, "40000-0")
    assert peak < 4_000_000


# --- each route leaves its access ------------------------------------------------------------------------------------


@pytest.fixture
def service() -> Iterator[Service]:
    log = MemoryEventLog()
    service = Service(log, encoder())
    asset = RememberRequest(
        text="Drives a browser", name="lark", kind="skill", use_when=(REPORT,), audience=("owner", "lab")
    )
    service.remember(asset)
    log.append([draft(ReaderGranted(reader="scout", scopes=("lab",)))])
    yield service
    service.close()


def of(service: Service, reader: str) -> list[tuple[str, tuple[str, ...]]]:
    log = service._log
    return [(one.route, one.items) for one in accesses(log, Subject(reader=reader), span(log, 0), Tally())]


def ask_all(service: Service, reader: str, session: str = "") -> None:
    service.push(PushRequest(request=REPORT, reader=reader, session=session))
    service.search(SearchRequest(query=REPORT, reader=reader, session=session))
    service.open(OpenRequest(address="skill:lark", reader=reader, session=session))
    service.why(WhyRequest(request=REPORT, item="skill:lark", reader=reader, session=session))


def test_every_route_leaves_an_access_with_the_reader_who_asked(service: Service) -> None:
    ask_all(service, "scout")
    lark = ("skill:lark",)
    assert of(service, "scout") == [("push", lark), ("search", lark), ("open", lark), ("why", lark)]
    ask_all(service, "owner")
    assert of(service, "owner") == [("push", lark), ("search", lark), ("open", lark)]


def test_an_access_of_another_reader_is_not_signed_by_the_owner(service: Service) -> None:
    ask_all(service, "scout")
    signed = [one.actor for one in service._log.read(START) if isinstance(one.event, PushServed | WhyServed)]
    assert {(actor.kind, actor.name) for actor in signed} == {("agent", "scout")}


def test_what_was_refused_or_not_there_is_no_access(service: Service) -> None:
    for reader, address in (("scout", "skill:none"), ("stranger", "skill:lark")):
        with pytest.raises(NotFound):
            service.open(OpenRequest(address=address, reader=reader))
        why = service.why(WhyRequest(request=REPORT, item=address, reader=reader))
        assert why.gate == "not_indexed"
    assert of(service, "scout") == of(service, "stranger") == []


@pytest.mark.parametrize("session", ["a\0b", "line\nbreak", "\x9b", "s" * 513])
@pytest.mark.parametrize("reader", ["scout", "owner"])
def test_nothing_is_told_whose_access_the_log_could_not_take(service: Service, session: str, reader: str) -> None:
    before = service._log.last_position()
    for ask in (
        lambda: service.push(PushRequest(request=REPORT, reader=reader, session=session)),
        lambda: service.search(SearchRequest(query=REPORT, reader=reader, session=session)),
        lambda: service.open(OpenRequest(address="skill:lark", reader=reader, session=session)),
    ):
        with pytest.raises(InvalidEvent, match="session"):
            ask()
    assert service._log.last_position() == before


def test_nobody_but_the_owner_is_answered_when_no_more_accesses_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away(MemoryEventLog):
        """Takes no accesses."""

        tries = 0

        def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
            self.tries += 1
            raise LogUnavailable

    monkeypatch.setattr("instant_recall.api.recorder._WAITING", 1)
    log = Away()
    recorder = Recorder(log)
    try:
        recorder(draft(ItemOpened(item="note:1", reader="owner")))
        wait_until(lambda: log.tries, what="a try at the first")
        for _ in range(3):  # one waits behind it; the others of the owner are dropped
            recorder(draft(ItemOpened(item="note:1", reader="owner")))
        with pytest.raises(LogUnavailable, match="nobody but the owner"):
            recorder(draft(ItemOpened(item="note:1", reader="scout")))
    finally:
        recorder.close()
