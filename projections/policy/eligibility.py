"""Who may see what: the one check that stands on every route.

It works on columns, one row per item, so that the same function answers for one item and for a hundred thousand.
It fails closed: an unknown reader has no scopes, and an item nobody recorded is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...events.types import ItemKind, Millis
from ..columns import Column
from ..items import Item

BoolArray = NDArray[np.bool_]

OWNER_NAME: Final = "owner"
_KINDS: Final[tuple[str, ...]] = get_args(ItemKind)

Rule = Literal[
    "forgotten", "unrecorded", "unreadable", "audience", "muted", "topic_muted", "quarantined", "not_yet_valid",
    "ended", "superseded",
]  # fmt: skip
Refusals = NDArray[np.uint16]

_MUTED, _QUARANTINED, _FORGOTTEN, _UNRECORDED, _AUDIENCE, _EARLY, _TOPIC, _UNREADABLE = (1 << bit for bit in range(8))
_ENDED_BIT: Final = 14
_ENDED, _REPLACED = 1 << _ENDED_BIT, 1 << _ENDED_BIT + 1
RULES: Final[dict[Rule, int]] = {
    "forgotten": _FORGOTTEN,
    "unrecorded": _UNRECORDED,
    "unreadable": _UNREADABLE,
    "audience": _AUDIENCE,
    "muted": _MUTED,
    "topic_muted": _TOPIC,
    "quarantined": _QUARANTINED,
    "not_yet_valid": _EARLY,
    "ended": _ENDED,
    "superseded": _REPLACED,
}
"""What can keep an item from a reader, each with its bit; of several the first is the one to tell. What ended because
something took its place is `superseded`, and not `ended`. `unreadable`: what is known of its policy makes no sense, or
the owner asked not to be told of something and it cannot be read any more of what."""

_ALWAYS: Final = np.iinfo(np.int64).min
_NEVER: Final = np.iinfo(np.int64).max


class Reader(msgspec.Struct, frozen=True):
    """Someone who asks. The owner sees every audience; anybody else only audiences that meet their scopes."""

    name: str
    scopes: frozenset[str] = frozenset()

    @property
    def is_owner(self) -> bool:
        """Whether this reader is the owner in person."""
        return self.name == OWNER_NAME

    def meets(self, audience: tuple[str, ...]) -> bool:
        """Whether something with these labels is meant for this reader. No label at all: for nobody but the owner."""
        return self.is_owner or not self.scopes.isdisjoint(audience)


class Audiences:
    """Audiences by number, so that a column can hold them. Numbers are only valid within one instance."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}

    def number(self, audience: tuple[str, ...]) -> int:
        """The number of an audience, a new one when it has not been seen."""
        return self._numbers.setdefault(audience, len(self._numbers))

    def labels(self) -> list[tuple[str, ...]]:
        """The audiences in the order of their numbers."""
        return list(self._numbers)

    def met_by(self, reader: Reader) -> BoolArray:
        """For each number, whether the reader meets that audience."""
        return np.fromiter((reader.meets(a) for a in self._numbers), dtype=np.bool_, count=len(self._numbers))

    def copy(self) -> Audiences:
        """An independent copy with the same numbers."""
        twin = Audiences()
        twin._numbers = dict(self._numbers)
        return twin


class Policies:
    """What decides about each item's visibility, as columns by the item's ordinal."""

    def __init__(self, audiences: Audiences) -> None:
        self.audiences = audiences
        self._audience = Column(np.int32)
        self._flags = Column(np.uint16)
        self._kind = Column(np.uint8)
        self._from = Column(np.int64)
        self._until = Column(np.int64)
        self._recorded = Column(np.int64)

    def __len__(self) -> int:
        return len(self._flags)

    def append(self, item: Item) -> None:
        """Add the policy of the next ordinal."""
        for column, value in zip(self._columns(), self._values(item), strict=True):
            column.append(value)

    def set(self, ordinal: int, item: Item) -> None:
        """Replace the policy of one ordinal."""
        for column, value in zip(self._columns(), self._values(item), strict=True):
            column.values[ordinal] = value

    def copy(self) -> Policies:
        """An independent copy, audiences included."""
        twin = Policies(self.audiences.copy())
        twin._audience, twin._flags, twin._kind, twin._from, twin._until, twin._recorded = (
            column.copy() for column in self._columns()
        )
        return twin

    def of_kind(self, kind: ItemKind) -> BoolArray:
        """For each ordinal, whether the item is of this kind."""
        found: BoolArray = self._kind.values == _KINDS.index(kind)
        return found

    @property
    def recorded(self) -> NDArray[np.int64]:
        """For each ordinal, when the item was last recorded; 0 when it never was."""
        return self._recorded.values

    def count_by_kind(self, chosen: BoolArray) -> dict[str, int]:
        """How many of the chosen ordinals are of each kind; kinds without any are left out."""
        counts = np.bincount(self._kind.values[chosen], minlength=len(_KINDS))
        return {kind: int(count) for kind, count in zip(_KINDS, counts, strict=True) if count}

    def count_by_audience(self) -> dict[tuple[str, ...], int]:
        """How many items there are for each audience, of those that were recorded and not forgotten."""
        there = self._flags.values & (_FORGOTTEN | _UNRECORDED) == 0
        counts = np.bincount(self._audience.values[there], minlength=len(self.audiences.labels()))
        return {audience: int(n) for audience, n in zip(self.audiences.labels(), counts, strict=True) if n}

    def muted(self) -> NDArray[np.intp]:
        """Ordinals of the items that are muted for good."""
        return np.flatnonzero(self._flags.values & _MUTED)

    def quarantined(self) -> NDArray[np.intp]:
        """Ordinals of the items that are held back."""
        return np.flatnonzero(self._flags.values & _QUARANTINED)

    def forgotten(self) -> NDArray[np.intp]:
        """Ordinals of the items that were forgotten."""
        return np.flatnonzero(self._flags.values & _FORGOTTEN)

    def _columns(self) -> tuple[Column, ...]:
        return self._audience, self._flags, self._kind, self._from, self._until, self._recorded

    def _values(self, item: Item) -> tuple[int, ...]:
        flags = (
            _REPLACED * (item.superseded_by is not None)
            | _MUTED * item.muted
            | _QUARANTINED * item.quarantined
            | _FORGOTTEN * item.forgotten
            | _UNRECORDED * (item.recorded_at == 0)
        )
        start = _ALWAYS if item.valid_from is None else item.valid_from
        end = _NEVER if item.valid_until is None else item.valid_until
        return self.audiences.number(item.audience), flags, _KINDS.index(item.kind), start, end, item.recorded_at


class Muted(NamedTuple):
    """What the owner asked not to be told of, beside the items that are muted for good."""

    items: Sequence[int] = ()
    """Ordinals of those muted in the session in which it is asked."""
    about: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
    """Ordinals of the items that are about a muted topic as far as the reader can see."""
    unreadable: bool = False
    """A topic was muted and it cannot be told which: then nothing is told until that is undone."""


def refusals(policies: Policies, reader: Reader, now: Millis, muted: Muted = Muted()) -> Refusals:  # noqa: B008 - frozen
    """For each item the rules that keep it from this reader at `now`, as the bits of RULES; 0: none does.

    Shape: one value per ordinal.
    """
    # One more, for numbers of audiences that are none.
    unmet = np.append(policies.audiences.met_by(reader), False)
    codes = np.where(unmet, 0, _AUDIENCE).astype(np.uint16)
    codes[-1] |= _UNREADABLE
    found: Refusals = policies._flags.values | codes.take(policies._audience.values.view(np.uint32), mode="clip")
    found |= (policies._from.values > now) * np.uint16(_EARLY)
    over = (policies._until.values <= now).astype(np.uint16)
    # The highest bit says that something took its place. Shifting is twice as fast as choosing by element.
    over <<= (found >> _ENDED_BIT + 1) + np.uint16(_ENDED_BIT)
    found &= np.uint16(_ENDED - 1)
    found |= over
    for ordinal in muted.items:
        found[ordinal] |= _MUTED
    found[muted.about] |= _TOPIC
    if muted.unreadable:
        found |= np.uint16(_UNREADABLE)
    return found


def eligible(policies: Policies, reader: Reader, now: Millis, muted: Muted = Muted()) -> BoolArray:  # noqa: B008 - frozen
    """For each item, whether this reader may be told of it at `now`: no rule keeps it back.

    An item is eligible when its audience meets the reader's scopes and it is not muted, quarantined, forgotten,
    not yet valid, no longer valid, or replaced by a newer version. Shape: one value per ordinal.
    """
    seen: BoolArray = refusals(policies, reader, now, muted) == 0
    return seen


def is_old(found: Refusals) -> BoolArray:
    """For each item, by what `refusals` found, whether nothing keeps it back but that a newer version took its place.

    Such a one is told of when it is asked for by its own name or date, and only then.
    """
    old: BoolArray = found == _REPLACED
    return old


def only_over(found: int) -> bool:
    """Whether by what `refusals` found for an item nothing keeps it back, or only that its time is over or to come."""
    return not found & ~(_EARLY | _ENDED | _REPLACED)


def rule_of(found: int) -> Rule | None:
    """The first of the rules that `refusals` found for an item, in the order of RULES; None when there is none."""
    return next((rule for rule, bit in RULES.items() if found & bit), "unreadable" if found else None)


def may_see(item: Item, reader: Reader, now: Millis) -> bool:
    """The same check for one item."""
    policies = Policies(Audiences())
    policies.append(item)
    return bool(eligible(policies, reader, now)[0])
