"""The asset index: finds rows by their meaning, with dense vectors.

Vectors are kept as 16-bit floats and compared by numkong, whose result for a pair does not depend on which other rows
stand beside it: a snapshot plus an overlay gives bit for bit the cosines that one index would.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

import numkong
import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from .columns import Column
from .eligibility import BoolArray
from .encoder import FloatArray

HalfArray = NDArray[np.float16]
Cosines = NDArray[np.float64]

EXACT_UP_TO: Final = 50_000
"""Rows up to which every row is compared (about 2 ms); beyond, a usearch graph proposes, the exact cosine decides."""
EXPANSION: Final = 128
"""usearch's expansion_search: at 64 recall@10 falls below 0.9 on hard data, at 256 it takes twice the time."""


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
    """Vectors by row. `nearest` may only be asked when they are not `exact`."""

    @property
    def matrix(self) -> HalfArray:
        """All rows, shape (n, dim)."""
        ...

    @property
    def exact(self) -> bool:
        """Whether every row is compared for every request."""
        ...

    def nearest(self, request: HalfArray, visible: BoolArray, count: int) -> NDArray[np.int64]:
        """About `count` visible rows nearest to the request."""
        ...


class Vectors:
    """Immutable vectors of a snapshot, memory-mapped, with a usearch graph when there are many."""

    def __init__(self, matrix: HalfArray, graph: Index | None = None) -> None:
        self.matrix = matrix
        self._graph = graph

    @property
    def exact(self) -> bool:
        """Whether every row is compared for every request."""
        return self._graph is None

    def nearest(self, request: HalfArray, visible: BoolArray, count: int) -> NDArray[np.int64]:
        """About `count` visible rows nearest to the request, from the graph.

        Hidden rows are left out before the cut: the search is widened until enough visible rows are found, and a reader
        who sees little has the little compared row by row instead.
        """
        assert self._graph is not None, "ask `exact` first"  # noqa: S101 - a programming error, not an input
        seen = int(np.count_nonzero(visible))
        if seen <= EXACT_UP_TO // 2:
            rows = np.flatnonzero(visible)
            return rows[top(cosines(request, self.matrix[rows]), np.arange(len(rows)), count)]
        wide = count
        while True:
            found = self._graph.search(request, wide, threads=1).keys.astype(np.int64)
            kept = found[visible[found]]
            if len(kept) >= min(count, seen) or wide >= len(self.matrix):
                return kept[:count]
            wide = min(wide * 4, len(self.matrix))


class GrowingVectors:
    """Vectors in memory to which rows are added; always compared row by row."""

    exact: Final = True

    def __init__(self, dim: int) -> None:
        self._column = Column(np.float16, dim)

    @property
    def matrix(self) -> HalfArray:
        """All rows so far, shape (n, dim)."""
        return self._column.values

    def extend(self, vectors: HalfArray) -> None:
        """Add the next rows."""
        self._column.extend(vectors)

    def nearest(self, request: HalfArray, visible: BoolArray, count: int) -> NDArray[np.int64]:
        """See RowVectors."""
        rows = np.flatnonzero(visible)
        return rows[top(cosines(request, self.matrix[rows]), np.arange(len(rows)), count)]


def build_graph(matrix: HalfArray, path: Path) -> None:
    """Write a usearch graph over the rows. One thread: with more the graph differs from build to build."""
    graph = Index(ndim=matrix.shape[1], metric="cos", dtype="f16", expansion_search=EXPANSION)
    graph.add(np.arange(len(matrix), dtype=np.uint64), matrix, threads=1)
    graph.save(str(path))


def open_graph(path: Path, dim: int) -> Index:
    """Map a graph file into memory. It has no checksum of its own: the manifest's has been checked before."""
    graph = Index(ndim=dim, metric="cos", dtype="f16", expansion_search=EXPANSION)
    graph.view(str(path))
    return graph


def top(scores: NDArray[Any], rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The `count` of these rows with the highest positive scores, best first, the earlier row first among equals."""
    rows = rows[scores[rows] > 0]
    kept = scores[rows]
    if len(rows) > count:
        # Keep all that tie with the last place, so that the order of the rows and not of the partition decides.
        enough = kept >= np.partition(kept, len(kept) - count)[len(kept) - count]
        rows, kept = rows[enough], kept[enough]
    return rows[np.argsort(-kept, kind="stable")[:count]]
