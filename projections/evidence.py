"""Evidence: what speaks for one item, and against it, when a request is asked."""

from __future__ import annotations

from typing import Final

import msgspec

from .items import Item
from .rows import NOT_FOR, OPENING, TOPIC, USE

LIKE: Final = (0.5, 0.7)
"""Cosine with a "not for" key from which on it speaks against an item at all, and from which on nothing is left of it.
Two ways to ask for one thing are mostly above the second, two needs that one thing serves mostly below the first."""


class Evidence(msgspec.Struct, gc=False):
    """What speaks for one item: its best rows by route, each 0 to 1."""

    item: Item
    use_meaning: float = 0.0
    """Cosine of the request with the best use key."""
    use_words: float = 0.0
    """BM25 share (see text_index.score) of the best use key."""
    topic_meaning: float = 0.0
    """Cosine of the request with name, purpose and description, or with how a piece of text begins."""
    text_meaning: float = 0.0
    """Cosine of the request with the best piece of text; by another encoder, so on another scale."""
    topic_words: float = 0.0
    """BM25 share of the best of name and description and the pieces of text."""
    not_for: float = 0.0
    """Cosine with the best key that says what the item is not for."""
    named: int = -1
    """Place among the named items of the request, from 0; -1 when the request does not name it."""
    best_keys: frozenset[tuple[bool, int]] = frozenset()
    """Rows of the use keys that speak most for it: whether in the overlay's segment, and the number there."""
    anchor: str = ""
    """Where in the item the best matching text stands."""
    best_text: float = 0.0
    link: float = 0.0
    """Strength of its strongest link to something that the request names."""
    linked_to: str = ""
    """Id of that something."""
    last_time: float = 0.0
    """How likely a request that points back means it: a session, an approach, or what helped there."""
    refused: float = 0.0
    """How sure it is, 0 to 1, that it is not wanted here: by a key that says so (see `hold_back`)."""
    doubted: bool = False
    """Its name was said, but not meant: see `doubt`."""
    stands_back_for: str = ""
    """Id of the old version of it that the request asks for instead."""
    request_weight: float = 0.0
    """What the request's words weigh together: a share of a long request is more than the same share of a short one."""

    def doubt(self, unlike: float) -> None:
        """Take off what the item's name brought: the word was not meant as its name.

        Args:
            unlike: how little that word has to do with the item, 0 to 1. A machine called "toad" has nothing from a
                toad; a document called "budget" is what a budget is about.
        """
        self.doubted = True
        self.topic_words *= 1 - unlike
        self.topic_meaning *= 1 - unlike

    def hold_back(self) -> None:
        """Take off what speaks for the item as far as a key says that it is not for this; a name is not talked away.

        A use key that is nearer to the request than that one has the last word. Other needs lose nothing.
        """
        if self.named >= 0 or self.not_for < self.use_meaning:
            return
        self.refused = min(max((self.not_for - LIKE[0]) / (LIKE[1] - LIKE[0]), 0.0), 1.0)
        left = 1 - self.refused
        self.use_words *= left
        self.use_meaning *= left
        self.topic_words *= left
        self.topic_meaning *= left
        self.text_meaning *= left
        self.link *= left
        self.last_time *= left

    def take(self, kind: int, word: float, meaning: float) -> None:
        """Take one row into account."""
        meaning = max(meaning, 0.0)
        if kind == NOT_FOR:
            self.not_for = max(self.not_for, meaning)
        elif kind == USE:
            # A weight above 1 makes much of a likeness, but not more than the whole.
            word, meaning = min(word, 1.0), min(meaning, 1.0)
            self.use_words = max(self.use_words, word)
            self.use_meaning = max(self.use_meaning, meaning)
        elif kind in {TOPIC, OPENING}:
            self.topic_words = max(self.topic_words, word)
            self.topic_meaning = max(self.topic_meaning, meaning)
        else:
            self.topic_words = max(self.topic_words, word)
            self.text_meaning = max(self.text_meaning, meaning)
