"""As of a past moment, the whole way: the command line, the client, HTTP, the service, and a log on a real server."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis
from click.testing import CliRunner
from instant_recall import AsyncClient, Client
from instant_recall.api.messages import SearchRequest
from instant_recall.api.service import Service
from instant_recall.events.archive import Archive
from instant_recall.events.envelope import RecordedEvent, draft
from instant_recall.events.errors import InvalidEvent, LogGap, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.moment import time_text
from instant_recall.events.position import START, Position
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.types import ItemClosed, NoteRecorded
from instant_recall.ops.cli import main
from instant_recall.projections.building import build
from instant_recall.projections.snapshot import BATCH
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.api_stand_in import serving, wait_until
from instant_recall.tests.small_world import encoder
from instant_recall.workers.archiving import Archiver
from instant_recall.workers.trimming import Stream
from structlog.testing import capture_logs


class Scene(NamedTuple):
    """A served memory: first it had a lark, then the lark was closed and it had a wren."""

    home: Path
    client: Client
    with_lark: Position
    with_wren: Position


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The server runs in this process here: its log lines would stand among what a command prints."""
    with capture_logs():
        yield


@pytest.fixture
def scene(log: RedisEventLog, tmp_path: Path) -> Iterator[Scene]:
    store = SnapshotStore(tmp_path)
    with serving(Service(log, encoder(), store)) as home:
        client = Client(home, deadline_ms=5_000)
        with_lark = client.remember("Feeds paper through the scanner", kind="skill", name="lark").position
        build(log, store, encoder())
        time.sleep(0.005)  # positions are the server's time: both moments must not be in one millisecond
        client.publish(ItemClosed(item="skill:lark"))
        with_wren = client.remember("Feeds letters through the scanner", kind="skill", name="wren").position
        yield Scene(home, client, Position.parse(with_lark), Position.parse(with_wren))


def names(client: Client, **fields: Any) -> list[str]:
    return [pointer.name for pointer in client.push("is lark or wren the scanner", **fields).pointers]


def test_the_client_asks_as_of_a_position_and_as_of_a_time_in_any_form(scene: Scene) -> None:
    client, then = scene.client, scene.with_lark
    at = datetime.fromtimestamp(then.ms / 1000, UTC)
    assert names(client) == ["wren"]
    local = at.astimezone().replace(tzinfo=None)
    for moment in (then, str(then), time_text(then.ms), at, local, local.isoformat(), at.astimezone().isoformat(" ")):
        assert names(client, as_of=moment) == ["lark"], moment
    assert names(client, as_of=scene.with_wren) == ["wren"]
    assert names(client, as_of=at - timedelta(days=1)) == []
    assert names(client, as_of=date(2020, 1, 1)) == []

    assert [found.name for found in client.search("scanner", as_of=then).found] == ["lark"]
    assert client.open("skill:lark", as_of=then).text == "Feeds paper through the scanner"
    assert client.status(as_of=then).items == {"skill": 1}
    assert client.status(as_of=then).position == str(then)
    assert client.status().position > str(then)


def test_the_client_tells_what_is_wrong_and_a_push_never_raises(scene: Scene) -> None:
    client = scene.client
    helper = Client(scene.home, reader="sub:lab", deadline_ms=5_000)
    for bad in ("yesterday", "2026-11", "9999-12-31T00:00", str(Position(scene.with_wren.ms + 10**9, 0))):
        assert client.push("lark", as_of=bad).reason == "error"
        for ask in (lambda m: client.search("lark", as_of=m), lambda m: client.status(as_of=m)):
            with pytest.raises(RecallError, match=r"time|position"):
                ask(bad)
    assert helper.push("lark", as_of=scene.with_lark).reason == "refused"
    for question in (
        lambda: helper.search("lark", as_of=scene.with_lark),
        lambda: helper.open("skill:lark", as_of=scene.with_lark),
        lambda: helper.status(as_of=scene.with_lark),
    ):
        with pytest.raises(Refused, match="Only the owner"):
            question()
    assert helper.status().items == {}  # nobody granted it anything
    with pytest.raises(InvalidEvent, match="min_position"):
        client.search("lark", as_of=scene.with_lark, min_position=str(scene.with_lark))


def test_the_twin_to_be_awaited_asks_the_same(scene: Scene) -> None:
    async def ask() -> tuple[str, str, int]:
        client = AsyncClient(scene.home, deadline_ms=1)
        push = await client.push("is lark the scanner", as_of=scene.with_lark)
        found = await client.search("scanner", as_of=scene.with_lark)
        status = await client.status(as_of=scene.with_lark)
        return push.pointers[0].name, found.found[0].name, status.items["skill"]

    assert asyncio.run(ask()) == ("lark", "lark", 1)


def test_the_command_line_asks_and_says_that_it_answers_about_the_past(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    at = datetime.fromtimestamp(scene.with_lark.ms / 1000, UTC).astimezone()
    typed = (at + timedelta(milliseconds=1)).replace(tzinfo=None).isoformat()
    try:
        for command in (["push", "is lark the scanner"], ["search", "scanner"], ["open", "skill:lark"], ["status"]):
            for as_of in (typed, str(scene.with_lark)):
                said = CliRunner().invoke(main, ["--home", str(scene.home), *command, "--as-of", as_of])
                assert said.exit_code == 0, said.output
                first, *rest = said.stdout.splitlines()
                assert first == (f"As of {at.isoformat(' ', 'seconds')}, not of now; without what was forgotten since.")
                assert "1" in "".join(rest) if command == ["status"] else "lark" in "".join(rest)
                said = CliRunner().invoke(main, ["--home", str(scene.home), *command, "--as-of", as_of, "--json"])
                assert datetime.fromisoformat(json.loads(said.stdout)["as_of"]) - at <= timedelta(milliseconds=1)
            said = CliRunner().invoke(main, ["--home", str(scene.home), *command])
            assert "As of" not in said.output
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("typed", "told"),
    [("2026-11", "neither a time nor a position"), ("9999-01-01", "in the future"), ("9999999999999-0", "log ends at")],
)
@pytest.mark.parametrize("command", [["push", "x"], ["search", "x"], ["open", "x"], ["status"]], ids=lambda c: c[0])
def test_the_command_line_says_what_is_wrong_with_a_moment(
    command: list[str], typed: str, told: str, scene: Scene
) -> None:
    said = CliRunner().invoke(main, ["--home", str(scene.home), *command, "--as-of", typed])
    assert said.exit_code == 1
    assert told in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_the_command_line_refuses_another_reader(scene: Scene) -> None:
    scene.client.grant("sub:lab", scopes=["lab"], token=False)
    for command in (["push", "x"], ["search", "x"], ["open", "x"]):
        asked = [*command, "--as-of", str(scene.with_lark), "--reader", "sub:lab"]
        said = CliRunner().invoke(main, ["--home", str(scene.home), *asked])
        assert (said.exit_code, "Only the owner" in said.stderr) == (1, True)


class Gated(MemoryEventLog):
    """Reads of a whole batch, as a look into the past makes them, wait for a gate; some are told that it is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self.gate = threading.Event()
        self.gone = False

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        if limit == BATCH and after == START and self.last_position() > START:
            if self.gone:
                raise LogGap("The events behind 0-0 are gone. Start from a snapshot.")
            self.waiting += 1
            assert self.gate.wait(30)
        return super().read(after, limit)


def test_pushes_and_writes_go_on_while_the_past_is_looked_up() -> None:
    log = Gated()
    with serving(Service(log, encoder())) as home, ThreadPoolExecutor(60) as pool:
        client = Client(home, deadline_ms=5_000)
        kept = [client.remember(f"Lark number {n} feeds paper", name=f"lark {n}").position for n in range(60)]
        asked = [pool.submit(Client(home, timeout_s=60).search, "paper", limit=100, as_of=then) for then in kept]
        wait_until(lambda: log.waiting)
        for n in range(20):
            client.remember(f"Wren number {n} feeds letters", kind="skill", name=f"wren {n}")
            assert f"wren {n}" in [pointer.name for pointer in client.push(f"use wren {n}").pointers]
        assert log.waiting == 1, "more at once would keep threads from the writes"
        log.gate.set()
        assert [len(each.result(timeout=60).found) > 0 for each in asked] == [True] * 60


def test_what_the_log_no_longer_holds_has_a_name_of_its_own() -> None:
    log = Gated()
    with serving(Service(log, encoder())) as home:
        client = Client(home, deadline_ms=5_000)
        then = client.remember("Lark feeds paper").position
        log.gone = True
        with pytest.raises(LogGap, match="are gone"):
            client.search("paper", as_of=then)
        assert client.search("paper").found
        said = CliRunner().invoke(main, ["--home", str(home), "push", "paper", "--as-of", then, "--json"])
        assert json.loads(said.stdout)["error"] == "log_gap"


def test_the_archived_past_is_told_as_it_was_and_a_lost_archive_is_named(
    embedded_client: redis.Redis, owner: str, tmp_path: Path
) -> None:
    archive, store = Archive(tmp_path / "archive", owner), SnapshotStore(tmp_path / "snapshots")
    log = RedisEventLog(embedded_client, owner, archive=archive)

    def told(as_of: str) -> list[tuple[str, float]]:
        service = Service(log, encoder(), store, record=lambda _: None)
        return [(each.item, each.score) for each in service.search(SearchRequest(query="heron", as_of=as_of)).found]

    positions: list[str] = []
    for n in range(8):
        heron = NoteRecorded(item=f"note:{n}", name=f"heron {n}", text=f"The heron of pond {n}")
        positions.append(str(log.append([draft(heron)])[0].position))
        if n == 5:
            build(log, store, encoder())
    before = [told(position) for position in positions]
    archiver = Archiver(log, Stream(embedded_client, owner), archive)
    assert archiver.move(Position.parse(positions[2]))
    assert archiver.move(Position.parse(positions[4]))
    assert [len(found) for found in before] == list(range(1, 9))
    assert [told(position) for position in positions] == before

    archive.segments()[0].path.unlink()
    with pytest.raises(LogGap):
        told(positions[1])
    assert [told(position) for position in positions[5:]] == before[5:]
