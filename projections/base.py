"""The base: a snapshot opened for reading, or the empty one before the first snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..events.position import Position
from .asset_index import Group, Vectors
from .items import Item
from .naming.addresses import Addresses
from .naming.names import NameIndex
from .policy.eligibility import Audiences, Policies
from .replacing import chained_to
from .rows import Row, rows_of
from .segment import FrozenRows, FrozenSegment
from .state import State
from .text_index import FrozenPostings, freeze


@dataclass(frozen=True)
class Base:
    """Everything up to one position, immutable; many readers and overlays may share it."""

    generation: int
    state: State
    ids: list[str]
    """Item ids by ordinal."""
    policies: Policies
    segment: FrozenSegment
    names: NameIndex
    ordinals: dict[str, int] = field(default_factory=dict)
    addresses: Addresses = field(default_factory=Addresses)

    def rows_of(self, item: Item) -> dict[Row, int]:
        """Numbers of the rows that the base holds of an item, in order; they follow one another."""
        ordinal = self.ordinals.get(item.id)
        known = self.state.get(item.id)
        if ordinal is None or known is None:
            return {}
        return {row: number for number, row in enumerate(rows_of(known), int(self.segment.first_row[ordinal]))}

    @cached_property
    def chained(self) -> list[int]:
        """Ordinals of the items that replaced something or were replaced."""
        items = (item for item in map(self.state.get, self.ids) if item is not None)
        chains = ((item.id, *one) for item in items if (one := chained_to(item)))
        return [*dict.fromkeys(self.ordinals[one] for chain in chains for one in chain if one in self.ordinals)]

    @property
    def position(self) -> Position:
        """Every event up to here is in."""
        return self.state.position


def empty_base(dims: Sequence[int]) -> Base:
    """The base of a reader without a snapshot: generation 0, nothing in it, at the start of the log.

    `dims` are those of Encoders.
    """
    arrays, vocabulary = freeze([])
    nothing = [Group(np.zeros(0, dtype=np.int64), np.zeros((0, dim), dtype=np.float16)) for dim in dims]
    rows = FrozenRows(
        {
            "item": np.zeros(0, np.int32),
            "kind": np.zeros(0, np.uint8),
            "audience": np.zeros(0, np.int32),
            "weight": np.zeros(0, np.float32),
        }
    )
    segment = FrozenSegment(rows, FrozenPostings(arrays, vocabulary), Vectors(nothing), np.zeros(1, np.int64), [])
    return Base(0, State(), [], Policies(Audiences()), segment, NameIndex())
