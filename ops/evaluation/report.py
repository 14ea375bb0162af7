"""The report of a run: one page for people, one JSON file for programs and for `eval --compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from ...events.errors import RecallError
from . import report_charts
from .own import OwnReport
from .report_own import own_data, own_page
from .report_page import page
from .report_sections import sections, summary, times
from .suite_result import CaseRow, SuiteResult

PAGE: Final = "report.html"
DATA: Final = "report.json"


def prepare(folder: Path) -> None:
    """See that a report can be written there, before anything is run for it.

    Raises:
        RecallError: the folder cannot be made or written to, or matplotlib is not installed.
    """
    report_charts.check()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"{DATA}.new"
        new.touch()
        new.unlink()
    except OSError as error:
        raise RecallError(
            f"{error.filename or folder} cannot be written ({error.strerror}). Name another folder for the report."
        ) from error


def report(result: SuiteResult, folder: Path, *, with_times: bool = True, written: str = "") -> tuple[Path, Path]:
    """Write the page and the JSON of a run; the paths of both.

    The same result gives the same bytes. Times stand in the page's last section and in the fields `took_ms` and
    `latency` of the JSON only.

    Args:
        result: the run.
        folder: where to; made when it is not there. Files of an earlier report in it are replaced.
        with_times: without them, two runs of one commit, world and seed give the same bytes.
        written: when, in any form; it stands with the times.

    Raises:
        RecallError: as for `prepare`.
    """
    prepare(folder)
    result = result if with_times else without_times(result)
    parts = [*sections(result), *([times(result, written)] if with_times else [])]
    title = f"Instant Recall on {result.world.get('name') or 'a world'}: is the right pointer there?"
    return _write(folder, page(title, summary(result), parts), result)


def own_report(found: OwnReport, folder: Path, *, verbose: bool = False) -> tuple[Path, Path]:
    """The same for the owner's own corrections: counts only, unless `verbose`. It tells no times."""
    prepare(folder)
    return _write(folder, own_page(found, verbose=verbose), own_data(found, verbose=verbose))


def without_times(result: SuiteResult) -> SuiteResult:
    """The same run without what is different each time."""

    def timeless(rows: list[CaseRow]) -> list[CaseRow]:
        return [msgspec.structs.replace(row, took_ms=0.0) for row in rows]

    return msgspec.structs.replace(
        result,
        setups={name: timeless(rows) for name, rows in result.setups.items()},
        baselines={name: timeless(rows) for name, rows in result.baselines.items()},
        latency={},
    )


def load(path: Path) -> SuiteResult:
    """The result that a report.json holds.

    Raises:
        RecallError: it cannot be read, or holds something else.
    """
    try:
        result = msgspec.json.decode(path.read_bytes(), type=SuiteResult)
        cases = [case.id for case in result.cases]
        for name, rows in (*result.setups.items(), *result.baselines.items()):
            if [row.id for row in rows] != cases:
                raise msgspec.ValidationError(f"the rows of {name} are not those of its cases")
    except OSError as error:
        raise RecallError(f"{path} cannot be read ({error.strerror}). Name the report.json of a report.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecallError(
            f"{path} is not the result of a run ({error}). Name a report.json that `eval --report DIR` wrote."
        ) from error
    return result


def _write(folder: Path, text: str, data: object) -> tuple[Path, Path]:
    """Each file is whole or as it was."""
    paths = folder / PAGE, folder / DATA
    for path, content in zip(paths, (text.encode(), msgspec.json.encode(data) + b"\n"), strict=True):
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(content)
        new.replace(path)
    return paths
