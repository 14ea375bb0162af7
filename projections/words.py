"""One way to cut text into words, for everything that is indexed and everything that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import bm25s
import Stemmer


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Stemmed words of each text, lower case, without English stop words and single letters; in order, repeats kept."""
    tokens = bm25s.tokenize(list(texts), stopwords="english", stemmer=_stemmer(), return_ids=False, show_progress=False)
    return [list(words) for words in tokens]
