"""The refit of the ranker: when it is adopted, and everything that must never move it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from instant_recall.projections.learning.outcomes import DAY_MS
from instant_recall.projections.learning.refit import Found, Judged, Weights, fit, score
from instant_recall.projections.learning.refit import refit as refit_from
from instant_recall.projections.ranker import Model

FEATURES = ("use_meaning", "topic_words")
DEFAULT = Model(features=FEATURES, weights=(4.0, 4.0), bias=-4.0, bar=0.3)


def request(day: int, about: str, rows: Sequence[tuple[float, float]], right: int | None = None) -> Judged:
    marks = np.array([n == right for n in range(len(rows))], dtype=np.bool_)
    return Judged(at=day * DAY_MS + 7, about=about, features=np.array(rows, dtype=np.float64), right=marks)


def refit(requests: Sequence[Judged], in_force: Model) -> Found:
    return refit_from(requests, DEFAULT, in_force)


def word_lover(days: int = 14, a_day: int = 8) -> list[Judged]:
    """An owner for whom words tell what is right, and a use key that sounds alike tells nothing."""
    found = []
    for day in range(days):
        for n in range(a_day):
            hard = 0.5 + 0.03 * (n % 4)
            if n % 2:
                found.append(request(day, f"item {n}-{day % 7}", [(0.3, 0.9), (hard, 0.1)], 0))
            else:
                found.append(request(day, f"? {n}-{day}", [(hard + 0.3, 0.1), (hard, 0.0)]))
    return found


def test_what_an_owner_opens_moves_the_weights_and_is_adopted_when_better_on_days_held_back() -> None:
    found = refit(word_lover(), DEFAULT)

    assert found.outcome == "adopted"
    assert found.weights is not None and found.before is not None and found.after is not None
    assert (found.requests, found.held_back) == (112, 56)
    assert found.weights.weights[1] > 4.0 > found.weights.weights[0]
    assert found.after.loss < 0.99 * found.before.loss
    assert found.after.false < found.before.false == 28
    assert found.after.right == found.before.right == 28


def test_the_same_accesses_give_the_same_weights() -> None:
    one, other = refit(word_lover(), DEFAULT), refit(word_lover(), DEFAULT)

    assert one.weights is not None and other.weights is not None
    assert (one.weights.weights.tolist(), one.weights.bias) == (other.weights.weights.tolist(), other.weights.bias)


def test_what_was_adopted_is_not_adopted_again() -> None:
    first = refit(word_lover(), DEFAULT)
    assert first.weights is not None
    adopted = Model(FEATURES, tuple(first.weights.weights.tolist()), first.weights.bias, DEFAULT.bar)

    again = refit(word_lover(), adopted)
    assert again.outcome == "not_better"
    assert again.before == again.after == first.after


def test_a_change_of_mind_on_the_last_days_keeps_what_is_in_force() -> None:
    asked = word_lover()
    for day in range(14, 21):
        # Now it is the use keys that are right.
        asked += [request(day, f"item {n}", [(0.9, 0.1), (0.1, 0.9)], 0) for n in range(4)]
        asked += [request(day, f"? {n}-{day}", [(0.1, 0.8)]) for n in range(4)]
    found = refit(asked, DEFAULT)

    assert (found.outcome, found.weights) == ("not_better", None)
    assert found.why.startswith("Not better on the days held back")


def test_fewer_wrong_pushes_buy_lost_right_ones_at_the_price_that_the_bar_says() -> None:
    asked = word_lover()
    # Right, and now only just pushed by what the refit takes away.
    rare = [request(13, f"rare {n}", [(0.82, 0.0)], 0) for n in range(14)]
    assert score(rare, Weights(np.array(DEFAULT.weights), DEFAULT.bias), DEFAULT.bar).right == 14
    few, many = refit([*asked, *rare[:10]], DEFAULT), refit([*asked, *rare], DEFAULT)

    # With a bar of 0.3 a right push is worth 7/3 false ones, and 28 of those are saved.
    assert few.before is not None and few.after is not None
    assert (few.before.false - few.after.false, few.before.right - few.after.right) == (28, 10)
    assert (few.outcome, many.outcome) == ("adopted", "not_better")
    assert "something of use" in many.why


def all_opened(n: int, day: int) -> Judged:
    return request(day, f"item {n}", [(0.9, 0.9), (0.1, 0.1)], 0)


def ignored(n: int, day: int) -> Judged:
    return request(day, f"? {n}-{day}", [(0.9, 0.9)])


def one_item(n: int, day: int) -> Judged:
    return request(day, "the one", [(0.1, 0.9), (0.9, 0.1)], 0) if n % 2 else ignored(n, day)


def never_a_number(n: int, day: int) -> Judged:
    return request(day, f"item {n}", [(math.nan, 0.9), (math.inf, 0.1)], n % 2)


def without_candidates(n: int, day: int) -> Judged:
    return Judged(day * DAY_MS, f"item {n}", np.zeros((0, 2)), np.zeros(0, dtype=np.bool_))


@pytest.mark.parametrize("of", [all_opened, ignored, one_item, never_a_number, without_candidates])
def test_what_tells_one_thing_only_is_never_adopted(of: object) -> None:
    asked = [of(n, day) for day in range(20) for n in range(50)]  # type: ignore[operator]
    found = refit(asked, DEFAULT)

    assert (found.outcome, found.weights) == ("not_enough", None)
    assert found.why.startswith("Not enough to go on: ")


def test_without_any_access_there_is_not_enough_to_go_on() -> None:
    found = refit([], DEFAULT)

    assert (found.outcome, found.requests, found.held_back) == ("not_enough", 0, 0)


def test_all_on_one_day_leaves_nothing_to_judge_by() -> None:
    one_day = [request(3, one.about, one.features.tolist(), int(one.right.argmax()) if one.right.any() else None)
               for one in word_lover()]  # fmt: skip
    assert refit(one_day, DEFAULT).outcome == "not_enough"


def test_one_thing_opened_a_thousand_times_counts_as_three_times() -> None:
    few = word_lover() + [request(0, "the one", [(0.9, 0.1)], 0)] * 3
    many = word_lover() + [request(0, "the one", [(0.9, 0.1)], 0)] * 1_000
    prior = Weights(np.array(DEFAULT.weights), DEFAULT.bias)

    assert fit(many, prior).weights == pytest.approx(fit(few, prior).weights, abs=1e-3)


def test_the_fit_is_the_point_where_the_slope_is_nothing() -> None:
    prior = Weights(np.array([1.0, -1.0]), 0.5)
    asked = [request(0, "a", [(1.0, 0.0), (0.0, 1.0)], 0), request(0, "b", [(0.5, 0.5)])]
    found = fit(asked, prior)
    # By hand: STRENGTH times how far each moved is the sum of (right - chance) times the feature.
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.5, 1.0]])
    at = np.append(found.weights, found.bias)
    pull = np.array([1.0, 0.0, 0.0]) - 1 / (1 + np.exp(-rows @ at))

    assert 4.0 * (at - np.array([1.0, -1.0, 0.5])) == pytest.approx(rows.T @ pull, abs=1e-3)


def test_scores_tell_the_loss_and_what_would_be_pushed() -> None:
    model = Weights(np.array([0.0, 0.0]), 0.0)  # a half for everything
    asked = [request(0, "a", [(1.0, 0.0), (0.0, 0.0)], 1), request(0, "? b", [(0.2, 0.2)])]

    found = score(asked, model, 0.5)
    assert found.loss == pytest.approx(1.5 * math.log(2))
    assert (found.right, found.false) == (1, 1)
    assert score(asked, model, 0.8)[1:] == (0, 0)


def test_huge_weights_give_finite_numbers() -> None:
    wild = Model(features=FEATURES, weights=(1e6, -1e6), bias=1e6, bar=0.3)
    found = refit_from(word_lover(), wild, wild)

    assert found.before is not None and math.isfinite(found.before.loss)
    assert found.weights is None or np.isfinite(found.weights.weights).all()
