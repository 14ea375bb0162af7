"""Words: BM25 over frozen and growing postings."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
from instant_recall.projections.language.words import tokenize
from instant_recall.projections.text_index import FrozenPostings, GrowingPostings, freeze, score

TEXTS = [
    "the camera on the lab machine",
    "training run on the lab machine, machine two",
    "quarterly report for the accountant",
    "",
    "report of the camera trap: camera, camera",
]
DOCUMENTS = tokenize(TEXTS)


def frozen(documents: list[list[str]]) -> FrozenPostings:
    return FrozenPostings(*freeze(documents))


def growing(documents: list[list[str]]) -> GrowingPostings:
    postings = GrowingPostings()
    for words in documents:
        postings.add(words)
    return postings


def everything(count: int) -> np.ndarray:
    return np.ones(count, dtype=np.bool_)


@pytest.mark.parametrize("request_", ["camera", "lab machine report", "accountant", "unknown", "camera unknown"])
def test_the_scores_are_those_of_bm25s(request_: str) -> None:
    terms = tokenize([request_])[0]
    (ours,) = score(terms, [(frozen(DOCUMENTS), everything(5))]).shares
    engine = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    engine.index(DOCUMENTS, show_progress=False, create_empty_token=False)
    known = [term for term in terms if term in engine.vocab_dict]
    theirs = engine.get_scores(known) if known else np.zeros(5)
    df = {t: sum(t in d for d in DOCUMENTS) for t in terms}
    weight = sum(np.log(1 + (5 - n + 0.5) / (n + 0.5)) for n in df.values())

    assert ours == pytest.approx(theirs / weight, abs=1e-6)


def test_counts_survive_freezing() -> None:
    rows, counts = frozen(DOCUMENTS).occurrences("camera")

    assert (rows.tolist(), counts.tolist()) == ([0, 4], [1.0, 3.0])


def test_growing_and_frozen_postings_say_the_same() -> None:
    for term in {word for words in DOCUMENTS for word in words}:
        for ours, theirs in zip(growing(DOCUMENTS).occurrences(term), frozen(DOCUMENTS).occurrences(term), strict=True):
            assert ours.tolist() == theirs.tolist()


def test_two_places_score_exactly_as_one() -> None:
    terms = tokenize(["camera report on the machine"])[0]
    (whole,) = score(terms, [(frozen(DOCUMENTS), everything(5))]).shares
    first, second = score(
        terms, [(frozen(DOCUMENTS[:2]), everything(2)), (growing(DOCUMENTS[2:]), everything(3))]
    ).shares

    assert np.concatenate([first, second]).tolist() == whole.tolist()


def test_a_hidden_row_moves_no_visible_score() -> None:
    terms = tokenize(["camera report on the machine"])[0]
    visible = np.array([True, False, True, True, False])
    (masked,) = score(terms, [(frozen(DOCUMENTS), visible)]).shares
    (without,) = score(terms, [(frozen([DOCUMENTS[i] for i in (0, 2, 3)]), everything(3))]).shares

    assert masked[visible].tolist() == without.tolist()
    assert masked[~visible].tolist() == [0.0, 0.0]


def test_the_scores_are_shares_between_0_and_1() -> None:
    (scores,) = score(tokenize(["camera"])[0], [(frozen(DOCUMENTS), everything(5))]).shares

    assert 0 < scores.max() < 1


@pytest.mark.parametrize("documents", [[], [[]], [[], []]])
def test_an_index_without_words_finds_nothing(documents: list[list[str]]) -> None:
    (scores,) = score(["camera"], [(frozen(documents), everything(len(documents)))]).shares

    assert scores.tolist() == [0.0] * len(documents)


def test_a_request_without_words_scores_nothing() -> None:
    (scores,) = score([], [(frozen(DOCUMENTS), everything(5))]).shares

    assert not scores.any()
