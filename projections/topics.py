"""Muted topics: which items are about a phrase.

An item is about a phrase when all its words stand together in one piece of the item: in what it is (its name, aliases,
purpose and description), in one of its use keys, or in one piece of its text, such as a paragraph's section or a turn
of a session. Words are compared by their stems, as in a search; small words ("the", "of") do not count. Only pieces
that the reader may see are looked at: of what is hidden nothing can be told anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .eligibility import BoolArray, Muted
from .mutes import Mutes, TopicMute
from .segment import Segment
from .text_index import Postings, Rows, languages_in
from .words import readings

_NONE: Final = np.zeros(0, dtype=np.int32)


class TopicIndex:
    """The rows about each muted phrase, kept from one request to the next: a segment's rows are only ever added to."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int, frozenset[str]], tuple[int, Rows]] = {}

    def ordinals(self, phrase: str, places: Sequence[tuple[Segment, BoolArray]], met: BoolArray) -> NDArray[np.int32]:
        """Ordinals of the items of which a row is about the phrase, each once.

        Args:
            phrase: as it was typed.
            places: always the same segments in the same order, each with a mask of the rows that still hold.
            met: for each number of an audience whether the reader meets it.
        """
        languages = languages_in(segment.postings for segment, _ in places)
        found = [_NONE]
        for number, (segment, alive) in enumerate(places):
            rows = self._about(phrase, number, segment.postings, languages)
            rows = rows[alive[rows] & met[segment.rows.audience[rows]]]
            found.append(segment.rows.item[rows])
        return np.unique(np.concatenate(found))

    def _about(self, phrase: str, number: int, postings: Postings, languages: frozenset[str]) -> Rows:
        size, known = len(postings.lengths), self._rows.get((phrase, number, languages))
        if known is None or known[0] != size:
            known = size, rows_about(phrase, postings, languages)
            self._rows[phrase, number, languages] = known
        return known[1]


def rows_about(phrase: str, postings: Postings, languages: frozenset[str]) -> Rows:
    """The rows that hold all words of a phrase, ascending, read in any of these languages; none for one of no words."""
    found = [_holding_all(terms, postings) for terms in readings(phrase, languages)]
    return np.unique(np.concatenate([_NONE, *found]))


def has_words(phrase: str) -> bool:
    """Whether anything can be about a phrase: it has a word that does not only hold sentences together."""
    return bool(readings(phrase, ()))


def muted(
    mutes: Mutes,
    index: TopicIndex,
    session: str,
    ordinals: Sequence[int],
    places: Sequence[tuple[Segment, BoolArray]],
    met: BoolArray,
) -> Muted:
    """What is muted in a session beside what is muted for good.

    Args:
        mutes: those in force.
        index: keeps what was found.
        session: where it is asked; empty: outside of any.
        ordinals: of the items that are muted in that session.
        places: as for TopicIndex.ordinals.
        met: as for TopicIndex.ordinals.
    """
    topics = mutes.topics_in(session)
    found: list[tuple[TopicMute, NDArray[np.int32]]] = [
        (topic, index.ordinals(topic.phrase, places, met)) for topic in topics if topic.phrase
    ]
    return Muted(ordinals, found, unreadable=len(found) < len(topics))


def _holding_all(terms: Sequence[str], postings: Postings) -> Rows:
    rows = postings.occurrences(terms[0])[0]
    for term in terms[1:]:
        if not len(rows):
            break
        rows = np.intersect1d(rows, postings.occurrences(term)[0], assume_unique=True)
    return rows
