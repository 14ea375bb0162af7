"""The first promise: once a correction is acknowledged the very next push has the item, whatever happens meanwhile."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from instant_recall.api.client import Client
from instant_recall.events.connect import open_log
from instant_recall.events.errors import NotRunning
from instant_recall.events.settings import Settings
from instant_recall.events.types import AssetRecorded
from instant_recall.ops import embedded
from instant_recall.ops.corpus import Words, make_drafts, make_words

TIMES = 1_000
ITEMS = 300

REBUILD_WITHOUT_END = """
import sys
from instant_recall.workers.jobs import build_snapshot
while True:
    build_snapshot(sys.argv[1])
"""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """A data folder whose server runs, filled with some items."""
    made = Settings(home=tmp_path)
    embedded.ensure_running(made)
    try:
        open_log(made).append(list(make_drafts(ITEMS)))
        yield made
    finally:
        embedded.stop(made)


@pytest.fixture
def client(settings: Settings) -> Iterator[Client]:
    """A client of a real API process."""
    process = start(settings, "-m", "instant_recall.ops.processes", "api", "--follow", "--home", str(settings.home))
    made = Client(settings.home, deadline_ms=10_000)
    try:
        wait_until_it_answers(made, process)
        yield made
    finally:
        made.close()
        end(process)


@pytest.fixture
def rebuilds(settings: Settings, client: Client) -> Iterator[subprocess.Popen[bytes]]:
    """A process that publishes one snapshot after the other."""
    process = start(settings, "-c", REBUILD_WITHOUT_END, str(settings.home))
    try:
        yield process
    finally:
        process.kill()
        end(process)


def start(settings: Settings, *arguments: str) -> subprocess.Popen[bytes]:
    hidden = ("REDIS_URL", "INSTANT_RECALL_HOME", "INSTANT_RECALL_OWNER", "INSTANT_RECALL_ENCODER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    with (settings.home / "processes.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment
        )


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.communicate(timeout=20)


def wait_until_it_answers(client: Client, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            client.status()
        except NotRunning:
            time.sleep(0.02)
        else:
            return
    pytest.fail("the API process did not get ready")


def request_of(number: int, words: Words) -> str:
    """A request that nothing in the index was written for."""
    return " ".join(words.draw_rare(np.random.default_rng(number), 6))


@pytest.mark.timeout(300)
def test_after_a_correction_the_next_push_has_the_item_a_thousand_times_with_rebuilds_running(
    client: Client, rebuilds: subprocess.Popen[bytes]
) -> None:
    words = make_words(seed=99)
    assets = [made.event.item for made in make_drafts(ITEMS) if isinstance(made.event, AssetRecorded)]
    before = client.status().generation
    missed: list[int] = []

    for number in range(TIMES):
        item = assets[number % len(assets)]
        client.correct(request_of(number, words), item)
        answer = client.push(request_of(number, words))
        assert answer.reason not in {"unreachable", "error", "deadline", "refused"}
        if item not in [pointer.item for pointer in answer.pointers]:
            missed.append(number)

    assert missed == []
    assert rebuilds.poll() is None
    assert client.status().generation >= before + 2, "the rebuilds did not run beside the corrections"
    for number in range(0, TIMES, 10):
        shown = [pointer.item for pointer in client.push(request_of(number, words)).pointers]
        assert assets[number % len(assets)] in shown, "a correction was lost in the swap to a new snapshot"
