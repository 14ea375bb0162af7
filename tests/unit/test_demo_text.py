"""What the demo tells on a terminal that is narrower than its page in the README, and what to type after it."""

import io
import shutil
import sys
from pathlib import Path

import click
import pytest
from instant_recall.ops.demo_text import Teller


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(out: io.StringIO) -> list[str]:
    teller = Teller(out)
    teller.opening()
    teller.ready({"skill": 13, "machine": 4, "decision": 3, "approach": 2, "note": 6, "session": 4}, 1.0, 0.1)
    teller.asks(1, "A request", "download last quarter's report from the company portal, then the one before it")
    teller.sees("[skill] portal-helper: " + "relays commands to a logged-in browser " * 3, "", 4.0)
    teller.sees("", "nothing_fits", 4.0)
    teller.verdict("miss", ["skill:portal-helper"], kept=True, description="Relays commands to a logged-in browser")
    teller.corrects("you have this: portal-helper drives my logged-in browser", 10.7)
    teller.closing(5.6, 14.0, 1.6, ok=True)
    return click.unstyle(out.getvalue()).splitlines()


@pytest.mark.parametrize("columns", [80, 100])
def test_no_line_of_the_demo_is_wider_than_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert columns - 15 < max(map(len, told(Terminal()))) < columns


def test_in_a_file_the_demo_is_as_wide_as_in_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert 85 < max(map(len, told(io.StringIO()))) <= 98


def test_where_the_command_is_not_found_the_demo_says_how_to_find_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert "  source .venv/bin/activate" in told(io.StringIO())
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/instant-recall")
    assert "  source .venv/bin/activate" not in told(io.StringIO())
