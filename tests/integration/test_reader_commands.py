"""`reader` typed at a real server: what it says, what it refuses, and where a token may come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from instant_recall import Client
from instant_recall.api.service import Service
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
