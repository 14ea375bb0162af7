"""`eval`: how good the pushes are, on a world, setup by setup, or on the owner's own corrections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..events.errors import RecallError
from .cli_options import Invocation, option, pass_invocation, root_options
from .cli_report import Reporting, compare, report_options
from .cli_sets import Sets, set_options
from .output import dim, figure, one_line, table


@click.command("eval")
@root_options
@option(
    "--world",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="PATH",
    help="The world's folder.  [default: the one that comes with the package]",
)
@option("--no-bar", is_flag=True, help="Rank everything: the best five are pushed whatever their score.")
@option(
    "--cases",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write one JSON line for each case here.",
)
@option("--own", is_flag=True, help="Ask your own corrections again, as of just before each; prints counts only.")
@option("--setups", metavar="NAMES", help="Compare setups, S1 (plain search) to S7 (all of it): `all`, or `S2,S7`.")
@option(
    "--seed",
    default=0,
    show_default=True,
    metavar="N",
    help="Of the probes and the bootstrap of --setups, and of --limit.",
)
@option("--gates", is_flag=True, help="Say at which of the five gates the misses failed; see `why`.")
@option("--verbose", is_flag=True, help="Show the cases behind the counts.")
@report_options
@set_options
@pass_invocation
@click.pass_context
def eval_(
    ctx: click.Context,
    invocation: Invocation,
    world: Path | None,
    no_bar: bool,
    cases: Path | None,
    own: bool,
    setups: str | None,
    seed: int,
    gates: bool,
    verbose: bool,
    sets: Sets,
    reporting: Reporting,
) -> None:
    """Measure how good the pushes are.

    On a world folder, or a public set, for whose requests the right answers are known; with --setups part by part,
    against a plain search; with --own on your own log, which stays where it is. --report writes it down as a page.
    """
    if reporting.report and not own:
        setups = setups or "all"
    _fitting(world, no_bar, cases, own=own, setups=setups, gates=gates)
    _fitting_sets(sets, alone=not (world or no_bar or cases or gates), own=own, setups=setups)
    reporting.check(others=bool(world or no_bar or cases or own or setups or gates or sets.sources or sets.compared))
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from . import logs  # noqa: PLC0415
    from .evaluation.worlds import BadWorld  # noqa: PLC0415

    logs.configure("error")
    try:
        if reporting.compare:
            compare(invocation, reporting.compare, verbose=verbose)
        elif own:
            _own(invocation, reporting, verbose=verbose)
        elif setups is not None:
            _suite(invocation, world, sets, _names(setups), seed, reporting, gates=gates, verbose=verbose)
        elif sets.sources:
            _set(invocation, sets, seed, verbose=verbose)
        else:
            _plain(invocation, world, sets, cases, no_bar=no_bar, gates=gates, verbose=verbose)
    except BadWorld as bad:
        _tell_problems(invocation, bad.problems, bad)
        ctx.exit(2)


def _fitting(
    world: Path | None, no_bar: bool, cases: Path | None, *, own: bool, setups: str | None, gates: bool
) -> None:
    """Refuse options that belong to different runs."""
    if own and (world or setups is not None or gates):
        raise click.UsageError("--own is about your own log: leave out --world, --setups and --gates.")
    if (own or setups is not None) and (no_bar or cases):
        raise click.UsageError("--no-bar and --cases are for a run over a world without --setups.")


def _fitting_sets(sets: Sets, *, alone: bool, own: bool, setups: str | None) -> None:
    if len(sets.sources) > 1 or (sets.sources and not alone):
        raise click.UsageError(
            "--set, --locomo and --longmemeval each stand for themselves: leave out the others, --world, --no-bar, "
            "--cases and --gates."
        )
    if own and (sets.sources or sets.compared):
        raise click.UsageError("--own is about your own log: leave out sets and other makes.")
    if sets.limit and not sets.sources:
        raise click.UsageError("--limit is for --set, --locomo and --longmemeval.")
    if sets.encoder and (own or setups is not None):
        raise click.UsageError("--encoder is not for --setups; --own takes the one of INSTANT_RECALL_ENCODER.")
    sets.makes()  # a peer that is not installed is told before the work


def _names(setups: str) -> list[str] | None:
    from .evaluation.setups import chosen  # noqa: PLC0415

    names = [name for part in setups.split(",") if (name := part.strip())]
    if not names or names == ["all"]:
        return None
    try:
        return list(chosen(names))
    except RecallError as unknown:
        raise click.UsageError(str(unknown)) from unknown


def _plain(
    invocation: Invocation,
    world: Path | None,
    sets: Sets,
    cases: Path | None,
    *,
    no_bar: bool,
    gates: bool,
    verbose: bool,
) -> None:
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415
    from .cli_sets import baseline_lines  # noqa: PLC0415
    from .evaluation import evaluate  # noqa: PLC0415
    from .evaluation.worlds import own_world, read_world  # noqa: PLC0415

    with invocation.output.bars() as bars:
        facts = evaluate.run(
            world or own_world(),
            bar=0.0 if no_bar else None,
            cases_out=cases,
            by_gate=gates,
            encoders=load_encoders(sets.encoder),
            on_case=lambda done, total: bars("cases", done, total),
        )
        others = sets.others(read_world(world or own_world()), bars)
    by_gate = _by_gate("", facts["gates"], verbose=verbose) if gates else []
    if not others:
        invocation.output.result(facts, [*_judged(facts), *by_gate])
        return
    facts["baselines"] = {name: evaluate.judge(answers) for name, answers in others.items()}
    invocation.output.result(facts, [*_judged(facts), *by_gate, "", *baseline_lines(facts["baselines"])])


def _set(invocation: Invocation, sets: Sets, seed: int, *, verbose: bool) -> None:
    from .cli_sets import ask_set, set_lines  # noqa: PLC0415

    with invocation.output.bars() as bars:
        facts = ask_set(sets, seed, bars)
    invocation.output.result(facts, set_lines(facts, verbose=verbose))


def _by_gate(setup: str, found: dict[str, Any], *, verbose: bool) -> list[str]:
    import msgspec  # noqa: PLC0415 - `--help` does without

    from .evaluation.gates import GateTable, lines  # noqa: PLC0415

    first, *rest = lines(msgspec.convert(found, GateTable), verbose=verbose)
    return ["", f"{setup}: {first}" if setup else first, *rest]


def _suite(
    invocation: Invocation,
    world: Path | None,
    sets: Sets,
    names: list[str] | None,
    seed: int,
    reporting: Reporting,
    *,
    gates: bool,
    verbose: bool,
) -> None:
    from .cli_sets import set_suite  # noqa: PLC0415
    from .evaluation.suite import run_suite  # noqa: PLC0415
    from .evaluation.suite_text import suite_lines  # noqa: PLC0415
    from .evaluation.worlds import own_world, read_world  # noqa: PLC0415

    folder = world or own_world()
    with invocation.output.bars() as bars:
        if sets.sources:
            result = set_suite(sets, names, seed, bars)
        else:
            read = read_world(folder)
            others = sets.others(read, bars)
            result = run_suite(read, names, seed, name=folder.resolve().name, others=others, on_progress=bars)
    by_gate = [line for setup in result.gates for line in _by_gate(setup, result.gates[setup], verbose=verbose)]
    written = reporting.suite(result)
    told = [*suite_lines(result, verbose=verbose), *(by_gate if gates else []), *written]
    invocation.output.message(result, told)


def _own(invocation: Invocation, reporting: Reporting, *, verbose: bool) -> None:
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415
    from .evaluation.own import run_own  # noqa: PLC0415
    from .evaluation.suite_text import own_lines  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    settings = invocation.settings
    with log_at_hand(settings) as log:
        report = run_own(log, load_encoders(settings.encoder))
    written = reporting.own(report, verbose=verbose)
    if verbose:
        invocation.output.message(report, [*own_lines(report, verbose=True), *written], **report.counts())
    else:
        invocation.output.result(report.counts(), [*own_lines(report), *written])


def _tell_problems(invocation: Invocation, problems: Sequence[str], bad: RecallError) -> None:
    """One line for each thing that is wrong with the input; with --json one object, as for every error."""
    if invocation.as_json:
        invocation.output.error(bad)
    for problem in () if invocation.as_json else problems:
        click.echo(one_line(problem), err=True)


def _judged(facts: dict[str, Any]) -> list[str]:
    columns = ("cases", "hit1", "hit5", "must_not", "pushed_mean", "false_push_rate")
    rows = [("kind", *(name.replace("_", " ") for name in columns))]
    rows += [(kind, *(figure(found.get(name, "")) for name in columns)) for kind, found in facts["kinds"].items()]
    rest = (
        f"{facts['cases']:,} cases, {figure(facts['pointers_mean'])} pointers a push that is not empty, "
        f"{figure(facts['tokens_mean'])} tokens a turn, ms {figure(facts['latency_ms'])}"
    )
    return [*table(rows), dim(rest)]
