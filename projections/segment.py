"""A segment: the indexes over some rows, in one of two forms with the same reading side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .asset_index import GrowingVectors, RowVectors, Vectors
from .columns import Column
from .policy.eligibility import Audiences, BoolArray
from .rows import Row
from .text_index import GrowingPostings, Postings


class RowColumns(Protocol):
    """What is known of each row, as arrays."""

    @property
    def item(self) -> NDArray[np.int32]:
        """Ordinal of the item that the row belongs to."""
        ...

    @property
    def kind(self) -> NDArray[np.uint8]:
        """rows.TOPIC, rows.USE, rows.NOT_FOR or rows.TEXT."""
        ...

    @property
    def audience(self) -> NDArray[np.int32]:
        """Number of the row's audience."""
        ...

    @property
    def weight(self) -> NDArray[np.float32]:
        """Weight of the row's key; 1 for topics."""
        ...

    @property
    def weighed(self) -> NDArray[np.int64]:
        """The rows whose weight is not 1, ascending."""
        ...


class Segment(Protocol):
    """Rows, and where to find their words and their meaning. Rows are numbered from 0 within a segment."""

    @property
    def rows(self) -> RowColumns:
        """Columns by row."""
        ...

    @property
    def postings(self) -> Postings:
        """The text index."""
        ...

    @property
    def vectors(self) -> RowVectors:
        """The asset index."""
        ...

    def anchor(self, row: int) -> str:
        """What stands behind # in the address of this row's text."""
        ...


class GrowingRows:
    """Row columns to which rows are added."""

    def __init__(self) -> None:
        self._item = Column(np.int32)
        self._kind = Column(np.uint8)
        self._audience = Column(np.int32)
        self._weight = Column(np.float32)
        self._weighed = Column(np.int64)

    def append(self, ordinal: int, row: Row, audiences: Audiences) -> None:
        """Add the next row."""
        self._item.append(ordinal)
        self._kind.append(row.kind)
        self._audience.append(audiences.number(row.audience))
        if row.weight != 1:
            self._weighed.append(len(self._weight))
        self._weight.append(row.weight)

    @property
    def item(self) -> NDArray[np.int32]:
        """See RowColumns."""
        return self._item.values

    @property
    def kind(self) -> NDArray[np.uint8]:
        """See RowColumns."""
        return self._kind.values

    @property
    def audience(self) -> NDArray[np.int32]:
        """See RowColumns."""
        return self._audience.values

    @property
    def weight(self) -> NDArray[np.float32]:
        """See RowColumns."""
        return self._weight.values

    @property
    def weighed(self) -> NDArray[np.int64]:
        """See RowColumns."""
        return self._weighed.values


class GrowingSegment:
    """A segment in memory; what is added is found at once. A row that is no longer true is marked dead, not removed."""

    def __init__(self, dims: Sequence[int]) -> None:
        self.rows = GrowingRows()
        self.postings = GrowingPostings()
        self.vectors = GrowingVectors(dims)
        self._anchors: list[str] = []
        self._alive = Column(np.bool_)

    def __len__(self) -> int:
        return len(self._anchors)

    @property
    def alive(self) -> BoolArray:
        """Whether each row still holds."""
        return self._alive.values

    def append(self, ordinal: int, row: Row, words: list[str], audiences: Audiences) -> int:
        """Add a row without its vector (the vectors of a batch follow in one go); returns its number."""
        self.rows.append(ordinal, row, audiences)
        self.postings.add(words)
        self._anchors.append(row.anchor)
        self._alive.append(True)
        return len(self._anchors) - 1

    def anchor(self, row: int) -> str:
        """See Segment."""
        return self._anchors[row]

    def kill(self, row: int) -> None:
        """Mark a row as no longer true."""
        self._alive.values[row] = False


class FrozenSegment:
    """The immutable segment of a snapshot, over memory-mapped arrays."""

    def __init__(
        self, rows: RowColumns, postings: Postings, vectors: Vectors, first_row: NDArray[np.int64], anchors: list[str]
    ) -> None:
        self.rows = rows
        self.postings = postings
        self.vectors = vectors
        self.first_row = first_row
        """Rows of ordinal i are first_row[i] to first_row[i + 1]."""
        self._anchors = anchors

    def __len__(self) -> int:
        return len(self._anchors)

    def anchor(self, row: int) -> str:
        """See Segment."""
        return self._anchors[row]


class FrozenRows:
    """Row columns of a snapshot."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.item: NDArray[np.int32] = arrays["item"]
        self.kind: NDArray[np.uint8] = arrays["kind"]
        self.audience: NDArray[np.int32] = arrays["audience"]
        self.weight: NDArray[np.float32] = arrays["weight"]
        self.weighed: NDArray[np.int64] = np.flatnonzero(self.weight != 1)
