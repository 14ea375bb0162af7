"""Co-access links: what else is opened when a thing is opened. Worked out per request, over what the reader sees.

A link from a seed to a neighbour is strong when the neighbour was used in most of the seed's sessions (lately more than
long ago), and in few of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from ...events.types import Millis
from .uses import Uses

SUPPORT: Final = 2
"""Sessions that two items must share before a link is believed: once is an accident."""
HALF_LIFE: Final[Millis] = 180 * 86_400_000
"""After this time a session counts half."""
DOUBT: Final = 0.5
"""Sessions of the seed without the neighbour that are assumed on top: what is seen in few sessions is less sure."""
UNSEEN: Final = 4
"""Sessions with neither of two items that are assumed where no session is recorded and only openings tell of them."""
MOST_SESSIONS: Final = 100
"""Sessions of one item, and of all, that are looked at: the latest."""
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
    meets: Callable[[tuple[str, ...]], bool]
    """Whether something for this audience is for the reader."""
    knows: Callable[[str], bool]
    """Whether a session may count."""
    sees: Callable[[str], bool]
    """Whether the reader may be told of an item."""

    def items_of(self, session: str) -> set[str]:
        """The items visibly used in a session; none for a sweep."""
        uses = self.uses.of_session(session)
        found = {use.item for use in uses if self.meets(use.audience) and self.sees(use.item)}
        return found if len(found) <= MOST_ITEMS else set()

    def latest_of(self, item: str) -> dict[str, Millis]:
        """The latest sessions in which an item was visibly used, with the times."""
        found: dict[str, Millis] = {}
        for at, session in self.uses.sessions_of(item, self.meets):
            if session not in found and self.knows(session) and item in self.items_of(session):
                found[session] = at
                if len(found) == MOST_SESSIONS:
                    break
        return found


def neighbours(eyes: Eyes, seeds: Iterable[str], lately: Iterable[str], now: Millis) -> dict[str, Link]:
    """Items linked to one of the seeds, one hop away, each by its strongest link.

    Args:
        eyes: what the reader sees.
        seeds: visible items; they are no neighbours of one another.
        lately: the latest recorded sessions that the reader sees, MOST_SESSIONS of them if there are so many.
        now: the moment from which the age of a session is counted.
    """
    seeds = list(dict.fromkeys(seeds))
    recorded = {session: eyes.items_of(session) for session in lately}
    found: dict[str, Link] = {}
    for seed in seeds:
        for item, strength in _links_of(seed, eyes, recorded, now).items():
            if item not in seeds and (item not in found or strength > found[item].strength):
                found[item] = Link(strength, seed)
    return found


def _links_of(seed: str, eyes: Eyes, recorded: Mapping[str, set[str]], now: Millis) -> dict[str, float]:
    own = eyes.latest_of(seed)
    shared: dict[str, list[float]] = {}
    total = DOUBT
    around = dict(recorded)
    for session, at in own.items():
        weight = 0.5 ** (max(0, now - at) / HALF_LIFE)
        total += weight
        around[session] = eyes.items_of(session)
        for item in around[session] - {seed}:
            shared.setdefault(item, []).append(weight)
    all_recorded = len(recorded) >= MOST_SESSIONS or own.keys() <= recorded.keys()
    among = len(around) + (0 if all_recorded else UNSEEN)
    strengths = {}
    for item, weights in shared.items():
        if len(weights) >= SUPPORT:
            everywhere = sum(item in items for items in around.values())
            lift = len(weights) / len(own) * among / everywhere
            if lift > 1:
                strengths[item] = sum(weights) / total * (1 - 1 / lift)
    return strengths
