"""`reader` typed at a real server: what it says, what it refuses, and where a token may come from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from instant_recall import AsyncClient, Client
from instant_recall.api.messages import SearchResponse
from instant_recall.api.service import Service
from instant_recall.events.errors import RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops.cli import main
from structlog.testing import capture_logs

from tests.api_stand_in import serving
from tests.helpers import FixedClock
from tests.small_world import encoder


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    clock = FixedClock()
    with serving(Service(MemoryEventLog(clock=clock), encoder(), clock=clock)) as folder:
        Client(folder).remember("The bench camera listens on port 8080", name="bench camera", audience=["work"])
        yield folder


def typed(home: Path, *words: str, code: int = 0, said: str = "", token: str = "") -> str:
    variables = {"INSTANT_RECALL_TOKEN": token} if token else {}
    with capture_logs():  # the server's lines would stand among those of the command
        result = CliRunner().invoke(main, ["reader", *words, "--home", str(home)], input=said, env=variables)
    assert result.exit_code == code, result.output
    return result.output


def told(home: Path, *words: str, **how: Any) -> Any:
    return json.loads(typed(home, *words, "--json", **how))


def test_a_reader_is_let_in_listed_and_revoked(home: Path) -> None:
    said = typed(home, "grant", "scout", "--scope", "work", "--scope", "wrok", "--expires", "8h")
    assert "scout (sub-agent) sees work, wrok, until 2026-01-01 08:00 UTC" in said
    assert "Nothing carries wrok as yet" in said
    token = said.split("token")[1].split()[0]
    reader = Client(home, token=token, deadline_ms=5_000)
    assert reader.push("check the bench camera").pointers
    assert "scout" in typed(home, "list")
    assert token not in typed(home, "list", "--all")
    assert "Ended: scout." in typed(home, "revoke", "scout")
    assert reader.push("check the bench camera").reason == "refused"
    assert "Nobody but you" in typed(home, "list")
    assert "revoked" in typed(home, "list", "--all")
    assert "had ended before" in typed(home, "revoke", "scout")


def test_a_token_is_narrowed_from_the_environment_or_from_standard_input(home: Path) -> None:
    token = told(home, "grant", "r", "--scope", "work", "--scope", "home", "--expires", "1h")["token"]
    kid = told(home, "narrow", "kid", "--scope", "work", "--expires", "30m", token=token)
    assert (kid["reader"], kid["parent"], kid["scopes"]) == ("r/kid", "r", ["work"])
    grandchild = told(home, "narrow", "kid", "--scope", "work", "--token-stdin", said=kid["token"] + "\n")
    assert grandchild["reader"] == "r/kid/kid"
    below = told(home, "narrow", "other", "--scope", "home", "--of", "r")
    assert (below["reader"], below["parent"]) == ("r/other", "r")
    for words, how in (
        (("narrow", "x", "--scope", "more"), {"token": token}),
        (("narrow", "x", "--scope", "work", "--expires", "2h"), {"token": token}),
        (("narrow", "x", "--scope", "work"), {"token": "wrong"}),
    ):
        assert told(home, *words, code=1, **how)["error"] == "refused"
    names = [each["name"] for each in told(home, "list")["readers"]]
    assert names == ["r", "r/kid", "r/kid/kid", "r/other"]
    assert told(home, "revoke", "r")["ended"] == names


def test_what_is_typed_wrongly_is_told(home: Path) -> None:
    assert "no span of time" in typed(home, "grant", "x", "--scope", "work", "--expires", "tomorrow", code=2)
    assert "out of whose grant" in typed(home, "narrow", "x", "--scope", "work", code=2)
    assert "Leave --of away" in typed(home, "narrow", "x", "--scope", "work", "--of", "r", code=2, token="t")
    assert "at least one" in typed(home, "grant", "x", code=1)
    assert "1 to 64" in typed(home, "grant", "a b", "--scope", "work", code=1)
    assert "no such reader" in typed(home, "revoke", "nobody", code=1)
    without = told(home, "grant", "tool", "--scope", "work", "--kind", "tool", "--no-token")
    assert (without["token"], without["kind"], without["expires_at"]) == ("", "tool", None)
    assert "no token" in typed(home, "list")


def run(home: Path, *words: str, **variables: str) -> Result:
    with capture_logs():
        return CliRunner().invoke(main, [*words, "--home", str(home)], env=variables)


async def _awaited(home: Path) -> SearchResponse:
    return await AsyncClient(home).search("vault")


def test_a_token_in_the_environment_says_who_asks_and_a_bad_one_is_never_the_owner(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Client(home).remember("The vault opens with the brass key", name="vault")
    token = told(home, "grant", "deputy", "--scope", "work")["token"]
    asked = ("push", "where is the key of the vault")
    assert "vault" in run(home, *asked).output
    assert "vault" not in run(home, *asked, INSTANT_RECALL_TOKEN=token).output
    assert run(home, "open", "vault", INSTANT_RECALL_TOKEN=token).exit_code == 1
    assert "Only the owner" in run(home, "mutes", INSTANT_RECALL_TOKEN=token).output
    for command in (asked, ("status",), ("search", "vault"), ("open", "vault")):
        assert "does not count" in run(home, *command, INSTANT_RECALL_TOKEN="bogus").output
        empty = run(home, *command, INSTANT_RECALL_TOKEN="")
        assert (empty.exit_code, empty.stdout) == (1, "")
        assert "set and empty" in empty.stderr
    empty = run(home, "reader", "narrow", "x", "--scope", "work", "--of", "deputy", INSTANT_RECALL_TOKEN=" ")
    assert (empty.exit_code, "no token in" in empty.stderr) == (1, True)

    monkeypatch.setenv("INSTANT_RECALL_TOKEN", token)
    for found in (Client(home).search("vault").found, asyncio.run(_awaited(home)).found):
        assert [each.item for each in found] == ["note:bench-camera"]
    monkeypatch.setenv("INSTANT_RECALL_TOKEN", "bogus")
    with pytest.raises(Refused):
        Client(home).status()
    assert Client(home, token=token).search("camera").found
    monkeypatch.setenv("INSTANT_RECALL_TOKEN", "")
    for make in (Client, AsyncClient):
        with pytest.raises(RecallError, match="set and empty"):
            make(home)
        with pytest.raises(RecallError, match="token is empty"):
            make(home, token="")


@pytest.mark.parametrize("token", ["t", ""])
@pytest.mark.parametrize(
    "command",
    [
        "up",
        "down",
        "doctor",
        "audit --item x",
        "replay",
        "snapshots list",
        "backup f",
        "import notes .",
        "demo",
        "bench",
    ],
)
def test_a_command_that_takes_no_token_refuses_where_there_is_one(home: Path, command: str, token: str) -> None:
    said = run(home, *command.split(), INSTANT_RECALL_TOKEN=token)
    assert (said.exit_code, said.stdout) == (1, "")
    assert "takes no token" in said.stderr


@pytest.mark.parametrize(
    "command", ["push boat", "search boat", "open boat", "why boat boat", "keys list boat", "keys why boat"]
)
def test_a_reader_that_never_was_is_told_to_the_owner_and_to_nobody_else(home: Path, command: str) -> None:
    said = run(home, *command.split(), "--reader", "typo")
    assert (said.exit_code, "No reader 'typo' was ever granted anything" in said.stderr) == (1, True)
    token = told(home, "grant", "guest", "--scope", "work")["token"]
    assert "ever granted" not in run(home, *command.split(), "--reader", "typo", INSTANT_RECALL_TOKEN=token).stderr
    assert Client(home, deadline_ms=5_000).push("boat", reader="typo").reason == "nothing_fits"
    assert "ever granted" not in run(home, *command.split(), "--reader", "guest").output


def test_revoking_a_child_by_its_last_name_tells_the_whole_one(home: Path) -> None:
    typed(home, "grant", "finder", "--scope", "work")
    typed(home, "narrow", "task-4", "--scope", "work", "--of", "finder")
    assert "Did you mean finder/task-4?" in typed(home, "revoke", "task-4", code=1)
    assert "Did you mean" not in typed(home, "revoke", "ask-4", code=1)
    assert "Ended: finder/task-4." in typed(home, "revoke", "finder/task-4")


def test_a_wrong_name_is_told_alike_by_every_command_about_keys(home: Path) -> None:
    listed, added = run(home, "keys", "list", "nosuch"), run(home, "keys", "add", "nosuch", "x y")
    assert (listed.exit_code, added.exit_code) == (1, 1)
    assert listed.stderr == added.stderr


def test_several_things_held_back_are_them(home: Path) -> None:
    for name in ("one crate", "two crates"):
        Client(home).remember("Full of nails", name=name)
        Client(home).hold_back(name)
    assert "2 things held back until you have looked at them:" in run(home, "quarantine", "list").output
