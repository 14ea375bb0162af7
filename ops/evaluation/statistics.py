"""Statistics of paired runs: intervals, exact tests, correction for many comparisons, and what a sample can find.

Pure functions over booleans and numbers; the arithmetic is scipy's (the extra `eval`), imported where it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final, NamedTuple

import numpy as np

from ...events.errors import RecallError

LEVEL: Final = 0.95
"""Coverage of every interval."""
ALPHA: Final = 0.05
"""Two-sided error of every test that is planned for."""
POWER: Final = 0.8
LOSSES: Final = 0.05
"""Share of the pairs that a better setup loses, as planned for: it gains 15 % of them to be 10 points better."""
RESAMPLES: Final = 2_000
RULE: Final = 3.0
"""No failure in n tries: with 95 % confidence fewer than 3 in n fail (the rule of three)."""


class Interval(NamedTuple):
    """A 95 % interval, both ends included."""

    low: float
    high: float


class Discordance(NamedTuple):
    """Pairs that two runs judge differently."""

    gained: int
    """Right in the first, wrong in the second."""
    lost: int
    """The other way round."""


def scipy(part: str) -> Any:
    """A part of scipy.

    Raises:
        RecallError: it is not installed.
    """
    try:
        return importlib.import_module(f"scipy.{part}")
    except ImportError as error:
        raise RecallError("The suite's statistics need scipy: `pip install instant-recall[eval]`.") from error


def wilson(successes: int, trials: int) -> Interval:
    """Wilson's interval of a rate; (0, 1) when nothing was tried."""
    binomtest = scipy("stats").binomtest

    if not trials:
        return Interval(0.0, 1.0)
    low, high = binomtest(successes, trials).proportion_ci(LEVEL, method="wilson")
    return Interval(float(low), float(high))


def discordance(first: Sequence[bool], second: Sequence[bool]) -> Discordance:
    """Count the pairs that differ; the two stand in the same order.

    Raises:
        ValueError: they are not of the same length.
    """
    pairs = list(zip(first, second, strict=True))
    return Discordance(sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs))


def mcnemar(pairs: Discordance) -> float:
    """The exact two-sided p of McNemar's test: are gains and losses as likely as each other? 1 when nothing differs."""
    binomtest = scipy("stats").binomtest

    differing = pairs.gained + pairs.lost
    return float(binomtest(pairs.gained, differing, 0.5).pvalue) if differing else 1.0


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down correction (Holm 1979): p values of one family as they count when all are looked at."""
    corrected: dict[str, float] = {}
    so_far = 0.0
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
        so_far = max(so_far, min(1.0, (len(p_values) - place) * p))
        corrected[name] = so_far
    return {name: corrected[name] for name in p_values}


def mean_interval(values: Sequence[float], clusters: Sequence[str], seed: int) -> Interval | None:
    """Percentile bootstrap of a mean, resampled by cluster: cases that ask for one item stand or fall together.

    None with fewer than two clusters.
    """
    bootstrap = scipy("stats").bootstrap

    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value
        counts[cluster] = counts.get(cluster, 0) + 1
    if len(sums) < 2:
        return None
    data = np.array(list(sums.values())), np.array(list(counts.values()), dtype=float)
    found = bootstrap(
        data, lambda s, c, axis: s.sum(axis) / c.sum(axis), paired=True, vectorized=True, method="percentile",
        n_resamples=RESAMPLES, confidence_level=LEVEL, rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    return Interval(float(found.low), float(found.high))


def upper_bound(failures: int, tries: int) -> float:
    """The share that may fail at most, with 95 % confidence; 1 when nothing was tried.

    Without a failure by the rule of three; with some by Clopper and Pearson (one-sided).
    """
    binomtest = scipy("stats").binomtest

    if not tries:
        return 1.0
    if not failures:
        return min(1.0, RULE / tries)
    return float(binomtest(failures, tries, alternative="less").proportion_ci(LEVEL, method="exact").high)


def pairs_needed(gain: float, losses: float = LOSSES) -> int:
    """Paired cases with which McNemar's test finds a gain with 80 % power at a two-sided 5 %.

    Connor 1987 (Biometrics 43:207-211): with `d` the gain and `psi` the share of pairs that differ,
    n = (z(1 - alpha/2) * sqrt(psi) + z(power) * sqrt(psi - d*d))**2 / d**2, rounded up. It gives 155 for 15 % gained
    against 5 % lost. Miettinen's formula (1968, Biometrics 24:339-352) gives 148 there.

    Args:
        gain: share gained minus share lost, above 0.
        losses: share lost.
    """
    return ceil(_connor(gain, losses))


def smallest_gain(pairs: int, losses: float = LOSSES) -> float | None:
    """The smallest gain that so many pairs find (see `pairs_needed`); None when they are too few for any."""
    brentq = scipy("optimize").brentq

    most = 1.0 - 2 * losses
    if pairs < 1 or _connor(most, losses) > pairs:
        return None
    return float(brentq(lambda gain: _connor(gain, losses) - pairs, 1e-6, most))


def _connor(gain: float, losses: float) -> float:
    norm = scipy("stats").norm

    differing = gain + 2 * losses
    by_chance = float(norm.ppf(1 - ALPHA / 2)) * differing**0.5
    by_gain = float(norm.ppf(POWER)) * (differing - gain**2) ** 0.5
    return float((by_chance + by_gain) ** 2 / gain**2)
