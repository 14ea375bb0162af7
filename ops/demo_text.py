"""How the demo tells what happens: lines that fit the terminal, and 100 columns; coloured only on a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

import click

WIDTH = 98
BESIDE = " " * 17
"""Indents what goes on beside a label."""
PLURALS = {"approach": "approaches"}


class Teller:
    """Prints the scenes one by one; `quiet` prints nothing."""

    def __init__(self, out: TextIO, *, quiet: bool = False) -> None:
        self._out = out
        self._quiet = quiet
        self._width = min(WIDTH, shutil.get_terminal_size().columns - 1) if out.isatty() else WIDTH

    def opening(self) -> None:
        """What is about to be seen."""
        self._say("Instant Recall, a demo. The owner is a small marine-biology field station.", bold=True)
        self._wrapped("The server, the importers and the answers are real; the data folder is a temporary one.")

    def ready(self, counts: Mapping[str, int], start_s: float, import_s: float) -> None:
        """What was started and imported."""
        things = ", ".join(f"{count} {_plural(kind, count)}" for kind, count in counts.items())
        self._say(f"\nStarted the server, the API, a worker and the cron in {start_s:.1f} s.")
        self._wrapped(f"Imported in {import_s:.1f} s: {things}.", later="  ")

    def asks(self, number: int, title: str, typed: str) -> None:
        """A scene begins: the owner types a request."""
        self._say(f"\n{number}. {title}", bold=True)
        self._wrapped(typed, "   owner types   ", BESIDE)

    def sees(self, block: str, reason: str, ms: float) -> None:
        """The push as the model sees it, line by line, and how long it took."""
        if not block:
            why = reason.replace("_", " ")
            self._wrapped(f"only that: an empty push ({why}), after {ms:.1f} ms", "   model sees    ", BESIDE)
            return
        self._say(f"   model sees    that, and next to it, after {ms:.1f} ms:")
        for line in block.splitlines():
            self._wrapped(line, "   | ", "   |     ")

    def verdict(self, promise: str, items: Sequence[str], *, kept: bool, description: str = "") -> None:
        """What that means, and whether the demo's promise was kept."""
        names = (" and " if kept else " or ").join(items)
        said = {
            "miss": f'a miss: the owner has {names} ("{description.rstrip(".")}"), and nothing led to it',
            "hit": f"a hit: {names}",
            "first": f"a hit, in first place: {names}",
            "empty": "silence is the answer: not a token spent",
        }[promise]
        if kept:
            self._wrapped(f"=> {said}", "   ", "      ", fg="yellow" if promise == "miss" else "green")
        else:
            self._wrapped(f"=> NOT AS PROMISED. Expected {said}", "   ", "      ", fg="red")

    def corrects(self, said: str, ms: float) -> None:
        """The owner corrects the agent."""
        self._wrapped(said, "   owner says    ", BESIDE)
        stored = f"for good, after {ms:.1f} ms: the request that missed is now a key of the skill"
        self._wrapped(stored, "   stored        ", BESIDE)

    def closing(self, slowest_ms: float, correction_ms: float, total_s: float, *, ok: bool) -> None:
        """The timings, and what to type next with one's own folders."""
        self._say("")
        self._wrapped(
            f"Slowest push {slowest_ms:.1f} ms. From the correction to the hit {correction_ms:.1f} ms. "
            f"All of it {total_s:.1f} s.",
            bold=True,
        )
        if not ok:
            self._say("A scene did not keep its promise; see NOT AS PROMISED above.", fg="red")
        self._say("Everything was stopped, and the temporary folder is gone.")
        self._say("\nNow with your own folders:", bold=True)
        for command in (
            *_to_be_found(),
            "instant-recall up      (in a window of its own; Ctrl-C stops it)",
            "instant-recall import skills ~/.claude/skills",
            "instant-recall import notes ~/notes",
            'instant-recall push "check the camera on the lab machine"',
        ):
            self._say(f"  {command}")

    def _wrapped(
        self, text: str, first: str = "", later: str = "", *, bold: bool = False, fg: str | None = None
    ) -> None:
        lines = textwrap.wrap(text, self._width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
        self._say("\n".join(lines), bold=bold, fg=fg)

    def _say(self, text: str, *, bold: bool = False, fg: str | None = None) -> None:
        if not self._quiet:
            click.echo(click.style(text, bold=bold or None, fg=fg), file=self._out)


def _to_be_found() -> list[str]:
    """What to type first where a shell does not find `instant-recall`: after `make demo` it is in .venv only."""
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("instant-recall") or not activate.is_file():
        return []
    here = Path.cwd()
    return [f"source {activate.relative_to(here) if activate.is_relative_to(here) else activate}"]


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 else PLURALS.get(kind, f"{kind}s")
