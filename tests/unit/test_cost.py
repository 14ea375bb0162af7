"""The cost model's numbers, exactly, and what `instant-recall cost` says of them."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from instant_recall.ops.cli import main
from instant_recall.ops.costs import cost
from instant_recall.ops.costs.cost import ANTHROPIC, DESIGN, VARIANTS, Prices, Situation
from instant_recall.ops.costs.cost_text import FIFTEEN

FREE = Prices(Fraction(0), Fraction(0), Fraction(0))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cost", *arguments])


def row_a(*arguments: str) -> list[str]:
    """What is printed behind the first way to count."""
    words = "  A  the formula as it stands"
    (line,) = (line for line in run(*arguments).stdout.splitlines() if line.startswith(words))
    return line.removeprefix(words).split()


def facts(*arguments: str) -> dict[str, Any]:
    said = run("--json", *arguments)
    assert said.exit_code == 0, said.output
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def test_the_design_s_numbers_come_out_exactly() -> None:
    assert cost.pointer() == 170
    assert cost.pointer_list() == 850
    assert cost.search() == 10_625
    assert cost.about(cost.search()) == 11_000
    assert cost.fetched_text() == 625
    assert cost.moving_block() == 92_000


def test_a_block_that_changes_costs_the_whole_turn_less_a_normal_one() -> None:
    gross = Fraction("0.1") * 20_000 + Fraction("1.25") * 80_000
    assert cost.moving_turn() == gross == 102_000
    assert cost.normal_turn() == 10_000
    assert cost.moving_turn() - cost.normal_turn() == cost.moving_block()


@pytest.mark.parametrize(
    ("prices", "row"),
    [
        (VARIANTS[0], (170, 850, 10_625, 92_000)),
        (VARIANTS[1], (200, 1_000, 11_000, 152_000)),
        (VARIANTS[2], (160, 800, 10_500, 72_000)),
    ],
    ids=[prices.name for prices in VARIANTS],
)
def test_every_price_table_gives_its_row(prices: Prices, row: tuple[int, ...]) -> None:
    found = [cost.pointer(prices), cost.pointer_list(prices), cost.search(prices), cost.moving_block(prices)]
    assert found == list(row)


def test_a_list_pays_at_eight_percent_of_the_turns_and_a_pointer_at_one_point_six() -> None:
    assert cost.break_evens()[0].share == Fraction(8, 100)
    assert cost.pointer() / cost.search() == Fraction(16, 1000)


def test_one_turn_in_fifteen_is_a_rounding_at_these_prices_and_exact_where_writes_have_no_surcharge() -> None:
    ways = {way.counted[0]: way for way in cost.break_evens()}
    assert {name: way.search for name, way in ways.items()} == {
        "A": 10_625,
        "B": 11_000,
        "C": 12_125,
        "D": 12_500,
        "E": 12_680,
        "F": 12_000,
    }
    assert {name for name, way in ways.items() if way.one_in and round(way.one_in) == 15} == {"D", "E", "F"}
    assert {name for name, way in ways.items() if way.share == Fraction(1, 15)} == {"F"}


def test_the_note_on_one_turn_in_fifteen_tells_the_numbers_of_the_model() -> None:
    ways = {way.counted[0]: way for way in cost.break_evens()}
    for name in "DEA":
        assert f"1 in {float(ways[name].one_in or 0):.1f}" in FIFTEEN
    assert ways["D"].search - ways["B"].search == 1_500
    assert "1,500" in FIFTEEN
    assert f"{DESIGN.call_tokens} tokens" in FIFTEEN


def test_sixty_tokens_asked_and_stored_are_what_the_rounding_of_a_search_can_stand_for() -> None:
    asked = DESIGN.call_tokens * (ANTHROPIC.output + ANTHROPIC.write)
    assert cost.search() + asked == 11_000
    assert cost.tool_call() == asked + DESIGN.call_tokens * DESIGN.later_calls * ANTHROPIC.read


def test_other_places_for_a_push_cost_what_they_cost() -> None:
    assert cost.transient(8_000) == 9_200
    assert cost.tail_limit() == Fraction("4.25")
    assert cost.uncached_tail(200, 4) < cost.pointer_list() < cost.uncached_tail(200, 5)
    assert list(cost.expired()) == [125_000, 250]


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(10_625, 11_000), (10_499, 10_000), (12_500, 13_000), (-12_500, -13_000), (99_600, 100_000), (7, 7), (0, 0)],
)
def test_about_is_two_figures(value: int, rounded: int) -> None:
    assert cost.about(Fraction(value)) == rounded


@given(
    st.fractions(0, 10, max_denominator=100),
    st.fractions(0, 10, max_denominator=100),
    st.integers(0, 10**6),
    st.integers(0, 500),
)
def test_a_push_costs_what_adding_up_its_calls_one_by_one_costs(
    write: Fraction, read: Fraction, tokens: int, later: int
) -> None:
    one_by_one = write * tokens + sum(read * tokens for _ in range(later))
    assert cost.stored(tokens, Prices(write, read), later) == one_by_one


def test_where_nothing_costs_anything_there_is_no_share_to_tell() -> None:
    way = cost.break_evens(FREE)[0]
    assert way.share is None
    assert way.one_in is None
    assert row_a("--write", "0", "--read", "0") == ["0", "0", "-", "-"]


def test_a_list_dearer_than_a_search_never_pays() -> None:
    way = cost.break_evens(ANTHROPIC, replace(DESIGN, context=100, fetched=10))[0]
    assert way.share
    assert way.share > 1
    assert row_a("--context", "100", "--fetched", "10")[2] == "never"


def test_each_figure_tells_its_sum_and_what_it_rests_on() -> None:
    for figure in cost.figures():
        arithmetic = figure.sum.replace("x", "*").replace(",", "")
        assert eval(arithmetic) == pytest.approx(float(figure.tokens))  # noqa: S307 - our own text
        assert len(figure.assumes.split()) > 5


def test_the_command_prints_each_figure_within_eighty_columns() -> None:
    for arguments in ([], ["--table"]):
        said = run(*arguments).stdout
        assert max(map(len, said.splitlines())) <= 80
    said = run().stdout
    for figure in ("170", "850", "10,625", "about 11,000", "625", "92,000", "8.0 %", "1.6 %", "One turn in fifteen"):
        assert figure in said


def test_prices_and_situation_can_be_given() -> None:
    found = facts("--write", "2", "--context", "200000", "--later", "10", "--position", ".5")
    assert found["figures"]["pointer"]["tokens"] == 120
    assert found["figures"]["search"]["tokens"] == 21_000
    assert found["figures"]["moving_block"]["tokens"] == 190_000
    assert found["situation"]["position"] == 0.5


def test_with_json_all_of_it_is_one_object() -> None:
    found = facts()
    assert {key: figure["tokens"] for key, figure in found["figures"].items()} == {
        "pointer": 170,
        "list": 850,
        "search": 10_625,
        "fetched": 625,
        "moving_block": 92_000,
    }
    assert found["break_even"][0]["share"] == 0.08
    assert [row["search"] for row in found["variants"]] == [10_625, 11_000, 10_500]
    assert FIFTEEN in found["notes"]


def test_the_note_on_fifteen_is_for_the_design_s_numbers_only() -> None:
    assert "One turn in fifteen" not in run("--context", "50000").stdout
    assert FIFTEEN not in facts("--context", "50000")["notes"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--write", "dear"],
        ["--write", "-1"],
        ["--read", "nan"],
        ["--read", "inf"],
        ["--output", "1e999999999"],
        ["--output", ""],
        ["--position", "1.01"],
        ["--context", "-1"],
        ["--later", "2.5"],
        ["--fetched", "99999999999999999999"],
    ],
    ids=" ".join,
)
def test_what_is_no_price_or_count_is_typed_wrongly(arguments: list[str]) -> None:
    said = run(*arguments)
    assert said.exit_code == 2
    assert arguments[0] in said.stderr


def test_the_largest_numbers_that_are_taken_are_printed() -> None:
    most = str(10**9)
    said = run("--context", most, "--later", most, "--tokens", most, "--pointers", most, "--fetched", most)
    assert said.exit_code == 0
    assert facts("--context", most, "--later", most)["figures"]["search"]["tokens"] == 10**8 + 625


def test_a_price_table_of_one_s_own_stands_beside_the_others() -> None:
    assert "1.5, 0.2: as given" in run("--table", "--write", "1.5", "--read", ".2").stdout
    assert "as given" not in run("--table", "--write", "2").stdout
    assert facts("--write", "1.5")["variants"][0]["pointer"] == 180


def test_a_situation_in_which_nothing_happens_is_told_as_zeros() -> None:
    nothing = Situation(0, 0, 0, 0, 0)
    assert {figure.tokens for figure in cost.figures(ANTHROPIC, nothing)} == {0}
    assert run("--context", "0", "--later", "0", "--tokens", "0", "--pointers", "0", "--fetched", "0").exit_code == 0
