"""Learning: how an item's use keys come together from what happened, and what each weighs. Pure, as the fold is.

What is asked again and again is one key with much support, not many keys: phrases that share most of their words are
one. And an item that helped in a thousand sessions keeps the best of what was asked there, not all of it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ...events.types import KeyWeighed
from ..items import KeySource, UseKey
from ..language.instances import need_of
from ..language.words import heard, tokenize
from ..policy.eligibility import OWNER_NAME

MOST: Final = 24
"""Keys from sessions that an item keeps, and as many rejections. It is what one route brings in at most for all items
together, and about a minute of reading for the owner who looks them through."""
ALIKE: Final = 0.6
"""Share of the words of two phrases, together, that both must have in order to be one key."""
STEP: Final = 0.02
"""What each further session adds to the weight of a key,"""
MOST_SUPPORT: Final = 6
"""up to this many sessions: 1.1 in all."""
BOUNDS: Final = (0.5, 1.3)
"""No key weighs less or more: one that is wrong today may be right tomorrow, and none may shout the others down."""

Keys = tuple[UseKey, ...]


def weighed(key: UseKey) -> UseKey:
    """The key with the weight that its support and the accesses give it."""
    sessions = 1 + STEP * (min(key.support, MOST_SUPPORT) - 1)
    return replace(key, weight=round(min(max(key.judged * sessions, BOUNDS[0]), BOUNDS[1]), 4))


def added(keys: Keys, key: UseKey) -> Keys:
    """The keys with one more; as they are when the same is there already.

    What the owner says last counts: a positive key takes the place of a rejection of the very same request. It does
    so only where all who may see the rejection may see the key: it is not there for the others.
    """
    if not key.negative:
        keys = tuple(
            k
            for k in keys
            if k.source != "rejected" or k.phrase != key.phrase or not {*k.audience} <= {*key.audience, OWNER_NAME}
        )
    if any(_same(k, key) for k in keys):
        return keys
    return _bounded((*keys, key), key.source) if key.source == "rejected" else (*keys, key)


def learned(keys: Keys, asked: list[UseKey]) -> Keys:
    """The keys with what was asked in one session in which the item helped: more support, or new ones.

    A session counts once for a key, however often it says the same, and when it is closed again.
    """
    found = list(keys)
    for key in asked:
        place = next((n for n, known in enumerate(found) if _tells_the_same(known, key)), None)
        if place is None:
            found.append(key)
        elif found[place].source == "session" and found[place].session != key.session:
            known = found[place]
            found[place] = weighed(replace(known, support=known.support + 1, session=key.session))
    return _bounded(tuple(found), "session")


def judged(keys: Keys, found: KeyWeighed) -> Keys:
    """The keys with what the accesses say of one of them; as they are when it is not there any more."""
    return tuple(
        weighed(
            replace(
                key, judged=found.weight,
                shown=found.shown, opened=found.opened, helped=found.helped, rejected=found.rejected,
            )
        ) if key.key == found.key else key
        for key in keys
    )  # fmt: skip


def recorded(new: list[UseKey], known: Keys) -> Keys:
    """The keys that an item's new record brings, in place of those of the record before; the rest stays.

    A phrase that was there before keeps what was learned of it.
    """
    if not known:
        return tuple(new)
    told = [key for key in known if key.source in {"use_when", "stored"}]
    before: dict[tuple[str, KeySource, tuple[str, ...]], UseKey] = {(k.phrase, k.source, k.audience): k for k in told}
    kept = [
        key if (old := before.get((key.phrase, key.source, key.audience))) is None else replace(old, key=key.key)
        for key in new
    ]
    return (*kept, *(k for k in known if k.source not in {"use_when", "stored"}))


def _same(one: UseKey, other: UseKey) -> bool:
    return (one.phrase, one.negative, one.audience) == (other.phrase, other.negative, other.audience)


def _tells_the_same(known: UseKey, key: UseKey) -> bool:
    """Whether a key is there already: in the same words wherever it came from, or much alike and from a session too."""
    if _same(known, key):
        return True
    if known.source != "session" or known.negative or known.audience != key.audience:
        return False
    one, other = _terms(known.phrase), _terms(key.phrase)
    return bool(one) and len(one & other) >= ALIKE * len(one | other)


@lru_cache(4096)
def _terms(phrase: str) -> frozenset[str]:
    return frozenset(tokenize([need_of(heard(phrase))])[0])


def _bounded(keys: Keys, source: KeySource) -> Keys:
    """At most MOST keys of a source: those with most support, of equals the latest, of one session's the first.

    For each audience by itself: what a reader may not see takes no place from what they may.
    """
    if len(keys) <= MOST:
        return keys
    mine: dict[tuple[str, ...], list[UseKey]] = {}
    for key in keys:
        if key.source == source:
            mine.setdefault(key.audience, []).append(key)
    best = [sorted(some, key=lambda key: (-key.support, -key.recorded_at))[:MOST] for some in mine.values()]
    kept = {key.key for some in best for key in some}
    return tuple(key for key in keys if key.source != source or key.key in kept)
