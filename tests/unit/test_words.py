"""Words of a text."""

from __future__ import annotations

import bm25s
import Stemmer
from instant_recall.projections.words import tokenize

TEXTS = [
    "The Kettles are boiling! can't you hear them, O'Brien?",
    "",
    "日本 café déjà-vu x 12 a_b",
    "download last quarter's report from the company portal",
]


def test_the_words_are_those_of_bm25s() -> None:
    theirs = bm25s.tokenize(
        TEXTS, stopwords="english", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )

    assert tokenize(TEXTS) == [list(words) for words in theirs]


def test_inflected_words_meet() -> None:
    assert tokenize(["Kettles boiled"]) == tokenize(["kettle boiling"])
