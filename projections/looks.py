"""What one segment of rows has to say to one request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .asset_index import RequestVectors, top
from .policy.eligibility import BoolArray
from .segment import Segment
from .text_index import Scores


class Best(NamedTuple):
    """The best rows of one segment on one route."""

    scores: Scores
    ordinals: NDArray[np.int32]
    """The row's item."""


class Look:
    """What one segment has to say to one request.

    `weights`: whether use keys are weighed by what was learned of them. `exact`: whether every visible row is compared,
    also where a graph could propose some: the graph's way leads past rows that are not visible.
    """

    def __init__(
        self, segment: Segment, mask: BoolArray, request: RequestVectors, words: Scores, *, weights: bool, exact: bool
    ) -> None:
        self.segment = segment
        self._mask = mask
        self._request = request
        self._words = words
        self._exact = exact
        self._meaning = segment.vectors.compare(request)
        self._weights = segment.rows.weight if weights else None
        if self._weights is not None and len(weighed := segment.rows.weighed):
            self._words[weighed] *= self._weights[weighed]
            self._meaning[weighed] *= self._weights[weighed]

    def best(self, kind: int, width: int) -> tuple[Best, Best]:
        """The best visible rows of a kind, at most `width` by words and as many by meaning."""
        of_kind = self._mask & (self.segment.rows.kind == kind)
        rows = np.flatnonzero(of_kind)
        if len(rows) and np.isnan(self._meaning[rows[0]]):
            near = self.segment.vectors.nearest(self._request, kind, of_kind, width, exact=self._exact)
            self.compare_all([near.tolist()])
        else:
            near = top(self._meaning, rows, width)
        by_words, items = top(self._words, rows, width), self.segment.rows.item
        return Best(self._words[by_words], items[by_words]), Best(self._meaning[near], items[near])

    def compare_all(self, rows: Iterable[Sequence[int]]) -> None:
        """Fill in the cosines of these rows that `compare` left to the graph."""
        wanted = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        missing = wanted[np.isnan(self._meaning[wanted])]
        if len(missing):
            found = self.segment.vectors.compare_at(self._request, missing)
            self._meaning[missing] = found if self._weights is None else found * self._weights[missing]

    def raise_to_best(self, kind: int, words: Scores, meaning: Scores) -> None:
        """Raise each item's scores, by ordinal, to those of its best visible rows of a kind."""
        rows = np.flatnonzero(self._mask & (self.segment.rows.kind == kind))
        self.compare_all([rows.tolist()])
        items = self.segment.rows.item[rows]
        np.maximum.at(words, items, self._words[rows])
        np.maximum.at(meaning, items, self._meaning[rows])

    def facts(self, rows: Sequence[int]) -> Iterator[tuple[int, int, float, float]]:
        """Number, kind, word score and cosine of those of the rows that count."""
        for row in rows:
            if self._mask[row]:
                yield row, int(self.segment.rows.kind[row]), float(self._words[row]), float(self._meaning[row])


def visible_rows(segment: Segment, alive: BoolArray, items: BoolArray, audiences: BoolArray) -> BoolArray:
    """Rows that still hold, of visible items, with an audience that the reader meets."""
    if not len(alive):
        return alive
    visible: BoolArray = items[segment.rows.item] & audiences[segment.rows.audience] & alive
    return visible
