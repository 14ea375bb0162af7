"""The graph over many vectors, built and brought up to date."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instant_recall.projections import graph as graphs
from instant_recall.projections.asset_index import halve
from instant_recall.projections.graph import Graph

DIM = 64


def unit_rows(count: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return halve(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path = tmp_path_factory.mktemp("graph") / "old"
    return Graph(path, graphs.build(MATRIX, path), DIM)


MATRIX = unit_rows(2_000)


def share_found(graph: Graph, matrix: np.ndarray) -> float:
    places = range(0, len(matrix), 20)
    return float(np.mean([graph.nearest(matrix[place], 5)[0] == place for place in places]))


def test_a_graph_is_the_same_from_build_to_build(old: Graph, tmp_path: Path) -> None:
    graphs.build(MATRIX, tmp_path / "again")

    assert (tmp_path / "again").read_bytes() == old.path.read_bytes()


def test_an_updated_graph_finds_what_stayed_what_came_and_nothing_that_went(old: Graph, tmp_path: Path) -> None:
    stayed = np.delete(np.arange(2_000), np.arange(100, 200))
    places = np.insert(stayed, 50, [-1] * 30)
    came = unit_rows(30, seed=1)
    matrix = np.empty((len(places), DIM), dtype=np.float16)
    matrix[places >= 0], matrix[places < 0] = MATRIX[stayed], came
    before = old.path.read_bytes()

    keys = graphs.update(old, matrix, places, tmp_path / "new")
    new = Graph(tmp_path / "new", keys, DIM)

    assert len(set(keys.tolist())) == len(matrix)
    assert share_found(new, matrix) > 0.95
    assert all(new.nearest(vector, 5)[0] == 50 + n for n, vector in enumerate(came))
    assert min(new.nearest(MATRIX[150], 20)) >= 0
    assert old.path.read_bytes() == before


def test_a_second_update_builds_on_the_first(old: Graph, tmp_path: Path) -> None:
    matrix = np.concatenate([MATRIX, unit_rows(10, seed=2)])
    keys = graphs.update(old, matrix, np.append(np.arange(2_000), [-1] * 10), tmp_path / "first")
    first = Graph(tmp_path / "first", keys, DIM)
    shorter = np.delete(matrix, 5, axis=0)
    keys = graphs.update(first, shorter, np.delete(np.arange(2_010), 5), tmp_path / "second")

    assert share_found(Graph(tmp_path / "second", keys, DIM), shorter) > 0.95


def test_a_graph_from_which_much_is_gone_is_built_anew(old: Graph, tmp_path: Path) -> None:
    half = np.arange(0, 2_000, 2)
    keys = graphs.update(old, MATRIX[half], half, tmp_path / "new")
    graphs.build(MATRIX[half], tmp_path / "fresh")

    assert keys.tolist() == list(range(1_000))
    assert (tmp_path / "new").read_bytes() == (tmp_path / "fresh").read_bytes()


def test_an_older_graph_whose_file_was_collected_is_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "old"
    old = Graph(path, graphs.build(MATRIX, path), DIM)
    path.unlink()

    assert graphs.update(old, MATRIX, np.arange(2_000), tmp_path / "new").tolist() == list(range(2_000))
