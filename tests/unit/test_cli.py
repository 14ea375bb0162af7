"""The command line where nothing runs: what it says, where, and with which exit code."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from instant_recall.events.errors import LogUnavailable, NotRunning, RecallError
from instant_recall.ops.cli import main
from instant_recall.ops.cli_options import Invocation, pass_invocation, root_options
from instant_recall.ops.cli_running import ready_lines
from instant_recall.ops.output import Bars, count, error_code, one_line, printable, table, width
from instant_recall.ops.supervisor import Ready

ASKING = [
    ["status"],
    ["push", "which lens?"],
    ["why", "which lens?", "note:lens"],
    ["search", "lens"],
    ["open", "note:lens"],
    ["remember", "the long lens"],
    ["correct", "which lens?", "note:lens"],
]


def run(*arguments: str | Path, **environment: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=environment)


@pytest.mark.parametrize("command", ASKING, ids=lambda command: command[0])
def test_where_nothing_runs_a_question_fails_with_what_to_type(command: list[str], home: Path) -> None:
    said = run("--home", home, *command)
    assert said.exit_code == 1
    assert said.stdout == ""
    assert "instant-recall up" in said.stderr
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("command", ASKING, ids=lambda command: command[0])
def test_with_json_an_error_is_one_object_on_standard_output(command: list[str], before: bool, home: Path) -> None:
    options = ["--home", str(home), "--json"]
    said = run(*options, *command) if before else run(*command, *options)
    assert said.exit_code == 1
    assert said.stderr == ""
    assert json.loads(said.stdout)["error"] == "not_running"
    assert "instant-recall up" in json.loads(said.stdout)["message"]


@pytest.mark.parametrize("command", [["up"], ["snapshot"], ["replay"], ["import", "notes", "."]], ids=" ".join)
def test_a_file_where_the_data_folder_should_be_is_one_line_that_names_it(command: list[str], tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    said = run("--home", in_the_way / "data", *command)

    assert said.exit_code == 1
    assert isinstance(said.exception, SystemExit)
    assert str(in_the_way) in said.stderr
    assert "--home" in said.stderr
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize("typed", [["pusch", "x"], ["push"], ["push", "x", "--limit", "3"], ["import", "recipes", "."]])
def test_what_is_typed_wrongly_exits_with_2(typed: list[str], home: Path) -> None:
    assert run("--home", home, *typed).exit_code == 2


def test_up_tells_what_runs_where_with_nothing_beside_a_place_that_is_copied() -> None:
    ready = Ready(
        pid=1, home="/h", socket="/h/run/api.sock", url="", token="", server="embedded", logs="/h/logs", took_s=1.04
    )
    there = ["Ready in 1.0 s. Ctrl-C stops everything.", "  data    /h", "  socket  /h/run/api.sock"]
    assert list(map(click.unstyle, ready_lines(ready))) == there
    over_tcp = dataclasses.replace(ready, url="http://127.0.0.1:8765", token="t0k3n")
    *told, url, token, advice = map(click.unstyle, ready_lines(over_tcp))
    assert (told, url, token) == (there, "  url     http://127.0.0.1:8765", "  token   t0k3n")
    assert "only now" in advice


@pytest.mark.parametrize(
    ("typed", "said"),
    [(["  "], "empty"), (["-"], "empty"), (["x", "--alias", "y"], "--kind"), (["x", "--purpose", "y"], "--kind")],
    ids=["blank", "no input", "alias", "purpose"],
)
def test_a_note_that_would_lose_what_was_said_is_refused(typed: list[str], said: str, home: Path) -> None:
    refused = run("remember", "--home", home, *typed)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_note_may_be_called_one(home: Path) -> None:
    assert "instant-recall up" in run("remember", "x", "--kind", "note", "--home", home).stderr


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["pusch", "x", "--json"], "pusch"),
        (["push", "--json"], "REQUEST"),
        (["--json", "push", "x", "--limit", "3"], "--limit"),
        (["search", "x", "--limit", "0", "--json"], "--limit"),
        (["--jsonn", "status", "--json"], "--jsonn"),
        (["remember", " ", "--json"], "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_with_json_what_is_typed_wrongly_is_one_object_too(typed: list[str], said: str) -> None:
    refused = run(*typed)
    assert (refused.exit_code, refused.stderr) == (2, "")
    answer = json.loads(refused.stdout)
    assert answer["error"] == "usage"
    assert said in answer["message"]


def test_json_by_the_environment_counts_for_what_is_typed_wrongly() -> None:
    assert json.loads(run("push", INSTANT_RECALL_JSON="1").stdout)["error"] == "usage"


def test_nothing_to_stop_is_no_failure(home: Path) -> None:
    said = run("down", "--home", home)
    assert (said.exit_code, said.stdout) == (0, f"Nothing was running for {home}.\n")
    said = run("down", "--home", home, "--json")
    assert json.loads(said.stdout) == {"stopped_pid": None, "stopped_server": False}
    assert list(home.iterdir()) == []


@root_options
@click.command()
@pass_invocation
def shown(invocation: Invocation) -> None:
    """Print what an invocation came to."""
    click.echo(f"{invocation.settings.home} {invocation.as_json}")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["--home", "/a", "shown"], "/a False"),
        (["shown", "--home", "/a"], "/a False"),
        (["--home", "/a", "shown", "--home", "/b"], "/b False"),
        (["--json", "shown"], "/env True"),
        (["shown", "--json"], "/env True"),
        (["shown"], "/env False"),
    ],
    ids=" ".join,
)
def test_home_and_json_are_taken_before_and_after_the_command(
    typed: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(main.commands, "shown", shown)
    assert run(*typed, INSTANT_RECALL_HOME="/env").stdout == f"{expected}\n"


def test_the_environment_never_wins_over_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.commands, "shown", shown)
    assert (
        run("--json", "--home", "/a", "shown", INSTANT_RECALL_JSON="0", INSTANT_RECALL_HOME="/b").stdout == "/a True\n"
    )
    assert run("shown", INSTANT_RECALL_JSON="1", INSTANT_RECALL_HOME="/b").stdout == "/b True\n"


def test_a_variable_that_cannot_be_used_is_named(home: Path) -> None:
    said = run("status", "--home", home, INSTANT_RECALL_OWNER="a/b")
    assert said.exit_code == 1
    assert "INSTANT_RECALL_OWNER" in said.stderr
    said = run("import", "notes", home, "--home", home, INSTANT_RECALL_LOG_LEVEL="loud")
    assert said.exit_code == 1
    assert "INSTANT_RECALL_LOG_LEVEL" in said.stderr


@pytest.mark.parametrize("arguments", ["--help", "push x --home {home}", "status --home {home}"])
def test_a_command_from_a_hook_loads_nothing_heavy(arguments: str, home: Path) -> None:
    program = (
        "import sys\nfrom instant_recall.ops.cli import main\nmain(sys.argv[1:], standalone_mode=False)\n"
        "print('loaded', *sys.modules)"
    )
    typed = arguments.format(home=home).split()
    said = subprocess.run([sys.executable, "-c", program, *typed], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in said.stdout.rpartition("loaded ")[2].split()}
    heavy = {"numpy", "redis", "rq", "starlette", "uvicorn", "model2vec", "usearch", "bm25s", "structlog", "asyncio"}
    heavy.add("onnxruntime")
    assert "instant_recall" in loaded
    assert not loaded & heavy


# --- printing ---------------------------------------------------------------------------------------------------------


def test_every_error_has_a_code_of_its_own() -> None:
    assert error_code(NotRunning()) == "not_running"
    assert error_code(LogUnavailable()) == "unavailable"
    assert error_code(RecallError("x")) == "error"


def test_columns_line_up_for_wide_letters_and_emoji() -> None:
    lines = table([("ab", "x"), ("日本", "y"), ("🎥", "z")])
    assert [width(line) for line in lines] == [7, 7, 7]
    assert table([]) == []


def test_a_number_agrees_with_its_noun() -> None:
    assert [count(1, "item"), count(2, "approach"), count(1_200, "skill")] == ["1 item", "2 approaches", "1,200 skills"]


def test_what_an_item_says_cannot_move_the_cursor() -> None:
    assert one_line("a\r\nb\x1b[2Jc\u2028d") == "a b [2Jc d"
    assert printable("a\r\n\tb\x1b[2J\x07") == "a\n\tb[2J"


def test_progress_is_drawn_only_for_somebody_who_looks_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bars(shown=True) as quick:
        quick("reading", 1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("instant_recall.ops.output.BAR_AFTER_S", 0)
    with Bars(shown=False) as silent:
        silent("reading", 1, 2)
    assert capsys.readouterr().err == ""
    with Bars(shown=True) as drawn:
        drawn("reading", 1, 2)
        drawn("storing", 2, 2)
    told = capsys.readouterr().err
    assert "reading" in told
    assert "storing" in told
