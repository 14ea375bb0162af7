"""What a reader is told is there, and what is there is told."""

import inspect
import re
from pathlib import Path

import click
import pytest
from instant_recall.events import errors
from instant_recall.ops.cli import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
COMMANDS = {
    f"{name} {sub}" if sub else name: command
    for name, sub, command in (
        (name, sub, found)
        for name, command in main.commands.items()
        for sub, found in (command.commands.items() if isinstance(command, click.Group) else [("", command)])
    )
}
ERRORS = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.RecallError)]

needs_readme = pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_in_one_short_line(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    first = command.get_short_help_str(limit=200)
    assert 10 < len(first) <= 62, "longer lines are cut in the list of commands"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does_and_which_variable_sets_it(name: str) -> None:
    for param in COMMANDS[name].params:
        if isinstance(param, click.Option):
            told = param.get_help_record(click.Context(COMMANDS[name]))
            assert told and param.help, param.name
            assert "INSTANT_RECALL_" in told[1], param.name


@needs_readme
@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_names_every_command(name: str) -> None:
    text = README.read_text(encoding="utf-8")
    word = name.rpartition(" ")[2]
    assert re.search(rf"(instant-recall|`)[^`\n]*\b{word}\b", text) or f"make {word}" in text


@needs_readme
def test_the_map_in_the_readme_names_every_folder() -> None:
    text = README.read_text(encoding="utf-8")
    for folder in ("events/", "projections/", "workers/", "api/", "ops/", "tests/"):
        assert folder in text


@needs_readme
def test_the_readme_names_no_file_that_is_not_there() -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


@needs_readme
def test_the_readme_shows_no_command_that_is_not_there() -> None:
    shown = re.findall(r"^(?:\$ )?instant-recall (?:--\S+ )*([a-z]+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(shown) <= set(main.commands)


@pytest.mark.parametrize(
    "error", [cls for cls in ERRORS if cls is not errors.RecallError], ids=lambda cls: cls.__name__
)
def test_every_error_says_what_happened_and_what_to_do(error: type[Exception]) -> None:
    told = inspect.cleandoc(error.__doc__ or "")
    assert told.count(".") >= 1
    if error not in (errors.NotFound, errors.InvalidEvent):  # their messages name the thing, which is the remedy
        assert re.search(
            r"`|\b(try|restore|name|check|free|set|start|stop|build|run|choose|grant|update|use)\b", told, re.I
        )


def test_contributing_names_every_folder_and_every_make_target_it_mentions() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= set(targets)
    assert len(text.split()) < 700, "one page"
