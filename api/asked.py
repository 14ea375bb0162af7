"""Whether a push was asked for, as the log tells it."""

from __future__ import annotations

from typing import Final

from ..events.log import EventLog
from ..events.position import LARGEST, Position
from ..events.types import Millis, PushServed, TurnRecorded
from ..projections.language.words import heard
from ..projections.policy.eligibility import OWNER_NAME

DAY_MS: Final = 86_400_000
"""How far before a moment its requests may lie."""
_LATE_MS: Final = 60_000
"""Accesses are written behind the requests' backs, so one may stand a little later in the log than it happened."""
_PAGE: Final = 1_000


def was_asked(log: EventLog, request: str, at: Millis) -> bool:
    """False when the owner typed this request in the day before `at` and no push was served for it.

    A request that the log does not hold as a turn was typed nowhere: it stands for what would have been, and counts as
    asked. So does a turn in whose session a push was served whose words were erased.

    Raises:
        LogUnavailable, LogGap, CorruptArchive: the log cannot be read so far back.
    """
    request = heard(request).strip()
    typed: set[str] = set()
    erased: set[str] = set()
    position, end = Position(max(at - DAY_MS, 0), 0), Position(at + _LATE_MS, LARGEST)
    while batch := log.read(position, _PAGE):
        for recorded in batch:
            event = recorded.event
            if recorded.position > end or recorded.occurred_at > at:
                continue
            if isinstance(event, TurnRecorded) and event.role == "owner" and heard(event.text).strip() == request:
                typed.add(event.session)
            elif isinstance(event, PushServed) and event.reader == OWNER_NAME:
                if event.request.strip() == request:
                    return True
                if not event.request:
                    erased.add(event.session)
        position = batch[-1].position
        if position > end:
            break
    return not typed or bool(typed & erased)
