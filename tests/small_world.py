"""A small world for tests of projections: events into an overlay, and requests asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import AssetRecorded, Event, NoteRecorded
from instant_recall.projections.base import empty_base
from instant_recall.projections.items import Item
from instant_recall.projections.meaning.encoder import Encoder, FloatArray
from instant_recall.projections.meaning.encoders import Encoders, load_encoders
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.ranker import Ranked, rank
from instant_recall.projections.searcher import Searcher
from instant_recall.projections.snapshot import catch_up

NOW = 1_790_000_000_000


@cache
def encoder() -> Encoders:
    """The bundled encoders, loaded once."""
    return load_encoders()


class Counting:
    """A static encoder that counts the texts it is asked for."""

    def __init__(self, counted: Encoder) -> None:
        self.texts = 0
        self.dim, self.fingerprint, self.is_word = counted.dim, counted.fingerprint, counted.is_word
        self._counted = counted

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.texts += len(texts)
        return self._counted.encode(texts)


def counting() -> tuple[Encoders, Counting]:
    """The bundled encoders, and the static one of them, which counts."""
    counted = Counting(encoder().bulk)
    return Encoders(counted, encoder().precious), counted


class World:
    """A log, and an overlay that is kept at its tail."""

    def __init__(self) -> None:
        self.log = MemoryEventLog(clock=lambda: NOW)
        self.overlay = Overlay(empty_base(encoder().dims), encoder())

    def happens(self, *events: Event | EventDraft, audience: tuple[str, ...] = ("owner",), at: int = NOW) -> None:
        """Append events and take them in."""
        drafts = [e if isinstance(e, EventDraft) else draft(e, occurred_at=at, audience=audience) for e in events]
        self.log.append(drafts)
        catch_up(self.overlay, self.log)

    def searcher(self, reader: str = "owner", now: int = NOW) -> Searcher:
        """A searcher for a reader."""
        return Searcher(self.overlay, encoder(), self.overlay.state.reader(reader, now), now)

    def ranked(self, request: str, reader: str = "owner", now: int = NOW) -> list[Ranked]:
        """Everything that may fit, best first."""
        return rank(self.searcher(reader, now).find(request))

    def found(self, request: str, reader: str = "owner", now: int = NOW) -> list[str]:
        """Ids of what may fit, best first."""
        return [r.evidence.item.id for r in self.ranked(request, reader, now)]


def skill(name: str, description: str = "", **fields: object) -> AssetRecorded:
    """A skill whose id comes from its name."""
    return AssetRecorded(item=f"skill:{name}", kind="skill", name=name, description=description, **fields)  # type: ignore[arg-type]


def note(name: str, text: str, **fields: object) -> NoteRecorded:
    """A note whose id comes from its heading."""
    return NoteRecorded(item=f"note:{name}", name=name, text=text, **fields)  # type: ignore[arg-type]


Answer = list[tuple[str, Item, float, str]]


def answers(overlay: Overlay, requests: Sequence[str], reader: str = "owner", now: int = NOW) -> list[Answer]:
    """Everything an overlay says to these requests, in a form that can be compared."""
    searcher = Searcher(overlay, encoder(), overlay.state.reader(reader, now), now)
    return [
        [(r.evidence.item.id, r.evidence.item, r.probability, r.evidence.anchor) for r in rank(searcher.find(request))]
        for request in requests
    ]
