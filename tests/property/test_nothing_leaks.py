"""A reader is answered exactly as by an owner who never had what this reader may not see, byte for byte.

Aside is only how long it took. The log's position and the generation, which would tell that something happened unseen,
are told to the owner alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
from instant_recall.projections.encoder import load_encoder
from instant_recall.projections.encoders import Encoders
from instant_recall.tests.property import histories as h
from instant_recall.tests.property.redacted import redact

READER = "sub:narrow"
SCOPES = (("work",), ("home",), ("home", "work"), ())
NOW = h.START_OF_TIME + 4 * h.HOUR
REQUESTS = (
    *h.REQUESTS,
    "die Rechnung vom Drucker und la cámara",
    "petrell, the camera one we used before",
    "open the petrel from last month",
)
GERMAN = "die Rechnung für den Drucker liegt hier und ist nicht bezahlt"
"""Enough of it to be told from English."""

texts = h.texts | st.just(GERMAN)
keys = st.builds(
    ev.KeyWeighed, item=h.items, key=st.integers(0, 40).map(lambda n: f"event-{n:04d}/0"), weight=st.just(0.5)
)
removals = st.builds(ev.KeyRemoved, item=h.items, key=st.integers(0, 40).map(lambda n: f"event-{n:04d}/0"))
german = st.builds(ev.NoteRecorded, item=st.sampled_from(h.NOTES), name=h.maybe_text, text=st.just(GERMAN))
rejections = st.builds(ev.PointerRejected, item=h.items, session=st.sampled_from(h.SESSIONS))
forgotten = st.builds(ev.ItemForgotten, item=h.items)
pushes = st.builds(
    lambda reader, session, items, request: ev.PushServed(
        reader=reader, session=session, items=tuple(items), seen=("1-0",) * len(items), request=request
    ),
    st.sampled_from((READER, "owner", "sub:other")),
    st.sampled_from(h.SESSIONS),
    st.lists(h.items, max_size=2, unique=True),
    st.sampled_from(REQUESTS),
)
happenings = st.one_of(
    h.assets, h.assets, h.notes, german, h.turns, h.closings, h.decisions, h.accesses, keys, removals, rejections,
    forgotten, pushes,
)  # fmt: skip


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
def histories(draw: st.DrawFn) -> tuple[list[RecordedEvent], frozenset[str]]:
    """What happened, and the scopes of the reader after it. `seen` of a push is what the items really were."""
    scopes = draw(st.sampled_from(SCOPES))
    drafts: list[EventDraft] = [draft(ev.ReaderGranted(reader=READER, scopes=scopes), occurred_at=h.START_OF_TIME)]
    for event in draw(st.lists(happenings, min_size=3, max_size=30)):
        at = h.START_OF_TIME + draw(st.sampled_from((0, -h.HOUR, h.HOUR)))
        drafts.append(draft(event, occurred_at=at, audience=draw(h.audiences)))
    return [recorded(n, made) for n, made in enumerate(drafts)], frozenset(scopes)


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


def answers(told: Sequence[RecordedEvent], encoders: Encoders) -> dict[str, bytes]:
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

    for request in REQUESTS:
        for session in ("", "seven"):
            asked = m.PushRequest(request=request, reader=READER, session=session)
            ask(f"push {session} {request}", service.push, asked, now=NOW)
            ask(f"ranked {session} {request}", service.push, asked, now=NOW, bar=0.0)
        ask(f"search {request}", service.search, m.SearchRequest(query=request, reader=READER, limit=99), now=NOW)
        for item in (h.ITEMS[0], h.ITEMS[4]):
            ask(f"why {item} {request}", service.why, m.WhyRequest(request=request, item=item, reader=READER), now=NOW)
    for address in (*h.ITEMS, *h.NAMES, *h.ADDRESSES, "session:seven#t1", "nothing"):
        ask(f"open {address}", service.open, m.OpenRequest(address=address, reader=READER), now=NOW)
        ask(f"keys {address}", service.keys, KeysRequest(item=address, reader=READER, request=REQUESTS[0]))
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
    def same(history: tuple[list[RecordedEvent], frozenset[str]]) -> None:
        told, scopes = history
        whole, without = answers(told, encoders), answers(redact(told, READER, scopes), encoders)
        for asked, answer in whole.items():
            assert answer == without[asked], asked

    same()


def test_a_reader_is_answered_as_if_nothing_hidden_had_ever_been(encoders: Encoders) -> None:
    check(encoders, examples=30, shrink=False)


@pytest.mark.property
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("width", [searching.WIDTH, 1])
def test_a_reader_is_answered_as_if_nothing_hidden_had_ever_been_in_many_histories(
    encoders: Encoders, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(searching, "WIDTH", width)
    check(encoders, examples=2_000, shrink=True)
