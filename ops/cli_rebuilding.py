"""`replay` and `snapshots`: folding the log anew, and the generations that were made from it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..events.errors import RecallError
from ..events.position import START, Position
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from .generations import Generation
    from .replay import ReplayReport

DIFFERENCES_SHOWN = 20
"""Differences that are named on a terminal; --json names more."""


def _position(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Position | None:
    try:
        return Position.parse(value) if value else None
    except RecallError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@root_options
@option("--from", "after", callback=_position, metavar="POS", help="Begin behind this position, with nothing known.")
@option("--to", "until", callback=_position, metavar="POS", help="Stop at this position.")
@option("--into", type=click.Path(path_type=Path), metavar="DIR", help="Write a snapshot of it into a new folder.")
@option("--compare", is_flag=True, help="Name each item and field that differs from the live state.")
@option("--verbose", is_flag=True, help="With --compare: show what differs; this may be your own text.")
@pass_invocation
@click.pass_context
def replay(
    ctx: click.Context,
    invocation: Invocation,
    after: Position | None,
    until: Position | None,
    into: Path | None,
    compare: bool,
    verbose: bool,
) -> None:
    """Fold the whole log from zero, and compare.

    Says how many events and items there are, how fast it went, and whether the newest snapshot leads to the same
    state; exit code 1 when it does not. Nothing of yours is changed.
    """
    if after and (into or compare):
        raise click.UsageError("--from leaves out what came before, so there is nothing whole to compare or to write.")
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from ..projections.snapshot_store import SnapshotStore  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415
    from .replay import replay as replayed  # noqa: PLC0415

    logs.configure("warning")
    settings = invocation.settings
    with log_at_hand(settings) as log:
        report = replayed(
            log,
            SnapshotStore(settings.snapshots_dir),
            after=after or START,
            until=until,
            compare=compare,
            verbose=verbose,
            into=into,
            encoder=settings.encoder,
        )
    invocation.output.message(report, _replayed(report))
    if not report.same:
        ctx.exit(1)


def _replayed(report: ReplayReport) -> list[str]:
    kinds = ", ".join(count(n, kind) for kind, n in report.items.items()) or "no items"
    unread = f", {report.unreadable:,} of them not readable by this version" if report.unreadable else ""
    rows = [
        ("events", f"{report.events:,}{unread}, up to {report.position}"),
        ("items", kinds),
        ("speed", f"{report.took_s:.2f} s, {report.per_s:,} events a second"),
        ("state", f"{report.digest}, {_verdict(report)}"),
    ]
    if report.into:
        rows.append(("written", report.into))
    return [*table(rows), *_differences(report)]


def _verdict(report: ReplayReport) -> str:
    if not report.generation:
        return "there is no snapshot to compare with"
    if report.same:
        return f"the same as by snapshot {report.generation} and the events behind it"
    return click.style(
        f"NOT the same as by snapshot {report.generation}: build another with `instant-recall snapshot --full`",
        fg="red",
    )


def _differences(report: ReplayReport) -> list[str]:
    if not report.differing:
        return []
    rows = [
        (one_line(d.item), d.field or "(the item)", *(one_line(v)[:60] for v in (d.replayed, d.live) if v is not None))
        for d in report.differences[:DIFFERENCES_SHOWN]
    ]
    rest = report.differing - len(rows)
    return [
        click.style(f"{count(report.differing, 'field')} differ:", fg="red"),
        *table(rows, indent="  "),
        *([dim(f"  and {rest:,} more; --json names up to 1,000")] if rest > 0 else []),
    ]


@click.group()
def snapshots() -> None:
    """See, verify and roll back the snapshots that are kept.

    `snapshot` builds a new one.
    """


@snapshots.command("list")
@root_options
@pass_invocation
def list_(invocation: Invocation) -> None:
    """Show the generations on the disk.

    Oldest first, with the position up to which each holds the log; * marks the current one.
    """
    from .generations import list_generations  # noqa: PLC0415

    found = list_generations(invocation.settings)
    invocation.output.result(
        {"generations": [g.as_facts() for g in found]}, _listed(found) or ["No snapshot yet: `instant-recall snapshot`"]
    )


@snapshots.command()
@root_options
@click.argument("generation", type=click.IntRange(1), required=False)
@pass_invocation
@click.pass_context
def verify(ctx: click.Context, invocation: Invocation, generation: int | None) -> None:
    """Check every byte of one generation, or of all.

    Exit code 1 when one is not good.
    """
    from .generations import verify_generations  # noqa: PLC0415

    found = verify_generations(invocation.settings, generation)
    invocation.output.result(
        {"good": all(not g.problem for g in found), "generations": [g.as_facts() for g in found]},
        [*_listed(found), _verified(found)] if found else ["No snapshot yet: `instant-recall snapshot`"],
    )
    if any(g.problem for g in found):
        ctx.exit(1)


@snapshots.command()
@root_options
@click.argument("generation", type=click.IntRange(1))
@pass_invocation
def rollback(invocation: Invocation, generation: int) -> None:
    """Go back to an older generation.

    It is verified first. Nothing is lost: what was written later is read from the log. Running processes take it over
    by themselves within a few seconds.
    """
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from .generations import roll_back  # noqa: PLC0415

    before, chosen = roll_back(invocation.settings, generation)
    invocation.output.result(
        {"generation": chosen.generation, "before": before, "position": str(chosen.position)},
        [f"Snapshot {chosen.generation} is current again (before: {before or 'none'}), up to {chosen.position}."],
    )


def _verified(found: list[Generation]) -> str:
    good = sum(not g.problem for g in found)
    if good == len(found):
        return dim(f"{count(good, 'snapshot')} verified, every byte: good.")
    return click.style(f"{len(found) - good} of {count(len(found), 'snapshot')} not good.", fg="red")


def _listed(found: list[Generation]) -> list[str]:
    rows = [
        (
            f"{'*' if g.current else ' '} {g.generation}",
            datetime.fromtimestamp(g.created_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if g.created_at else "-",
            count(g.items, "item"),
            f"{g.bytes / 1e6:.1f} MB",
            g.position or "-",
            click.style(one_line(g.problem), fg="red") if g.problem else g.encoder,
        )
        for g in found
    ]
    return table(rows)
