"""The searcher: one view of base and overlay that answers one request.

Every route is cut to what the reader may see before it is cut to the best, so a narrow reader is not starved by what
stands in front of it unseen, and nothing hidden moves anything visible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..events.types import Millis
from .asset_index import HalfArray, cosines, halve, top
from .eligibility import BoolArray, Reader, eligible
from .encoder import Encoder
from .items import Item, UseKey
from .names import named_in
from .overlay import Overlay
from .rows import NOT_FOR, TOPIC, USE
from .text_index import Scores, score
from .words import tokenize

WIDTH: Final = 24
"""Rows that each route may bring in, for each kind of row. Five are shown; the rest gives the ranker its choice."""


class Evidence(msgspec.Struct, gc=False):
    """What speaks for one item: its best rows by route, each 0 to 1."""

    item: Item
    use_meaning: float = 0.0
    """Cosine of the request with the best use key."""
    use_meaning_next: float = 0.0
    """The same for the second-best use key: several keys that agree are worth more than one."""
    use_words: float = 0.0
    """BM25 share (see text_index.score) of the best use key."""
    topic_meaning: float = 0.0
    topic_words: float = 0.0
    not_for: float = 0.0
    """Cosine with the best key that says what the item is not for."""
    named: int = -1
    """Place among the named items of the request, from 0; -1 when the request does not name it."""
    anchor: str = ""
    """Where in the item the best matching text stands."""
    best_text: float = 0.0


class Searcher:
    """Answers for one reader at one moment. Make one per request; it must not outlive it."""

    def __init__(self, overlay: Overlay, encoder: Encoder, reader: Reader, now: Millis) -> None:
        self._overlay = overlay
        self._encoder = encoder
        self._reader = reader
        self._visible: BoolArray = eligible(overlay.policies, reader, now)
        met = overlay.policies.audiences.met_by(reader)
        self._segments = (overlay.base.segment, overlay.segment)
        self._masks = [
            self._visible[s.rows.item] & met[s.rows.audience] & alive if len(s.rows.item) else np.zeros(0, np.bool_)
            for s, alive in zip(self._segments, (overlay.alive_in_base, overlay.segment.alive), strict=True)
        ]

    def sees(self, item: str) -> bool:
        """Whether the reader may be told of this item."""
        ordinal = self._overlay.ordinal(item)
        return ordinal is not None and bool(self._visible[ordinal])

    def get(self, item: str) -> Item | None:
        """The item, if the reader may see it."""
        return self._overlay.state.get(item) if self.sees(item) else None

    def visible_keys(self, item: Item) -> list[UseKey]:
        """The item's use keys that the reader may see."""
        return [key for key in item.keys if self._reader.meets(key.audience)]

    def peek_name(self, item: str) -> str:
        """The name of an item that this reader was shown before, valid or not any more."""
        known = self._overlay.state.get(item)
        return known.name if known and self._reader.meets(known.audience) and not known.forgotten else ""

    def visible_items(self) -> Iterable[Item]:
        """Every item that the reader may see."""
        return (item for item in self._overlay.state.all() if self.sees(item.id))

    def named(self, request: str) -> dict[str, int]:
        """Ids of the items that a request names, with their place in the order of naming."""
        tables = (self._overlay.names, self._overlay.base.names)
        spans = named_in(request, tables, self.sees, self._encoder.is_word)
        ids = [item for span in spans for item in sorted(span.items)]
        return {item: place for place, item in enumerate(dict.fromkeys(ids))}

    def find(self, request: str) -> list[Evidence]:
        """Evidence for every item that some route brings in, in no particular order.

        A request without a known word has no meaning route, and one without any index term no word route.
        """
        vector = halve(self._encoder.encode([request]))[0]
        words = score(tokenize([request])[0], list(zip((s.postings for s in self._segments), self._masks, strict=True)))
        near = self._near(vector)
        chosen = self._chosen(vector, words, near)
        named = self.named(request)
        ordinals = dict.fromkeys(o for item in named if (o := self._overlay.ordinal(item)) is not None)
        ordinals |= dict.fromkeys(int(o) for o in chosen)
        return [self._weigh(ordinal, vector, words, near, named) for ordinal in ordinals]

    def _near(self, vector: HalfArray) -> list[NDArray[np.float64] | None]:
        """Cosines of all rows by segment; None for a base that has a graph."""
        base, grown = self._segments
        return [cosines(vector, base.matrix) if base.vectors.exact else None, cosines(vector, grown.matrix)]

    def _chosen(
        self, vector: HalfArray, words: list[Scores], near: list[NDArray[np.float64] | None]
    ) -> NDArray[np.int32]:
        """Ordinals of the items that the word and the meaning route bring in."""
        found = []
        for segment, mask, by_words, by_meaning in zip(self._segments, self._masks, words, near, strict=True):
            for kind in (USE, TOPIC):
                of_kind = mask & (segment.rows.kind == kind)
                rows = np.flatnonzero(of_kind)
                found.append(segment.rows.item[top(by_words, rows, WIDTH)])
                if by_meaning is not None:
                    best = top(by_meaning, rows, WIDTH)
                else:
                    best = self._overlay.base.segment.vectors.nearest(vector, of_kind, WIDTH)
                found.append(segment.rows.item[best])
        return np.unique(np.concatenate(found))

    def _weigh(
        self,
        ordinal: int,
        vector: HalfArray,
        words: list[Scores],
        near: list[NDArray[np.float64] | None],
        named: dict[str, int],
    ) -> Evidence:
        item = self._overlay.state.get(self._overlay.id_of(ordinal))
        assert item is not None, "an ordinal without an item"  # noqa: S101 - ordinals are made together with their items
        evidence = Evidence(item, named=named.get(item.id, -1))
        places = self._overlay.rows(ordinal)
        for segment, mask, by_words, by_meaning, numbers in zip(
            self._segments, self._masks, words, near, places, strict=True
        ):
            rows = [n for n in numbers if mask[n]]
            if not rows:
                continue
            meaning = cosines(vector, segment.matrix[rows]) if by_meaning is None else by_meaning[rows]
            facts = zip(rows, segment.rows.kind[rows].tolist(), by_words[rows].tolist(), meaning.tolist(), strict=True)
            for row, kind, word, cosine in facts:
                if _take(evidence, kind, word, cosine):
                    evidence.anchor = segment.anchor(row)
        return evidence


def _take(evidence: Evidence, kind: int, word: float, meaning: float) -> bool:
    """Take one row into account; whether it is the best text so far."""
    meaning = max(meaning, 0.0)
    if kind == NOT_FOR:
        evidence.not_for = max(evidence.not_for, meaning)
        return False
    if kind == USE:
        evidence.use_words = max(evidence.use_words, word)
        low, high = sorted((meaning, evidence.use_meaning))
        evidence.use_meaning_next = max(evidence.use_meaning_next, low)
        evidence.use_meaning = high
        return False
    evidence.topic_words = max(evidence.topic_words, word)
    evidence.topic_meaning = max(evidence.topic_meaning, meaning)
    if word + meaning > evidence.best_text:
        evidence.best_text = word + meaning
        return True
    return False
