"""Meaning: exact cosines, and the graph for many rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instant_recall.projections import asset_index
from instant_recall.projections.asset_index import (
    GrowingVectors,
    Vectors,
    build_graph,
    cosines,
    halve,
    open_graph,
    top,
)


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
    assert cosines(unit_rows(1)[0], GrowingVectors(64).matrix).tolist() == []


def test_top_leaves_out_zeros_and_orders_equals_by_row() -> None:
    scores = np.array([0.0, 0.5, 0.9, 0.5, 0.5, -1.0])

    assert top(scores, np.arange(6), 3).tolist() == [2, 1, 3]
    assert top(scores, np.array([4, 5]), 3).tolist() == [4]


@pytest.fixture
def graph(tmp_path: Path) -> Vectors:
    matrix = unit_rows(3_000)
    build_graph(matrix, tmp_path / "graph.usearch")
    return Vectors(matrix, open_graph(tmp_path / "graph.usearch", 64))


def test_the_graph_finds_a_row_by_itself(graph: Vectors) -> None:
    everything = np.ones(3_000, dtype=np.bool_)
    hits = sum(row == graph.nearest(graph.matrix[row], everything, 5)[0] for row in range(0, 3_000, 100))

    assert hits >= 29


@pytest.mark.parametrize("exact_up_to", [0, 50_000])
def test_a_narrow_reader_gets_as_many_rows_as_a_wide_one(
    graph: Vectors, exact_up_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asset_index, "EXACT_UP_TO", exact_up_to)
    visible = np.zeros(3_000, dtype=np.bool_)
    visible[::100] = True
    found = graph.nearest(graph.matrix[1], visible, 10)

    assert len(found) == 10
    assert visible[found].all()
    assert found[0] in top(cosines(graph.matrix[1], graph.matrix), np.flatnonzero(visible), 3)


def test_a_graph_is_the_same_from_build_to_build(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build_graph(unit_rows(2_000), tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
