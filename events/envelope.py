"""The envelope around an event: who, when, where from, for whom."""

from __future__ import annotations

import os
import time
from typing import Literal

import msgspec

from .position import Position
from .types import Event, Millis

ActorKind = Literal["owner", "agent", "tool", "web", "import", "system"]

OWNER_ONLY: tuple[str, ...] = ("owner",)
"""The audience of an item that says nothing about its audience."""


class Actor(msgspec.Struct, frozen=True, gc=False):
    """Who caused an event. What an event can become is capped by the kind: only the owner's words make rules."""

    kind: ActorKind = "owner"
    name: str = ""


class Source(msgspec.Struct, frozen=True, gc=False):
    """Where an event came from; every field may be empty."""

    harness: str = ""
    session: str = ""
    turn: str = ""
    uri: str = ""


class EventDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An event as a writer hands it in, before the log gave it a position.

    The event id is made by the writer: appending the same id again is the same event, so a writer may retry.
    """

    event: Event
    event_id: str
    occurred_at: Millis
    actor: Actor = Actor()
    source: Source = Source()
    audience: tuple[str, ...] = OWNER_ONLY


class UnreadableEvent(Event, frozen=True, tag="unreadable"):
    """Stands for a stored event that this version cannot read; the stored bytes stay.

    Projections skip it, unless it may keep something back: then it keeps back what it is about, as far as that is told.
    """

    stored_type: str
    stored_version: int
    why: Literal["unknown_type", "newer_version", "corrupt"]
    item: str = ""
    session: str = ""
    reader: str = ""
    """What it is about, where that can be read."""


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event as the log gives it back."""

    event: Event
    event_id: str
    position: Position
    occurred_at: Millis
    owner: str
    actor: Actor
    source: Source
    audience: tuple[str, ...]
    erased: bool = False
    """The payload was erased: the event's forgettable fields read as their defaults."""

    @property
    def recorded_at(self) -> Millis:
        """When the log took it, by the server's clock (which never steps back within one log)."""
        return self.position.ms


def now_ms() -> Millis:
    """The wall clock in milliseconds UTC."""
    return time.time_ns() // 1_000_000


def new_event_id(at: Millis | None = None) -> str:
    """A UUIDv7 (RFC 9562, section 5.7) as text: sorts by time of making, unique without coordination."""
    stamp = now_ms() if at is None else at
    random = int.from_bytes(os.urandom(10), "big")
    value = (stamp & (1 << 48) - 1) << 80 | 7 << 76 | (random >> 68 & 0xFFF) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def draft(
    event: Event,
    *,
    occurred_at: Millis | None = None,
    actor: Actor | None = None,
    source: Source | None = None,
    audience: tuple[str, ...] = OWNER_ONLY,
    event_id: str | None = None,
) -> EventDraft:
    """Wrap an event for appending, with a fresh id and the present time unless they are given."""
    at = now_ms() if occurred_at is None else occurred_at
    return EventDraft(
        event=event,
        event_id=event_id or new_event_id(),
        occurred_at=at,
        actor=actor or Actor(),
        source=source or Source(),
        audience=audience,
    )
