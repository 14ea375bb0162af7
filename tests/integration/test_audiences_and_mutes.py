"""Audiences and mutes through the client and on the command line: what the owner says counts on the next message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner
from instant_recall import AsyncClient, Client
from instant_recall.api.service import Service
from instant_recall.events.errors import InvalidEvent, NotFound, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import ReaderGranted
from instant_recall.ops.cli import main
from instant_recall.tests.api_stand_in import serving
from instant_recall.tests.small_world import encoder

REQUEST = "use the portal-helper for the divorce papers"
HELPER, COURT = "skill:portal-helper", "note:court"


@pytest.fixture
def home() -> Iterator[Path]:
    service = Service(MemoryEventLog(), encoder())
    with structlog.testing.capture_logs(), serving(service) as folder:  # what it logs is not what a command prints
        yield folder
    service.close()


@pytest.fixture
def client(home: Path) -> Iterator[Client]:
    made = Client(home, deadline_ms=10_000)
    made.publish([ReaderGranted(reader="scout", scopes=("lab",)), ReaderGranted(reader="page", scopes=("web",))])
    made.remember("Relays commands to a logged-in browser", name="portal-helper", kind="skill", audience=["lab"])
    made.remember("The divorce papers are filed in the third drawer", name="court", audience=["lab"])
    yield made
    made.close()


def told(client: Client, reader: str = "owner", session: str = "") -> set[str]:
    """What the search tells of; the push may only tell of some of it."""
    found = {each.item for each in client.search(REQUEST, reader=reader, session=session).found}
    assert {each.item for each in client.push(REQUEST, reader=reader, session=session).pointers} <= found
    return found


def run(home: Path, *words: str) -> str:
    done = CliRunner().invoke(main, [words[0], *words[1:], "--home", str(home)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run_json(home: Path, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(home, *words, "--json"))
    return answer


def test_what_the_owner_says_of_an_audience_counts_on_the_next_message(client: Client) -> None:
    assert told(client, "scout") == {HELPER, COURT}
    changed = client.set_audience("portal-helper", ["web"])
    assert (changed.before, changed.audience) == (("lab",), ("web",))
    assert (told(client, "scout"), told(client, "page")) == ({COURT}, {HELPER})

    client.add_audience(HELPER, ["lab"])
    assert told(client, "scout") == {HELPER, COURT}
    client.remove_audience(HELPER, ["lab", "web"])
    assert (told(client, "scout"), told(client, "page"), told(client)) == ({COURT}, set(), {HELPER, COURT})
    with pytest.raises(NotFound):
        client.open(HELPER, reader="scout")


def test_what_is_recorded_again_does_not_widen_what_was_said_by_hand(client: Client) -> None:
    client.set_audience(HELPER, ["owner"])
    client.remember(
        "Relays commands to a browser that is logged in", name="portal-helper", kind="skill", audience=["lab"]
    )
    assert told(client, "scout") == {COURT}
    assert client.audience(HELPER).by_hand


def test_what_is_muted_is_not_mentioned_on_the_next_message(client: Client) -> None:
    topic = client.mute(topic="divorce")
    assert topic.items == 1
    assert (told(client), told(client, "scout")) == ({HELPER}, {HELPER})
    client.mute("portal-helper", session="s1")
    assert (told(client, session="s1"), told(client, session="s2")) == (set(), {HELPER})

    client.unmute(topic=topic.mute)
    client.unmute("portal-helper")
    assert told(client, session="s1") == {HELPER, COURT}


def test_others_than_the_owner_are_refused_and_bad_labels_are_errors(client: Client) -> None:
    with pytest.raises(Refused):
        client.mute(topic="divorce", reader="scout")
    with pytest.raises(Refused):
        client.set_audience(COURT, ["web"], reader="scout")
    for labels in (["two words"], [""], ["x\0"], [f"l{n}" for n in range(10_000)]):
        with pytest.raises(InvalidEvent, match="label"):
            client.set_audience(COURT, labels)
    with pytest.raises(InvalidEvent, match="Expected a list"):
        client.set_audience(COURT, "lab")
    assert client.audience(COURT).audience == ("lab",)


def test_the_awaited_calls_are_the_same(home: Path, client: Client) -> None:
    async def calls() -> tuple[Any, ...]:
        made = AsyncClient(home)
        await made.set_audience(COURT, ["web"])
        await made.add_audience(COURT, ["home"])
        await made.remove_audience(COURT, ["web"])
        await made.mute(COURT)
        muted = (await made.mutes()).items
        await made.unmute(COURT)
        labels = {label.label for label in (await made.labels()).labels}
        return (await made.audience(COURT)).audience, [item.item for item in muted], labels

    assert asyncio.run(calls()) == (("home",), [COURT], {"lab", "web", "home"})


def test_audiences_on_the_command_line(home: Path, client: Client) -> None:
    assert run(home, "audience", "show", "portal-helper").splitlines() == [
        "skill:portal-helper  portal-helper: you, and readers with lab.", "As it was recorded.",
    ]  # fmt: skip
    assert run(home, "audience", "set", "portal-helper", "web", "home").splitlines() == [
        "skill:portal-helper  portal-helper: you, and readers with web or home.", "It was you, and readers with lab.",
    ]  # fmt: skip
    run(home, "audience", "add", HELPER, "lab")
    assert "Set by hand." in run(home, "audience", "show", HELPER)
    assert run_json(home, "audience", "remove", HELPER, "lab", "web", "home")["audience"] == ["owner"]
    assert run(home, "audience", "labels").splitlines() == [
        "lab    1 item   scout", "owner  1 item   you", "web    0 items  page",
    ]  # fmt: skip

    failed = CliRunner().invoke(main, ["audience", "set", HELPER, "two words", "--home", str(home)])
    assert failed.exit_code == 1
    assert "'two words'" in failed.output


def test_mutes_on_the_command_line(home: Path, client: Client) -> None:
    assert run(home, "mutes") == "Nothing is muted.\n"
    assert run(home, "mute", "--topic", "the Divorce").splitlines() == [
        '"the Divorce" is muted for good.', "It holds back 1 item now.",
    ]  # fmt: skip
    assert "It was muted already." in run(home, "mute", "--topic", "the divorce")
    assert run(home, "mute", "portal-helper", "--session", "s1") == "skill:portal-helper is muted in session s1.\n"
    run(home, "mute", HELPER)
    listed = run(home, "mutes").splitlines()
    assert [line.split("  ")[0] for line in listed] == [HELPER, HELPER, 'topic "the Divorce"']
    assert told(client) == set()

    still = run(home, "unmute", HELPER, "--session", "s1").splitlines()
    assert still == ["That mute of skill:portal-helper is taken back.", "It is still muted for good."]
    assert run(home, "unmute", "portal-helper") == "skill:portal-helper is not muted any more.\n"
    assert run(home, "unmute", "--topic", "the divorce") == '"the Divorce" is not muted any more.\n'
    assert told(client) == {HELPER, COURT}
