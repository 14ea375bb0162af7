"""`demo`, `bench`: seeing it work and measuring its speed, in a throw-away data folder."""

from __future__ import annotations

from typing import Any

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import figure, table


@click.command()
@root_options
@pass_invocation
@click.pass_context
def demo(ctx: click.Context, invocation: Invocation) -> None:
    """See it work on a small set of real files.

    Six requests of one morning: a miss, its correction, the hit, and when to be silent. It runs in a throw-away data
    folder: your own data is not touched.
    """
    invocation.for_the_owner()
    from . import demo as played  # noqa: PLC0415
    from . import logs  # noqa: PLC0415

    logs.configure("error")
    ctx.exit(played.run(as_json=invocation.as_json))


@click.command()
@root_options
@option(
    "--items", default=10_000, type=click.IntRange(1), metavar="N", show_default=True, help="How many items to make."
)
@option(
    "--scopes",
    default=0,
    type=click.IntRange(0, 99),
    metavar="N",
    help="Spread them over so many scopes, and push for readers of one and of nearly all of them, too.",
)
@pass_invocation
def bench(invocation: Invocation, items: int, scopes: int) -> None:
    """Measure how fast it is here.

    On made-up items in a throw-away data folder: push, append, visibility, snapshot, replay; with --scopes also what
    a push costs for other readers, as a ratio to the owner's.
    """
    invocation.for_the_owner()
    from . import bench as measured  # noqa: PLC0415
    from . import logs  # noqa: PLC0415

    logs.configure("error")
    with invocation.output.bars() as bars:
        facts = measured.run(items, scopes=scopes, on_progress=bars)
    invocation.output.result(facts, _figures(facts))


def _figures(facts: dict[str, Any]) -> list[str]:
    """A flat table: one line a figure, the percentiles of a figure on its line."""
    return table([(name, figure(value)) for name, value in facts.items()])
