"""A usearch graph over the vectors of many rows: proposes near ones without looking at all.

A node of the graph has a key of its own that stays the same from snapshot to snapshot, while the row it stands for
moves when rows before it come and go. So a graph can be brought up to date by the difference: building one anew costs
half a millisecond for each vector, a minute for a hundred thousand.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from .meaning.contextual import load_onnxruntime_first

if TYPE_CHECKING:
    from usearch.index import Index

HalfArray = NDArray[np.float16]
Keys = NDArray[np.uint64]

EXPANSION: Final = 128
"""usearch's expansion_search: at 64 recall@10 falls below 0.9 on hard data, at 256 it takes twice the time."""
MOST_GONE: Final = 0.25
"""Share of a graph's keys that may be gone before it is built anew: removed nodes stay in the file and slow it down."""


class Graph:
    """A graph opened for reading, memory-mapped. It has no checksum of its own: the manifest's was checked before."""

    def __init__(self, path: Path, keys: Keys, dim: int) -> None:
        self.path = path
        self.keys = keys
        """The key of each place of the matrix."""
        self._index = _index(dim)
        self._index.view(str(path))
        self._place_of = np.full(int(keys.max(initial=0)) + 1, -1, dtype=np.int64)
        self._place_of[keys] = np.arange(len(keys))

    def nearest(self, request: HalfArray, count: int) -> NDArray[np.int64]:
        """Places in the matrix of about `count` vectors near the request, nearest first."""
        keys = self._index.search(request, min(count, len(self.keys)), threads=1).keys
        return self._place_of[keys.astype(np.int64)]


def build(matrix: HalfArray, path: Path) -> Keys:
    """Write a graph over a matrix; returns the key of each place. One thread: with more, no two builds are alike."""
    index = _index(matrix.shape[1])
    keys = np.arange(len(matrix), dtype=np.uint64)
    index.add(keys, matrix, threads=1)
    index.save(str(path))
    return keys


def update(old: Graph, matrix: HalfArray, places: NDArray[np.int64], path: Path) -> Keys:
    """Write a graph over a matrix, of which most is in an older graph; returns the key of each place.

    Args:
        old: the older graph; its file is not changed.
        matrix: the vectors.
        places: for each place of the matrix, the place that the same vector has in the older graph, or -1.
        path: where to write.

    The bytes of vectors that are gone stay in the file. What must not stay (a forgotten item's) needs `build`; so does
    a graph from which more than MOST_GONE is gone, and `update` then does that.
    """
    kept = places >= 0
    first_free = int(old.keys.max(initial=0)) + 1
    added = np.arange(first_free, first_free + int(np.count_nonzero(~kept)), dtype=np.uint64)
    if (first_free + len(added)) * (1 - MOST_GONE) > len(matrix) or not old.path.exists():
        return build(matrix, path)
    index = _index(matrix.shape[1])
    index.load(str(old.path))
    gone = np.ones(len(old.keys), dtype=np.bool_)
    gone[places[kept]] = False
    if gone.any():
        index.remove(old.keys[gone], threads=1)
    if len(added):
        index.add(added, matrix[~kept], threads=1)
    index.save(str(path))
    keys = np.zeros(len(matrix), dtype=np.uint64)
    keys[kept], keys[~kept] = old.keys[places[kept]], added
    return keys


def _index(dim: int) -> Index:
    load_onnxruntime_first()
    from usearch.index import Index  # noqa: PLC0415 - never before onnxruntime

    return Index(ndim=dim, metric="cos", dtype="f16", expansion_search=EXPANSION)
