"""History: the memory as it was at a past moment, for questions "as of" then.

A view is the fold of the log up to a position, over the newest kept snapshot that does not reach beyond it. It never
changes again, so the last few are kept. Making one can take seconds; nothing that serves the present waits for it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

import msgspec
import structlog

from ..events.errors import RecallError, Refused
from ..events.log import EventLog
from ..events.moment import Moment, parse_moment
from ..events.position import Position
from ..events.types import Millis
from ..projections.base import Base
from ..projections.meaning.encoders import Encoders
from ..projections.overlay import Overlay
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.snapshot import base_at, catch_up
from ..projections.snapshot_store import SnapshotStore
from .messages import OpenRequest, PushRequest, SearchRequest, StatusRequest, WhyRequest

log = structlog.get_logger()

VIEWS_KEPT: Final = 2
"""Each can take as much memory as the live one; two are enough to compare before and after."""
KEPT_S: Final = 300.0
"""Seconds after the last question for which they are kept."""

Question = PushRequest | SearchRequest | OpenRequest | WhyRequest | StatusRequest
Asked = TypeVar("Asked", PushRequest, SearchRequest, OpenRequest, WhyRequest, StatusRequest)


class View(NamedTuple):
    """What one request is answered from."""

    overlay: Overlay
    complete: bool
    """It holds everything that it should."""
    now: Millis
    """The moment to answer for."""
    asked_at: Millis
    """When the request came."""
    as_of: str = ""
    """The moment as the answer tells it; empty: the present."""


class History:
    """Past views of one log. Safe to use from several threads, which take turns."""

    def __init__(self, events: EventLog, encoders: Encoders, snapshots: SnapshotStore | None = None) -> None:
        self._events = events
        self._encoders = encoders
        self._snapshots = snapshots
        self._lock = threading.Lock()
        self._views: OrderedDict[Position, Overlay] = OrderedDict()
        self._used = 0.0

    def locate(self, as_of: str, now: Millis) -> tuple[Moment, Position]:
        """The moment that a question names, and the last position that belongs to it.

        Raises:
            RecallError: it cannot be read, or lies in the future.
            LogUnavailable: the log cannot be reached.
        """
        moment = parse_moment(as_of)
        if moment.position is None and moment.now > now:
            raise RecallError(f"{as_of:.60} is in the future. Ask as of a time that has come.")
        last = self._events.last_position()
        if moment.position is not None and moment.position > last:
            raise RecallError(f"The log ends at {last}, before {as_of:.60}. Ask as of a position that was written.")
        return moment, min(moment.until, last)

    @contextmanager
    def at(self, until: Position, *, live: Base) -> Iterator[Overlay]:
        """The memory after every event up to and including `until`. Inside the block nobody else has it.

        Args:
            until: not behind the log's last position; else later events could belong to it.
            live: the base that is in memory anyway, which is used when it fits.

        Raises:
            LogUnavailable: the log cannot be read.
            LogGap, CorruptArchive: the log does not go back so far any more, or not in a readable form.
        """
        with self._lock:
            view = self._views.pop(until, None)
            if view is None:
                view = self._made(until, live)
            self._views[until] = view
            self._used = time.monotonic()
            yield view

    def release(self, idle_s: float = KEPT_S) -> None:
        """Let go of the views when nobody has asked for `idle_s` seconds, for the memory's sake. Never waits."""
        if self._views and time.monotonic() - self._used >= idle_s and self._lock.acquire(blocking=False):
            try:
                self._views.clear()
            finally:
                self._lock.release()

    def _made(self, until: Position, live: Base) -> Overlay:
        while len(self._views) >= VIEWS_KEPT:
            self._views.popitem(last=False)
        began = time.monotonic()
        held = [live, *(view.base for view in self._views.values())]
        base = base_at(self._snapshots, self._encoders, until, held=held, between=_breathe)
        overlay = Overlay(base, self._encoders)
        catch_up(overlay, self._events, until=until, between=_breathe)
        log.info(
            "history.viewed",
            position=str(overlay.position),
            generation=base.generation,
            items=len(overlay),
            ms=round((time.monotonic() - began) * 1000),
        )
        return overlay


def admitted(asked: Asked) -> Asked:
    """A question as it is to be answered. One about the past is the owner's alone and belongs to no session.

    Raises:
        Refused: another reader asks about the past.
        RecallError: it says things that only make sense in the present.
    """
    if not asked.as_of:
        return asked
    if asked.reader != OWNER_NAME:
        raise Refused("Only the owner may ask about the past. Ask as the reader `owner`, or without `as_of`.")
    for field in ("already_shown", "min_position"):
        if getattr(asked, field, None):
            raise RecallError(f"`{field}` is about the present. Leave it out, or ask without `as_of`.")
    return msgspec.structs.replace(asked, session="") if hasattr(asked, "session") else asked


def _breathe() -> None:
    """Let a thread that serves the present go first."""
    time.sleep(0.001)
