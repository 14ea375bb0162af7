"""The asset index: finds rows by their meaning, with dense vectors.

Vectors are kept as 16-bit floats and compared by numkong, whose result for a pair does not depend on which other rows
stand beside it: a snapshot plus an overlay gives bit for bit the cosines that one index would.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numkong
import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .eligibility import BoolArray
from .encoder import FloatArray
from .graph import Graph, HalfArray
from .rows import TOPIC

Cosines = NDArray[np.float64]

EXACT_UP_TO: Final = 50_000
"""Rows up to which every row is compared (about 2 ms); beyond, a usearch graph proposes, the exact cosine decides."""


def halve(vectors: FloatArray) -> HalfArray:
    """The form in which vectors are stored and compared."""
    return np.ascontiguousarray(vectors, dtype=np.float16)


def cosines(request: HalfArray, vectors: HalfArray) -> Cosines:
    """Cosine of one request (shape (dim,)) with each vector (shape (n, dim)); 0 where either is all zero."""
    if len(vectors) == 0:
        return np.zeros(0, dtype=np.float64)
    products: NDArray[np.float64] = np.asarray(numkong.cdist(request.reshape(1, -1), vectors, "dot"), dtype=np.float64)
    row: Cosines = products[0]
    return row


class RowVectors(Protocol):
    """The vectors of a segment's rows."""

    def compare(self, request: HalfArray) -> Cosines:
        """Cosine of the request with every row; NaN for rows that are left to a graph."""
        ...

    def nearest(self, request: HalfArray, kind: int, visible: BoolArray, count: int) -> NDArray[np.int64]:
        """About `count` visible rows of a kind that stand nearest to the request; only for what `compare` left out."""
        ...

    def at(self, rows: NDArray[np.int64]) -> HalfArray:
        """The vectors of some rows, shape (len(rows), dim)."""
        ...


class Group(NamedTuple):
    """Vectors of the rows of one kind: topics are many and long, keys are few and precious."""

    rows: NDArray[np.int64]
    """Row numbers, ascending."""
    matrix: HalfArray
    """One vector for each of `rows`."""
    graph: Graph | None = None
    """A graph over the matrix, when there are more than EXACT_UP_TO."""

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the vectors of these rows stand in the matrix; -1 for a row that is not in here."""
        if not len(self.rows):
            return np.full(len(rows), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[found] == rows, found, -1)


class Vectors:
    """Immutable vectors of a snapshot, memory-mapped, grouped by the kind of row."""

    def __init__(self, topics: Group, keys: Group) -> None:
        self._groups = (topics, keys)
        self._count = len(topics.rows) + len(keys.rows)
        self._place = np.zeros(self._count, dtype=np.int64)
        self._is_key = np.zeros(self._count, dtype=np.bool_)
        self._is_key[keys.rows] = True
        for group in self._groups:
            self._place[group.rows] = np.arange(len(group.rows))

    def group(self, *, is_key: bool) -> Group:
        """The vectors of the keys, or those of the topics."""
        return self._groups[is_key]

    def compare(self, request: HalfArray) -> Cosines:
        """See RowVectors."""
        found = np.full(self._count, np.nan)
        for group in self._groups:
            if group.graph is None:
                found[group.rows] = cosines(request, group.matrix)
        return found

    def nearest(self, request: HalfArray, kind: int, visible: BoolArray, count: int) -> NDArray[np.int64]:
        """See RowVectors.

        Hidden rows are left out before the cut: the search is widened until enough visible rows are found, and for a
        reader who sees little, the little is compared row by row instead.
        """
        group = self._groups[kind != TOPIC]
        seen = np.flatnonzero(visible[group.rows])
        if group.graph is None or len(seen) <= EXACT_UP_TO // 2:
            return group.rows[seen[top(cosines(request, group.matrix[seen]), np.arange(len(seen)), count)]]
        wide = count
        while True:
            rows = group.rows[group.graph.nearest(request, wide)]
            kept = rows[visible[rows]]
            if len(kept) >= min(count, len(seen)) or wide >= len(group.rows):
                return kept[:count]
            wide = min(wide * 4, len(group.rows))

    def at(self, rows: NDArray[np.int64]) -> HalfArray:
        """See RowVectors."""
        found: HalfArray = np.zeros((len(rows), self._groups[0].matrix.shape[1]), dtype=np.float16)
        for group, mine in zip(self._groups, (~self._is_key[rows], self._is_key[rows]), strict=True):
            found[mine] = group.matrix[self._place[rows[mine]]]
        return found


class GrowingVectors:
    """Vectors in memory to which rows are added; always compared row by row."""

    def __init__(self, dim: int) -> None:
        self._column = Column(np.float16, dim)

    def extend(self, vectors: HalfArray) -> None:
        """Add the next rows."""
        self._column.extend(vectors)

    def compare(self, request: HalfArray) -> Cosines:
        """See RowVectors; nothing is left out."""
        return cosines(request, self._column.values)

    def nearest(self, request: HalfArray, kind: int, visible: BoolArray, count: int) -> NDArray[np.int64]:  # noqa: ARG002
        """See RowVectors; there is nothing that `compare` left out."""
        return np.zeros(0, dtype=np.int64)

    def at(self, rows: NDArray[np.int64]) -> HalfArray:
        """See RowVectors."""
        found: HalfArray = self._column.values[rows]
        return found


def top(scores: NDArray[Any], rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The `count` of these rows with the highest positive scores, and those that tie with the last; by row."""
    rows = rows[scores[rows] > 0]
    if len(rows) > count:
        kept = scores[rows]
        rows = rows[kept >= np.partition(kept, len(kept) - count)[len(kept) - count]]
    return rows
