"""Statistics against values that are known: from tables, textbooks and other programs."""

from __future__ import annotations

import pytest
from instant_recall.ops.evaluation.statistics import (
    Discordance,
    discordance,
    holm,
    mcnemar,
    mean_interval,
    pairs_needed,
    smallest_gain,
    upper_bound,
    wilson,
)

pytest.importorskip("scipy")


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 20, 0.0, 0.1611), (17, 20, 0.6396, 0.9476), (10, 20, 0.2993, 0.7007), (20, 20, 0.8389, 1.0), (0, 0, 0.0, 1.0)],
)
def test_the_interval_of_a_rate_is_wilsons(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    # Two-sided binomial tails by hand: 2 * sum of C(n, k) / 2**n.
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (5, 0, 2 / 32),
        (0, 6, 2 / 64),
        (9, 1, 2 * 11 / 1024),
        (8, 2, 2 * 56 / 1024),
        # R: mcnemar.exact of a table with 59 and 6 (exact2x2), and binom.test(15, 20).
        (15, 5, 0.04138947),
    ],
)
def test_the_paired_test_is_exact(gained: int, lost: int, p: float) -> None:
    assert mcnemar(Discordance(gained, lost)) == pytest.approx(p)


def test_only_pairs_that_differ_count() -> None:
    first = [True, True, False, False, True]
    second = [True, False, True, False, False]

    assert discordance(first, second) == (2, 1)


def test_runs_over_different_cases_are_not_compared() -> None:
    with pytest.raises(ValueError, match="zip"):
        discordance([True], [True, False])


def test_many_comparisons_are_corrected_step_by_step() -> None:
    # The worked example of p.adjust(method = "holm"): .01 * 4, then .03 * 2 and .04 held at the one before it.
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )
    assert holm({"a": 0.6, "b": 0.9}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_155_pairs_find_ten_points_when_five_percent_are_lost() -> None:
    assert pairs_needed(0.10, 0.05) == 155


def test_the_smallest_gain_is_what_the_pairs_are_needed_for() -> None:
    assert smallest_gain(155) == pytest.approx(0.10, abs=2e-4)
    for pairs in (30, 100, 450, 2_000):
        gain = smallest_gain(pairs)
        assert gain is not None
        assert pairs_needed(gain + 1e-9) == pairs


@pytest.mark.parametrize("pairs", [0, 1, 3])
def test_too_few_pairs_find_nothing(pairs: int) -> None:
    assert smallest_gain(pairs) is None


def test_without_a_failure_the_bound_is_three_in_so_many() -> None:
    assert upper_bound(0, 300) == pytest.approx(0.01)
    assert upper_bound(0, 2) == 1.0
    assert upper_bound(0, 0) == 1.0


def test_with_failures_the_bound_is_exact() -> None:
    # R: binom.test(1, 300, alternative = "less")$conf.int
    assert upper_bound(1, 300) == pytest.approx(0.01572, abs=1e-4)
    assert upper_bound(10, 10) == 1.0


def test_the_interval_of_a_mean_is_wider_when_cases_of_an_item_stand_together() -> None:
    values = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0] * 5
    alone = mean_interval(values, [str(n) for n in range(40)], seed=1)
    together = mean_interval(values, [str(n // 4) for n in range(40)], seed=1)

    assert alone is not None
    assert together is not None
    assert alone.low < 0.5 < alone.high
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert mean_interval(values, [str(n // 4) for n in range(40)], seed=1) == together


def test_one_item_alone_has_no_interval() -> None:
    assert mean_interval([1.0, 0.0], ["a", "a"], seed=0) is None
