"""Co-access links: what else is opened when a thing is opened. Worked out per request, over what the reader sees.

A link from a seed to a neighbour is strong when the neighbour was used in most of the seed's sessions (lately more than
long ago), and in no more of all sessions than chance would explain away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import nlargest
from typing import Final

import msgspec

from ..events.types import Millis
from .uses import Use, Uses

SUPPORT: Final = 2
"""Sessions that two items must share before a link is believed: once is an accident."""
HALF_LIFE: Final[Millis] = 180 * 86_400_000
"""After this time a session counts half."""
DOUBT: Final = 0.5
"""Sessions of the seed without the neighbour that are assumed on top: what is seen in few sessions is less sure."""
UNSEEN: Final = 4
"""Sessions with neither of two items that are assumed where no session is recorded and only openings tell of them."""
MOST_SESSIONS: Final = 200
"""Sessions of one item that are looked at, the latest: what is used every day says little by its older days."""
MOST_ITEMS: Final = 40
"""A session with more than this many different items links none: it is a sweep over everything."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """A neighbour's strongest link to one of the seeds."""

    strength: float
    """0 to 1."""
    seed: str


@dataclass
class Eyes:
    """What a reader sees of the uses."""

    uses: Uses
    knows: Callable[[str], bool]
    """Whether a session may count."""
    sees: Callable[[Use], bool]
    """Whether the reader may know of a use, and of the item that was used."""

    def items_of(self, session: str) -> set[str]:
        """The items visibly used in a session; none for a sweep."""
        found = {use.item for use in self.uses.of_session(session) if self.sees(use)}
        return found if len(found) <= MOST_ITEMS else set()

    def sessions_of(self, item: str) -> list[tuple[Millis, str]]:
        """The sessions in which an item was visibly used, each with the last time, in no order."""
        found = []
        for session in self.uses.sessions_of(item):
            times = [use.at for use in self.uses.of_session(session) if use.item == item and self.sees(use)]
            if times and self.knows(session):
                found.append((max(times), session))
        return found


def neighbours(eyes: Eyes, seeds: Iterable[str], sessions: int, now: Millis) -> dict[str, Link]:
    """Items linked to one of the seeds, one hop away, each by its strongest link.

    Args:
        eyes: what the reader sees.
        seeds: visible items; they are no neighbours of one another.
        sessions: how many sessions the reader sees in all.
        now: the moment from which the age of a session is counted.
    """
    seeds = list(dict.fromkeys(seeds))
    found: dict[str, Link] = {}
    for seed in seeds:
        for item, strength in _links_of(seed, eyes, sessions, now).items():
            if item not in seeds and (item not in found or strength > found[item].strength):
                found[item] = Link(strength, seed)
    return found


def _links_of(seed: str, eyes: Eyes, sessions: int, now: Millis) -> dict[str, float]:
    own = eyes.sessions_of(seed)
    latest = nlargest(MOST_SESSIONS, own)
    shared: dict[str, list[float]] = {}
    total = DOUBT
    for at, session in latest:
        weight = 0.5 ** (max(0, now - at) / HALF_LIFE)
        total += weight
        for item in eyes.items_of(session) - {seed}:
            shared.setdefault(item, []).append(weight)
    supported = {item: weights for item, weights in shared.items() if len(weights) >= SUPPORT}
    used_in = {item: {session for _, session in eyes.sessions_of(item)} for item in supported}
    around = {session for _, session in own}.union(*used_in.values())
    among = sessions if sessions >= len(around) else len(around) + UNSEEN
    strengths = {}
    for item, weights in supported.items():
        lift = len(weights) / len(latest) * among / len(used_in[item])
        if lift > 1:
            strengths[item] = sum(weights) / total * (1 - 1 / lift)
    return strengths
