"""The asset index: finds rows by their meaning, with dense vectors.

Vectors are kept as 16-bit floats and compared by numkong, whose result for a pair does not depend on which other rows
stand beside it: a snapshot plus an overlay gives bit for bit the cosines that one index would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numkong
import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .graph import Graph, HalfArray
from .meaning.encoder import FloatArray
from .policy.eligibility import BoolArray
from .rows import GROUP_OF, GROUPS

Cosines = NDArray[np.float64]
RequestVectors = tuple[HalfArray, ...]
"""A request as the rows of each of rows.GROUPS are compared with it: groups have encoders of their own."""

EXACT_UP_TO: Final = 120_000
"""Rows of a group up to which every row is compared (3 to 4 ms, and no graph to build, which takes a minute for a
hundred thousand); beyond, a usearch graph proposes, the exact cosine decides."""


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

    def compare(self, request: RequestVectors) -> Cosines:
        """Cosine of the request with every row; NaN for rows that are left to a graph."""
        ...

    def nearest(
        self, request: RequestVectors, kind: int, visible: BoolArray, count: int, *, exact: bool = False
    ) -> NDArray[np.int64]:
        """About `count` visible rows of a kind that stand nearest to the request; only for what `compare` left out.

        `exact`: those that are nearest, whatever else there is.
        """
        ...

    def compare_at(self, request: RequestVectors, rows: NDArray[np.int64]) -> Cosines:
        """Cosine of the request with each of these rows."""
        ...

    def vector(self, group: int, row: int) -> HalfArray:
        """The vector of a row of one of rows.GROUPS."""
        ...


class Group(NamedTuple):
    """The vectors of one of rows.GROUPS."""

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
    """Immutable vectors of a snapshot, memory-mapped, for each of rows.GROUPS."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = tuple(groups)
        self._count = sum(len(group.rows) for group in groups)

    def compare(self, request: RequestVectors) -> Cosines:
        """See RowVectors."""
        found = np.full(self._count, np.nan)
        for group, vector in zip(self.groups, request, strict=True):
            if group.graph is None:
                found[group.rows] = cosines(vector, group.matrix)
        return found

    def nearest(
        self, request: RequestVectors, kind: int, visible: BoolArray, count: int, *, exact: bool = False
    ) -> NDArray[np.int64]:
        """See RowVectors.

        Hidden rows are left out before the cut: the search is widened until enough visible rows are found, and for a
        reader who sees little, the little is compared row by row instead.
        """
        group, vector = self.groups[GROUP_OF[kind]], request[GROUP_OF[kind]]
        seen = np.flatnonzero(visible[group.rows])
        if group.graph is None or exact or len(seen) <= EXACT_UP_TO // 2:
            return group.rows[seen[top(cosines(vector, group.matrix[seen]), np.arange(len(seen)), count)]]
        wide = count
        while True:
            rows = group.rows[group.graph.nearest(vector, wide)]
            kept = rows[visible[rows]]
            if len(kept) >= min(count, len(seen)) or wide >= len(group.rows):
                return kept[:count]
            wide = min(wide * 4, len(group.rows))

    def compare_at(self, request: RequestVectors, rows: NDArray[np.int64]) -> Cosines:
        """See RowVectors."""
        found = np.zeros(len(rows))
        for group, vector in zip(self.groups, request, strict=True):
            places = group.places(rows)
            mine = places >= 0
            found[mine] = cosines(vector, group.matrix[places[mine]])
        return found

    def vector(self, group: int, row: int) -> HalfArray:
        """See RowVectors."""
        found = self.groups[group]
        vector: HalfArray = found.matrix[found.places(np.array([row]))[0]]
        return vector


class GrowingVectors:
    """Vectors in memory to which rows are added; always compared row by row."""

    def __init__(self, dims: Sequence[int]) -> None:
        self._rows = [Column(np.int64) for _ in GROUPS]
        self._matrices = [Column(np.float16, dim) for dim in dims]

    def extend(self, group: int, rows: Sequence[int], vectors: HalfArray) -> None:
        """Add the next rows of a group; their numbers ascend."""
        self._rows[group].extend(np.array(rows, dtype=np.int64))
        self._matrices[group].extend(vectors)

    def compare(self, request: RequestVectors) -> Cosines:
        """See RowVectors; nothing is left out."""
        found = np.zeros(sum(map(len, self._rows)))
        for rows, matrix, vector in zip(self._rows, self._matrices, request, strict=True):
            found[rows.values] = cosines(vector, matrix.values)
        return found

    def nearest(  # there is nothing that `compare` left out
        self,
        request: RequestVectors,  # noqa: ARG002
        kind: int,  # noqa: ARG002
        visible: BoolArray,  # noqa: ARG002
        count: int,  # noqa: ARG002
        *,
        exact: bool = False,  # noqa: ARG002
    ) -> NDArray[np.int64]:
        """See RowVectors."""
        return np.zeros(0, dtype=np.int64)

    def compare_at(self, request: RequestVectors, rows: NDArray[np.int64]) -> Cosines:
        """See RowVectors."""
        return self.compare(request)[rows]

    def vector(self, group: int, row: int) -> HalfArray:
        """See RowVectors."""
        vector: HalfArray = self._matrices[group].values[np.searchsorted(self._rows[group].values, row)]
        return vector


def top(scores: NDArray[Any], rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The `count` of these rows with the highest positive scores, and those that tie with the last; by row."""
    rows = rows[scores[rows] > 0]
    if len(rows) > count:
        kept = scores[rows]
        rows = rows[kept >= np.partition(kept, len(kept) - count)[len(kept) - count]]
    return rows
