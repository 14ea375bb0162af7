"""The bar: how likely a push has to help before it is made, and which pointers then stand in it.

The owner is interrupted once, by the push; pointers beside the best one cost no more than their tokens. So the bar is
held against the push as a whole: against the chance that one of its pointers helps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from .pointers import MOST

SHARE: Final = 0.15
"""A pointer this much less likely than the best one no longer rides along with it. Chosen by cross-validation on the
training worlds: at a tenth there are three pointers in a push, at a fifth a tenth of the right second places go."""

_NEVER_CERTAIN: Final = 1 - 2**-40
"""Five that are nearly certain come to 1 in floating point; a bar of 1 lets through only what is named."""


def chance(probabilities: Sequence[float]) -> float:
    """The chance, 0 to 1, that one of the best MOST helps, as if they helped independently of one another.

    They do not quite, so this is a little high; the trained bar is a number on this scale, and makes up for it. What is
    certain (1: the request names it) is pushed anyway, and says nothing about the others.
    """
    return 1 - math.prod(1 - probability for probability in probabilities[:MOST] if probability < 1)


def reaches(probabilities: Sequence[float]) -> list[float]:
    """For each pointer the highest bar at which it is pushed; never rising.

    Args:
        probabilities: of all candidates, best first; 1 for what is certain.
    """
    uncertain = [probability for probability in probabilities if probability < 1]
    best = uncertain[0] if uncertain else 0.0
    together, least = max(best, min(chance(uncertain), _NEVER_CERTAIN)), SHARE * best
    return [1.0 if one >= 1 else together if one >= least else one for one in probabilities]
