"""Uses: what was opened and what helped in which session. A part of the state, and as pure as the rest of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from sys import intern

import msgspec

from ...events.types import Millis


class Use(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An item was used in a session."""

    item: str
    at: Millis
    """When, the last time."""
    audience: tuple[str, ...]
    """Who may know of it. The same item may have been used for several audiences: those are several uses."""
    helped: bool = False


_Audience = tuple[str, ...]
_Latest = tuple[tuple[Millis, str], ...]


class Uses:
    """Uses by session, over an older Uses that is never changed, with an index from an item to its sessions."""

    def __init__(self, base: Uses | None = None) -> None:
        self._base = base
        self._by_session: dict[str, tuple[Use, ...]] = {}
        """Sessions touched since the base, with all of their uses."""
        self._times: dict[str, dict[_Audience, dict[str, Millis]]] = {}
        """Uses touched since the base: by item and audience, the sessions with their times."""
        self._sorted: dict[tuple[str, _Audience], _Latest] = {}
        """The same, latest first; made when asked for, dropped when there is another use."""
        self._audiences: dict[_Audience, _Audience] = {}

    def of_session(self, session: str) -> tuple[Use, ...]:
        """Everything used in a session, in order of first use."""
        found = self._by_session.get(session)
        if found is not None:
            return found
        return self._base.of_session(session) if self._base else ()

    def sessions_of(self, item: str, met: Callable[[_Audience], bool]) -> Iterator[tuple[Millis, str]]:
        """Sessions in which an item was used for an audience that is met, each with the time, the latest first.

        A session may come twice, and one that was forgotten has no uses any more. Only what is taken is worked for.
        """
        return merge(*self._lists(item, met), reverse=True)

    def _lists(self, item: str, met: Callable[[_Audience], bool]) -> Iterator[Iterable[tuple[Millis, str]]]:
        for audience, times in self._times.get(item, {}).items():
            if met(audience):
                if (item, audience) not in self._sorted:
                    latest = sorted(((at, session) for session, at in times.items()), reverse=True)
                    self._sorted[item, audience] = tuple(latest)
                yield self._sorted[item, audience]
        if self._base:
            yield from self._base._lists(item, met)

    def all(self) -> Iterator[tuple[str, tuple[Use, ...]]]:
        """Every session with its uses: the base's order first, then in order of first use."""
        inherited = set()
        for session, uses in self._base.all() if self._base else ():
            inherited.add(session)
            yield session, self._by_session.get(session, uses)
        yield from ((s, uses) for s, uses in self._by_session.items() if s not in inherited)

    def add(self, session: str, use: Use) -> None:
        """Note a use; one of the same item for the same audience is brought up to date."""
        known = self.of_session(session)
        for place, each in enumerate(known):
            if (each.item, each.audience) == (use.item, use.audience):
                use = Use(use.item, max(each.at, use.at), use.audience, each.helped or use.helped)
                self._by_session[session] = (*known[:place], use, *known[place + 1 :])
                break
        else:
            self._by_session[session] = (*known, use)
        self._file(session, use)

    def put(self, session: str, uses: tuple[Use, ...]) -> None:
        """Take in a session as a snapshot holds it. Only for sessions that are not known yet."""
        # Each row of a file brings its own copy of the same few labels and ids.
        same = self._audiences.setdefault
        self._by_session[session] = uses = tuple(
            Use(intern(use.item), use.at, same(use.audience, use.audience), use.helped) for use in uses
        )
        for use in uses:
            self._file(session, use)

    def forget(self, session: str) -> None:
        """Leave nothing of what was used in a session."""
        if self.of_session(session):
            self._by_session[session] = ()

    def _file(self, session: str, use: Use) -> None:
        self._times.setdefault(use.item, {}).setdefault(use.audience, {})[session] = use.at
        self._sorted.pop((use.item, use.audience), None)
