"""Uses: what was opened and what helped in which session. A part of the state, and as pure as the rest of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import msgspec

from ..events.types import Millis


class Use(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An item was used in a session."""

    item: str
    at: Millis
    """When, the last time."""
    audience: tuple[str, ...]
    """Who may know of it. The same item may have been used for several audiences: those are several uses."""
    helped: bool = False


class Uses:
    """Uses by session, over an older Uses that is never changed, with an index from an item to its sessions."""

    def __init__(self, base: Uses | None = None) -> None:
        self._base = base
        self._by_session: dict[str, tuple[Use, ...]] = {}
        """Sessions touched since the base, with all of their uses."""
        self._sessions: dict[str, dict[str, None]] = {}
        """By item, the sessions in which it was first used since the base."""

    def of_session(self, session: str) -> tuple[Use, ...]:
        """Everything used in a session, in order of first use."""
        found = self._by_session.get(session)
        if found is not None:
            return found
        return self._base.of_session(session) if self._base else ()

    def sessions_of(self, item: str) -> Iterator[str]:
        """Sessions in which an item was used, each once; some may have been forgotten since and have no uses."""
        older = self._base.sessions_of(item) if self._base else iter(())
        return chain(older, self._sessions.get(item, ()))

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
        if all(each.item != use.item for each in known):
            self._file(session, use.item)
        for place, each in enumerate(known):
            if (each.item, each.audience) == (use.item, use.audience):
                use = Use(use.item, max(each.at, use.at), use.audience, each.helped or use.helped)
                self._by_session[session] = (*known[:place], use, *known[place + 1 :])
                return
        self._by_session[session] = (*known, use)

    def put(self, session: str, uses: tuple[Use, ...]) -> None:
        """Take in a session as a snapshot holds it. Only for sessions that are not known yet."""
        self._by_session[session] = uses
        for use in uses:
            self._file(session, use.item)

    def forget(self, session: str) -> None:
        """Leave nothing of what was used in a session."""
        if self.of_session(session):
            self._by_session[session] = ()

    def _file(self, session: str, item: str) -> None:
        self._sessions.setdefault(item, {})[session] = None
