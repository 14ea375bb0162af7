"""Weighing: what the accesses say of use keys. Read from the log and nothing else, so counting again gives the same.

A pointer of a push is judged by what happened to its item in the same session after it: it was rejected, it helped, it
was opened, or it was ignored. What was rejected and opened was rejected; else the best counts. Being ignored says
something only where being opened would have been told: in a session that tells of anything used or rejected, and in any
when at least TELLING of those with pointers do. Only pushes with a session and a request count, and only what the owner
or an agent reports: nothing that a web page or a tool says moves a key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ...events import types as ev
from ...events.envelope import OWNER_ONLY, RecordedEvent
from ..items import Item, UseKey
from ..language.instances import need_of
from ..language.words import heard, tokenize
from ..meaning.encoders import Encoders
from ..policy.eligibility import OWNER_NAME
from ..ranker import Ranked
from ..searcher import Searcher

SETTLED_MS: Final = 6 * 3_600_000
"""A pointer that nothing happened to for so long was ignored."""
TELLING: Final = 0.1

LEAST: Final = 3
"""Judged pointers below which a key keeps its weight: two could be chance."""
OPENED: Final = 0.7
"""What an opening is worth beside a pointer that clearly helped, which is 1; looking is not using."""
PRIOR: Final = (2.0, 4.0)
"""Pointers that are thought to have been of use, and of none, before any is counted: one in three is nothing special,
and it takes six real ones to weigh as much as what was thought before."""
LIGHTEST: Final = 0.5
HEAVIEST: Final = 1.2
LITTLE: Final = 0.03
"""A change of weight that is not worth an event."""

_TRUSTED: Final = frozenset({"owner", "agent"})


class Counts(msgspec.Struct, frozen=True):
    """Pointers that a key brought in: each was rejected, helped, opened or ignored."""

    shown: int = 0
    opened: int = 0
    helped: int = 0
    rejected: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.shown + other.shown,
            self.opened + other.opened,
            self.helped + other.helped,
            self.rejected + other.rejected,
        )


NOTHING: Final = Counts()


def weight_of(counts: Counts) -> float:
    """The weight of a key with these counts: 1 where they say nothing, from LIGHTEST (no use) to HEAVIEST (always).

    The share of pointers that were of use, as a Beta prior and the counts give it, on two straight lines through 1 at
    what the prior alone says. One more that was opened or helped never makes it lighter, one more that was ignored or
    rejected never heavier. A rejection weighs as two ignored ones, and one ignored pointer is left out: a key is not
    lighter for it.
    """
    ignored = counts.shown - counts.opened - counts.helped - counts.rejected
    if counts.shown < LEAST:
        return 1.0
    good, bad = PRIOR
    expected = good / (good + bad)
    good += counts.helped + OPENED * counts.opened
    bad += max(ignored - 1, 0) + 2 * counts.rejected
    share = good / (good + bad)
    if share < expected:
        return round(LIGHTEST + (1 - LIGHTEST) * share / expected, 3)
    return round(1 + (HEAVIEST - 1) * (share - expected) / (1 - expected), 3)


@dataclass
class Pointed:
    """One pointer of a push, and what became of it."""

    item: str
    reader: str
    session: str
    request: str
    at: ev.Millis
    labels: frozenset[str]
    """Everybody of whom this is known may know of the push, and of what became of it."""
    opened: bool = False
    helped: bool = False
    rejected: bool = False

    def counts(self) -> Counts:
        """As one pointer among others."""
        helped = self.helped and not self.rejected
        opened = self.opened and not self.helped and not self.rejected
        return Counts(1, opened, helped, self.rejected)

    @property
    def judged(self) -> bool:
        """Whether anything became of it."""
        return self.opened or self.helped or self.rejected


@dataclass
class _Session:
    pointed: list[Pointed] = field(default_factory=list)
    tells: bool = False


class Pointers:
    """Takes the events of a log in order, and tells what became of each pointer."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    def take(self, events: Iterable[RecordedEvent]) -> None:
        """The next events of the log."""
        for recorded in events:
            if recorded.actor.kind in _TRUSTED:
                self._take(recorded)

    def judged(self, now: ev.Millis) -> list[Pointed]:
        """Every pointer of which it can be told what became of it, in the order of sessions and pushes."""
        sessions = [session for session in self._sessions.values() if session.pointed]
        all_tell = sum(session.tells for session in sessions) >= TELLING * max(len(sessions), 1)
        return [
            pointed
            for session in sessions
            for pointed in session.pointed
            if pointed.request and (pointed.judged or (pointed.at <= now - SETTLED_MS and (session.tells or all_tell)))
        ]

    def _take(self, recorded: RecordedEvent) -> None:
        match event := recorded.event:
            case ev.PushServed() if event.session:
                at = min(recorded.occurred_at, recorded.position.ms)
                self._session(event.session).pointed += [
                    Pointed(item, event.reader, event.session, event.request, at, frozenset(recorded.audience))
                    for item in event.items
                ]
            case ev.ItemOpened():
                self._became(recorded, event.session, event.item, opened=True)
            case ev.ItemHelped():
                self._became(recorded, event.session, event.item, helped=True)
            case ev.PointerRejected():
                self._became(recorded, event.session, event.item, rejected=True, request=event.request)
            case ev.SessionClosed():
                for item in event.used:
                    self._became(recorded, event.session, item, opened=True)
                for item in event.helped:
                    self._became(recorded, event.session, item, helped=True)

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _became(
        self,
        recorded: RecordedEvent,
        session: str,
        item: str,
        *,
        opened: bool = False,
        helped: bool = False,
        rejected: bool = False,
        request: str = "",
    ) -> None:
        """Note it at the last push of the session that showed the item (for that request, where one is said)."""
        if not session:
            return
        known = self._session(session)
        known.tells = True
        wanted = request.strip()
        showing = [one for one in known.pointed if one.item == item and wanted in {"", one.request.strip()}]
        # Another reader may name the owner's session: its pushes must not take what became of the owner's.
        showing = [one for one in showing if one.reader == OWNER_NAME] or showing
        if showing:
            last = showing[-1]
            last.labels &= frozenset(recorded.audience)
            last.opened |= opened
            last.helped |= helped
            last.rejected |= rejected


class Speaker:
    """Tells which use key brought an item in for a request. Encodes each phrase once."""

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders
        self._vectors: dict[str, list[float]] = {}

    def keys(self, searcher: Searcher, request: str, items: Iterable[str], at: ev.Millis) -> dict[str, UseKey]:
        """By item the use key that speaks most for it, of those it had at that time.

        Only items for which a use key speaks louder than their name, their topic and their links. Ask a searcher
        without weights: what a key weighs today must not decide what it is judged for tomorrow.
        """
        wanted = set(items)
        found = [e for e in searcher.find(request, also=wanted) if e.item.id in wanted]
        by_use = [e.item for e in found if Ranked(e, 0.0).route == "use"]
        chosen = {item.id: self._best(searcher, request, item, at) for item in by_use}
        return {item: key for item, key in chosen.items() if key is not None}

    def _best(self, searcher: Searcher, request: str, item: Item, at: ev.Millis) -> UseKey | None:
        keys = [k for k in searcher.visible_keys(item) if not k.negative and k.phrase.strip() and k.recorded_at <= at]
        asked = self._vector(request)
        words = set(tokenize([heard(request)])[0])

        def speaks(key: UseKey) -> float:
            need = need_of(key.phrase)
            said = set(tokenize([need])[0])
            shared = len(words & said) / len(words | said) if words | said else 0.0
            return shared + sum(a * b for a, b in zip(asked, self._vector(need), strict=True))

        return max(keys, key=lambda key: (speaks(key), key.key), default=None)

    def _vector(self, text: str) -> list[float]:
        if text not in self._vectors:
            [vector] = self._encoders.precious.encode([heard(text)])
            self._vectors[text] = vector.tolist()
        return self._vectors[text]


def may_count(pointed: Pointed, key: UseKey) -> bool:
    """Whether what became of a pointer may move a key: everybody who sees the key may know of it."""
    return key.audience == OWNER_ONLY or pointed.labels.issuperset(key.audience)


def changes(items: Iterable[Item], counted: dict[tuple[str, str], Counts]) -> list[tuple[UseKey, ev.KeyWeighed]]:
    """What is to be said of the keys of these items, by the counts for (item, key).

    Only what changes a weight by more than a little, or takes back a weight that nothing speaks for any more.
    """
    found = []
    for item in items:
        for key in item.keys:
            counts = counted.get((item.id, key.key), NOTHING)
            weight = weight_of(counts)
            if abs(weight - key.judged) > LITTLE or (weight == 1 != key.judged):
                event = ev.KeyWeighed(
                    item=item.id, key=key.key, weight=weight, shown=counts.shown,
                    opened=counts.opened, helped=counts.helped, rejected=counts.rejected,
                )  # fmt: skip
                found.append((key, event))
    return found
