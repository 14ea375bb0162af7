"""The event log: its contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from .envelope import EventDraft, RecordedEvent
from .position import Position

MAX_BATCH = 5_000
"""Events in one append. It bounds how long one atomic call can keep the server from answering others (about 50 ms)."""


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
            InvalidEvent: a draft cannot be encoded, or there are more than MAX_BATCH of them. Nothing was stored.
            LogFull: the server refused the write. Nothing was stored.
            LogUnavailable: the server cannot be reached; try again with the same drafts.
        """
        ...

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        """Up to `limit` events behind `after`, in order, in one round trip. Empty at the tail.

        An event that cannot be read comes back as UnreadableEvent at its position; it never hides those behind it.

        Raises:
            LogUnavailable: the server cannot be reached.
        """
        ...

    def last_position(self) -> Position:
        """The position of the last event; START for an empty log."""
        ...

    def erase_payload(self, event_id: str) -> bool:
        """Remove an event's free text for good; the event keeps its place. False when there was none."""
        ...
