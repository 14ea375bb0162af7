"""The file in which an agent fills in use keys, and the `keys` commands, against a real server in a thread."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from instant_recall import AsyncClient
from instant_recall.api.key_messages import KeyEntry, Unkeyed
from instant_recall.api.messages import RememberRequest
from instant_recall.api.service import Service
from instant_recall.events.errors import InvalidEvent, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops.cli import main
from instant_recall.ops.key_file import MAX_LINE_BYTES, MAX_LINES, read, written
from instant_recall.tests.api_stand_in import serving
from instant_recall.tests.small_world import encoder
from structlog.testing import capture_logs

PORTAL = Unkeyed(item="skill:portal-helper", kind="skill", name="portal\nhelper", purpose='Relays "commands"\u2028')


def lines(*said: object) -> io.BytesIO:
    return io.BytesIO(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in said))


def test_the_file_says_first_how_it_is_filled_in_and_reads_back_what_was_filled_in() -> None:
    text = b"".join(written([PORTAL])).decode()
    head, _, last = text.rstrip("\n").rpartition("\n")
    assert all(line.startswith("#") and len(line) <= 120 for line in head.split("\n"))
    assert "3 to 5 short phrases" in head
    assert "without naming it" in head
    filled = last.replace('"use_when":[]', '"use_when":["get the report"]')

    assert json.loads(last)["name"] == "portal\nhelper"
    assert read(io.BytesIO(text.encode())) == []
    assert read(io.BytesIO(f"{head}\n{filled}\n".encode())) == [
        KeyEntry(item="skill:portal-helper", use_when=("get the report",), where=f"line {text.count(chr(10))}")
    ]


def test_what_a_model_puts_around_it_does_no_harm() -> None:
    file = lines(b"\xef\xbb\xbf```jsonl", b"", b"# done", {"item": "a", "use_when": [" ", "x y"]}, b"```\r\n")
    assert [(entry.item, entry.use_when) for entry in read(file)] == [("a", ("x y",))]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"garbage", "JSON"),
        (b"\xff\xfe{", ""),
        (b"[" * 5_000, ""),
        (b'{"item": "a", "use_when": ["x", "y"]', ""),
        ({"item": "", "use_when": ["x y"]}, "item"),
        ({"use_when": ["x y"]}, "item"),
        ({"item": "a", "use_when": "x y"}, "use_when"),
        ({"item": "a", "use_when": [1]}, "use_when"),
        ({"item": "a", "use_whens": ["x y"]}, "use_whens"),
        ({"item": "a", "audience": ["all"]}, "audience"),
        (["a"], "object"),
        (b"x" * (MAX_LINE_BYTES + 1), "bytes"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_taken(bad: object, said: str) -> None:
    with pytest.raises(InvalidEvent, match="Nothing was added") as refused:
        read(lines({"item": "a", "use_when": ["x y"]}, bad))
    assert "line 2: " in str(refused.value)
    assert said in str(refused.value)


def test_many_faults_are_told_in_one_short_message_and_a_file_without_end_is_not_read_on() -> None:
    with pytest.raises(InvalidEvent, match=r"line 10: .* And 90 more\. Nothing was added") as refused:
        read(io.BytesIO(b"garbage\n" * 100))
    assert len(str(refused.value)) < 2_000
    with pytest.raises(InvalidEvent, match="split it"):
        read(io.BytesIO(b"\n" * (MAX_LINES + 1)))


@pytest.fixture
def home() -> Iterator[Path]:
    service = Service(MemoryEventLog(), encoder())
    for kind, name, text in (("skill", "portal-helper", "Relays commands"), ("machine", "petrel", "Runs models")):
        service.remember(RememberRequest(text=text, name=name, kind=kind))  # type: ignore[arg-type]
    service.remember(RememberRequest(text="It hangs behind the desk", name="the key"))
    with capture_logs(), serving(service) as home:  # a server of its own would not write into a command's output
        yield home


def run(home: Path, *typed: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["--home", str(home), "keys", *map(str, typed)], input=stdin)


def test_a_key_is_added_listed_explained_and_removed(home: Path) -> None:
    assert run(home, "list", "portal-helper").stdout.rstrip().endswith("gives it one")
    assert run(home, "add", "portal-helper", "get the report", "log in").stdout.startswith(
        "Added 2 keys to skill:portal"
    )
    assert run(home, "add", "portal-helper", "Get the report.").stdout == "Nothing new: 1 key was there already.\n"
    assert run(home, "add", "portal-helper", "report a bug", "--not-for").exit_code == 0
    listed = run(home, "list", "portal helper").stdout.splitlines()
    assert "3 use keys" in listed[0]
    assert [line.split("  ")[1] for line in listed[1:]] == ["get the report", "log in", "not for: report a bug"]
    explained = run(home, "why", "portal-helper", "please get the report").stdout.splitlines()
    assert re.fullmatch(r" +phrase +from +since +weight .*seen by +words +meaning +key", explained[2])
    (best,) = [line for line in explained if line.startswith(" * ")]
    assert "get the report" in best
    assert json.loads(run(home, "list", "portal-helper", "--json").stdout)["keys"][0]["phrase"] == "get the report"
    key = json.loads(run(home, "list", "portal-helper", "--json").stdout)["keys"][2]["key"]
    for wanted in ("get the report", "log in", key):
        assert run(home, "remove", "portal-helper", wanted).stdout.startswith("Removed from skill:portal-helper")
    assert "no use key" in run(home, "why", "portal-helper").stdout


def test_what_lacks_a_key_goes_out_as_a_file_and_comes_back_filled_in(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "todo.jsonl"
    assert [line.split()[0] for line in run(home, "todo").stdout.splitlines()[:3]] == ["skill", "machine", "note"]
    assert "keys fill" in run(home, "todo", "--out", file).stdout
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(home, "todo", "--out", "-").stdout == file.read_text()
    assert "no phrase" in run(home, "fill", file).stdout

    filled = file.read_text().replace('"use_when":[]', '"use_when":["get it now","who has it"]')
    wrong = run(home, "fill", "-", stdin=filled + '{"item": "zebra", "use_when": ["x y"]}\n')
    assert wrong.exit_code == 1
    assert f"line {len(filled.splitlines()) + 1} (zebra): Nothing has this id" in wrong.stderr
    assert "3 items without" in run(home, "todo").stdout

    file.write_text(filled)
    assert run(home, "fill", file).stdout.splitlines() == [
        "  skill:portal-helper  2 keys added",
        "  machine:petrel       2 keys added",
        "  note:the-key         2 keys added",
        "Added 6 keys to 3 items.",
    ]
    assert run(home, "fill", file).stdout == "Nothing new: 6 keys were there already.\n"
    assert run(home, "todo").stdout == "Everything you have has a use key.\n"


@pytest.mark.parametrize(
    "typed", [["list", "zebra"], ["why", "zebra", "x"], ["add", "zebra", "x y"], ["remove", "petrel", "zz"]]
)
def test_what_is_not_there_is_told_in_one_line(home: Path, typed: list[str]) -> None:
    said = run(home, *typed)
    assert said.exit_code == 1
    assert len(said.stderr.splitlines()) == 1
    assert "instant-recall" in said.stderr


def test_a_file_that_is_not_there_and_a_place_that_cannot_be_written_are_named(home: Path, tmp_path: Path) -> None:
    assert "no-such-file cannot be read" in run(home, "fill", tmp_path / "no-such-file").stderr
    assert "cannot be written" in run(home, "todo", "--out", tmp_path / "none" / "file").stderr


def test_the_async_twin_asks_and_changes_keys_too(home: Path) -> None:
    async def go() -> None:
        client = AsyncClient(home)
        assert (await client.keys_todo(limit=1)).total == 3
        added = await client.add_keys("petrel", ["run the model"], not_for=["feed the bird"])
        assert [each.added for each in added.items] == [2]
        assert (await client.fill_keys([KeyEntry(item="petrel", use_when=("run the model",))])).items[0].known == 1
        await client.remove_key("petrel", "feed the bird")
        assert [key.phrase for key in (await client.keys("petrel", "run it")).keys] == ["run the model"]
        with pytest.raises(Refused):
            await client.keys_todo(reader="sub:lab")

    asyncio.run(go())
