"""One way to cut text into words, for everything that is indexed and everything that is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import Stemmer
from bm25s.stopwords import STOPWORDS_EN

HEARD: Final = 4_000
"""Characters of a request's beginning, and as many of its end, in which is looked for what it asks. What stands
between them in a longer one was pasted; to weigh every word of it would make this push late, and others behind it."""

_WORD = re.compile(r"\b\w\w+\b")
_STOP_WORDS: Final = frozenset(STOPWORDS_EN)


def heard(request: str) -> str:
    """The part of a request that is listened to: all of it, unless it is longer than twice HEARD."""
    return request if len(request) <= 2 * HEARD else f"{request[:HEARD]}\n{request[-HEARD:]}"


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Stemmed words of each text, lower case, without English stop words and single letters; in order, repeats kept.

    The words are those of `bm25s.tokenize`, which takes ten times as long for one short request (it sets up progress
    bars that are never shown).
    """
    stem = _stemmer().stemWords
    return [stem([word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]) for text in texts]
