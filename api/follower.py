"""The follower: keeps an overlay at the tail of the log, over the newest snapshot.

Requests and the background share it under one lock: an overlay is changed only while nobody searches in it.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from ..events.errors import LogUnavailable
from ..events.log import EventLog
from ..projections.base import Base, empty_base
from ..projections.meaning.encoders import Encoders
from ..projections.overlay import Overlay
from ..projections.snapshot import catch_up, latest_base
from ..projections.snapshot_store import SnapshotStore

log = structlog.get_logger()

STEP: Final = 50
"""Events applied before the clock is looked at again: about 10 ms when all of them are new notes."""


class Follower:
    """The live view of one log. Safe to use from several threads."""

    def __init__(self, events: EventLog, encoders: Encoders, snapshots: SnapshotStore | None = None) -> None:
        self._events = events
        self._encoders = encoders
        self._snapshots = snapshots
        self._lock = threading.Lock()
        self._next: Overlay | None = None
        self._looked_at = snapshots.current() if snapshots else None
        base = latest_base(snapshots, encoders) if snapshots else empty_base(encoders.dims)
        self._overlay = self._caught_up(base)
        gc.freeze()

    @contextmanager
    def at_tail(self, budget_s: float) -> Iterator[tuple[Overlay, bool]]:
        """The overlay for one request, and whether it holds everything that the log held when asked.

        A snapshot that has been warmed is taken over first. Catching up stops after about `budget_s` seconds: right as
        of an earlier position beats late. Inside the block nobody else changes the overlay. Between two steps of
        catching up, others get their turn: a search that may wait must not make a push wait with it.
        """
        deadline = time.monotonic() + budget_s
        while True:
            with self._lock:
                if self._next is not None:
                    self._overlay, self._next = self._next, None
                behind, complete = self._step(self._overlay)
                if not behind or time.monotonic() > deadline:
                    yield self._overlay, complete
                    return
            _breathe()

    def follow(self, budget_s: float) -> None:
        """Catch up a little in between requests, so that no request has to take in a bulk import alone."""
        with self.at_tail(budget_s):
            pass

    def refresh(self) -> bool:
        """Warm the snapshot that CURRENT names, if it is another one; the next request takes it over.

        Meant for a background thread. An older snapshot, after a rollback, is taken over as well: the overlay holds
        what it lacks.

        Returns:
            Whether another snapshot is ready.
        """
        if self._snapshots is None or self._snapshots.current() == self._looked_at:
            return False
        self._looked_at = self._snapshots.current()
        base = latest_base(self._snapshots, self._encoders, between=_breathe)
        held = self._overlay.base
        # Both, since the numbers count from 1 again when the whole folder was removed. 0: there is no good one.
        if base.generation == 0 or (base.generation, base.position) == (held.generation, held.position):
            return False
        fresh = self._caught_up(base)
        # The collector would otherwise walk the new items in some request; they live as long as the generation does.
        gc.freeze()
        with self._lock:
            self._next = fresh
        log.info("snapshot.warmed", generation=base.generation, position=str(base.position))
        return True

    def _caught_up(self, base: Base) -> Overlay:
        overlay = Overlay(base, self._encoders)
        catch_up(overlay, self._events, between=_breathe)
        return overlay

    def _step(self, overlay: Overlay) -> tuple[bool, bool]:
        """Apply the next few events; returns whether there may be more, and whether this is all of the log."""
        try:
            batch = self._events.read(overlay.position, STEP)
        except LogUnavailable:
            # No write gets through while the log is away, so what was read is most likely all there is; the answer
            # says that it may be older. Writes go to the log itself and fail there.
            log.warning("log.unreachable", position=str(overlay.position))
            return False, False
        overlay.apply(batch)
        behind = len(batch) == STEP
        return behind, not behind


def _breathe() -> None:
    """Let a thread that serves a request go first."""
    time.sleep(0.0005)
