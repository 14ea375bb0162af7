"""Replay: fold the whole log from zero, and hold the result against what the newest snapshot leads to.

State is the fold of the log. A snapshot only saves time, so the snapshot's state with the events behind it folded in
must be the state of a replay from zero, to the last field; the two digests say whether it is.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ..events.envelope import UnreadableEvent
from ..events.log import EventLog
from ..events.position import Position
from ..projections.state import State

if TYPE_CHECKING:
    from ..projections.snapshot_store import SnapshotStore

BATCH = 1_000
"""Events read in one go; feasibility tests found replay fastest at this size."""


@dataclass(frozen=True)
class Folded:
    """What one replay found."""

    state: State
    events: int
    unreadable: int
    """Events that this version cannot read; they stay in the log and were skipped."""
    took_s: float


def fold(log: EventLog, state: State | None = None, *, on_batch: Callable[[int], None] = lambda _: None) -> Folded:
    """Fold every event behind a state's position into it; behind nothing, without one.

    `on_batch` is told the number of events in each batch.
    """
    state = state or State()
    began, events, unreadable = time.perf_counter(), 0, 0
    while batch := log.read(state.position, BATCH):
        for recorded in batch:
            state.apply(recorded)
            unreadable += isinstance(recorded.event, UnreadableEvent)
        events += len(batch)
        on_batch(len(batch))
    return Folded(state, events, unreadable, time.perf_counter() - began)


def digest(state: State) -> str:
    """A hash over every item, every reader and what was shown in which session; the order of items does not count."""
    hashed = hashlib.sha256(msgspec.msgpack.encode((sorted(state.readers.items()), state.shown)))
    for item in sorted(state.all(), key=lambda item: item.id):
        hashed.update(msgspec.msgpack.encode(item))
    return hashed.hexdigest()[:16]


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `replay` prints."""

    events: int
    unreadable: int
    items: dict[str, int]
    """Items that the log has ever named, by kind; closed and forgotten ones are among them."""
    readers: int
    position: str
    took_s: float
    per_s: int
    digest: str
    generation: int
    """The snapshot that the result was compared with; 0: there is none."""
    generation_position: str
    generation_digest: str
    """Of the snapshot's state with the events behind it folded in; equal to `digest`, or something is wrong."""
    same: bool


def replay(log: EventLog, store: SnapshotStore, *, on_batch: Callable[[int], None] = lambda _: None) -> ReplayReport:
    """Fold the log from zero and compare; nothing is written. The log may grow meanwhile.

    Raises:
        LogUnavailable: the server cannot be reached.
    """
    found = fold(log, on_batch=on_batch)
    generation, reached, other = _by_snapshot(log, store)
    # What was written since the replay ended is in the second fold: bring the first up to it before comparing.
    fold(log, found.state)
    kinds: dict[str, int] = {}
    for item in found.state.all():
        kinds[item.kind] = kinds.get(item.kind, 0) + 1
    own = digest(found.state)
    return ReplayReport(
        events=found.events,
        unreadable=found.unreadable,
        items=dict(sorted(kinds.items(), key=lambda kind: -kind[1])),
        readers=len(found.state.readers),
        position=str(found.state.position),
        took_s=round(found.took_s, 3),
        per_s=round(found.events / found.took_s) if found.events else 0,
        digest=own,
        generation=generation,
        generation_position=str(reached) if reached else "",
        generation_digest=digest(other) if other else "",
        same=other is None or digest(other) == own,
    )


def _by_snapshot(log: EventLog, store: SnapshotStore) -> tuple[int, Position | None, State | None]:
    from ..projections.snapshot import open_base  # noqa: PLC0415 - loads numpy and usearch

    opened = store.latest()
    if opened is None:
        return 0, None, None
    base = open_base(opened)
    reached = base.state.position
    return base.generation, reached, fold(log, State(base.state)).state
