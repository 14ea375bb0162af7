"""Encoders that know a snapshot's texts: a replay of what it holds takes its vectors instead of making them anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..asset_index import Group
from ..base import Base
from ..graph import HalfArray
from ..meaning.encoders import Encoders
from ..rows import GROUP_OF, Row


@dataclass(frozen=True, kw_only=True)
class Reusing(Encoders):
    """The same vectors as those of the encoders that the snapshot was made with, most of them without encoding."""

    known: dict[tuple[int, str], int]
    """By group and text, the place of its vector in the group."""
    groups: Sequence[Group]

    def encode_rows(self, group: int, texts: list[str]) -> HalfArray:
        """See Encoders."""
        places = np.array([self.known.get((group, text), -1) for text in texts], dtype=np.int64)
        vectors = np.zeros((len(texts), self.dims[group]), dtype=np.float16)
        held = places >= 0
        vectors[held] = self.groups[group].matrix[places[held]]
        missing = np.flatnonzero(~held)
        if len(missing):
            vectors[missing] = super().encode_rows(group, [texts[place] for place in missing])
        return vectors


def reusing(encoders: Encoders, base: Base) -> Encoders:
    """Encoders over the vectors of a base that was made with `encoders`; these themselves when it is empty."""
    numbers: list[tuple[Row, int]] = [pair for item in base.state.all() for pair in base.rows_of(item).items()]
    if not numbers:
        return encoders
    groups = base.segment.vectors.groups
    known: dict[tuple[int, str], int] = {}
    for group, held in enumerate(groups):
        mine = [(row.text, number) for row, number in numbers if GROUP_OF[row.kind] == group]
        places = held.places(np.array([number for _, number in mine], dtype=np.int64))
        known |= {(group, text): int(place) for (text, _), place in zip(mine, places, strict=True) if place >= 0}
    same: dict[str, Any] = {field.name: getattr(encoders, field.name) for field in fields(encoders)}
    return Reusing(**same, known=known, groups=groups)
