"""Muted topics: which items are about a phrase.

An item is about a phrase when all its words stand together in one piece of the item: in what it is (its name, aliases,
purpose and description), in one of its use keys, or in one piece of its text, such as a paragraph's section or a turn
of a session. Words are compared by their stems, as in a search; small words ("the", "of") do not count. Only pieces
that the reader may see are looked at: of what is hidden nothing can be told anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..language.words import readings
from ..segment import Segment
from ..text_index import Postings, Rows, languages_in
from .eligibility import BoolArray, Muted
from .mutes import Mutes

_NONE: Final = np.zeros(0, dtype=np.int32)


Places = Sequence[tuple[Segment, BoolArray]]
"""Always the same segments in the same order, each with a mask of the rows that still hold."""
_KEPT: Final = 256
"""Results that are kept; then all are worked out again."""


class TopicIndex:
    """The rows about muted phrases, kept from one request to the next: a segment's rows are only ever added to."""

    def __init__(self) -> None:
        self._rows: dict[tuple[tuple[str, ...], int, frozenset[str]], tuple[int, Rows]] = {}

    def ordinals(self, phrases: Sequence[str], places: Places, met: BoolArray) -> NDArray[np.int32]:
        """Ordinals of the items of which a row is about one of the phrases, in no order; one may come several times.

        Args:
            phrases: as they were typed.
            places: where to look.
            met: for each number of an audience whether the reader meets it.
        """
        languages = languages_in(segment.postings for segment, _ in places)
        found = []
        for number, (segment, alive) in enumerate(places):
            rows = self._about(tuple(phrases), number, segment.postings, languages)
            rows = rows[alive[rows] & met[segment.rows.audience[rows]]]
            found.append(segment.rows.item[rows])
        return np.concatenate(found)

    def _about(self, phrases: tuple[str, ...], number: int, postings: Postings, languages: frozenset[str]) -> Rows:
        size, known = len(postings.lengths), self._rows.get((phrases, number, languages))
        if known is None or known[0] != size:
            if len(self._rows) >= _KEPT:
                self._rows.clear()
            found = [rows for phrase in phrases for rows in _rows_about(phrase, postings, languages)]
            known = size, np.concatenate([_NONE, *found])
            self._rows[phrases, number, languages] = known
        return known[1]


def _rows_about(phrase: str, postings: Postings, languages: frozenset[str]) -> Iterator[Rows]:
    """The rows that hold all words of a phrase, for each way to read it in these languages that has some."""
    for terms in _readings(phrase, languages):
        rows = postings.occurrences(terms[0])[0]
        for term in terms[1:]:
            if not len(rows):
                break
            rows = np.intersect1d(rows, postings.occurrences(term)[0], assume_unique=True)
        if len(rows):
            yield rows


@lru_cache(1_024)
def _readings(phrase: str, languages: frozenset[str]) -> list[list[str]]:
    return readings(phrase, languages)


def has_words(phrase: str) -> bool:
    """Whether anything can be about a phrase: it has a word that does not only hold sentences together."""
    return bool(readings(phrase, ()))


def muted(
    mutes: Mutes, index: TopicIndex, session: str, ordinals: Sequence[int], places: Places, met: BoolArray
) -> Muted:
    """What is muted in a session beside what is muted for good.

    Args:
        mutes: those in force.
        index: keeps what was found.
        session: where it is asked; empty: outside of any.
        ordinals: of the items that are muted in that session.
        places: where to look.
        met: as for TopicIndex.ordinals.
    """
    phrases = [topic.phrase for topic in mutes.topics_in(session)]
    told = [phrase for phrase in phrases if phrase]
    return Muted(ordinals, index.ordinals(told, places, met) if told else _NONE, unreadable=len(told) < len(phrases))
