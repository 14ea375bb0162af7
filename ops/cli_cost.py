"""`cost`: what a push and a search cost, by formula for given prices, or in a session that has a transcript."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import one_line

if TYPE_CHECKING:
    from fractions import Fraction

    from .costs.cost import Prices

MOST = 10**9
"""The largest number of tokens, calls or pointers that is taken."""


def _multiple(ctx: click.Context, param: click.Parameter, value: str) -> Fraction:
    """A price or a share, kept exactly: 1.25 is 5/4."""
    if not re.fullmatch(r"\d{1,6}(\.\d{0,9})?|\.\d{1,9}", value, re.ASCII):
        raise click.BadParameter(f"{one_line(value)!r} is not a plain number such as 1.25.", ctx, param)
    from fractions import Fraction  # noqa: PLC0415 - every other command does without

    return Fraction(value)


@click.command()
@root_options
@option(
    "--context",
    type=click.IntRange(0, MOST),
    default=100_000,
    metavar="N",
    show_default=True,
    help="Tokens in the context.",
)
@option(
    "--later",
    type=click.IntRange(0, MOST),
    default=30,
    metavar="N",
    show_default=True,
    help="Later calls that read again what was added.",
)
@option(
    "--position",
    callback=_multiple,
    default="0.2",
    metavar="X",
    show_default=True,
    help="Where a block that changes stands: 0 head, 1 end.",
)
@option("--tokens", type=click.IntRange(0, MOST), default=40, metavar="N", show_default=True, help="Of one pointer.")
@option("--pointers", type=click.IntRange(0, MOST), default=5, metavar="N", show_default=True, help="In a list.")
@option(
    "--fetched",
    type=click.IntRange(0, MOST),
    default=500,
    metavar="N",
    show_default=True,
    help="Tokens that a search adds.",
)
@option(
    "--write",
    callback=_multiple,
    default="1.25",
    metavar="X",
    show_default=True,
    help="Price of a token into the cache.",
)
@option(
    "--read", callback=_multiple, default="0.1", metavar="X", show_default=True, help="Price of a token from the cache."
)
@option(
    "--output",
    callback=_multiple,
    default="5",
    metavar="X",
    show_default=True,
    help="Price of a token the model writes.",
)
@option("--table", "as_table", is_flag=True, help="Only the price tables side by side.")
@option(
    "--transcript",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A session of Claude Code: what its pushes and searches cost.",
)
@pass_invocation
@click.pass_context
def cost(
    ctx: click.Context,
    invocation: Invocation,
    context: int,
    later: int,
    position: Fraction,
    tokens: int,
    pointers: int,
    fetched: int,
    write: Fraction,
    read: Fraction,
    output: Fraction,
    as_table: bool,
    transcript: Path | None,
) -> None:
    """Say what a push costs, and what a search does.

    In base input tokens: 1 is one input token at the list price, without a cache. With --transcript: what the pushes in
    a session of Claude Code cost, and how many searches they can have spared.
    """
    from .costs.cost import Prices, Situation  # noqa: PLC0415

    if position > 1:
        raise click.BadParameter("a position is between 0 (head) and 1 (end).", param_hint="--position")
    prices = Prices(write, read, output)
    if transcript is None:
        from .costs import cost_text  # noqa: PLC0415

        at = Situation(context, later, tokens, pointers, fetched, position=position)
        text = cost_text.variants(prices, at) if as_table else cost_text.told(prices, at)
        invocation.output.result(cost_text.facts(prices, at), text)
        return
    of_the_session = ("context", "later", "position", "tokens", "pointers", "fetched", "as_table")
    if any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in of_the_session):
        raise click.UsageError("With --transcript only the prices can be given: the rest is read from the transcript.")
    _tell_session(invocation, transcript, prices)


def _tell_session(invocation: Invocation, path: Path, prices: Prices) -> None:
    from .costs import transcript_text, transcripts  # noqa: PLC0415
    from .costs.transcript_cost import audit  # noqa: PLC0415

    session = transcripts.read(path)
    found = audit(session, prices)
    invocation.output.result(
        transcript_text.facts(session, found, prices), transcript_text.told(session, found, prices)
    )
