"""The event log: its contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from .envelope import EventDraft, RecordedEvent
from .position import Position

MAX_BATCH = 5_000
"""Events in one append. It bounds how long one atomic call can keep the server from answering others (about 50 ms)."""

MAX_BATCH_BYTES = 32 << 20
"""Bytes in one append, for the same reason: they are written and synced before the call returns."""


class Appended(NamedTuple):
    """What became of one draft: its position, and whether its event id was there already."""

    position: Position
    duplicate: bool


class EventLog(Protocol):
    """One owner's append-only, totally ordered log.

    Promised: events of one `append` are stored all or none and stand next to each other in order; when `append`
    returns they are durable; an event id is stored once, and appending it again returns the position it has;
    `read` returns what was appended, in order, with no gaps.
    Not promised: that a failed `append` stored nothing. After LogUnavailable the outcome may be unknown; appending the
    same drafts again is safe and settles it.
    """

    @property
    def owner(self) -> str:
        """Whose log this is."""
        ...

    def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
        """Store the drafts durably as one atomic step; one result each, in order.

        Raises:
            InvalidEvent: a draft cannot be stored, or they are over MAX_BATCH or MAX_BATCH_BYTES. Nothing was stored.
            LogFull: the server refused the write. Nothing was stored.
            LogUnavailable: the server cannot be reached; try again with the same drafts.
        """
        ...

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        """Up to `limit` events behind `after`, in order, in one round trip. Fewer than `limit` only at the tail.

        Very large pages (over 5,000 events, or tens of megabytes of text) take several round trips.

        An event that cannot be read comes back as UnreadableEvent at its position; it never hides those behind it.

        Raises:
            LogUnavailable: the server cannot be reached.
        """
        ...

    def last_position(self) -> Position:
        """The position of the last event ever appended, even if it was archived since; START if there was none."""
        ...

    def erase_payload(self, event_id: str) -> bool:
        """Remove an event's free text for good; the event keeps its place. False when there was none."""
        ...
