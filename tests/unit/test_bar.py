"""How likely a push has to help, and which pointers stand in it."""

import math

from hypothesis import given
from hypothesis import strategies as st
from instant_recall.projections.bar import LONG, SHARE, PushOdds, calibrated, chance, reaches
from pytest import approx

best_first = st.lists(st.floats(0, 1), max_size=12).map(lambda found: sorted(found, reverse=True))


def test_several_pointers_that_may_help_are_likelier_to_than_the_best_of_them() -> None:
    assert chance([0.5, 0.2]) == approx(0.6)
    assert chance([]) == 0


def test_a_pointer_that_there_is_no_room_for_adds_nothing() -> None:
    assert chance([0.1] * 5) == chance([0.1] * 9)


def test_what_the_request_names_says_nothing_of_the_others() -> None:
    assert chance([1.0, 0.1]) == approx(0.1)
    assert reaches([1.0, 0.1]) == [1.0, approx(0.1)]


def test_a_pointer_rides_along_with_a_better_one_that_is_pushed_as_long_as_it_is_not_far_less_likely() -> None:
    reached = reaches([0.4, 0.4 * SHARE, 0.4 * SHARE - 0.001])

    assert reached[0] == reached[1] > 0.4
    assert reached[2] == 0.4 * SHARE - 0.001


def test_only_what_is_named_reaches_a_bar_of_one() -> None:
    assert max(reaches([0.99999] * 5)) < 1


@given(best_first)
def test_what_is_pushed_at_a_bar_is_the_beginning_of_the_ranking(probabilities: list[float]) -> None:
    found = reaches(probabilities)

    assert len(found) == len(probabilities)
    assert found == sorted(found, reverse=True)
    assert all(reach >= one - 1e-12 for reach, one in zip(found, probabilities, strict=True))


def test_a_calibration_changes_the_number_and_never_the_order() -> None:
    plain, changed = reaches([0.4, 0.2, 0.01]), reaches([0.4, 0.2, 0.01], (1.5, 2.0))

    assert changed[0] == changed[1] > plain[0]
    assert changed[2] == approx(calibrated(0.01, (1.5, 2.0)))
    assert changed == sorted(changed, reverse=True)


def test_log_odds_are_scaled_and_shifted() -> None:
    assert calibrated(0.5, (3.0, 0.0)) == approx(0.5)
    assert calibrated(0.8, (1.0, 0.0)) == 0.8
    assert calibrated(0.8, (2.0, 0.0)) == approx(16 / 17)
    assert calibrated(0.0, (2.0, 5.0)) == 0
    assert calibrated(0.999999999, (50.0, 5.0)) < 1


def test_a_longer_request_is_likelier_to_need_something_up_to_a_length_where_it_is_simply_long() -> None:
    odds = PushOdds(1.0, -1.0, 0.5)

    assert odds.of(1) == odds.of(0) == (1.0, -1.0)
    assert odds.of(8)[1] == approx(-1.0 + 0.5 * math.log(8))
    assert odds.of(LONG) == odds.of(10_000)
    assert chance([0.2], odds.of(12)) > chance([0.2], odds.of(3))
