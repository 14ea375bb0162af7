"""`demo`, `bench`, `eval`: seeing it work and measuring it, always in a throw-away data folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..events.errors import RecallError
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import dim, one_line, table


@click.command()
@root_options
@pass_invocation
@click.pass_context
def demo(ctx: click.Context, invocation: Invocation) -> None:
    """See it work on a small set of real files.

    Six requests of one morning: a miss, its correction, the hit, and when to be silent. It runs in a throw-away data
    folder: your own data is not touched.
    """
    from . import demo as played  # noqa: PLC0415
    from . import logs  # noqa: PLC0415

    logs.configure("error")
    ctx.exit(played.run(as_json=invocation.as_json))


@click.command()
@root_options
@option(
    "--items", default=10_000, type=click.IntRange(1), metavar="N", show_default=True, help="How many items to make."
)
@pass_invocation
def bench(invocation: Invocation, items: int) -> None:
    """Measure how fast it is here.

    On made-up items in a throw-away data folder: push, append, visibility, snapshot, replay.
    """
    from . import bench as measured  # noqa: PLC0415
    from . import logs  # noqa: PLC0415

    logs.configure("error")
    with invocation.output.bars() as bars:
        facts = measured.run(items, on_progress=bars)
    invocation.output.result(facts, _figures(facts))


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
@pass_invocation
@click.pass_context
def eval_(ctx: click.Context, invocation: Invocation, world: Path | None, no_bar: bool, cases: Path | None) -> None:
    """Measure how good the pushes are.

    On a world folder, for whose requests the right answers are known.
    """
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from . import evaluate, logs  # noqa: PLC0415
    from .worlds import BadWorld, own_world  # noqa: PLC0415

    logs.configure("error")
    bar = 0.0 if no_bar else None
    try:
        with invocation.output.bars() as bars:
            facts = evaluate.run(
                world or own_world(), bar=bar, cases_out=cases, on_case=lambda done, total: bars("cases", done, total)
            )
    except BadWorld as bad:
        _tell_problems(invocation, bad.problems, bad)
        ctx.exit(2)
    invocation.output.result(facts, _judged(facts))


def _tell_problems(invocation: Invocation, problems: Sequence[str], bad: RecallError) -> None:
    """One line for each thing that is wrong with the input; with --json one object, as for every error."""
    if invocation.as_json:
        invocation.output.error(bad)
    for problem in () if invocation.as_json else problems:
        click.echo(one_line(problem), err=True)


def _figures(facts: dict[str, Any]) -> list[str]:
    """A flat table: one line a figure, the percentiles of a figure on its line."""
    return table([(name, _value(value)) for name, value in facts.items()])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_value(part)}" for name, part in value.items())
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else json.dumps(value)


def _judged(facts: dict[str, Any]) -> list[str]:
    columns = ("cases", "hit1", "hit5", "must_not", "pushed_mean", "false_push_rate")
    rows = [("kind", *(name.replace("_", " ") for name in columns))]
    rows += [(kind, *(_value(found.get(name, "")) for name in columns)) for kind, found in facts["kinds"].items()]
    rest = f"{facts['cases']:,} cases, {_value(facts['tokens_mean'])} tokens a push, ms {_value(facts['latency_ms'])}"
    return [*table(rows), dim(rest)]
