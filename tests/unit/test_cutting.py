"""The cut to the best does not depend on the order in which things came."""

from __future__ import annotations

import numpy as np
import pytest
from instant_recall.projections.language.cutting import best_of

IDS = ["d", "b", "c", "a", "e"]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
def test_of_equals_at_the_cut_the_first_by_id_stay(order: list[int]) -> None:
    scores = np.array([0.5, 0.5, 0.9, 0.5, 0.1])

    found = best_of(scores[order], np.array(order), 3, IDS.__getitem__)

    assert sorted(IDS[ordinal] for ordinal in found) == ["a", "b", "c"]


def test_what_fits_is_not_cut() -> None:
    assert sorted(best_of(np.array([0.1, 0.2]), np.array([1, 0]), 2, IDS.__getitem__)) == [0, 1]
