"""The suite: the same cases asked of every setup, with figures, tests, curves and probes over the answers."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ... import __version__
from ...projections.meaning.encoders import load_encoders
from ...projections.pointers import MOST, TOKENS
from ...projections.ranker import WEIGHTS, model
from ..figures import percentiles
from .curves import curve, point
from .evaluate import Answer
from .gates import GateTable, gates
from .probes import ACCESS_PROBES, NAMED_PROBES, run_probes
from .reliability import of_run
from .setups import SETUPS, run_setups
from .statistics import scipy
from .suite_figures import asked, comparisons, figures, power, row_of
from .suite_result import AskedCase, CaseRow, Curve, ProbeTally
from .suite_result import SuiteResult as SuiteResult  # noqa: PLC0414 - this is where the suite's parts look for it
from .worlds import World

_ROOT: Final = Path(__file__).resolve().parents[2]

Progress = Callable[[str, int, int], None]
"""Told of a step: its name, how much of it is done, how much there is."""


def run_suite(
    world: World,
    setups: Iterable[str] | None = None,
    seed: int = 0,
    *,
    name: str = "",
    named_probes: int = NAMED_PROBES,
    access_probes: int = ACCESS_PROBES,
    others: Mapping[str, list[Answer]] | None = None,
    on_progress: Progress | None = None,
) -> SuiteResult:
    """Ask every case of every setup and say what follows.

    Args:
        world: what happened, and the cases.
        setups: names from SETUPS; None: all.
        seed: of the bootstrap and the probes.
        name: what the world is called in reports.
        named_probes: how many named requests to generate for each route; 0: none.
        access_probes: the same for requests that must not show what is hidden.
        others: answers of other makes to the same cases, by name; they get figures and curves too.
        on_progress: see Progress.

    Raises:
        RecallError: there is no setup of one of these names, or the extra `eval` is not installed. Nothing was run.
    """
    scipy("stats")
    told = on_progress or (lambda _step, _done, _total: None)
    answers = run_setups(world, setups, on_case=lambda done, total: told("cases", done, total))
    found = _gates(world, answers, told)
    probes = run_probes(
        world, seed, named=named_probes, access=access_probes, on_probe=lambda done, total: told("probes", done, total)
    )
    return assemble(world, answers, probes, seed, name=name, others=others, gates=found)


def _gates(world: World, answers: Mapping[str, list[Answer]], told: Progress) -> dict[str, GateTable]:
    """By which gate the misses of each setup failed."""
    encoders = load_encoders()
    found: dict[str, GateTable] = {}
    for name, given in answers.items():
        found[name] = gates(world, given, setup=SETUPS[name], encoders=encoders)
        told("gates", len(found), len(answers))
    return found


def assemble(
    world: World,
    answers: Mapping[str, list[Answer]],
    probes: list[ProbeTally],
    seed: int = 0,
    *,
    name: str = "",
    others: Mapping[str, list[Answer]] | None = None,
    gates: Mapping[str, GateTable] | None = None,
) -> SuiteResult:
    """The result of a run whose answers are there already; see `run_suite`."""
    cases = [asked(case) for case in sorted(world.cases, key=lambda case: case.at)]
    rows = {setup: _in_order(cases, found) for setup, found in answers.items()}
    makes = {make: _in_order(cases, found) for make, found in (others or {}).items()}
    everything = rows | makes
    return SuiteResult(
        commit=_commit(),
        settings=_settings(rows),
        seeds={"bootstrap": seed, "probes": seed},
        world=_described(world, name),
        cases=cases,
        setups=rows,
        figures={each: figures(cases, found, seed) for each, found in everything.items()},
        latency={each: percentiles([row.took_ms for row in found]) for each, found in everything.items()},
        tests=comparisons(cases, rows),
        power=power(cases),
        curves={each: _curve(each, cases, found) for each, found in everything.items()},
        probes=probes,
        gates={setup: msgspec.to_builtins(table) for setup, table in (gates or {}).items()},
        calibration=of_run(cases, rows),
        baselines=makes,
    )


def _in_order(cases: list[AskedCase], answers: list[Answer]) -> list[CaseRow]:
    by_id = {answer.case.id: answer for answer in answers}
    return [row_of(by_id[case.id]) for case in cases]


def _curve(setup: str, cases: list[AskedCase], rows: list[CaseRow]) -> Curve:
    """One that has a bar is known there and above only: that point is its curve."""
    if setup in SETUPS and SETUPS[setup].bar:
        # All that was pushed had reached it.
        return Curve(points=(msgspec.structs.replace(point(cases, rows, 0.0), bar=model().bar),), at_recall={})
    return curve(cases, rows, probabilities=setup in SETUPS)


def _settings(setups: Iterable[str]) -> dict[str, Any]:
    return {
        "version": __version__,
        "encoder": load_encoders().fingerprint,
        "ranker": hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:16],
        "ranker_data": model().data,
        "bar": model().bar,
        "pointers": MOST,
        "tokens": TOKENS,
        "setups": {name: SETUPS[name].says for name in setups},
    }


def _described(world: World, name: str) -> dict[str, Any]:
    parts = {part: getattr(world, part) for part in ("assets", "notes", "sessions", "corrections", "policy", "cases")}
    digest = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
    return {"name": name, "digest": digest, **{part: len(rows) for part, rows in parts.items()}}


def _commit() -> str:
    """The commit that the code was checked out at, `+` behind it when it was changed since; empty for an install."""
    try:
        top, commit = (_git("rev-parse", *what) for what in (("--show-toplevel",), ("HEAD",)))
        if Path(top).resolve() != _ROOT:
            return ""
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    told = subprocess.run(["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, check=True)
    return told.stdout.strip()
