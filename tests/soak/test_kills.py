"""Nothing acknowledged is lost when each process in turn is killed under load, again and again.

INSTANT_RECALL_SOAK_ROUNDS sets the number of rounds (200).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest
from instant_recall.api.client import Client
from instant_recall.events.connect import connect, log_on
from instant_recall.events.envelope import RecordedEvent, now_ms
from instant_recall.events.log import EventLog
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.ops.processes import ROLES
from instant_recall.projections.base import empty_base
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.ranker import rank
from instant_recall.projections.searcher import Searcher
from instant_recall.projections.snapshot import catch_up
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.running import recall, up
from instant_recall.tests.small_world import encoder
from instant_recall.workers.queue import enqueue_snapshot

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7_200)]

HARNESS = Path(__file__).parent / "harness.py"
ROUNDS = int(os.environ.get("INSTANT_RECALL_SOAK_ROUNDS") or 200)
VICTIMS = ("server", *ROLES, "supervisor")
HARNESSES = 2
REQUESTS = ("the chart of sector 7", "depths of sector 21", "where does harness0 keep the chart of sector 12?")


def process_of(home: Path, role: str) -> int | None:
    """The process id of what runs for a data folder in a role (`server`, or one of ROLES)."""
    mark = "server.sock" if role == "server" else f"ops.processes {role} "
    listed = subprocess.run(["ps", "-wweo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    found = (line.strip().partition(" ") for line in listed.splitlines() if str(home) in line and mark in line)
    return next((int(pid) for pid, _, _ in found), None)


@contextmanager
def harnesses(home: Path) -> Iterator[list[Path]]:
    """Processes that publish as fast as they are let; the files in which they note what was acknowledged."""
    files = [home / f"acknowledged-{number}" for number in range(HARNESSES)]
    with ExitStack() as running:
        for number, file in enumerate(files):
            file.touch()
            process = subprocess.Popen([sys.executable, str(HARNESS), str(home), f"harness{number}", str(file)])
            running.callback(process.wait)
            running.callback(process.kill)
        yield files


def acknowledged(files: list[Path]) -> Counter[str]:
    return Counter(line for file in files for line in file.read_text().splitlines())


def going_on(files: list[Path], before: int) -> bool:
    return acknowledged(files).total() >= before + 3 * HARNESSES * 5


def kill(home: Path, role: str) -> None:
    wait_until(lambda: process_of(home, role), 60, f"the {role}")
    pid = process_of(home, role)
    assert pid
    os.kill(pid, signal.SIGKILL)


def everything(log: EventLog) -> Iterator[RecordedEvent]:
    after = START
    while page := log.read(after, 5_000):
        yield from page
        after = page[-1].position


def assert_answers_are_those_of_a_replay(client: Client, log: EventLog) -> None:
    replayed = Overlay(empty_base(encoder().dims), encoder())
    catch_up(replayed, log)
    searcher = Searcher(replayed, encoder(), replayed.state.reader("owner", now_ms()), now_ms())
    for request in REQUESTS:
        found = [(one.item, one.score) for one in client.search(request, limit=20).found]
        assert found == [(one.evidence.item.id, round(one.probability, 6)) for one in rank(searcher.find(request))][:20]
        assert found


def test_nothing_acknowledged_is_lost_in_rounds_of_kill_9_under_load(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(home=home)
    victims = cycle(VICTIMS)
    done = 0
    with harnesses(home) as files:
        while done < ROUNDS:
            with up(settings) as process:
                for victim in victims:
                    wait_until(partial(going_on, files, acknowledged(files).total()), 120, "acknowledged writes")
                    enqueue_snapshot(settings)
                    time.sleep(random.uniform(0, 0.5))
                    done += 1
                    if victim == "supervisor":
                        process.kill()
                        break
                    kill(home, victim)
                    if done >= ROUNDS:
                        break
    with up(settings), connect(settings) as connection, closing(Client(home)) as client:
        promised = acknowledged(files)
        stored = Counter(one.event_id for one in everything(log_on(connection, settings)))
        figures = {
            "rounds": done,
            "acknowledged": len(promised),
            "lost": len(set(promised) - set(stored)),
            "doubled": sum(1 for times in stored.values() if times > 1),
        }
        with capsys.disabled():
            print(f"\n{json.dumps(figures)}")  # noqa: T201 - the figures are what this test is run for
        assert figures["lost"] == figures["doubled"] == 0
        # A builder that was killed holds its lease for another minute.
        wait_until(lambda: recall(settings, "snapshot")["outcome"] == "published", 120, "a snapshot")
        wait_until(lambda: client.status().generation, 30, "the swap to it")
        assert_answers_are_those_of_a_replay(client, log_on(connection, settings))
