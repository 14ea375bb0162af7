"""How commands print: short aligned text for people, or exactly one JSON object on standard output for programs."""

from __future__ import annotations

import json
import re
import sys
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ..events.errors import InvalidEvent, LogFull, LogUnavailable, RecallError

SHORT_CODES = {InvalidEvent: "invalid", LogFull: "full", LogUnavailable: "unavailable"}
"""Codes that the API uses (see `ErrorResponse`); every other error's code is its name in small letters."""


def error_code(error: RecallError) -> str:
    """A stable word for a kind of error: `not_running`, `not_found`, `unavailable`; `error` for the root class."""
    for kind, code in SHORT_CODES.items():
        if isinstance(error, kind):
            return code
    name = type(error).__name__
    return "error" if name == "RecallError" else re.sub(r"(?<=.)([A-Z])", r"_\1", name).lower()


@dataclass(frozen=True)
class Output:
    """Prints either for a person or for a program."""

    as_json: bool = False

    def result(self, facts: Mapping[str, Any], text: Iterable[str]) -> None:
        """Print `facts` as one JSON object, or `text` line by line."""
        if self.as_json:
            click.echo(json.dumps(facts, ensure_ascii=False))
            return
        for line in text:
            click.echo(line)

    def error(self, error: RecallError) -> None:
        """Print an error: one line on standard error, or `{"error", "message"}` on standard output with --json."""
        if self.as_json:
            click.echo(json.dumps({"error": error_code(error), "message": str(error)}, ensure_ascii=False))
        else:
            click.echo(f"{click.style('Error:', fg='red')} {one_line(str(error))}", err=True)

    def message(self, answer: Any, text: Iterable[str], **more: Any) -> None:
        """Print an answer of the API (a msgspec struct) as one JSON object, `more` before its fields; or `text`."""
        import msgspec  # noqa: PLC0415 - `--help` does without

        self.result({**more, **msgspec.to_builtins(answer)}, text)

    def bars(self) -> Bars:
        """Progress bars, when a person looks on."""
        return Bars(shown=not self.as_json and sys.stderr.isatty())


BAR_AFTER_S = 0.5
"""Work that is done sooner needs no bar."""


class Bars:
    """Progress bars for long work, one for each step, on standard error; none where nobody looks on, or for short work.

    Call it with the step's name, how much of it is done, and how much there is; use it as a context manager, so that
    the last bar ends with its line.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._step = ""
        self._bar: Any = None
        self._began = time.monotonic()

    def __call__(self, step: str, done: int, total: int) -> None:
        """Draw the bar of a step; a new step begins a new bar."""
        if not self._shown or time.monotonic() - self._began < BAR_AFTER_S:
            return
        if step != self._step:
            self._end()
            self._step = step
            self._bar = click.progressbar(length=total, label=f"{step:<9}", file=sys.stderr, width=30, show_pos=True)
            self._bar.__enter__()
        self._bar.length = max(total, 1)
        self._bar.update(done - self._bar.pos)

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar, self._step = None, ""


_BREAKS = ("Cc", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
"""What cannot be seen and is part of words and of emoji."""


def one_line(text: str) -> str:
    """The text on one line, without anything that could move the cursor, or what stands around it, about."""
    return " ".join("".join(" " if unicodedata.category(c) in _BREAKS else c for c in text if not _unseen(c)).split())


def printable(text: str) -> str:
    """The text as it stands, lines and tabs kept, but without control, direction and other unseen characters."""
    text = text.replace("\r\n", "\n")
    return "".join(c for c in text if c in "\n\t" or not (unicodedata.category(c) == "Cc" or _unseen(c)))


def _unseen(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in ("Cf", "Cs")


def width(text: str) -> int:
    """Columns that a text takes on a terminal: wide letters and emoji take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) or c in "\u200d\ufe0f" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Rows as aligned lines: every column but the last padded to its widest cell."""
    if not rows:
        return []
    widths = [max(width(row[n]) for row in rows) for n in range(len(rows[0]) - 1)]
    return [
        indent + "  ".join([*(c + " " * (w - width(c)) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]


def dim(text: str) -> str:
    """Text that steps back behind the rest, on a terminal that can do so."""
    return click.style(text, dim=True)


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 item`, `12,000 items`."""
    plural = many or one + ("es" if one.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{number:,} {one if number == 1 else plural}"


def figure(value: Any) -> str:
    """A number as a cell: thousands apart, two decimals; several by name; `-` for none."""
    if isinstance(value, dict):
        return "  ".join(f"{name} {figure(part)}" for name, part in value.items())
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else json.dumps(value)
