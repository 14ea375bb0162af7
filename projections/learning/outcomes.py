"""Outcomes: which requests of the owner were answered, and what of the answer was of use. Read from the log.

Only the owner's accesses count, and those of agents that ask in the owner's name: a push served to the reader "owner"
and an opening by that reader. "Helped", "rejected" and "corrected" name no reader: they count when the owner is in
their audience or they correct, when their actor is the owner or an agent, and when the session has a push of the
owner's. So neither another reader, nor a tool, a web page or an import can move what is learned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ...events import types as ev
from ...events.envelope import RecordedEvent
from ...events.position import Position
from ..language.trivial import is_trivial
from ..language.words import heard
from ..policy import eligibility
from ..policy.eligibility import OWNER_NAME

DAY_MS: Final = 86_400_000
CREDIT_MS: Final = DAY_MS
"""What is opened this long after a push of the same session has nothing to do with it any more."""
SETTLED_MS: Final = 3_600_000
"""A push is judged when it is this old: before, what it showed may still be opened."""
_TRUSTED: Final = frozenset({"owner", "agent"})


@dataclass
class Outcome:
    """One request and what came of it."""

    position: Position
    """It was asked just before this."""
    at: ev.Millis
    request: str
    session: str
    pushed: frozenset[str]
    shown_before: frozenset[str] = frozenset()
    """What the session had in front of it already: it could not be pushed again."""
    right: set[str] = field(default_factory=set)
    """What was opened, helped, or was named in a correction."""
    corrected: bool = False


class Outcomes:
    """Takes the events of a log in order; `known` are the requests of which it can be told what came of them.

    A session in which nothing was ever opened, helpful or rejected tells nothing: it may have been served a harness
    that reports none of it. In any other, what was shown and not used was of no use.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, list[Outcome]] = {}
        self._in_front: dict[str, set[str]] = {}
        """By session, what it has been shown since its context was cleared."""
        self._telling: set[str] = set()
        """Sessions in which anything was opened, helpful or rejected."""
        self._lone: list[Outcome] = []
        """Pushes outside any session, and corrections of requests for which no push is in the log."""

    def take(self, events: Iterable[RecordedEvent]) -> None:
        """The next events of the log."""
        for recorded in events:
            if recorded.actor.kind in _TRUSTED:
                self._take(recorded, recorded.event)

    def start_over(self) -> None:
        """Forget all of it: the owner took back what was learned from it."""
        for known in (self._sessions, self._in_front, self._telling, self._lone):
            known.clear()

    def _take(self, recorded: RecordedEvent, event: ev.Event) -> None:
        owners = OWNER_NAME in recorded.audience
        match event:
            case ev.PushServed(reader=eligibility.OWNER_NAME) if event.request:
                self._pushed(recorded, event)
            case ev.ItemOpened(reader=eligibility.OWNER_NAME):
                self._used(recorded, event.session, event.item)
            case ev.OwnershipCorrected():
                self._corrected(recorded, event)
            case ev.ItemHelped() if owners:
                self._used(recorded, event.session, event.item)
            case ev.SessionClosed() if owners:
                for item in dict.fromkeys((*event.used, *event.helped)):
                    self._used(recorded, event.session, item, only_pushed=True)
            case ev.PointerRejected() if owners:
                self._rejected(event)
            case ev.ContextReset():
                self._in_front.pop(event.session, None)

    def known(self, now: ev.Millis) -> list[Outcome]:
        """The requests with an outcome, in the order of the log, except those that are too fresh to tell."""
        told = [one for name, asked in self._sessions.items() if name in self._telling for one in asked]
        silent = [one for name, asked in self._sessions.items() if name not in self._telling for one in asked]
        found = told + [one for one in (*silent, *self._lone) if one.corrected]
        settled = [one for one in found if one.corrected or one.at <= now - SETTLED_MS]
        return sorted((one for one in settled if not is_trivial(one.request)), key=lambda one: one.position)

    def _pushed(self, recorded: RecordedEvent, event: ev.PushServed) -> None:
        asked = self._sessions.setdefault(event.session, []) if event.session else self._lone
        before = self._in_front.setdefault(event.session, set()) if event.session else set()
        asked.append(
            Outcome(
                position=recorded.position,
                at=recorded.occurred_at,
                request=event.request,
                session=event.session,
                pushed=frozenset(event.items),
                shown_before=frozenset(before.difference(event.items)),
            )
        )
        before.update(event.items)

    def _used(self, recorded: RecordedEvent, session: str, item: str, *, only_pushed: bool = False) -> None:
        """Credit the last push that showed the item, or else the last one before it was found by other means."""
        asked = [one for one in self._sessions.get(session, ()) if one.at > recorded.occurred_at - CREDIT_MS]
        if not asked:
            return
        self._telling.add(session)
        showing = [one for one in asked if item in one.pushed]
        if showing or not only_pushed:
            (showing or asked)[-1].right.add(item)

    def _rejected(self, event: ev.PointerRejected) -> None:
        request = heard(event.request).strip()
        for one in reversed(self._sessions.get(event.session, ())):
            if event.item in one.pushed and (not request or one.request.strip() == request):
                self._telling.add(event.session)
                one.right.discard(event.item)
                return

    def _corrected(self, recorded: RecordedEvent, event: ev.OwnershipCorrected) -> None:
        request = heard(event.request).strip()
        if not request:
            return
        of_session = self._sessions.get(recorded.source.session, ())
        since = recorded.occurred_at - CREDIT_MS
        for one in (*reversed(of_session), *reversed(self._lone)):
            if one.request.strip() == request and one.at > since:
                break
        else:
            one = Outcome(recorded.position, recorded.occurred_at, request, recorded.source.session, frozenset())
            self._lone.append(one)
        one.right.add(event.item)
        one.corrected = True
