"""Meaning: exact cosines, and the graph for many rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instant_recall.projections import asset_index
from instant_recall.projections import graph as graphs
from instant_recall.projections.asset_index import (
    Group,
    GrowingVectors,
    RequestVectors,
    Vectors,
    cosines,
    halve,
    top,
)
from instant_recall.projections.graph import Graph
from instant_recall.projections.rows import TOPIC


def unit_rows(count: int, dim: int = 64, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return halve(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_a_cosine_does_not_depend_on_the_rows_beside_it() -> None:
    matrix = unit_rows(1_000)
    whole = cosines(matrix[5], matrix)

    assert whole[37] == cosines(matrix[5], matrix[37:38])[0]
    assert whole[400:].tolist() == cosines(matrix[5], matrix[400:]).tolist()
    assert whole[5] == pytest.approx(1, abs=1e-3)


def test_a_row_without_meaning_has_cosine_zero() -> None:
    assert cosines(unit_rows(1)[0], halve(np.zeros((1, 64), dtype=np.float32))).tolist() == [0.0]


def test_no_rows_have_no_cosines() -> None:
    assert cosines(unit_rows(1)[0], unit_rows(0)).tolist() == []


def test_top_leaves_out_zeros_and_keeps_all_that_tie_with_the_last() -> None:
    scores = np.array([0.0, 0.5, 0.9, 0.5, 0.5, -1.0])

    assert top(scores, np.arange(6), 1).tolist() == [2]
    assert top(scores, np.arange(6), 3).tolist() == [1, 2, 3, 4]
    assert top(scores, np.array([4, 5]), 3).tolist() == [4]


MATRIX = unit_rows(3_000)


def asked(vector: np.ndarray) -> RequestVectors:
    return (vector, vector, vector)


@pytest.fixture
def graph(tmp_path: Path) -> Vectors:
    matrix = MATRIX
    keys = graphs.build(matrix, tmp_path / "graph.usearch")
    nothing = Group(np.zeros(0, dtype=np.int64), matrix[:0])
    return Vectors([Group(np.arange(3_000), matrix, Graph(tmp_path / "graph.usearch", keys, 64)), nothing, nothing])


def test_the_graph_finds_a_row_by_itself(graph: Vectors) -> None:
    everything = np.ones(3_000, dtype=np.bool_)
    hits = sum(row in graph.nearest(asked(MATRIX[row]), TOPIC, everything, 1) for row in range(0, 3_000, 100))

    assert hits >= 29


@pytest.mark.parametrize("exact_up_to", [0, 50_000])
def test_a_narrow_reader_gets_as_many_rows_as_a_wide_one(
    graph: Vectors, exact_up_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asset_index, "EXACT_UP_TO", exact_up_to)
    visible = np.zeros(3_000, dtype=np.bool_)
    visible[::100] = True
    found = graph.nearest(asked(MATRIX[1]), TOPIC, visible, 10)

    assert len(found) == 10
    assert visible[found].all()
    assert set(top(cosines(MATRIX[1], MATRIX), np.flatnonzero(visible), 1)) <= set(found)


def test_rows_of_all_groups_are_compared_each_with_its_own_vector_of_the_request() -> None:
    wide, narrow = unit_rows(5), unit_rows(2, dim=32)
    topics, keys, texts = np.array([0, 3]), np.array([1, 2, 4]), np.array([5, 6])
    groups = [Group(topics, wide[topics]), Group(keys, wide[keys]), Group(texts, narrow)]
    request = (wide[2], wide[2], narrow[0])
    growing = GrowingVectors((64, 64, 32))
    for number, group in enumerate(groups):
        growing.extend(number, group.rows.tolist(), group.matrix)
    right = [*cosines(wide[2], wide), *cosines(narrow[0], narrow)]

    for vectors in (Vectors(groups), growing):
        assert vectors.compare(request).tolist() == right
        assert vectors.compare_at(request, np.array([5, 0, 2])).tolist() == [right[5], right[0], right[2]]


def test_rows_left_to_the_graph_have_no_cosine_until_they_are_asked_for(graph: Vectors) -> None:
    assert np.isnan(graph.compare(asked(MATRIX[0]))).all()
