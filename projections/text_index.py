"""The text index: finds rows by their words, with BM25.

Both forms keep plain term counts and not ready-made scores, so that the word statistics can be taken at query time over
exactly the rows that the reader may see. Two things follow: a snapshot plus an overlay scores exactly as one index over
everything would, and a hidden row does not move the score of a visible one.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import bm25s
import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .language.scripts import is_unspaced
from .language.words import TAG, is_plain, language_of
from .policy.eligibility import BoolArray

K1: Final = 1.5
B: Final = 0.75
"""Robertson's usual values; the calibrated bar was trained with them."""

Rows = NDArray[np.int32]
Counts = NDArray[np.float32]
Scores = NDArray[np.float64]
_NO_ROWS: Final = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)


class Postings(Protocol):
    """Where each term occurs. Rows are numbered from 0 within one Postings."""

    @property
    def lengths(self) -> Counts:
        """Number of plain terms in each row."""
        ...

    @property
    def languages(self) -> frozenset[str]:
        """Languages of which there are terms, in hidden and dead rows as well."""
        ...

    def occurrences(self, term: str) -> tuple[Rows, Counts]:
        """The rows that hold a term, ascending, and how often each does."""
        ...


class FrozenPostings:
    """Immutable postings over arrays, which may be memory-mapped: term t stands in rows[starts[t]:starts[t + 1]]."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], vocabulary: Mapping[str, int]) -> None:
        self._starts: NDArray[np.int64] = arrays["starts"]
        self._rows: Rows = arrays["rows"]
        self._counts: Counts = arrays["counts"]
        self._lengths: Counts = arrays["lengths"]
        self._vocabulary = vocabulary
        self._languages = _languages(vocabulary)

    @property
    def lengths(self) -> Counts:
        """See Postings."""
        return self._lengths

    @property
    def languages(self) -> frozenset[str]:
        """See Postings."""
        return self._languages

    def occurrences(self, term: str) -> tuple[Rows, Counts]:
        """See Postings."""
        number = self._vocabulary.get(term)
        if number is None:
            return _NO_ROWS
        span = slice(int(self._starts[number]), int(self._starts[number + 1]))
        return self._rows[span], self._counts[span]


class GrowingPostings:
    """Postings in memory to which rows are added; what is added is found at once."""

    def __init__(self) -> None:
        self._terms: dict[str, tuple[array[int], array[float]]] = {}
        self._lengths = Column(np.float32)
        self._languages: frozenset[str] = frozenset()

    @property
    def lengths(self) -> Counts:
        """See Postings."""
        return self._lengths.values

    @property
    def languages(self) -> frozenset[str]:
        """See Postings."""
        return self._languages

    def add(self, terms: Sequence[str]) -> None:
        """Add the next row."""
        row = len(self._lengths)
        length = _length(terms)
        self._lengths.append(length)
        if length < len(terms):
            self._languages |= _languages(terms)
        for term, count in Counter(terms).items():
            rows, counts = self._terms.setdefault(term, (array("i"), array("f")))
            rows.append(row)
            counts.append(count)

    def occurrences(self, term: str) -> tuple[Rows, Counts]:
        """See Postings."""
        found = self._terms.get(term)
        if found is None:
            return _NO_ROWS
        # Copies: a view would forbid the array to grow for as long as it lives.
        return np.array(found[0], dtype=np.int32), np.array(found[1], dtype=np.float32)


def freeze(documents: Sequence[Sequence[str]]) -> tuple[dict[str, NDArray[Any]], dict[str, int]]:
    """Build the arrays and the vocabulary of FrozenPostings, with bm25s.

    bm25s stores idf(term) * tf-part(count). With b = 0 and a k1 that dwarfs every count, the atire tf-part
    count * (k1 + 1) / (count + k1) is the count itself, so dividing by idf leaves the plain counts that we want.
    """
    lengths = np.fromiter(map(_length, documents), dtype=np.float32, count=len(documents))
    if not lengths.any():
        empty: dict[str, NDArray[Any]] = {
            "starts": np.zeros(1, dtype=np.int64), "rows": _NO_ROWS[0], "counts": _NO_ROWS[1], "lengths": lengths,
        }  # fmt: skip
        return empty, {}
    engine = bm25s.BM25(method="atire", idf_method="lucene", k1=1e9, b=0.0, dtype="float64")
    engine.index([list(words) for words in documents], create_empty_token=False, show_progress=False)
    starts = engine.scores["indptr"].astype(np.int64)
    frequency = np.diff(starts)
    idf = _idf(float(len(documents)), frequency)
    counts = np.rint(engine.scores["data"] / np.repeat(idf, frequency)).astype(np.float32)
    rows = engine.scores["indices"].astype(np.int32)
    arrays: dict[str, NDArray[Any]] = {"starts": starts, "rows": rows, "counts": counts, "lengths": lengths}
    return arrays, {str(term): int(number) for term, number in engine.vocab_dict.items()}


class Scored(NamedTuple):
    """Scores of the rows of each postings, and what the request's terms weigh together (the sum of their idf)."""

    shares: list[Scores]
    weight: float


def score(terms: Sequence[str | tuple[str, ...]], places: Sequence[tuple[Postings, BoolArray]]) -> Scored:
    """BM25 of the visible rows of several postings as if they were one, divided by the request's total idf.

    Args:
        terms: the request's terms; several together are ways to write one word, of which a row's most frequent counts.
        places: postings, each with a mask of the rows that count (visible and alive).

    Returns:
        One array of scores per postings, 0 to 1: the share of the request's weight that a row holds.
        Formula: Robertson and Zaragoza 2009, idf as in Lucene; rows that do not count score 0.
    """
    scores = [np.zeros(len(mask), dtype=np.float64) for _, mask in places]
    visible = float(sum(np.count_nonzero(mask) for _, mask in places))
    total = float(sum(np.dot(postings.lengths, mask) for postings, mask in places))
    weight = 0.0
    for term in dict.fromkeys(heard_of(term, places) for term in terms):
        hits = []
        for postings, mask in places:
            rows, counts = postings.occurrences(term) if isinstance(term, str) else any_of(postings, term)
            keep = mask[rows]
            hits.append((rows[keep], counts[keep]))
        among = sum(len(rows) for rows, _ in hits)
        if not among and may_be_seam(term):
            continue
        idf = float(_idf(visible, np.array(among)))
        weight += idf
        for (postings, _), (rows, counts), into in zip(places, hits, scores, strict=True):
            if len(rows):
                norm = 1 - B + B * postings.lengths[rows].astype(np.float64) * visible / total
                into[rows] += idf * counts / (counts + K1 * norm)
    return Scored([found / weight for found in scores] if weight else scores, weight)


def languages_in(postings: Iterable[Postings]) -> frozenset[str]:
    """Languages of which any of these has terms."""
    return frozenset[str]().union(*(each.languages for each in postings))


def heard_of(term: str | tuple[str, ...], places: Iterable[tuple[Postings, BoolArray]]) -> str | tuple[str, ...]:
    """Of several ways to write a word the first, and those that a row which counts holds.

    That there are rows in a language which do not count must not show, and two words that differ in it alone are one.
    """
    if isinstance(term, str) or len(term) == 1:
        return term
    others = (way for way in term[1:] if any(mask[postings.occurrences(way)[0]].any() for postings, mask in places))
    return (term[0], *others)


def any_of(postings: Postings, terms: Sequence[str]) -> tuple[Rows, Counts]:
    """The rows that hold any of some terms, ascending, and how often each holds the one that it holds most."""
    found = [hits for term in terms if len((hits := postings.occurrences(term))[0])]
    if len(found) < 2:
        return found[0] if found else _NO_ROWS
    rows, places = np.unique(np.concatenate([rows for rows, _ in found]), return_inverse=True)
    counts = np.zeros(len(rows), dtype=np.float32)
    np.maximum.at(counts, places, np.concatenate([counts for _, counts in found]))
    return rows, counts


def may_be_seam(term: str | tuple[str, ...]) -> bool:
    """Whether a term that no row holds may be no word at all, but the end of one and the beginning of the next."""
    return is_unspaced(term if isinstance(term, str) else term[0])


def _length(terms: Sequence[str]) -> int:
    # Nearly every text is in English, and asking term by term takes ten times as long.
    return sum(map(is_plain, terms)) if TAG in "".join(terms) else len(terms)


def _languages(terms: Iterable[str]) -> frozenset[str]:
    return frozenset(map(language_of, terms)) - {""} if TAG in "".join(terms) else frozenset()


def _idf(rows: float, frequency: NDArray[Any]) -> NDArray[np.float64]:
    """Lucene's idf, never negative: log(1 + (N - df + 0.5) / (df + 0.5))."""
    return np.log1p((rows - frequency + 0.5) / (frequency + 0.5))
