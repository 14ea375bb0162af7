"""The suite over a tiny world: its form, what follows from given answers, and the command."""

from __future__ import annotations

import dataclasses
import importlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from instant_recall.events.errors import RecallError
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation.curves import curve, point
from instant_recall.ops.evaluation.evaluate import Answer
from instant_recall.ops.evaluation.setups import SETUPS
from instant_recall.ops.evaluation.suite import SuiteResult, assemble, run_suite
from instant_recall.ops.evaluation.suite_figures import asked, figures, row_of
from instant_recall.ops.evaluation.suite_text import suite_lines
from instant_recall.ops.evaluation.worlds import Case, World, read_world
from instant_recall.projections.bar import chance
from instant_recall.projections.ranker import model

pytest.importorskip("scipy")

TINY = Path(__file__).parent / "tiny_world"


@pytest.fixture(scope="module")
def world() -> World:
    return read_world(TINY)


@pytest.fixture(scope="module")
def result(world: World) -> SuiteResult:
    return run_suite(world, name="tiny", named_probes=20, access_probes=20)


def without_times(result: SuiteResult) -> bytes:
    setups = {name: [msgspec.structs.replace(row, took_ms=0.0) for row in rows] for name, rows in result.setups.items()}
    return msgspec.json.encode(msgspec.structs.replace(result, setups=setups, latency={}))


def case(number: int, kind: str = "topic", expect: tuple[str, ...] = (), why: str = "") -> Case:
    at = datetime(2026, 5, number, tzinfo=UTC)
    fields = {"id": f"q-{number}", "at": at, "request": "x", "kind": kind, "expect": expect, "why": why}
    return msgspec.convert(fields, Case)


def answer(of: Case, **scores: float) -> Answer:
    tokens = tuple(20 + 20 * place for place in range(1, len(scores) + 1))
    return Answer(of, tuple(scores), tuple(scores.values()), tokens[-1] if tokens else 0, 1.0, tokens)


RIGHT, LOW, MISSED = (case(n, expect=("a",)) for n in (1, 2, 3))
NEAR, FAR, NAMED = case(4, "none", why="near: x"), case(5, "none", why="chit-chat"), case(6, "near-name")
ANSWERS = [
    answer(RIGHT, a=0.9, b=0.2),
    answer(LOW, b=0.4, a=0.3),
    answer(MISSED, c=0.1),
    answer(NEAR, b=0.35),
    answer(FAR),
    answer(NAMED, z=1.0),
]
CASES = [asked(one.case) for one in ANSWERS]
ROWS = [row_of(one) for one in ANSWERS]


def test_every_answer_of_every_setup_is_kept(world: World, result: SuiteResult) -> None:
    assert list(result.setups) == list(SETUPS)
    ids = [one.id for one in sorted(world.cases, key=lambda one: one.at)]
    assert [one.id for one in result.cases] == ids
    assert all([row.id for row in rows] == ids for rows in result.setups.values())
    assert result.world["cases"] == len(ids) == 12
    assert result.world["name"] == "tiny"
    assert [(tally.rule, tally.probes) for tally in result.probes] == [("named", 20)] * 6 + [("access", 20)] * 6


def test_the_result_survives_json(result: SuiteResult) -> None:
    written = msgspec.json.encode(result)

    assert msgspec.json.encode(msgspec.json.decode(written, type=SuiteResult)) == written


def test_the_same_seed_gives_the_same_result_byte_for_byte(world: World, result: SuiteResult) -> None:
    again = run_suite(world, name="tiny", named_probes=20, access_probes=20)

    assert without_times(again) == without_times(result)


def test_each_setup_is_compared_with_the_baseline_and_with_what_it_builds_on(result: SuiteResult) -> None:
    compared = [(test.setup, test.against) for test in result.tests if test.measure == "hit5"]

    assert compared[:7] == [(name, "S2") for name in ("S1", "S3", "S4", "S5", "S6", "S7", "S7 nightly")]
    names = list(SETUPS)
    assert compared[7:] == list(zip(names[1:], names[:-1], strict=True))
    assert all(test.p <= test.p_holm <= 1 for test in result.tests)
    assert {test.pairs for test in result.tests if test.measure == "hit5"} == {
        sum(bool(one.expect) for one in result.cases)
    }


def test_answers_of_other_makes_get_figures_and_curves_too(world: World) -> None:
    answers = [Answer(one, one.expect[:1], (1.0,) * len(one.expect[:1]), 0, 1.0) for one in world.cases]

    found = assemble(world, {}, [], others={"oracle": answers})

    assert found.figures["oracle"]["all"].hit1.rate == 1.0
    assert found.curves["oracle"].at_recall["0.95"].false_push == 0.0
    assert len(found.baselines["oracle"]) == len(world.cases)
    assert found.tests == []


def test_figures_count_hits_where_something_is_expected_and_pushes_where_nothing_is() -> None:
    found = figures(CASES, ROWS, seed=0)

    assert (found["all"].hit1.count, found["all"].hit5.count, found["all"].hit5.of) == (1, 2, 3)
    assert (found["all"].false_pushes.count, found["all"].false_pushes.of) == (2, 3)
    assert (found["all"].precision.count, found["all"].precision.of) == (2, 5)
    assert found["none/near"].false_pushes.rate == 1.0
    assert found["none/far"].false_pushes.rate == 0.0
    assert found["none/near"].hit5.of == 0
    assert list(found) == ["all", "topic", "near-name", "none", "none/near", "none/far"]


def test_what_must_never_be_pushed_is_counted() -> None:
    never = msgspec.structs.replace(RIGHT, must_not=("b",))

    assert row_of(answer(never, a=0.9, b=0.2)).forbidden == ("b",)
    assert figures([asked(never)], [row_of(answer(never, a=0.9, b=0.2))], 0)["all"].forbidden == 1


@pytest.mark.parametrize(
    ("bar", "recall", "near", "precision", "pointers", "tokens"),
    [
        (0.0, 0.6667, 1.0, 0.4, 1.4, round((60 + 60 + 40 + 40 + 0 + 40) / 6, 4)),
        (0.3, 0.6667, 1.0, 0.5, 1.25, round((40 + 60 + 0 + 40 + 0 + 40) / 6, 4)),
        (0.36, 0.3333, 0.0, 0.3333, 1.0, 20.0),
        (0.95, 0.0, 0.0, 0.0, 1.0, round(40 / 6, 4)),
    ],
)
def test_a_higher_bar_is_more_silent_and_finds_less(
    bar: float, recall: float, near: float, precision: float, pointers: float, tokens: float
) -> None:
    found = point(CASES, ROWS, bar)

    assert (found.recall, found.precision, found.pointers, found.tokens) == (recall, precision, pointers, tokens)
    assert (found.false_push_near, found.false_push_far, found.false_push) == (near, 0.0, near / 2)


def test_a_fixed_recall_is_reached_by_the_highest_bar_that_does() -> None:
    found = curve(CASES, ROWS, probabilities=False)

    assert found.at_recall["0.30"].bar == 0.9
    assert found.at_recall["0.35"].bar == found.at_recall["0.65"].bar == 0.3
    assert "0.70" not in found.at_recall
    recalls = [one.recall for one in found.points]
    assert recalls == sorted(recalls, reverse=True)


def test_without_cases_that_fit_a_figure_there_is_none() -> None:
    nothing = curve([asked(RIGHT)], [row_of(answer(RIGHT))])

    assert nothing.at_recall == {}
    assert (nothing.points[0].false_push, nothing.points[0].precision) == (None, None)


def test_a_world_without_cases_is_run_all_the_same(world: World) -> None:
    found = run_suite(dataclasses.replace(world, cases=()), ["S2", "S7"], named_probes=2, access_probes=2)

    assert found.figures["S7"]["all"].cases == 0
    assert {test.p for test in found.tests} == {1.0}


def test_without_scipy_nothing_is_run_and_the_remedy_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> Any:
        raise ImportError

    monkeypatch.setattr(importlib, "import_module", missing)

    with pytest.raises(RecallError, match=r"pip install instant-recall\[eval\]"):
        run_suite(world)


# --- the command ------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["eval", *arguments], catch_exceptions=False)


def test_with_json_the_command_prints_the_whole_result_and_else_what_a_person_wants_of_it() -> None:
    told = run("--world", str(TINY), "--setups", "S2,S7", "--json", "--seed", "3")

    assert told.exit_code == 0
    found = msgspec.json.decode(told.stdout, type=SuiteResult)
    assert list(found.setups) == ["S2", "S7"]
    assert found.seeds == {"bootstrap": 3, "probes": 3}
    assert found.world["name"] == "tiny_world"
    text = "\n".join(suite_lines(found))
    for said in (
        "S2",
        "S7",
        "exact McNemar",
        "155 paired cases",
        "named by push, the owner's: 0 of 300 failed",
        "near-name",
    ):
        assert said in text
    assert "S5" not in text


def test_a_bad_world_is_told_line_by_line_and_nothing_is_run(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TINY, tmp_path / "world"))
    (folder / "policy.jsonl").unlink()
    (folder / "notes.jsonl").write_text("no json\n")

    told = run("--world", str(folder), "--setups", "all")

    assert (told.exit_code, told.stdout) == (2, "")
    assert [line.split(": ")[0] for line in told.stderr.splitlines()] == ["notes.jsonl:1", "policy.jsonl:0"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--setups", "S9"],
        ["--own", "--setups", "all"],
        ["--own", "--world", str(TINY)],
        ["--setups", "all", "--no-bar"],
        ["--own", "--cases", "out.jsonl"],
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2
    told = run(*arguments, "--json")
    assert (told.exit_code, json.loads(told.stdout)["error"]) == (2, "usage")


def test_a_pointer_is_counted_at_the_bars_at_which_a_push_with_it_would_be_made() -> None:
    row = row_of(answer(RIGHT, b=0.3, a=0.2))

    reached = chance((0.3, 0.2), model().push.of(len(RIGHT.request.split())))
    found = curve([asked(RIGHT)], [row], bars=(reached - 0.01, reached + 0.01))

    assert [one.recall for one in found.points] == [1.0, 0.0]
    assert [one.pointers for one in found.points] == [2.0, 0.0]
