"""A reader is answered exactly as by an owner who never had what this reader may not see, byte for byte.

Aside is only how long it took. The log's position and the generation, which would tell that something happened unseen,
are told to the owner alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from instant_recall.api import messages as m
from instant_recall.api.key_messages import KeysRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, EventDraft, RecordedEvent, Source, draft
from instant_recall.events.errors import RecallError
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import Position
from instant_recall.projections import searcher as searching
from instant_recall.projections.meaning.encoder import load_encoder
from instant_recall.projections.meaning.encoders import Encoders
from instant_recall.projections.ranker import model
from instant_recall.tests.property import histories as h
from instant_recall.tests.property.redacted import redact

READER = "sub:narrow"
SCOPES = (("work",), ("work",), ("home", "work"), ("home",), ())
NOW = h.START_OF_TIME + 4 * h.HOUR
REQUESTS = (
    *h.REQUESTS,
    "cameras and the camera in the harbour",
    "die Rechnung vom Drucker",
    "petrell, the camera one we used before",
    "open the petrel from last month",
)
GERMAN = "die Rechnung für den Drucker liegt hier und ist nicht bezahlt, die camera auch nicht"
"""Enough of it to be told from English."""
ADDRESSES = (*h.ITEMS, *h.NAMES, *h.ADDRESSES, "session:seven#t1", "nothing")

Happening = tuple[ev.Event, tuple[str, ...]]
"""An event, and its labels."""
sessions = st.sampled_from(h.SESSIONS)
key_ids = st.integers(0, 20).map(lambda n: f"event-{n:04d}/0")
notes = st.builds(ev.NoteRecorded, item=st.sampled_from(h.NOTES), name=h.maybe_text, text=h.texts | st.just(GERMAN))
things = st.one_of(h.assets, h.notes, notes, h.turns)
pushes = st.builds(
    lambda reader, session, items, request: ev.PushServed(
        reader=reader, session=session, items=tuple(items), seen=("",) * len(items), request=request
    ),
    st.sampled_from((READER, "owner", "sub:other")),
    sessions,
    st.lists(h.items, min_size=1, max_size=2, unique=True),
    st.sampled_from(REQUESTS),
)
refits = st.builds(
    ev.RankerRefitted,
    base=st.just(model().fingerprint),
    features=st.just(model().features),
    weights=st.just(tuple(2 * weight for weight in model().weights)),
    bias=st.just(model().bias),
)
happenings = st.one_of(
    things, h.closings, h.decisions, h.decisions, h.accesses, refits, pushes,
    st.builds(ev.KeyRemoved, item=h.items, key=key_ids), st.builds(ev.ItemForgotten, item=h.items),
)  # fmt: skip


class History(NamedTuple):
    """What happened, who looks, and what they ask."""

    events: list[RecordedEvent]
    scopes: frozenset[str]
    requests: list[str]
    addresses: list[str]


@st.composite
def rejected(draw: st.DrawFn) -> list[Happening]:
    """A pointer that somebody was pushed, and rejected without saying for what."""
    push = draw(pushes)
    rejection = ev.PointerRejected(item=push.items[0], session=push.session)
    return [(push, ("owner",)), (rejection, draw(h.audiences))]


class ToldLog(MemoryEventLog):
    """A log with events that have their positions already."""

    def __init__(self, told: Sequence[RecordedEvent]) -> None:
        super().__init__()
        self._told = told

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        return [event for event in self._told if event.position > after][:limit]

    def last_position(self) -> Position:
        return self._told[-1].position


@st.composite
def histories(draw: st.DrawFn) -> History:
    """What happened: much of it to things that the reader sees, now and then before those are there."""
    scopes = draw(st.sampled_from(SCOPES))
    seen = st.tuples(things, st.just(scopes or ("work",)))
    any_of = st.tuples(happenings, h.audiences).map(lambda one: [one]) | rejected()
    early = draw(st.lists(any_of, max_size=3))
    own = draw(st.lists(seen, min_size=3, max_size=8))
    late = draw(st.lists(any_of, min_size=1, max_size=12))
    grant: Happening = (ev.ReaderGranted(reader=READER, scopes=scopes), ("owner",))
    before = [grant, *(one for some in early for one in some)]
    weighed = [
        (ev.KeyWeighed(item=event.item, key=f"event-{n:04d}/0", weight=0.5), draw(h.audiences))
        for n, (event, _) in enumerate(own, len(before))
        if isinstance(event, ev.AssetRecorded | ev.NoteRecorded) and event.use_when and draw(st.booleans())
    ]
    told = [*before, *own, *weighed, *(one for some in late for one in some)]
    at = [h.START_OF_TIME + draw(st.sampled_from((0, 0, -h.HOUR, h.HOUR))) for _ in told]
    events = [
        recorded(n, draft(event, occurred_at=when, audience=labels))
        for n, ((event, labels), when) in enumerate(zip(told, at, strict=True))
    ]
    requests = draw(st.lists(st.sampled_from(REQUESTS), min_size=2, max_size=2, unique=True))
    addresses = draw(st.lists(st.sampled_from(ADDRESSES), min_size=3, max_size=3, unique=True))
    return History(events, frozenset(scopes), requests, addresses)


def recorded(number: int, made: EventDraft) -> RecordedEvent:
    return RecordedEvent(
        event=made.event,
        event_id=f"event-{number:04d}",
        position=Position(h.START_OF_TIME + number, 0),
        occurred_at=made.occurred_at,
        owner="owner",
        actor=Actor(),
        source=Source(),
        audience=made.audience,
    )


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    static = load_encoder()
    return Encoders(static, static)


def answers(told: Sequence[RecordedEvent], asked: History, encoders: Encoders) -> dict[str, bytes]:
    """All that the reader is answered, by what was asked."""
    service = Service(ToldLog(told), encoders, clock=lambda: NOW, record=lambda _access: None)
    found: dict[str, bytes] = {}

    def ask(what: str, method: Callable[..., Any], request: m.Request, **more: Any) -> None:
        try:
            answer = method(request, **more)
            answer = msgspec.structs.replace(answer, took_ms=0.0) if hasattr(answer, "took_ms") else answer
            found[what] = msgspec.json.encode(answer)
        except RecallError as error:
            found[what] = f"{type(error).__name__}: {error}".encode()

    for request in asked.requests:
        push = m.PushRequest(request=request, reader=READER, session="seven")
        ask(f"push {request}", service.push, push, now=NOW)
        ask(f"everything {request}", service.push, push, now=NOW, bar=0.0)
        ask(f"search {request}", service.search, m.SearchRequest(query=request, reader=READER, limit=99), now=NOW)
        for item in asked.addresses:
            ask(f"why {item} {request}", service.why, m.WhyRequest(request=request, item=item, reader=READER), now=NOW)
    for address in asked.addresses:
        ask(f"open {address}", service.open, m.OpenRequest(address=address, reader=READER), now=NOW)
        ask(f"keys {address}", service.keys, KeysRequest(item=address, reader=READER, request=asked.requests[0]))
    found["status"] = msgspec.json.encode(service.status(m.StatusRequest(reader=READER)).items)
    return found


def check(encoders: Encoders, examples: int, *, shrink: bool) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=list(HealthCheck),
    )
    @given(history=histories())
    def same(history: History) -> None:
        whole = answers(history.events, history, encoders)
        without = answers(redact(history.events, READER, history.scopes), history, encoders)
        for asked, answer in whole.items():
            assert answer == without[asked], asked

    same()


def test_a_reader_is_answered_as_if_nothing_hidden_had_ever_been(encoders: Encoders) -> None:
    check(encoders, examples=40, shrink=False)


@pytest.mark.property
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("width", [searching.WIDTH, 1])
def test_a_reader_is_answered_as_if_nothing_hidden_had_ever_been_in_many_histories(
    encoders: Encoders, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(searching, "WIDTH", width)
    check(encoders, examples=2_000, shrink=True)
