"""Fitting the ranker's weights: an order within each request, and probabilities that hold across requests.

Two losses over the same linear score. The one of a conditional logit (McFadden, "Conditional logit analysis of
qualitative choice behavior", 1974; in ranking known as ListNet's top one) asks only that what is right stands before
what is not, within a request: that is what finds. The one of a logistic regression asks that the score means the same
in every request: that is what keeps quiet. The scale and the bias are then set anew by the second alone, as Platt
(1999) does for scores of any kind, so that the numbers are probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...events.errors import RecallError
from ...projections.bar import LONG, PushOdds
from .statistics import scipy

ACROSS: Final = 0.2
"""Weight of the logistic loss beside that within requests. From 0.1 to 0.3 the figures hardly differ."""
RIDGE: Final = 0.3
"""How much the weights are drawn to zero, against requests that weigh 1 on average."""

Floats = NDArray[np.float64]
_Loss = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Table:
    """All candidates of all requests, one row each; the rows of a request stand together."""

    features: Floats
    right: NDArray[np.bool_]
    request: NDArray[np.int64]
    """Which request a row belongs to; ascending."""
    weight: Floats
    """Worlds together and sets together have their shares; within each, sources count alike whatever their size."""

    def where(self, chosen: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        return Table(self.features[chosen], self.right[chosen], self.request[chosen], self.weight[chosen])


@dataclass(frozen=True)
class Fitted:
    """A logistic model: the log-odds are `bias` plus the weighted features."""

    weights: Floats
    bias: float

    def odds(self, features: Floats) -> Floats:
        """The log-odds of each row."""
        return np.asarray(features @ self.weights + self.bias, dtype=np.float64)

    def probabilities(self, features: Floats) -> Floats:
        """One probability per row."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.odds(features), -60, 60))), dtype=np.float64)


def fit(table: Table) -> Fitted:
    """The weights for these requests. Both losses are convex, so that the same rows give the same weights.

    No weight is below 0: features speak for an item, and more of what speaks for it must never speak against it. (Left
    free, the weights of alike features go apart to both sides, and fit other owners less well.)

    Raises:
        RecallError: there is nothing to tell apart, or scipy is missing.
    """
    if not table.right.any() or table.right.all():
        raise RecallError("The requests have no right or no wrong candidates. Give more worlds or sets to train on.")
    weight = table.weight / np.mean(table.weight[_starts(table.request)])
    within, across = _within(table, weight), _across(table.features, table.right, weight)

    def loss(at: Floats) -> tuple[float, Floats]:
        (first, slope), (second, other) = within(at), across(at)
        ridge = np.append(RIDGE * at[:-1], 0.0)
        return first + ACROSS * second + float(ridge @ at) / 2, slope + ACROSS * other + ridge

    found = _least(loss, np.zeros(table.features.shape[1] + 1), [(0, None)] * table.features.shape[1] + [(None, None)])
    ranked = Fitted(found[:-1], float(found[-1]))
    scale, shift = calibrate(ranked.odds(table.features), table.right, weight)
    return Fitted(scale * ranked.weights, scale * ranked.bias + shift)


def calibrate(odds: Floats, right: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """The scale and shift that make log-odds those of probabilities."""
    scale, shift = _calibrated(odds[:, None], right, weight)
    return float(scale), float(shift)


def calibrate_pushes(chances: Floats, words: NDArray[np.int64], right: NDArray[np.bool_]) -> PushOdds:
    """The same for pushes, with what the length of a request says of whether it needs anything.

    Args:
        chances: of each push, as bar.chance has it without a calibration.
        words: of each request.
        right: whether one of its pointers was.
    """
    bounded = np.clip(chances, 1e-9, 1 - 1e-9)
    lengths = np.log(np.clip(words, 1, LONG))
    scale, length, shift = _calibrated(np.stack([np.log(bounded / (1 - bounded)), lengths], axis=1), right)
    return PushOdds(round(float(scale), 4), round(float(shift), 4), round(float(length), 4))


def _calibrated(features: Floats, right: NDArray[np.bool_], weight: Floats | None = None) -> Floats:
    """Weights and bias for log-odds (the first of the features) and whatever else there is."""
    plain = _across(features, right, np.ones(len(features)) if weight is None else weight)
    # What can be told apart perfectly has no best scale, so they are drawn to changing nothing.
    as_it_is = np.zeros(features.shape[1] + 1)
    as_it_is[0] = 1.0

    def loss(at: Floats) -> tuple[float, Floats]:
        (lost, slope), off = plain(at), at - as_it_is
        return lost + RIDGE * float(off @ off) / 2, slope + RIDGE * off

    return _least(loss, as_it_is)


def _within(table: Table, weight: Floats) -> _Loss:
    """For each request with something right: minus the logarithm of the share of what is right in its softmax."""
    starts = _starts(table.request)
    place = np.cumsum(np.isin(np.arange(len(table.request)), starts)) - 1
    has_right = np.add.reduceat(table.right.astype(np.float64), starts) > 0
    share = np.where(has_right, weight[starts], 0.0)

    def loss(at: Floats) -> tuple[float, Floats]:
        scores = table.features @ at[:-1]
        powers = np.exp(scores - np.maximum.reduceat(scores, starts)[place])
        everything = np.add.reduceat(powers, starts)
        right = np.where(has_right, np.add.reduceat(powers * table.right, starts), 1.0)
        lost = np.where(has_right, np.log(everything) - np.log(np.maximum(right, 1e-300)), 0.0)
        pull = (powers / everything[place] - powers * table.right / np.maximum(right, 1e-300)[place]) * share[place]
        return float(share @ lost), np.append(table.features.T @ pull, 0.0)

    return loss


def _across(features: Floats, right: NDArray[np.bool_], weight: Floats) -> _Loss:
    """The logistic loss of every row for itself."""

    def loss(at: Floats) -> tuple[float, Floats]:
        odds = features @ at[:-1] + at[-1]
        pull = (1 / (1 + np.exp(-np.clip(odds, -60, 60))) - right) * weight
        return float(weight @ (np.logaddexp(0, odds) - right * odds)), np.append(features.T @ pull, pull.sum())

    return loss


def _least(loss: _Loss, start: Floats, bounds: Sequence[tuple[float | None, float | None]] | None = None) -> Floats:
    minimize: Any = scipy("optimize").minimize
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1_000})
    return np.asarray(found.x, dtype=np.float64)


def _starts(request: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each request's rows begin."""
    return np.flatnonzero(np.diff(request, prepend=-1))
