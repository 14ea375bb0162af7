"""`import`, `remember`, `correct`, `forget`, `snapshot`: putting things in, and rebuilding what follows from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from ..events.types import AssetKind
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from ..api.messages import WriteResponse
    from .importing import ImportReport


@click.command("import")
@root_options
@click.argument("what", type=click.Choice(["skills", "notes", "events"]))
@click.argument("path", type=click.Path(path_type=Path, allow_dash=True))
@option("--dry-run", is_flag=True, help="Only say what would change.")
@pass_invocation
def import_(invocation: Invocation, what: Literal["skills", "notes", "events"], path: Path, dry_run: bool) -> None:
    """Put in a folder of skills or notes, or exported events.

    skills: every SKILL.md below PATH. notes: every Markdown file below PATH, cut by section; AGENTS.md, CLAUDE.md and
    MEMORY.md are notes too. Do it again after changes: only what changed is written, and what vanished is closed.
    events: a file that `export events` wrote (`-`: standard input); an event that is there already is not stored twice.
    """
    from . import logs  # noqa: PLC0415
    from .importing import import_folder  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("error")
    if what == "events":
        _import_events(invocation, path, dry_run=dry_run)
        return
    with log_at_hand(invocation.settings) as log, invocation.output.bars() as bars:
        report = import_folder(log, what, path, on_progress=bars, dry_run=dry_run)
    invocation.output.message(report, _imported(report))


def _import_events(invocation: Invocation, path: Path, *, dry_run: bool) -> None:
    from .exporting import import_events  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    with log_at_hand(invocation.settings) as log:
        report = import_events(log, str(path), dry_run=dry_run)
    word = "Would import" if dry_run else "Imported"
    known = f", {report.duplicate:,} were there already" if report.duplicate else ""
    lines = [f"{word} {count(report.new, 'event')}{known}"]
    if report.unreadable:
        lines.append(click.style(f"Not read: {count(report.unreadable, 'line')}:", fg="yellow"))
        lines += table([(f"line {one.line}", one_line(one.reason)) for one in report.lines[:SKIPS_SHOWN]], indent="  ")
    invocation.output.message(report, lines)


SKIPS_SHOWN = 20
"""Skipped files that are named on a terminal; --json names all."""


def _imported(report: ImportReport) -> list[str]:
    counts = [
        ("new", report.new),
        ("changed", report.changed),
        ("unchanged", report.unchanged),
        ("closed", report.closed),
    ]
    told = ", ".join(f"{number:,} {word}" for word, number in counts if number) or "nothing found"
    head = f"{'Would import' if report.dry_run else 'Imported'} {report.what}: {told}  {dim(f'{report.took_s:.1f} s')}"
    if report.held:
        told = f"{count(report.held, 'item')} held back: `instant-recall quarantine list` tells why."
        head = f"{head}\n{click.style(told, fg='yellow')}"
    if not report.skipped:
        return [head]
    shown = table([(one_line(skip.path), skip.reason) for skip in report.skipped[:SKIPS_SHOWN]], indent="  ")
    rest = len(report.skipped) - SKIPS_SHOWN
    return [
        head,
        click.style(f"Skipped {count(len(report.skipped), 'file')}:", fg="yellow"),
        *shown,
        *([dim(f"  and {rest:,} more; --json names all of them")] if rest > 0 else []),
    ]


@click.command()
@root_options
@option("--full", is_flag=True, help="Build it from zero, and use nothing of the one before.")
@pass_invocation
def snapshot(invocation: Invocation, full: bool) -> None:
    """Build a new snapshot of all that is known.

    The worker of `up` does it by itself when it is time. Snapshots are derived from the log, and can all be built anew.
    """
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from ..workers.jobs import build_snapshot  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("warning")
    settings = invocation.settings
    with log_at_hand(settings):
        facts = build_snapshot(str(settings.home), settings.redis_url, settings.owner, settings.encoder, full)
    invocation.output.result(facts, [_built(facts)])


def _built(facts: dict[str, Any]) -> str:
    if facts["outcome"] == "busy":
        return "Another builder is at work on it: there will be a new snapshot shortly."
    if facts["outcome"] == "stale":
        return "Another builder was quicker: its snapshot is as good as this one."
    size = f"{facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s"
    items = count(facts["counts"]["items"], "item")
    return f"Snapshot {facts['generation']}: {items}, up to {facts['position']}  {dim(size)}"


@click.command()
@root_options
@click.argument("text")
@option("--name", default="", metavar="NAME", help="What it is called.")
@option("--kind", type=click.Choice(["note", *get_args(AssetKind)]), default="note", help="What it is, if not a note.")
@option("--item", default="", metavar="ID", help="Its id: recording the id again replaces it.")
@option("--purpose", default="", metavar="LINE", help="One line: what it is for. Not for a note.")
@option("--alias", multiple=True, metavar="NAME", help="Another name for it; may be given again. Not for a note.")
@option("--use-when", multiple=True, metavar="PHRASE", help="A situation in which it helps; may be given again.")
@option("--request", default="", metavar="TEXT", help="What you had asked for when this came up.")
@option("--address", default="", metavar="ADDRESS", help="Where the thing itself is: a path, a URL, a host.")
@option("--supersedes", metavar="ITEM", help="What it replaces: an id, an address or a name.")
@option("--audience", multiple=True, default=("owner",), metavar="SCOPE", help="Who may see it; may be given again.")
@pass_invocation
def remember(
    invocation: Invocation,
    /,
    text: str,
    kind: AssetKind | Literal["note"],
    alias: tuple[str, ...],
    purpose: str,
    **fields: Any,
) -> None:
    """Keep something that you have.

    TEXT is the note, or what the thing is; `-` reads it from standard input. The very next push knows it.
    """
    if text == "-":
        text = sys.stdin.read()
    if kind == "note":
        if alias or purpose:
            raise click.UsageError(
                "A note has no alias and no purpose. Say what else it is with --kind, or leave them out."
            )
        if not text.strip():
            raise click.UsageError("The note is empty. Say what to remember.")
    answer = invocation.client().remember(
        text, kind=None if kind == "note" else kind, aliases=alias, purpose=purpose, **fields
    )
    invocation.output.message(answer, _written("Remembered", answer))


@click.command()
@root_options
@click.argument("request")
@click.argument("item")
@option("--said", default="", metavar="TEXT", help="Your words.")
@option("--session", default="", metavar="ID", help="The session in which it was missed.")
@pass_invocation
def correct(invocation: Invocation, request: str, item: str, said: str, session: str) -> None:
    """Say "you have this" after a miss.

    ITEM (an id, an address or a name) should have come up for REQUEST; the very next push for such a request has it.
    """
    answer = invocation.client().correct(request, item, said=said, session=session)
    invocation.output.message(answer, _written("Corrected", answer))


@click.command()
@root_options
@click.argument("item")
@pass_invocation
def forget(invocation: Invocation, item: str) -> None:
    """Forget something for good.

    ITEM is an id, an address or a name. It is hidden at once; a job removes its bytes from the log, the archive and the
    snapshots, and writes a receipt. It cannot be undone. Backups keep what they hold until you remove them.
    """
    answer = invocation.client().forget(item)
    invocation.output.message(answer, _written("Forgotten", answer))


def _written(word: str, answer: WriteResponse) -> list[str]:
    again = ", which was stored before" if answer.duplicate else ""
    return [f"{word}: {one_line(answer.item)}{again}  {dim(f'position {answer.position}')}"]
