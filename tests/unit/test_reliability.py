"""Whether a probability means what it says: bins, sums, and what of a run is looked at."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from instant_recall.ops.evaluation import reliability as looked_at
from instant_recall.ops.evaluation.reliability import BestFive, calibration, of_rows, of_run
from instant_recall.ops.evaluation.statistics import wilson
from instant_recall.ops.evaluation.suite_result import AskedCase, CaseRow, Rate


def case(number: int, *expect: str) -> AskedCase:
    return AskedCase(
        id=f"c{number}", kind="use", part="", at="2026-01-01T00:00:00Z", reader="owner", request="r", expect=expect,
        must_not=(),
    )  # fmt: skip


def row(number: int, **scores: float) -> CaseRow:
    return CaseRow(
        id=f"c{number}", kind="use", pushed=tuple(scores), scores=tuple(scores.values()), tokens=0, took_ms=0.0,
        hit1=False, hit5=False,
    )  # fmt: skip


def test_pointers_are_cut_in_ten_bins_of_one_size_with_the_wilson_interval_of_each() -> None:
    # Hundred pointers at 0.005, 0.015 ... 0.995, each right in three of ten.
    requests = [[((n + 0.5) / 100, n % 10 < 3)] for n in range(100)]
    found = calibration(requests).pointers

    assert [each.observed.of for each in found.bins] == [10] * 10
    assert [each.predicted for each in found.bins] == pytest.approx([0.05 + n / 10 for n in range(10)])
    low, high = wilson(3, 10)
    assert found.bins[4].observed == Rate(count=3, of=10, rate=0.3, low=round(low, 4), high=round(high, 4))
    assert (found.bins[4].least, found.bins[4].most) == (0.405, 0.495)
    # By hand: the distances are |0.3 - 0.05|, |0.3 - 0.15|, ... |0.3 - 0.95|.
    assert found.error == pytest.approx(sum(abs(0.3 - 0.05 - n / 10) for n in range(10)) / 10, abs=1e-4)
    squares = [((n + 0.5) / 100 - (n % 10 < 3)) ** 2 for n in range(100)]
    assert found.brier == pytest.approx(sum(squares) / 100, abs=1e-4)


def test_the_likeliest_tenth_is_cut_again_in_five() -> None:
    found = calibration([[((n + 0.5) / 100, n >= 95)] for n in range(100)]).pointers

    assert [(each.observed.count, each.observed.of) for each in found.likeliest] == [
        (0, 2),
        (0, 2),
        (1, 2),
        (2, 2),
        (2, 2),
    ]
    assert sum(each.observed.count for each in found.likeliest) == found.bins[-1].observed.count


def test_probabilities_that_are_what_they_say_have_no_error() -> None:
    sure = calibration([[(0.0, False)]] * 10 + [[(0.9999999, True)]] * 10).pointers
    coin = calibration([[(0.5, n % 2 == 0)] for n in range(200)]).pointers

    assert (sure.brier, sure.error) == (0.0, 0.0)
    assert (coin.brier, coin.error) == (0.25, 0.0)


def test_a_push_is_right_when_one_of_its_pointers_is_and_as_likely_as_all_together() -> None:
    request: BestFive = [(0.5, False), (0.2, True)]
    found = calibration([request]).pushes

    assert (found.of, found.bins[0].observed.count) == (1, 1)
    assert found.bins[0].predicted == pytest.approx(0.6)


def test_few_pointers_make_few_bins_and_none_makes_none() -> None:
    assert len(calibration([[(0.1, False), (0.2, True), (0.3, True)]]).pointers.bins) == 3
    nothing = calibration([[], []])
    assert (nothing.pointers.of, nothing.pointers.bins, nothing.pushes.of) == (0, (), 0)


def test_cases_that_name_something_and_cases_without_a_pointer_are_left_out() -> None:
    cases = [case(1, "a"), case(2, "b"), case(3)]
    rows = [row(1, a=0.5, x=0.25), row(2, b=1.0, x=0.25), row(3)]
    found = of_rows(cases, rows)

    assert found.pointers.of == 2
    assert [(each.predicted, each.observed.count) for each in found.pointers.bins] == [(0.25, 0), (0.5, 1)]
    assert found.pushes.of == 1


def test_of_a_run_the_fullest_setup_without_a_bar_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights = tmp_path / "ranker.json"
    weights.write_text(json.dumps({"features": []}))
    monkeypatch.setattr(looked_at, "WEIGHTS", weights)
    rows = {name: [row(1, a=0.5)] for name in ("S2", "S6", "S7")}

    assert list(of_run([case(1, "a")], rows)) == ["S6"]
    assert of_run([case(1, "a")], {"S7": [row(1, a=0.5)]}) == {}


def test_what_the_training_wrote_beside_the_weights_is_read_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = calibration([[(0.25, False), (0.75, True)]])
    weights = tmp_path / "ranker.json"
    weights.write_bytes(msgspec.json.encode({"calibration": trained}))
    monkeypatch.setattr(looked_at, "WEIGHTS", weights)

    assert of_run([], {}) == {"cross-validated": trained}
