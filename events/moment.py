"""A moment of the past to ask about: a position of the log, or a time. Standard library only: the client imports it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from .errors import RecallError
from .position import LARGEST, START, Position
from .types import Millis

AsOf = str | date | Position
"""What a caller may say for a moment: a position, a date (its first moment), a datetime, or one of these as text."""

# Four or eight digits before the dash are a year or a day ("2026-11", "20261101-12"), never the milliseconds of an
# event: taken for a position, a mistyped date would be answered from a memory that was still empty.
_POSITION = re.compile(r"(?!\d{4}-|\d{8}-)\d{1,20}-\d{1,20}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(NamedTuple):
    """A past moment, as a question names it."""

    position: Position | None
    """The position that was named; None: a time was."""
    now: Millis
    """The time to answer for: the one named, or that of the position."""

    @property
    def until(self) -> Position:
        """The last position that belongs to it; there need not be an event at it."""
        if self.position is not None:
            return self.position
        return Position(self.now, LARGEST) if self.now > 0 else START


def parse_moment(text: str) -> Moment:
    """Read a moment as messages carry it: `ms-seq`, or an ISO 8601 time with a zone.

    Raises:
        RecallError: it is neither, or a time without a zone.
    """
    if _POSITION.fullmatch(text):
        position = Position.parse(text)
        return Moment(position, position.ms)
    at = _time(text)
    if at.tzinfo is None:
        raise RecallError(f"{text!r:.60} does not say its time zone. Add it, as in 2026-11-01T10:00+01:00.")
    return Moment(None, (at - _EPOCH) // timedelta(milliseconds=1))


def moment_text(said: AsOf) -> str:
    """A moment as messages carry it. A time without a zone is the local time of this machine.

    Raises:
        RecallError: it is neither a position nor a time.
    """
    text = str(said).strip()
    if _POSITION.fullmatch(text):
        return str(Position.parse(text))
    at = _time(text)
    try:
        return at.astimezone(UTC).isoformat()
    except (OverflowError, OSError, ValueError) as exc:
        raise RecallError(f"{text!r:.60} is too far away for a time. Give one of this century.") from exc


def time_text(at: Millis) -> str:
    """A time as ISO 8601 in UTC, for an answer; as plain milliseconds where a calendar has no such day."""
    try:
        return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec="milliseconds")
    except OverflowError:
        return f"{at} ms"


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as exc:
        raise RecallError(
            f"{text!r:.60} is neither a time nor a position. Give a time as in 2026-11-01T10:00, or a position as "
            "in 1767225600000-0."
        ) from exc
