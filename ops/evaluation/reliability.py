"""Reliability: whether what is said to help in so many of a hundred cases does help in so many.

Looked at are the pointers that a request could get at most, its best five without a bar, and the pushes that they make:
the thousands of candidates behind them, which nobody is ever shown, would make any model look well calibrated. Requests
that name something are left out: what is named is certain by rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ...projections.bar import AS_IT_IS, chance
from ...projections.language.scripts import count_words
from ...projections.ranker import WEIGHTS, model
from .setups import SETUPS
from .statistics import wilson
from .suite_result import AskedCase, Calibration, CaseRow, Rate, Reliability, ReliabilityBin

BINS: Final = 10
PARTS: Final = 5
"""Bins of the likeliest tenth: most pointers are far from likely, so that this one reaches from the bar to 1."""
TRAINED: Final = "cross-validated"
"""The name of the figures that the training wrote beside the weights."""
_ROUNDING: Final = 4

BestFive = Sequence[tuple[float, bool]]
"""Of one request: how likely each pointer is to help, best first, and whether it was right."""


def calibration(requests: Sequence[BestFive], odds: Sequence[tuple[float, float]] = ()) -> Calibration:
    """What the probabilities of pointers and of whole pushes are worth; requests without any pointer do not count.

    Args:
        requests: their best five.
        odds: for each request the calibration of its push, as for bar.chance; none at all: they are as they are.
    """
    pointers = [pointer for request in requests for pointer in request]
    pushes = [
        (chance([one for one, _ in request], push), any(right for _, right in request))
        for request, push in zip(requests, odds or [AS_IT_IS] * len(requests), strict=True)
        if request
    ]
    return Calibration(pointers=_reliability(pointers), pushes=_reliability(pushes))


def of_rows(cases: Sequence[AskedCase], rows: Sequence[CaseRow]) -> Calibration:
    """Those of one setup without a bar."""
    unnamed = [(case, row) for case, row in zip(cases, rows, strict=True) if max(row.scores, default=1.0) < 1]
    return calibration(
        [
            [(score, item in case.expect) for item, score in zip(row.pushed, row.scores, strict=True)]
            for case, row in unnamed
        ],
        [model().push.of(count_words(case.request)) for case, _ in unnamed],
    )


def of_run(cases: Sequence[AskedCase], rows: Mapping[str, Sequence[CaseRow]]) -> dict[str, Calibration]:
    """What a run has to show: the training's own figures where it wrote some, and the fullest setup without a bar."""
    found: dict[str, Calibration] = {}
    if (trained := written()) is not None:
        found[TRAINED] = trained
    without_bar = [name for name in rows if name in SETUPS and not SETUPS[name].bar]
    if without_bar:
        found[without_bar[-1]] = of_rows(cases, rows[without_bar[-1]])
    return found


def written() -> Calibration | None:
    """What the training wrote beside the weights; None when it wrote nothing of the kind."""
    stored: Any = msgspec.json.decode(WEIGHTS.read_bytes()).get("calibration")
    return None if stored is None else msgspec.convert(stored, Calibration)


def _reliability(pairs: Sequence[tuple[float, bool]]) -> Reliability:
    """Ten bins with as many each, the least likely first, the last one in parts, and what sums the curve up.

    The Brier score is the mean of (predicted - right) squared (Brier 1950); the expected calibration error is the mean
    distance between predicted and observed over the bins, each counting by its size (Naeini, Cooper and Hauskrecht
    2015). Both are 0 at best. Of equal probabilities the order given decides which bin they fall in.
    """
    if not pairs:
        return Reliability(of=0, brier=0.0, error=0.0, bins=(), likeliest=())
    predicted, right = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    order = np.argsort(predicted, kind="stable")
    tenths = np.array_split(order, min(BINS, len(order)))
    bins = [_bin(predicted[part], right[part]) for part in tenths]
    parts = np.array_split(tenths[-1], min(PARTS, len(tenths[-1])))
    error = sum(len(part) * abs(float(np.mean(predicted[part] - right[part]))) for part in tenths) / len(order)
    return Reliability(
        of=len(order),
        brier=round(float(np.mean((predicted - right) ** 2)), _ROUNDING),
        error=round(error, _ROUNDING),
        bins=tuple(bins),
        likeliest=tuple(_bin(predicted[part], right[part]) for part in parts),
    )


def _bin(predicted: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> ReliabilityBin:
    count, of = int(right.sum()), len(right)
    low, high = wilson(count, of)
    return ReliabilityBin(
        least=round(float(predicted[0]), _ROUNDING),
        most=round(float(predicted[-1]), _ROUNDING),
        predicted=round(float(predicted.mean()), _ROUNDING),
        observed=Rate(
            count=count, of=of, rate=round(count / of, _ROUNDING),
            low=round(low, _ROUNDING), high=round(high, _ROUNDING),
        ),
    )  # fmt: skip
