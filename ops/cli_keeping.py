"""`backup`, `restore`, `export` and `doctor`: keeping what is there, and finding out what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from .backup import BackupReport
    from .checks import Finding


@click.command()
@root_options
@click.argument("file", type=click.Path(path_type=Path))
@pass_invocation
def backup(invocation: Invocation, file: Path) -> None:
    """Save everything that cannot be rebuilt to one file.

    The log with its archive, exactly as it is at one position, read back and verified. It works while everything runs.
    FILE (name it *.tar.zst) must not be there yet. Texts are in it: keep it as private as the data folder.
    """
    from . import logs  # noqa: PLC0415
    from .backup import backup as written  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("error")
    with log_at_hand(invocation.settings):
        report = written(invocation.settings, file.absolute())
    invocation.output.message(report, _kept("Saved", report))


@click.command()
@root_options
@click.argument("file", type=click.Path(path_type=Path))
@option("--replace", is_flag=True, help="Replace the log that is here; it is backed up into the data folder first.")
@option("--archive", is_flag=True, help="Only put back files of the archive that are damaged or missing here.")
@pass_invocation
def restore(invocation: Invocation, file: Path, replace: bool, archive: bool) -> None:
    """Put a backup's log in place, every position as it was.

    The file is verified whole before anything is changed. Nothing may be running: type `down` first. With --archive the
    log stays as it is, and things may go on running.
    """
    if archive and replace:
        raise click.UsageError("--archive changes nothing of the log, so there is nothing to --replace.")
    from . import logs  # noqa: PLC0415
    from .backup import restore as put_back  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("error")
    if archive:
        _mend(invocation, file)
        return
    with log_at_hand(invocation.settings):
        report = put_back(invocation.settings, file.absolute(), replace=replace)
    lines = _kept("Restored", report)
    if report.kept_before:
        lines.append(f"What was here before: {report.kept_before}")
    invocation.output.message(report, [*lines, "Next: `instant-recall up`; snapshots are built anew from the log."])


def _mend(invocation: Invocation, file: Path) -> None:
    from .local import log_at_hand  # noqa: PLC0415
    from .mending import mend_archive  # noqa: PLC0415

    with log_at_hand(invocation.settings) as log:
        report = mend_archive(log, invocation.settings, file.absolute())
    told = f"Put back {count(len(report.segments), 'segment')}: {', '.join(report.segments)}"
    lines = [
        told if report.segments else "Nothing to put back: the backup has no file that is damaged or missing here."
    ]
    if report.erased:
        lines.append(f"{count(report.erased, 'text')} of forgotten items came back with it and were erased again.")
    invocation.output.message(report, lines)


def _kept(word: str, report: BackupReport) -> list[str]:
    archived = f" and {count(report.archive_files, 'archive file')}" if report.archive_files else ""
    size = dim(f"{report.bytes / 1e6:.1f} MB, {report.took_s:.1f} s")
    lines = [f"{word} {count(report.events, 'event')}{archived}, up to {report.position}: {report.file}  {size}"]
    if report.damaged:
        told = ", ".join(report.damaged)
        lines.append(click.style(f"Damaged in the archive already, and taken as they are: {told}", fg="yellow"))
    return lines


@click.command()
@root_options
@click.argument("what", type=click.Choice(["events", "items"]))
@click.argument("file", type=click.Path(allow_dash=True))
@pass_invocation
def export(invocation: Invocation, what: Literal["events", "items"], file: str) -> None:
    """Write events or items as JSON lines, for other tools.

    events: one event a line, which `import events` reads back. items: one item a line, as it is known now. FILE is
    replaced if it is there; `-` is standard output.
    """
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from . import logs  # noqa: PLC0415
    from .exporting import STANDARD, export_events, export_items  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415
    from .replay import present_state  # noqa: PLC0415

    logs.configure("error")
    with log_at_hand(invocation.settings) as log:
        if what == "events":
            report = export_events(log, file)
        else:
            report = export_items(present_state(log, invocation.settings).all(), file)
    if file != STANDARD:
        invocation.output.message(report, [f"Exported {count(report.lines, what[:-1])}: {file}"])
    if report.unreadable:
        told = f"{count(report.unreadable, 'event')} cannot be read by this version, and have no body in the file."
        click.echo(told, err=True)


@click.command()
@root_options
@pass_invocation
@click.pass_context
def doctor(ctx: click.Context, invocation: Invocation) -> None:
    """Check everything, and say what mends what is wrong.

    Each line is `ok`, `warn` or `BAD`; the command to type stands below. Exit code 1 when something is BAD. The server
    is started for the time of the checks when it does not run; nothing of yours is changed.
    """
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from . import logs  # noqa: PLC0415
    from .doctor import examine  # noqa: PLC0415

    logs.configure("error")
    invocation.for_the_owner()
    findings = examine(invocation.home)
    bad = any(finding.level == "BAD" for finding in findings)
    invocation.output.result({"well": not bad, "checks": [finding.as_facts() for finding in findings]}, _told(findings))
    if bad:
        ctx.exit(1)


_COLOURS = {"ok": "green", "warn": "yellow", "BAD": "red"}


def _told(findings: list[Finding]) -> list[str]:
    rows = table([(f.level, f.check, one_line(f.says)) for f in findings])
    lines: list[str] = []
    for row, finding in zip(rows, findings, strict=True):
        level = finding.level
        lines.append(click.style(level, fg=_COLOURS[level]) + row[len(level) :])
        if finding.remedy:
            lines.append(f"      {dim('->')} {finding.remedy}")
    return lines
