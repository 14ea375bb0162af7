"""A process that dies before or after any change it makes loses nothing, and answers stay those of a replay."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import redis
from instant_recall.api.follower import Follower
from instant_recall.events.connect import log_on
from instant_recall.events.envelope import draft
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.events.types import NoteRecorded
from instant_recall.ops.replay import digest
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.snapshot import catch_up
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.small_world import answers, encoder

PROGRAM = Path(__file__).parent / "nights_work.py"
DIED = 9
REQUESTS = ("when does the evening ferry leave", "the morning tide at pier 2", "what was there before at pier 0")

Work = Callable[..., dict[str, int]]


@pytest.fixture
def settings(embedded_settings: Settings, owner: str, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, redis_url=f"unix://{embedded_settings.server_socket}", owner=owner)


@pytest.fixture(scope="module")
def program() -> Iterator[subprocess.Popen[bytes]]:
    quiet = os.environ | {"TOKENIZERS_PARALLELISM": "false"}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=quiet,
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def work(program: subprocess.Popen[bytes]) -> Work:
    def do(settings: Settings, point: int = 0, *, before: bool = False) -> dict[str, int]:
        order = {"home": str(settings.home), "redis_url": settings.redis_url, "owner": settings.owner}
        assert program.stdin
        assert program.stdout
        program.stdin.write(msgspec.json.encode({**order, "point": point, "before": before}) + b"\n")
        program.stdin.flush()
        answer: dict[str, int] = msgspec.json.decode(program.stdout.readline())
        return answer

    return do


class Night:
    """One owner's log and data folder, with a first snapshot, and what must hold of them whenever one looks."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.store = SnapshotStore(settings.snapshots_dir)
        settings.home.mkdir()
        drafts = [draft(NoteRecorded(item=f"note:{n}", name="before", text=f"before at pier {n}")) for n in range(6)]
        log_on(client, settings).append(drafts)
        build(log_on(client, settings), self.store, encoder())
        self.promised = {made.event_id for made in drafts}

    def check(self) -> None:
        """Everything that was acknowledged is there once, the snapshot is whole, and answers are those of a replay."""
        log = log_on(self.client, self.settings)
        stored = Counter(one.event_id for one in log.read(START, 1_000))
        assert set(stored.values()) == {1}
        assert self.promised | self.acknowledged() <= set(stored)
        current = self.store.current()
        assert current is not None
        self.store.open(current)
        replayed = Overlay(empty_base(encoder().dims), encoder())
        catch_up(replayed, log)
        with Follower(log, encoder(), self.store).at_tail(60) as (resumed, complete):
            assert complete
            assert digest(resumed.state) == digest(replayed.state)
            assert answers(resumed, REQUESTS) == answers(replayed, REQUESTS)

    def acknowledged(self) -> set[str]:
        file = self.settings.home / "acknowledged"
        return set(file.read_text().split()) if file.exists() else set()


def killed_from_outside(settings: Settings, acknowledged: Callable[[], int], wanted: int) -> None:
    """Let it work until it has so many events acknowledged, and kill it wherever it is a moment later."""
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(settings.home), settings.redis_url, settings.owner],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_until(lambda: acknowledged() >= wanted, 60, "the next acknowledged events")
            time.sleep(random.uniform(0, 0.15))
            assert process.poll() is None
        finally:
            process.kill()


def nights(client: redis.Redis, settings: Settings) -> Iterator[Night]:
    """One after the other, each an owner's first."""
    number = 0
    while True:
        number += 1
        yield Night(
            client,
            Settings(
                home=settings.home / str(number), redis_url=settings.redis_url, owner=f"{settings.owner}-{number}"
            ),
        )


def die_at_every(step: int, first: int, client: redis.Redis, settings: Settings, work: Work) -> None:
    new = nights(client, settings)
    whole = next(new)
    lived = work(whole.settings)
    assert lived["code"] == 0
    assert len(whole.acknowledged()) == 8
    whole.check()
    # How many there are differs by one or two: the last night is the one that comes to its end before its point.
    for point in range(first, 2 * lived["points"], step):
        for before in (True, False):
            night = next(new)
            died = work(night.settings, point, before=before)
            if died["code"] == 0:
                assert point > lived["points"] * 0.9, f"it did not come to point {point}"
                return
            assert died["code"] == DIED
            night.check()
            assert work(night.settings)["code"] == 0, f"it could not go on after point {point}"
            night.check()
            assert len(night.acknowledged()) == 8
            assert not list(night.settings.home.rglob("*.tmp-*"))


def test_a_process_that_dies_at_one_change_in_twelve_loses_nothing_and_the_next_one_ends_its_work(
    embedded_client: redis.Redis, settings: Settings, work: Work
) -> None:
    die_at_every(12, 7, embedded_client, settings, work)


def test_a_process_that_is_killed_from_outside_wherever_it_is_loses_nothing(
    embedded_client: redis.Redis, settings: Settings
) -> None:
    night = next(nights(embedded_client, settings))
    for _ in range(3):
        wanted = len(night.acknowledged()) + random.randint(4, 16)
        killed_from_outside(night.settings, lambda: len(night.acknowledged()), wanted)
        night.check()


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_a_process_that_dies_at_any_change_loses_nothing_and_the_next_one_ends_its_work(
    embedded_client: redis.Redis, settings: Settings, work: Work
) -> None:
    die_at_every(1, 1, embedded_client, settings, work)
