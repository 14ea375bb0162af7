"""By which gate the misses of a run failed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation.evaluate import Answer, ask, run
from instant_recall.ops.evaluation.gates import ORDER, GateTable, gates, lines
from instant_recall.ops.evaluation.playback import FULL, Setup
from instant_recall.ops.evaluation.suite import run_suite
from instant_recall.ops.evaluation.worlds import Case, World, read_world

TINY = Path(__file__).parent / "tiny_world"
LATE = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def world() -> World:
    return read_world(TINY)


def case(name: str, request: str, *expect: str, **fields: Any) -> Case:
    return Case(id=name, at=fields.pop("at", LATE), request=request, kind="use", expect=expect, **fields)


def missed(world: World, *cases: Case, setup: Setup = FULL, bar: float | None = None) -> GateTable:
    """The gates of these cases, as if nothing had been pushed for any."""
    answers = [Answer(case=each, pushed=(), scores=(), tokens=0, took_ms=0.0) for each in cases]
    return gates(world, answers, setup=setup, bar=bar)


def gate_of(found: GateTable) -> dict[str, str]:
    return {miss.case: gate for gate, misses in found.gates.items() for miss in misses}


def test_every_miss_stands_at_one_gate(world: World) -> None:
    found = missed(
        world,
        case("trivial", "ok thanks", "a-magpie"),
        case("muted", "use whistle for the rehearsal alarm", "a-whistle"),
        case("hidden", "is magpie on", "a-magpie", reader="sub:treasurer"),
        case("below", "somebody still owes us for this year", "a-ledger"),
        case("named", "is magpie on", "a-magpie"),
        bar=0.999,
    )

    assert gate_of(found) == {
        "trivial": "not_asked", "muted": "filtered", "hidden": "filtered", "below": "drowned", "named": "found",
    }  # fmt: skip
    assert {miss.case: miss.rule for miss in found.gates["filtered"]} == {"muted": "muted", "hidden": "audience"}
    assert [miss.cut for miss in found.gates["drowned"]] == ["bar"]
    assert list(found.gates) == [*ORDER, "found"]
    assert found.misses == found.expecting == 5


def test_what_a_setup_was_not_fed_is_not_indexed_in_it(world: World) -> None:
    asked = case("q", "somebody still owes us for this year", "a-ledger")
    found = missed(world, asked, setup=dataclasses.replace(FULL, assets=False))

    assert gate_of(found) == {"q": "not_indexed"}


def test_a_setup_without_names_is_asked_without_them(world: World) -> None:
    asked = case("q", "is magpie on", "a-magpie")
    (miss,) = missed(world, asked, setup=dataclasses.replace(FULL, names=False)).gates["found"]

    assert miss.probability is not None
    assert miss.probability < 1.0


def test_of_several_right_answers_the_one_that_came_nearest_is_told(world: World) -> None:
    found = missed(world, case("q", "use whistle for the rehearsal alarm", "a-whistle", "a-ledger"))

    (miss,) = [miss for misses in found.gates.values() for miss in misses]
    assert miss.item == "a-ledger"


def test_sessions_are_told_by_the_ids_of_the_world(world: World) -> None:
    found = missed(world, case("q", "how did we arrange everybody in the church", "s-002"))
    (miss,) = [miss for misses in found.gates.values() for miss in misses]

    assert (miss.item, miss.gate) == ("s-002", "found")


def test_what_is_asked_at_its_moment_is_not_judged_by_what_came_later(world: World) -> None:
    request = "use whistle for the rehearsal alarm"
    before, after = (datetime(2026, month, 1, tzinfo=UTC) for month in (6, 7))
    found = missed(
        world, case("after", request, "a-whistle", at=after), case("before", request, "a-whistle", at=before)
    )

    assert gate_of(found) == {"before": "found", "after": "filtered"}


def test_only_misses_are_asked_about(world: World) -> None:
    answers = ask(world)
    told: list[tuple[int, int]] = []
    found = gates(world, answers, on_case=lambda done, total: told.append((done, total)))
    hits = [answer for answer in answers if set(answer.pushed) & set(answer.case.expect)]

    assert found.expecting == len([answer for answer in answers if answer.case.expect])
    assert found.misses == found.expecting - len(hits) == sum(map(len, found.gates.values()))
    assert told == [(n, found.misses) for n in range(1, found.misses + 1)]
    assert "found" not in found.gates


def test_the_table_counts_the_misses_and_lists_them_when_asked(world: World) -> None:
    found = missed(
        world,
        case("q-muted", "use whistle for the rehearsal alarm", "a-whistle"),
        case("q-below", "somebody still owes us for this year", "a-ledger"),
        bar=0.999,
    )

    def row(gate: str, told: Sequence[str]) -> str:
        return next(line for line in told if line.startswith(gate))

    assert lines(found)[0] == "2 misses of 2 cases that expect something, by gate:"
    assert row("filtered", lines(found)).split() == ["filtered", "1", "use", "1;", "muted", "1"]
    assert row("not indexed", lines(found)).split() == ["not", "indexed", "0"]
    assert len(lines(found)) == 2 + len(ORDER)
    listed = lines(found, verbose=True)
    assert listed[listed.index(row("filtered", listed)) + 1].split()[:4] == ["q-muted", "use", "a-whistle", "It"]
    assert len(listed) == len(lines(found)) + 2


def test_a_run_tells_its_gates_when_asked() -> None:
    facts = run(TINY, bar=0.999, by_gate=True)
    found = msgspec.convert(facts["gates"], GateTable)

    assert found.misses
    assert "gates" not in run(TINY, bar=0.999)


def test_the_command_adds_the_gates_and_lists_the_misses_when_asked() -> None:
    def told(*options: str) -> str:
        done = CliRunner().invoke(main, ["eval", "--world", str(TINY), "--no-bar", *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    plain, by_gate, verbose = told(), told("--gates"), told("--gates", "--verbose")
    facts = json.loads(told("--gates", "--json"))

    assert "by gate:" not in plain
    assert "wrong key" in by_gate
    assert len(verbose.splitlines()) == len(by_gate.splitlines()) + facts["gates"]["misses"]
    assert list(facts["gates"]["gates"]) == list(ORDER)


def test_the_owners_own_corrections_are_not_asked_about_by_gate() -> None:
    done = CliRunner().invoke(main, ["eval", "--own", "--gates"])

    assert done.exit_code == 2
    assert "--gates" in done.stderr


def test_the_suite_has_the_gates_of_every_setup(world: World) -> None:
    result = run_suite(world, ["S1", "S7"], named_probes=0, access_probes=0)

    assert list(result.gates) == ["S1", "S7"]
    for setup, found in result.gates.items():
        rows = {row.id: row for row in result.setups[setup]}
        listed = [miss["case"] for misses in found["gates"].values() for miss in misses]
        assert sorted(listed) == sorted(case.id for case in result.cases if case.expect and not rows[case.id].hit5)
