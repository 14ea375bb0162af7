"""The cut to the best: which of many scores stay, whatever order they came in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def best_of(scores: NDArray[Any], ordinals: NDArray[Any], count: int, id_of: Callable[[int], str]) -> list[int]:
    """The ordinals of the `count` best scores, in no particular order; of equals at the cut the first by id.

    By id and not by ordinal: an ordinal is an item's place in the order in which the log first names them, and that may
    have been in an event which the reader may not know of.
    """
    if len(scores) <= count:
        return [*map(int, ordinals)]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    best: list[int] = ordinals[scores > least].tolist()
    equal = dict.fromkeys(ordinals[scores == least].tolist())
    return [*best, *sorted(equal, key=id_of)[: count - len(best)]]
