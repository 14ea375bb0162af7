"""The bar: how likely a push has to help before it is made, and which pointers then stand in it.

The owner is interrupted once, by the push; pointers beside the best one cost no more than their tokens. So the bar is
held against the push as a whole: against the chance that one of its pointers helps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from .pointers import MOST

SHARE: Final = 0.15
"""A pointer this much less likely than the best one no longer rides along with it. A smaller share finds a little more,
and says more; with this one a push that is not empty has just under three pointers on the training world."""

_NEVER_CERTAIN: Final = 1 - 2**-40
"""Five that are nearly certain come to 1 in floating point; a bar of 1 lets through only what is named."""


AS_IT_IS: Final = (1.0, 0.0)
"""A calibration that changes nothing."""
LONG: Final = 24
"""Words from which on a request is simply long: a pasted page is no surer to need something than two sentences."""


class PushOdds(NamedTuple):
    """How the log-odds that a push helps follow from those of `chance`; from the training."""

    scale: float = 1.0
    shift: float = 0.0
    length: float = 0.0
    """For each unit of the logarithm of the request's words: who tells of a situation more often needs something of
    their own than who asks what a word means."""

    def of(self, words: int) -> tuple[float, float]:
        """Scale and shift for a request of so many words."""
        return self.scale, self.shift + self.length * math.log(max(1, min(words, LONG)))


PLAIN: Final = PushOdds()


def chance(probabilities: Sequence[float], calibration: tuple[float, float] = AS_IT_IS) -> float:
    """The chance, 0 to 1, that one of the best MOST helps.

    As if they helped independently of one another, which they do not; the calibration puts right what that, and
    whatever else the pointers' own probabilities leave out, gets wrong on the whole.

    Args:
        probabilities: of all candidates, best first. What is certain (1: the request names it) is pushed anyway, and
            says nothing about the others.
        calibration: scale and shift of the log-odds, scale above 0; from the training (Platt 1999).
    """
    missed = math.prod(1 - probability for probability in probabilities[:MOST] if probability < 1)
    return calibrated(1 - missed, calibration)


def calibrated(probability: float, calibration: tuple[float, float]) -> float:
    """A probability with its log-odds scaled and shifted; never quite 0 or 1, but where it was 0."""
    if calibration == AS_IT_IS or probability <= 0:
        return min(probability, _NEVER_CERTAIN)
    scale, shift = calibration
    bounded = min(probability, _NEVER_CERTAIN)
    odds = scale * (math.log(bounded) - math.log1p(-bounded)) + shift
    return min(1 / (1 + math.exp(-max(-60.0, min(60.0, odds)))), _NEVER_CERTAIN)


def reaches(probabilities: Sequence[float], calibration: tuple[float, float] = AS_IT_IS) -> list[float]:
    """For each pointer the highest bar at which it is pushed; never rising.

    A pointer that does not ride along with the best one is held against the bar for itself.

    Args:
        probabilities: of all candidates, best first; 1 for what is certain.
        calibration: as for `chance`.
    """
    uncertain = [probability for probability in probabilities if probability < 1]
    best = uncertain[0] if uncertain else 0.0
    together, least = max(calibrated(best, calibration), chance(uncertain, calibration)), SHARE * best
    return [1.0 if one >= 1 else together if one >= least else calibrated(one, calibration) for one in probabilities]
