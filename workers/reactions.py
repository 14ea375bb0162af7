"""What the reactor makes of events: pure, and small. `reactor.py` brings the events and stores the outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from ..events import types as ev
from ..events.envelope import RecordedEvent, UnreadableEvent
from ..events.errors import CorruptEvent
from ..events.position import START, Position
from ..projections.policy.caps import counts

DROPPED_AT_ONCE: Final = 1_000
"""Touched items that one commit takes out after a snapshot; a hundred thousand at once would hold the server up."""

_WHOLE_SUBJECT: Final = (
    *(ev.TurnRecorded, ev.KeyAdded, ev.KeyRemoved, ev.OwnershipCorrected, ev.ItemClosed, ev.ItemMuted),
    *(ev.ItemUnmuted, ev.AudienceChanged, ev.ItemQuarantined, ev.ItemReleased, ev.ItemForgotten),
)


class Reaction(msgspec.Struct, frozen=True):
    """What one event means to the reactor."""

    touched: tuple[str, ...] = ()
    """Items that readers now keep in memory, beside the snapshot, because of it."""
    snapshot: Position | None = None
    """A snapshot was published that holds everything up to here."""
    closed_at: ev.Millis | None = None
    """A session was closed then."""
    forgotten: str = ""
    """An item whose bytes are to be erased."""


class Effect(msgspec.Struct, frozen=True):
    """A job to be put into the queue. The same event, handled again, leads to the same job id."""

    job_id: str
    job: Literal["rebuild", "erase"]
    position: Position
    """Of the event that led to it: effects are carried out in this order."""
    item: str = ""


def react(recorded: RecordedEvent) -> Reaction:
    """What an event means.

    Raises:
        CorruptEvent: its bytes are damaged.
        RecallError: it names a position that is none.
    """
    event = recorded.event
    if isinstance(event, UnreadableEvent):
        if event.why == "corrupt":
            raise CorruptEvent
        return Reaction()  # of a later version, which knows what it means
    if not counts(event, recorded.actor.kind):
        return Reaction()
    if isinstance(event, ev.SnapshotPublished):
        return Reaction(snapshot=Position.parse(event.through))
    if isinstance(event, ev.SessionClosed):
        return Reaction(touched=(f"session:{event.session}", *event.helped), closed_at=recorded.recorded_at)
    if isinstance(event, ev.AssetRecorded | ev.NoteRecorded):
        return Reaction(touched=_given(event.item, event.supersedes))
    if isinstance(event, ev.ItemSuperseded):
        return Reaction(touched=_given(event.item, event.by))
    if isinstance(event, _WHOLE_SUBJECT):
        forgotten = event.item if isinstance(event, ev.ItemForgotten) else ""
        return Reaction(touched=event.subjects(), forgotten=forgotten)
    return Reaction()


def _given(*items: str | None) -> tuple[str, ...]:
    return tuple(item for item in items if item)


@dataclass
class Derived:
    """What the reactor keeps of all events so far: a few numbers, and which items the newest snapshot does not have."""

    snapshot: Position = START
    """Up to here, events are in the newest snapshot."""
    asked: Position | None = None
    """The snapshot for which a rebuild was asked for already."""
    sessions_closed: int = 0
    session_closed_at: ev.Millis = 0
    """When the last session was closed, in milliseconds; 0: none was."""
    touched: dict[str, Position] = field(default_factory=dict)
    """Items touched since the snapshot, and where last."""
    outdated: dict[str, None] = field(default_factory=dict)
    """Items that are still stored as touched, but are in the snapshot."""

    @classmethod
    def load(cls, fields: Mapping[str, str], touched: Mapping[str, str]) -> Derived:
        """From what is stored: what `fields` and the touched items gave at the last commit."""
        asked = fields.get("asked", "")
        made = cls(
            snapshot=Position.parse(fields.get("snapshot", str(START))),
            asked=Position.parse(asked) if asked else None,
            sessions_closed=int(fields.get("sessions_closed", 0)),
            session_closed_at=int(fields.get("session_closed_at", 0)),
            touched={item: Position.parse(at) for item, at in touched.items()},
        )
        made._pass_by_the_snapshot()
        return made

    def fields(self) -> dict[str, str]:
        """The numbers, as they are stored."""
        return {
            "snapshot": str(self.snapshot),
            "asked": str(self.asked) if self.asked else "",
            "sessions_closed": str(self.sessions_closed),
            "session_closed_at": str(self.session_closed_at),
        }

    def apply(self, position: Position, reaction: Reaction) -> None:
        """Take in what the event at a position means. The items it touched are in `touched` afterwards."""
        for item in reaction.touched:
            # An event that is handled again, out of its turn, must not make the item look older than it is.
            at = max(position, self.touched.get(item, START))
            if at > self.snapshot:
                self.touched[item] = at
                self.outdated.pop(item, None)
        if reaction.closed_at is not None:
            self.sessions_closed += 1
            self.session_closed_at = max(self.session_closed_at, reaction.closed_at)
        if reaction.snapshot is not None and reaction.snapshot > self.snapshot:
            self.snapshot = reaction.snapshot
            self._pass_by_the_snapshot()

    def rebuild_wanted(self, after: int, mark: str) -> Effect | None:
        """The rebuild to ask for when more than `after` items were touched; once for each snapshot.

        Args:
            after: how many items readers may keep beside the snapshot.
            mark: owner and data folder, as in the names of all jobs.
        """
        if len(self.touched) <= after or self.asked == self.snapshot:
            return None
        self.asked = self.snapshot
        job_id = f"snapshot-{mark}-after-{self.snapshot}"
        return Effect(job_id=job_id, job="rebuild", position=max(self.touched.values()))

    def take_outdated(self) -> list[str]:
        """Some of the items that can be taken out of what is stored; they count as taken out from now on."""
        some = list(self.outdated)[:DROPPED_AT_ONCE]
        for item in some:
            del self.outdated[item]
        return some

    def _pass_by_the_snapshot(self) -> None:
        for item in [item for item, at in self.touched.items() if at <= self.snapshot]:
            del self.touched[item]
            self.outdated[item] = None


def erasures(reactions: Iterable[tuple[RecordedEvent, Reaction]], mark: str) -> list[Effect]:
    """The erasures that these events ask for; see `Effect` for their ids."""
    return [
        Effect(
            job_id=f"erase-{mark}-{hashlib.sha256(recorded.event_id.encode()).hexdigest()[:16]}",
            job="erase",
            position=recorded.position,
            item=reaction.forgotten,
        )
        for recorded, reaction in reactions
        if reaction.forgotten
    ]
