"""The options of `eval` that write a run down, and compare two that were."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .cli_options import Invocation, option

if TYPE_CHECKING:
    from .evaluation.own import OwnReport
    from .evaluation.suite_result import SuiteResult

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Reporting:
    """Where a run is written down, or which two are compared."""

    report: Path | None = None
    no_times: bool = False
    compare: tuple[Path, Path] | None = None

    def check(self, *, others: bool) -> None:
        """Refuse what does not fit, and see that a report can be written, before anything is run.

        Args:
            others: whether options that say what is to be run were given, too.

        Raises:
            UsageError: options that belong to different runs.
            RecallError: the folder cannot be written to, or matplotlib is not installed.
        """
        if self.compare and (others or self.report):
            raise click.UsageError("--compare reads two reports and runs nothing: leave out the rest.")
        if self.no_times and not self.report:
            raise click.UsageError("--no-times is for --report.")
        if self.report:
            from .evaluation.report import prepare  # noqa: PLC0415

            prepare(self.report)

    def suite(self, result: SuiteResult) -> list[str]:
        """Write the report of a run, if one is wanted; the lines that say where it is."""
        from .evaluation.report import report  # noqa: PLC0415

        if self.report is None:
            return []
        written = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        return _told(report(result, self.report, with_times=not self.no_times, written=written))

    def own(self, found: OwnReport, *, verbose: bool) -> list[str]:
        """The same for the owner's own corrections."""
        from .evaluation.report import own_report  # noqa: PLC0415

        return [] if self.report is None else _told(own_report(found, self.report, verbose=verbose))


def report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give `eval` the options of this module; the command gets them as one argument, `reporting`."""

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        given = {name: kwargs.pop(name) for name in Reporting.__dataclass_fields__}
        command(*args, reporting=Reporting(**{**given, "compare": given["compare"] or None}), **kwargs)

    folder = click.Path(file_okay=False, path_type=Path)
    for declared in (
        option("--compare", type=_FILE, nargs=2, metavar="A B", help="Tell two report.json apart, case by case."),
        option("--no-times", is_flag=True, help="Leave times out of --report: the same seed, the same bytes."),
        option("--report", type=folder, metavar="DIR", help="Run all --setups; write report.html, report.json there."),
    ):
        call = declared(call)
    return call


def compare(invocation: Invocation, files: tuple[Path, Path], *, verbose: bool) -> None:
    """Print what got better and worse from one report.json to the other.

    Raises:
        RecallError: one of them holds something else, or they have nothing in common.
    """
    from .evaluation import comparing  # noqa: PLC0415
    from .evaluation.report import load  # noqa: PLC0415

    changes = comparing.compare(*map(load, files))
    invocation.output.message(changes, comparing.lines(changes, verbose=verbose))


def _told(paths: tuple[Path, Path]) -> list[str]:
    return ["", *(f"Written: {path}" for path in paths)]
