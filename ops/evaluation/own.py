"""The owner's own corrections as cases: each is asked again as of just before it, with what was known then.

The log is read from its start, once for what was forgotten and once for the replay; nothing is written, and nothing
leaves this machine. What was forgotten since is shown to nobody, not even as it was then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ...events.envelope import RecordedEvent
from ...events.log import EventLog
from ...events.moment import time_text
from ...events.position import START, Position
from ...events.types import ItemForgotten, OwnershipCorrected, PushServed
from ...projections.base import empty_base
from ...projections.language.words import heard
from ...projections.meaning.encoders import Encoders
from ...projections.overlay import Overlay
from ...projections.policy.eligibility import OWNER_NAME
from ...projections.push import compose
from ...projections.searcher import Searcher
from ...projections.snapshot import BATCH


class OwnCase(msgspec.Struct, frozen=True, kw_only=True):
    """One correction, asked again."""

    position: str
    """Of the correction."""
    at: str
    request: str
    item: str
    known: bool
    """The item was recorded, and shown to the owner, just before the correction."""
    pushed: tuple[str, ...]
    """What today's code pushes just before the correction."""
    ranked: tuple[str, ...]
    """The same without the bar."""
    pushed_after: tuple[str, ...]
    """What it pushes for the same request just after."""
    pushed_then: tuple[str, ...] | None
    """What was pushed at the time; None: no push for this request is in the log."""


class OwnReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of all corrections of a log."""

    corrections: int
    unusable: int
    """Of these: without a request, or about something that was forgotten since. They are no cases."""
    cases: tuple[OwnCase, ...]

    def counts(self) -> dict[str, Any]:
        """Numbers only: nothing that anybody said or has."""
        then = [case for case in self.cases if case.pushed_then is not None]
        return {
            "corrections": self.corrections,
            "unusable": self.unusable,
            "cases": len(self.cases),
            "known": sum(case.known for case in self.cases),
            "hit1": sum(case.item in case.pushed[:1] for case in self.cases),
            "hit5": sum(case.item in case.pushed for case in self.cases),
            "hit5_without_bar": sum(case.item in case.ranked for case in self.cases),
            "silent": sum(not case.pushed for case in self.cases),
            "hit1_after": sum(case.item in case.pushed_after[:1] for case in self.cases),
            "hit5_after": sum(case.item in case.pushed_after for case in self.cases),
            "pushes_then": len(then),
            "hit5_then": sum(case.item in (case.pushed_then or ()) for case in then),
        }


def run_own(log: EventLog, encoders: Encoders, on_event: Callable[[int], None] | None = None) -> OwnReport:
    """Replay a log and ask each corrected request just before and just after its correction, as its owner.

    Args:
        log: whose corrections; it is only read.
        encoders: what requests are understood with.
        on_event: told how many events have been replayed.

    Raises:
        LogUnavailable: the log cannot be read.
        LogGap, CorruptArchive: it does not go back to its start any more, or not in a readable form.
    """
    forgotten = {e.event.item for e in _events(log) if isinstance(e.event, ItemForgotten)}
    replay = _Replay(encoders, forgotten)
    for number, event in enumerate(_events(log), 1):
        replay.take(event)
        if on_event is not None and number % BATCH == 0:
            on_event(number)
    return OwnReport(corrections=replay.corrections, unusable=replay.unusable, cases=tuple(replay.cases))


class _Replay:
    """The memory as it grows, asked at each correction."""

    def __init__(self, encoders: Encoders, forgotten: set[str]) -> None:
        self.corrections = 0
        self.unusable = 0
        self.cases: list[OwnCase] = []
        self._encoders = encoders
        self._forgotten = forgotten
        self._overlay = Overlay(empty_base(encoders.dims), encoders)
        self._waiting: list[RecordedEvent] = []
        self._pushed: dict[str, tuple[str, ...]] = {}
        """By request, what was pushed to the owner last."""

    def take(self, event: RecordedEvent) -> None:
        """The next event of the log."""
        if isinstance(event.event, PushServed) and event.event.reader == OWNER_NAME and event.event.request:
            self._pushed[event.event.request] = event.event.items
        if isinstance(event.event, OwnershipCorrected):
            self._correct(event, event.event)
            return
        self._waiting.append(event)
        if len(self._waiting) >= BATCH:
            self._catch_up()

    def _correct(self, recorded: RecordedEvent, correction: OwnershipCorrected) -> None:
        self.corrections += 1
        if not correction.request.strip() or correction.item in self._forgotten:
            self.unusable += 1
            self._waiting.append(recorded)
            return
        self._catch_up()
        at, request = recorded.occurred_at, correction.request
        known = self._searcher(at).sees(correction.item)
        pushed, ranked = self._push(request, at), self._push(request, at, bar=0.0)
        self._waiting.append(recorded)
        self._catch_up()
        self.cases.append(
            OwnCase(
                position=str(recorded.position),
                at=time_text(at),
                request=request,
                item=correction.item,
                known=known,
                pushed=pushed,
                ranked=ranked,
                pushed_after=self._push(request, at),
                pushed_then=self._shown(self._pushed.get(heard(request))),
            )
        )

    def _catch_up(self) -> None:
        self._overlay.apply(self._waiting)
        self._overlay.forget(self._forgotten)
        self._waiting.clear()

    def _searcher(self, at: int) -> Searcher:
        return Searcher(self._overlay, self._encoders, self._overlay.state.reader(OWNER_NAME, at), at)

    def _push(self, request: str, at: int, bar: float | None = None) -> tuple[str, ...]:
        push = compose(self._searcher(at), request, bar=bar)
        return tuple(ranked.evidence.item.id for ranked, _ in push.pointers)

    def _shown(self, items: Sequence[str] | None) -> tuple[str, ...] | None:
        return None if items is None else tuple(item for item in items if item not in self._forgotten)


def _events(log: EventLog) -> Iterator[RecordedEvent]:
    """Every event up to where the log ends now: what comes in meanwhile is for the next time."""
    at: Position = START
    until = log.last_position()
    while at < until and (batch := log.read(at, BATCH)):
        yield from (event for event in batch if event.position <= until)
        at = batch[-1].position
