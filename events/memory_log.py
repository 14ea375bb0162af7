"""The event log in memory: for tests, evaluation and throw-away runs. Same bytes, same rules, gone with the process."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .codec import Encoded, decode, encode_batch
from .envelope import EventDraft, RecordedEvent, now_ms
from .log import Appended
from .position import START, Position
from .types import Millis


class _Entry(NamedTuple):
    event_id: str
    envelope: bytes


class MemoryEventLog:
    """An EventLog that keeps its events in this process. Safe to use from several threads.

    It holds the encoded bytes, as the server does, so that whatever cannot be stored or read fails here too.

    Args:
        owner: whose log this is.
        clock: gives the milliseconds of positions; when it steps back, positions stay where they were and count on.
    """

    def __init__(self, owner: str = "owner", clock: Callable[[], Millis] = now_ms) -> None:
        self._owner = owner
        self._clock = clock
        self._lock = threading.Lock()
        self._positions: list[Position] = []
        self._entries: list[_Entry] = []
        self._ids: dict[str, Position] = {}
        self._payloads: dict[str, bytes] = {}

    @property
    def owner(self) -> str:
        """Whose log this is."""
        return self._owner

    def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
        """See EventLog. Nothing is durable here."""
        encoded = encode_batch(drafts)
        with self._lock:
            now = self._clock()
            return [self._append_one(draft.event_id, one, now) for draft, one in zip(drafts, encoded, strict=True)]

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        """See EventLog."""
        with self._lock:
            first = bisect_right(self._positions, after)
            last = first + max(limit, 0)
            found = [
                (position, entry, self._payloads.get(entry.event_id))
                for position, entry in zip(self._positions[first:last], self._entries[first:last], strict=True)
            ]
        return [decode(self._owner, at, entry.event_id, entry.envelope, payload) for at, entry, payload in found]

    def last_position(self) -> Position:
        """See EventLog."""
        with self._lock:
            return self._positions[-1] if self._positions else START

    def erase_payload(self, event_id: str) -> bool:
        """See EventLog."""
        with self._lock:
            return self._payloads.pop(event_id, None) is not None

    def _append_one(self, event_id: str, encoded: Encoded, now: Millis) -> Appended:
        known = self._ids.get(event_id)
        if known is not None:
            return Appended(known, duplicate=True)
        position = self._next_position(now)
        self._positions.append(position)
        self._entries.append(_Entry(event_id, encoded.envelope))
        self._ids[event_id] = position
        if encoded.payload:
            self._payloads[event_id] = encoded.payload
        return Appended(position, duplicate=False)

    def _next_position(self, now: Millis) -> Position:
        last = self._positions[-1] if self._positions else START
        return Position(now, 0) if now > last.ms else Position(last.ms, last.seq + 1)
