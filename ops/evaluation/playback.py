"""A world played back: its rows become events, fed in time order into a log that the product's own service reads.

The log's clock is the world's, so every answer rests on what was known at its moment and on nothing later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Final

from ...api.messages import PushRequest
from ...api.service import Service
from ...events.envelope import OWNER_ONLY, Actor, EventDraft, draft
from ...events.memory_log import MemoryEventLog
from ...events.types import (
    AssetRecorded,
    Event,
    ItemClosed,
    ItemMuted,
    ItemQuarantined,
    ItemReleased,
    ItemSuperseded,
    ItemUnmuted,
    Millis,
    NoteRecorded,
    OwnershipCorrected,
    ReaderGranted,
    SessionClosed,
    TurnRecorded,
)
from ...projections.meaning.encoders import Encoders
from .worlds import Asset, Case, Correction, Note, Policy, Session, World, millis


@dataclass(frozen=True)
class Setup:
    """The product with some of its parts: what is fed to it, and which routes it may use. By default all of it."""

    says: str = "the full push"
    """One line for a person."""
    assets: bool = True
    """Assets are fed; without them only notes and sessions."""
    names: bool = True
    """Aliases are fed, and what a request names is pushed first, whatever its score."""
    storing: bool = True
    """Use keys from the moment of storing are fed: `use_when` and the request that was under way."""
    learning: bool = True
    """Use keys from corrections, and from sessions in which a thing helped, are fed."""
    links: bool = True
    """What was opened together is fed, links and "last time" are looked at."""
    bar: bool = True
    """The product's own bar; without it the best five are pushed, whatever their score."""
    overlay: bool = True
    """Everything up to the request is known; without it everything up to the last midnight (UTC)."""


FULL: Final = Setup()


class Playback:
    """A world up to a moment, and the service that answers from it.

    Args:
        world: what happens.
        encoders: what the service encodes with.
        setup: which part of it is fed.
    """

    def __init__(self, world: World, encoders: Encoders, setup: Setup = FULL) -> None:
        self._sessions = {session.id for session in world.sessions}
        self._waiting = timeline(world, setup)
        self._overlay = setup.overlay
        self._fed = 0
        self._now: Millis = 0
        self.log = MemoryEventLog(clock=lambda: self._now)
        self.service = Service(self.log, encoders, clock=lambda: self._now)

    def feed_until(self, at: Millis) -> None:
        """Put everything that is known at `at` into the log. Time never runs back."""
        known = at if self._overlay else _midnight_before(at)
        while self._fed < len(self._waiting) and self._waiting[self._fed].occurred_at <= known:
            next_up = self._waiting[self._fed]
            self._now = max(self._now, next_up.occurred_at)
            self.log.append([next_up])
            self._fed += 1
        self._now = max(self._now, at)

    def world_id(self, item: str) -> str:
        """The world's own id of one of the product's items."""
        bare = item.removeprefix("session:")
        return bare if bare in self._sessions else item

    def product_id(self, item: str) -> str:
        """The product's id of one of the world's items."""
        return _product_id(item, self._sessions)

    def close(self) -> None:
        """Let the service go."""
        self.service.close()


def request_of(case: Case) -> PushRequest:
    """What the product is told of a case: what was typed, by whom, and the chat just before it. Never the answer."""
    return PushRequest(request=case.request, reader=case.reader, recent=(case.context,) if case.context else ())


def timeline(world: World, setup: Setup = FULL) -> list[EventDraft]:
    """A world's rows but its cases as events, in the order in which they happened; of a setup, what it is fed.

    Who may see what, and until when, is fed to every setup.
    """
    sessions = {session.id for session in world.sessions}
    unfed = set() if setup.assets else {row.id for row in world.assets}
    drafts = [_asset(row, setup) for row in world.assets if row.id not in unfed]
    drafts += [_note(row) for row in world.notes]
    drafts += [event for row in world.sessions for event in _session(row, sessions, setup)]
    drafts += [_correction(row, sessions) for row in world.corrections if setup.learning]
    drafts += [_policy(row, sessions) for row in world.policy if row.item not in unfed]
    # The sort is stable: within one moment things are stored, then corrected, then muted.
    return sorted(drafts, key=lambda made: made.occurred_at)


def _product_id(item: str, sessions: set[str]) -> str:
    return f"session:{item}" if item in sessions else item


def _midnight_before(at: Millis) -> Millis:
    day = datetime.fromtimestamp(at / 1_000, UTC).date()
    return millis(datetime.combine(day, time(), UTC))


def _asset(row: Asset, setup: Setup) -> EventDraft:
    event = AssetRecorded(
        item=row.id,
        kind=row.kind,
        name=row.name,
        aliases=row.aliases if setup.names else (),
        description=row.description,
        text=row.text,
        address=row.location,
        use_when=row.use_when if setup.storing else (),
        request=(row.stored_during or "") if setup.storing else "",
        supersedes=row.supersedes,
    )
    # Of what an agent describes, nothing becomes a use key.
    actor = Actor("owner" if setup.storing else "agent")
    return draft(event, occurred_at=millis(row.stored_at), audience=row.audience, actor=actor)


def _note(row: Note) -> EventDraft:
    anchor = row.heading.rpartition(">")[2].strip().lower().replace(" ", "-")
    event = NoteRecorded(item=row.id, name=row.heading, text=row.text, address=f"{row.path}#{anchor}")
    return _draft(event, millis(row.written_at), row.audience)


def _session(row: Session, sessions: set[str], setup: Setup) -> Iterator[EventDraft]:
    for number, turn in enumerate(row.turns, 1):
        said = TurnRecorded(session=row.id, turn=number, role=turn.role, text=turn.text, project=row.project)
        yield _draft(said, millis(turn.at), row.audience)
    closed = SessionClosed(
        session=row.id,
        project=row.project,
        used=tuple(_product_id(item, sessions) for item in row.used if setup.links),
        helped=tuple(_product_id(item, sessions) for item in row.helped if setup.learning),
        outcome=row.outcome,
    )
    yield _draft(closed, max(millis(turn.at) for turn in row.turns), row.audience)


def _correction(row: Correction, sessions: set[str]) -> EventDraft:
    event = OwnershipCorrected(item=_product_id(row.item, sessions), request=row.request, said=row.said)
    return _draft(event, millis(row.at))


def _policy(row: Policy, sessions: set[str]) -> EventDraft:
    item = _product_id(row.item or "", sessions)
    event: Event
    match row.action:
        case "grant":
            event = ReaderGranted(reader=f"sub:{row.reader}", scopes=row.scope, kind=row.kind, reason=row.reason)
        case "mute":
            event = ItemMuted(item=item, reason=row.reason)
        case "unmute":
            event = ItemUnmuted(item=item)
        case "quarantine":
            event = ItemQuarantined(item=item, reason=row.reason)
        case "release":
            event = ItemReleased(item=item)
        case "retire":
            event = ItemClosed(item=item, reason=row.reason)
        case "supersede":
            event = ItemSuperseded(item=item, reason=row.reason)
    return _draft(event, millis(row.at))


def _draft(event: Event, at: Millis, audience: tuple[str, ...] = OWNER_ONLY) -> EventDraft:
    return draft(event, occurred_at=at, audience=audience)
