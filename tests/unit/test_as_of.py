"""As of a past moment: exactly what was answered then, without what was forgotten since."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall.api.history import VIEWS_KEPT
from instant_recall.api.messages import OpenRequest, PushRequest, SearchRequest, StatusRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import EventDraft, RecordedEvent, draft
from instant_recall.events.errors import LogGap, NotFound, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.moment import time_text
from instant_recall.events.position import START, Position
from instant_recall.projections.building import build
from instant_recall.projections.naming.resolving import NOTHING
from instant_recall.projections.snapshot import BATCH
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.helpers import FixedClock
from instant_recall.tests.small_world import counting, encoder, note, skill

SECOND = 1_000
DAY = 86_400 * SECOND
REQUESTS = [
    "download last quarter's report from the company portal",
    "check the camera on the lab machine",
    "train it again with the setup we used last time",
    "what is the kilometre allowance",
    "lark please",
    "where is the summer school",
]
ADDRESSES = ["skill:portal-helper", "note:camera", "note:rates", "session:s1#t1", "note:summer", "skill:lark"]
NOT_COMPARED = ("took_ms", "as_of", "generation", "snapshot_position", "overlay_items", "pushes", "uptime_s")


def story(start: int) -> list[EventDraft]:
    """Everything happens to something; one event each second, some that come true or end later."""

    def said(event: ev.Event, audience: tuple[str, ...] = ("owner",)) -> EventDraft:
        return draft(event, occurred_at=start, audience=audience)

    key = said(ev.KeyAdded(item="note:camera", phrase="is anybody at the bench"), ("owner", "lab"))
    return [
        said(ev.ReaderGranted(reader="sub:lab", scopes=("lab",))),
        said(skill("portal-helper", "Relays commands to a logged-in browser", use_when=("a site without a download",))),
        said(
            note("camera", "The camera on the bench is reached at port 8080. Lens cap on the left."), ("owner", "lab")
        ),
        said(skill("lark", "Feeds paper through the scanner and adds the text")),
        said(note("rates", "Kilometre allowance is 30 cents")),
        said(ev.OwnershipCorrected(item="skill:portal-helper", request="download the quarterly report")),
        said(ev.TurnRecorded(session="s1", turn=1, role="owner", text="train the sorter on the new pictures of birds")),
        said(ev.TurnRecorded(session="s1", turn=2, role="agent", text="used the two stage setup, four hours")),
        said(ev.SessionClosed(session="s1", project="sorter", helped=("skill:lark",), outcome="trained the sorter")),
        said(
            note("summer", "The summer school is at the lake", valid_from=start + 4 * SECOND, valid_until=start + DAY)
        ),
        said(ev.ItemMuted(item="note:camera")),
        said(ev.ItemUnmuted(item="note:camera")),
        said(note("rates2", "Kilometre allowance is 38 cents", supersedes="note:rates")),
        key,
        said(ev.KeyRemoved(item="note:camera", key=f"{key.event_id}/0")),
        said(ev.PushServed(reader="owner", session="s1", items=("skill:lark",), seen=("1-0",))),
        said(ev.ContextReset(session="s1")),
        said(ev.ItemQuarantined(item="skill:lark")),
        said(ev.ItemReleased(item="skill:lark")),
        said(ev.ItemClosed(item="skill:portal-helper", closed_at=start + 22 * SECOND, reason="moves away")),
        said(ev.ItemSuperseded(item="note:rates2", by="note:rates3")),
        said(note("rates3", "Kilometre allowance is 40 cents from now on")),
        said(ev.ReaderRevoked(reader="sub:lab")),
        said(skill("portal-helper", "Relays commands to a logged-in browser, the new one")),
        said(ev.ItemHelped(item="skill:lark", session="s1")),
        said(ev.PointerRejected(item="note:camera", request="where is it")),
    ]


@pytest.fixture
def log(clock: FixedClock) -> MemoryEventLog:
    return MemoryEventLog(clock=clock)


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path)


def serving(log: MemoryEventLog, store: SnapshotStore | None, clock: FixedClock) -> Service:
    """A service that leaves no accesses in the log, so that a test knows what is in it."""
    return Service(log, encoder(), store, clock=clock, record=lambda _: None)


def told(answer: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(answer).items() if name not in NOT_COMPARED}


def everything(service: Service, as_of: str = "") -> list[object]:
    """All that the owner is told, at present or as of then."""
    said: list[object] = [told(service.status(StatusRequest(as_of=as_of)))]
    for request in REQUESTS:
        said.append(told(service.push(PushRequest(request=request, as_of=as_of))))
        said.append(told(service.push(PushRequest(request=request, as_of=as_of), bar=0.0)))
        said.append(told(service.search(SearchRequest(query=request, as_of=as_of))))
    for address in ADDRESSES:
        try:
            said.append(told(service.open(OpenRequest(address=address, as_of=as_of))))
        except NotFound as error:
            said.append(str(error))
    return said


def pushed(service: Service, request: str, **fields: Any) -> list[str]:
    return [pointer.item for pointer in service.push(PushRequest(request=request, **fields)).pointers]


# --- exact ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_as_of_any_position_the_answers_are_those_that_were_given_then(
    seed: int, log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    chance = random.Random(seed)
    service = serving(log, store, clock)
    answered: dict[str, list[object]] = {}
    for event in story(clock.now):
        clock.advance(SECOND)
        position = log.append([event])[0].position
        answered[str(position)] = everything(service)
        if chance.random() < 0.3:
            build(log, store, encoder())
            store.collect(3)
            service.refresh()
    clock.advance(DAY)
    started_anew = serving(log, store, clock)

    assert len({str(each) for each in answered.values()}) > 15, "the story should change the answers"
    order = list(answered)
    chance.shuffle(order)
    for asked, then in enumerate(order):
        assert everything(service if asked % 2 else started_anew, as_of=then) == answered[then]


def test_as_of_any_time_what_was_valid_then_is_told(
    log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    service = serving(log, store, clock)
    answered: dict[str, list[object]] = {}
    for event in story(clock.now):
        clock.advance(SECOND)
        log.append([event])
        clock.advance(1)
        answered[time_text(clock.now)] = everything(service)
    build(log, store, encoder())
    for wait in (SECOND, 20 * SECOND, DAY):
        clock.advance(wait)
        answered[time_text(clock.now)] = everything(service)

    for time, expected in answered.items():
        assert everything(service, as_of=time) == expected


def test_as_of_the_present_position_the_push_is_that_of_now_byte_for_byte(
    log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    service = serving(log, store, clock)
    log.append(story(clock.now)[:12])
    build(log, store, encoder())
    service.refresh()
    log.append(story(clock.now)[12:])
    changes: dict[str, Any] = {"took_ms": 0, "as_of": ""}
    for request in REQUESTS:
        now = service.push(PushRequest(request=request))
        then = service.push(PushRequest(request=request, as_of=str(log.last_position())))
        assert then.as_of == time_text(clock.now)
        assert _bytes(now, changes) == _bytes(then, changes)


def _bytes(answer: msgspec.Struct, changes: dict[str, Any]) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(answer, **changes))


def test_a_position_within_a_batch_and_between_events_cuts_there(log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    (first, *_) = log.append([draft(note(f"n{n}", f"heron number {n}"), occurred_at=clock.now) for n in range(4)])
    clock.advance(SECOND)
    log.append([draft(note("later", "a later heron"), occurred_at=clock.now)])

    def found(as_of: str) -> int:
        return len(service.search(SearchRequest(query="heron", as_of=as_of)).found)

    assert [found(f"{first.position.ms}-{seq}") for seq in (0, 1, 3, 99)] == [1, 2, 4, 4]
    assert found(f"{first.position.ms + 1}-0") == 4
    assert found(str(log.last_position())) == 5
    assert found(time_text(first.position.ms)) == 4


def test_the_time_of_an_event_includes_it_and_the_millisecond_before_does_not(
    log: MemoryEventLog, clock: FixedClock
) -> None:
    service = serving(log, None, clock)
    log.append([draft(skill("lark", "Feeds paper"), occurred_at=clock.now)])
    at = clock.now
    clock.advance(DAY)

    assert pushed(service, "is lark done", as_of=time_text(at)) == ["skill:lark"]
    assert pushed(service, "is lark done", as_of=time_text(at - 1)) == []


# --- moments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_of", ["0-0", "5-7", "1970-01-01T00:00Z", "2025-12-31T23:59:59+00:00", "0001-01-01T00:00Z"])
def test_before_the_log_began_the_memory_was_empty(as_of: str, log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    log.append(story(clock.now))

    assert pushed(service, "is lark done", as_of=as_of) == []
    assert service.status(StatusRequest(as_of=as_of)).items == {}
    assert service.status(StatusRequest(as_of=as_of)).position == str(START)
    with pytest.raises(NotFound):
        service.open(OpenRequest(address="skill:lark", as_of=as_of))


def test_an_empty_log_has_an_empty_past(log: MemoryEventLog, clock: FixedClock) -> None:
    assert pushed(serving(log, None, clock), "is lark done", as_of="2025-01-01T00:00Z") == []


@pytest.mark.parametrize("as_of", ["1767225600001-0", "1767225600000-1", "18446744073709551615-18446744073709551615"])
def test_a_position_that_was_not_written_yet_is_refused(as_of: str, log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    log.append([draft(skill("lark", "Feeds paper"), occurred_at=clock.now)])

    with pytest.raises(RecallError, match="The log ends at 1767225600000-0"):
        service.push(PushRequest(request="is lark done", as_of=as_of))


def test_a_time_to_come_is_refused_and_the_present_is_not(log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    log.append([draft(skill("lark", "Feeds paper"), occurred_at=clock.now)])
    clock.advance(DAY)

    assert pushed(service, "is lark done", as_of=time_text(clock.now)) == ["skill:lark"]
    with pytest.raises(RecallError, match="future"):
        service.push(PushRequest(request="is lark done", as_of=time_text(clock.now + 1)))


BAD = [
    "yesterday", "2026-11", "2026", "5", "-", "1-2-3", "-5-0", "1e9-0", "٣-٠", " ", "2026-13-01T00:00Z", "x" * 1000,
    "1767225600000-", "99999999999999999999-0",
]  # fmt: skip


@pytest.mark.parametrize("as_of", BAD)
def test_what_is_no_moment_is_refused_with_what_one_looks_like(
    as_of: str, log: MemoryEventLog, clock: FixedClock
) -> None:
    with pytest.raises(RecallError, match=r"2026-11-01T10:00|1767225600000-0") as refused:
        serving(log, None, clock).search(SearchRequest(query="x", as_of=as_of))
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("as_of", ["2026-01-01T10:00", "2026-01-01", "20260101-10"])
def test_a_time_without_a_zone_is_refused_for_a_server_cannot_know_whose_it_is(
    as_of: str, log: MemoryEventLog, clock: FixedClock
) -> None:
    with pytest.raises(RecallError, match="time zone"):
        serving(log, None, clock).search(SearchRequest(query="x", as_of=as_of))


# --- who and how ------------------------------------------------------------------------------------------------------


def test_only_the_owner_may_ask_about_the_past(log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    log.append(story(clock.now))
    past: dict[str, Any] = {"as_of": str(log.last_position()), "reader": "sub:lab"}
    questions: list[Callable[[], object]] = [
        lambda: service.push(PushRequest(request="lark please", **past)),
        lambda: service.search(SearchRequest(query="lark", **past)),
        lambda: service.open(OpenRequest(address="skill:lark", **past)),
        lambda: service.open(OpenRequest(address="skill:none", **past)),
        lambda: service.status(StatusRequest(**past)),
    ]
    said = set()
    for question in questions:
        with pytest.raises(Refused, match="Only the owner") as refused:
            question()
        said.add(str(refused.value))
    assert len(said) == 1


def test_what_is_about_the_present_cannot_be_said_with_it(log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    with pytest.raises(RecallError, match="already_shown"):
        service.push(PushRequest(request="x", as_of="0-0", already_shown=("skill:lark",)))
    with pytest.raises(RecallError, match="min_position"):
        service.push(PushRequest(request="x", as_of="0-0", min_position="1-0"))
    with pytest.raises(RecallError, match="min_position"):
        service.search(SearchRequest(query="x", as_of="0-0", min_position="1-0"))


def test_a_look_into_the_past_is_an_access_that_no_session_notices(log: MemoryEventLog, clock: FixedClock) -> None:
    service = Service(log, encoder(), clock=clock)
    log.append([draft(skill("lark", "Feeds paper"), occurred_at=clock.now)])
    past = str(log.last_position())
    clock.advance(SECOND)
    before = log.last_position()
    assert pushed(service, "is lark done", session="s1") == ["skill:lark"]
    assert pushed(service, "is lark done", session="s1", as_of=past) == ["skill:lark"]
    assert pushed(service, "is lark done", session="s2", as_of=past) == ["skill:lark"]
    service.search(SearchRequest(query="lark", session="s2", as_of=past))
    service.open(OpenRequest(address="skill:lark", session="s2", as_of=past))
    assert pushed(service, "is lark done", session="s2") == ["skill:lark"]
    assert pushed(service, "is lark done", session="s2") == []

    accesses = log.read(before)
    sessions = [getattr(each.event, "session", "?") for each in accesses]
    assert sessions == ["s1", "", "", "", "", "s2", "s2"]
    assert {each.occurred_at for each in accesses} == {clock.now}


def test_what_was_forgotten_is_shown_as_of_no_time(
    log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    """Being forgotten wins over being exact: nothing returns a forgotten item, whatever is asked."""
    never_had_it = MemoryEventLog(clock=clock)
    never_had_it.append([draft(ev.ItemForgotten(item="note:camera"), occurred_at=clock.now)])
    twin, service = serving(never_had_it, None, clock), serving(log, store, clock)
    answered: dict[str, list[object]] = {}
    for event in story(clock.now):
        clock.advance(SECOND)
        position = str(log.append([event])[0].position)
        never_had_it.append([event])
        answered[position] = everything(twin)
        if len(answered) == 10:
            build(log, store, encoder())
    held = str(log.last_position())
    assert "note:camera" in str(everything(service, as_of=held)), "a view that is kept must learn of it, too"
    clock.advance(SECOND)
    log.append([draft(ev.ItemForgotten(item="note:camera"), occurred_at=clock.now)])

    for position in [held, *answered]:
        past, never = everything(service, as_of=position), answered[position]
        # The owner is told that it was forgotten, once it has been there.
        assert [NOTHING if each == FORGOTTEN else each for each in past] == [
            NOTHING if each == FORGOTTEN else each for each in never
        ]


FORGOTTEN = "note:camera was forgotten. That cannot be taken back."


# --- where from -------------------------------------------------------------------------------------------------------


@pytest.fixture
def generations(log: MemoryEventLog, store: SnapshotStore, clock: FixedClock) -> list[str]:
    """Six positions; a snapshot was made at the second, the third and the fourth."""
    positions = []
    for n in range(6):
        clock.advance(SECOND)
        named = [note(f"heron-{n}-{m}", f"The grey heron number {n} of pond {m}") for m in range(5)]
        positions.append(str(log.append([draft(event, occurred_at=clock.now) for event in named])[-1].position))
        if n in {1, 2, 3}:
            build(log, store, encoder())
    return positions


def generation_used(service: Service, position: str) -> int:
    return service.search(SearchRequest(query="heron", as_of=position)).generation


def test_the_newest_snapshot_that_does_not_reach_beyond_is_the_base_and_its_vectors_are_not_made_again(
    generations: list[str], log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    encoders, counted = counting()
    service = Service(log, encoders, store, clock=clock, record=lambda _: None)
    used, made = [], []
    for position in generations:
        before = counted.texts
        used.append(generation_used(service, position))
        made.append(counted.texts - before - 1)  # one is the query's

    assert used == [0, 1, 2, 3, 3, 3]
    rows = made[0]
    assert rows > 0
    assert made == [rows, 0, 0, 0, rows, 2 * rows]


def test_a_damaged_generation_is_passed_over_for_an_older_one(
    generations: list[str], log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    before = everything(serving(log, store, clock), as_of=generations[2])
    service = serving(log, store, clock)
    items = store.open(2).path / "items.bin"
    items.write_bytes(items.read_bytes()[:-1])
    assert generation_used(service, generations[2]) == 1
    assert everything(service, as_of=generations[2]) == before
    (store.root / "gen-000001/manifest.json").write_text("{}")
    assert everything(serving(log, store, clock), as_of=generations[2]) == before
    assert generation_used(serving(log, store, clock), generations[2]) == 0


def test_generations_of_another_encoder_and_those_rolled_back_from_are_not_used(
    generations: list[str], log: MemoryEventLog, store: SnapshotStore, clock: FixedClock
) -> None:
    store.rollback(1)
    assert generation_used(serving(log, store, clock), generations[3]) == 1

    encoders, other = counting()
    other.fingerprint = "another"
    service = Service(log, encoders, store, clock=clock, record=lambda _: None)
    assert generation_used(service, generations[3]) == 0


class Watched(MemoryEventLog):
    """Counts reads; `gap` makes everything up to there unreadable, as when it was trimmed and its archive is lost."""

    reads = 0
    gap = START

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        self.reads += 1
        if after < self.gap:
            raise LogGap(f"The events behind {after} and up to {self.gap} are gone. Start from a snapshot.")
        return super().read(after, limit)


def test_the_last_views_are_kept_and_no_more(clock: FixedClock) -> None:
    log = Watched(clock=clock)
    positions = []
    for n in range(VIEWS_KEPT + 1):
        clock.advance(SECOND)
        positions.append(str(log.append([draft(note(f"n{n}", "a heron"), occurred_at=clock.now)])[0].position))
    service = serving(log, None, clock)

    def reads_for(position: str) -> int:
        before = log.reads
        service.search(SearchRequest(query="heron", as_of=position))
        return log.reads - before - 2  # two are those of the live view

    for position in positions:
        assert reads_for(position) == 1
    assert [reads_for(position) for position in positions[1:]] == [0] * VIEWS_KEPT
    assert reads_for(positions[0]) == 1
    service._history.release()
    assert reads_for(positions[0]) == 0
    service._history.release(idle_s=0)
    assert reads_for(positions[0]) == 1


def test_what_the_log_does_not_hold_any_more_is_a_named_error_unless_a_snapshot_reaches_there(
    store: SnapshotStore, clock: FixedClock
) -> None:
    log = Watched(clock=clock)
    positions = []
    for n in range(4):
        clock.advance(SECOND)
        positions.append(log.append([draft(note(f"n{n}", f"heron {n}"), occurred_at=clock.now)])[0].position)
        if n == 2:
            build(log, store, encoder())
    log.gap = positions[1]
    service = serving(log, store, clock)

    assert len(service.search(SearchRequest(query="heron", as_of=str(positions[2]))).found) == 3
    assert len(service.search(SearchRequest(query="heron", as_of=str(positions[3]))).found) == 4
    for _ in range(2):
        with pytest.raises(LogGap, match="gone"):
            service.search(SearchRequest(query="heron", as_of=str(positions[0])))
    assert len(service.search(SearchRequest(query="heron")).found) == 4


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(6) as made:
        yield made


def test_what_is_forgotten_while_the_view_is_made_is_not_shown(clock: FixedClock) -> None:
    class Forgetting(MemoryEventLog):
        """Somebody forgets the camera while the past is being read."""

        armed = False

        def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
            found = super().read(after, limit)
            if self.armed and limit == BATCH:
                self.armed = False
                self.append([draft(ev.ItemForgotten(item="note:camera"), occurred_at=clock.now)])
            return found

    log = Forgetting(clock=clock)
    service = serving(log, None, clock)
    log.append([draft(note("camera", "The camera on the bench"), occurred_at=clock.now)])
    past = str(log.last_position())
    clock.advance(SECOND)
    log.armed = True

    assert service.search(SearchRequest(query="camera", as_of=past)).found == ()
    assert not log.armed


def test_many_threads_ask_of_many_times_while_the_present_goes_on(
    generations: list[str], log: MemoryEventLog, store: SnapshotStore, clock: FixedClock, pool: ThreadPoolExecutor
) -> None:
    service = serving(log, store, clock)
    expected = {position: everything(service, as_of=position) for position in generations}
    wrong: list[str] = []
    done = threading.Event()

    def ask(seed: int) -> None:
        sample = random.Random(seed).sample(generations, 4)
        wrong.extend(position for position in sample if everything(service, as_of=position) != expected[position])

    def write() -> None:
        n = 0
        while not done.wait(0.002):
            n += 1
            log.append([draft(note(f"new{n}", f"A new heron {n}"), occurred_at=clock.now)])
            service.push(PushRequest(request=f"a new heron {n}"))

    writing = pool.submit(write)
    asking = [pool.submit(ask, seed) for seed in range(5)]
    for each in asking:
        each.result(timeout=60)
    done.set()
    writing.result(timeout=10)
    assert wrong == []


def test_the_answer_tells_its_moment(log: MemoryEventLog, clock: FixedClock) -> None:
    service = serving(log, None, clock)
    log.append([draft(skill("lark", "Feeds paper"), occurred_at=clock.now)])
    at = datetime(2026, 1, 1, tzinfo=UTC)

    answers: list[Any] = [
        service.push(PushRequest(request="lark please", as_of="1767225600000-0")),
        service.search(SearchRequest(query="lark", as_of="2026-01-01T01:00+01:00")),
        service.open(OpenRequest(address="skill:lark", as_of="2026-01-01T00:00Z")),
        service.status(StatusRequest(as_of="2026-01-01T00:00Z")),
    ]
    assert [datetime.fromisoformat(answer.as_of) for answer in answers] == [at] * 4
    assert service.push(PushRequest(request="lark please")).as_of == service.status().as_of == ""
