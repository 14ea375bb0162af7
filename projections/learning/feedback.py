"""Feedback: what became of the pointers that were pushed. A part of the state, and as pure as the rest of it.

Running counts by day, so that `status` never has to read the log, and for the last sessions what each was shown for.
Counts hold no ids and no texts. They are the owner's alone: they count what other readers may not know of.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ...events.types import Millis
from ..policy.eligibility import OWNER_NAME

DAY_MS: Final = 86_400_000
DAYS: Final = 60
"""Days that are counted, the last one included."""
SESSIONS: Final = 1_000
"""Sessions whose pointers are followed; the longest untouched is dropped first, and counts as it stood."""
PUSHES: Final = 20
"""Pushes of a session, and of one reader, whose requests are remembered."""


class Day(msgspec.Struct, frozen=True, gc=False):
    """Counts of one day (UTC), or of several together. What became of a pointer counts on the day of its push."""

    pushes: int = 0
    spoke: int = 0
    """Pushes that were not empty."""
    pointers: int = 0
    followed: int = 0
    """Pointers that were shown in a session, so that it can be told what became of them."""
    opened: int = 0
    helped: int = 0
    used: int = 0
    """Opened, or helped, or both."""
    rejected: int = 0

    def __add__(self, other: Day) -> Day:
        return Day(*(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)))


class Shown(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The last pointer to an item in a session."""

    day: int
    opened: bool = False
    helped: bool = False
    rejected: bool = False


class Asked(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A push of a session: what it was for, and what it pointed at."""

    request: str
    items: tuple[str, ...]
    reader: str = "owner"


class Followed(msgspec.Struct, frozen=True):
    """What is remembered of a session."""

    shown: dict[str, Shown] = {}
    asked: tuple[Asked, ...] = ()
    """Of each reader the latest last."""


class Feedback(msgspec.Struct):
    """Counts, and the sessions that still add to them. Its `copy` shares nothing that changes."""

    days: dict[int, Day] = {}
    """By day since 1970."""
    sessions: dict[str, Followed] = {}

    def copy(self) -> Feedback:
        """One that can be changed without changing this one."""
        return Feedback(dict(self.days), dict(self.sessions))

    def pushed(self, at: Millis, session: str, items: tuple[str, ...], request: str, reader: str = "owner") -> None:
        """A push was answered."""
        day = at // DAY_MS
        if reader == OWNER_NAME:
            self._count(day, Day(1, bool(items), len(items), len(items) if session else 0))
        if session and items:
            known = self.sessions.pop(session, Followed())
            shown = known.shown | {item: Shown(day) for item in items}
            others = [one for one in known.asked if one.reader != reader]
            mine = [*(one for one in known.asked if one.reader == reader), Asked(request, items, reader)]
            asked = (*others, *mine[-PUSHES:])
            self.sessions[session] = Followed(shown, asked)
            if len(self.sessions) > SESSIONS:
                del self.sessions[self._longest_untouched()]

    def _longest_untouched(self) -> str:
        """The session to let go of: one of other readers alone where there is any, so that they crowd out no other."""
        others = (name for name, known in self.sessions.items() if all(one.reader != OWNER_NAME for one in known.asked))
        return next(others, next(iter(self.sessions)))

    def happened(
        self, session: str, item: str, *, opened: bool = False, helped: bool = False, rejected: bool = False
    ) -> None:
        """Something became of an item in a session; counts once for each pointer, and not for what was not pushed."""
        known = self.sessions.get(session)
        before = known.shown.get(item) if known else None
        if known is None or before is None:
            return
        after = Shown(before.day, before.opened or opened, before.helped or helped, before.rejected or rejected)
        if after != before:
            self.sessions[session] = Followed(known.shown | {item: after}, known.asked)
            self._count(before.day, _difference(before, after))

    def request_for(self, session: str, item: str, reader: str | None = None) -> str:
        """The request of the last push of a session that pointed at an item; empty when that is not known.

        `reader`: whose pushes are meant; None: anybody's, which only the owner may be told.
        """
        known = self.sessions.get(session, Followed())
        mine = (asked for asked in reversed(known.asked) if reader in {None, asked.reader})
        return next((asked.request for asked in mine if item in asked.items), "")

    def forget(self, item: str) -> None:
        """Leave no request that led to an item, and nothing of a session when it is one. The counts stay."""
        kind, _, session = item.partition(":")
        if kind == "session":
            self.sessions.pop(session, None)
        for name, known in list(self.sessions.items()):
            if item in known.shown:
                shown = {one: what for one, what in known.shown.items() if one != item}
                asked = tuple(Asked("", one.items, one.reader) if item in one.items else one for one in known.asked)
                self.sessions[name] = Followed(shown, asked)

    def last(self, days: int, now: Millis) -> Day:
        """Everything of the last so many days, today included."""
        today = now // DAY_MS
        return sum((day for number, day in self.days.items() if today - days < number <= today), Day())

    def _count(self, day: int, more: Day) -> None:
        latest = max(self.days, default=day)
        if day <= latest - DAYS:
            return
        self.days[day] = self.days.get(day, Day()) + more
        if day > latest:
            self.days = {number: counts for number, counts in self.days.items() if number > day - DAYS}


def _difference(before: Shown, after: Shown) -> Day:
    return Day(
        opened=after.opened - before.opened,
        helped=after.helped - before.helped,
        used=(after.opened or after.helped) - (before.opened or before.helped),
        rejected=after.rejected - before.rejected,
    )
