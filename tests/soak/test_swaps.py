"""No push fails or is late while readers swap from one snapshot to the next.

INSTANT_RECALL_SOAK_ITEMS sets the number of items (5,000), INSTANT_RECALL_SOAK_SWAPS that of swaps (20).
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from instant_recall.api.client import Client
from instant_recall.events.connect import open_log
from instant_recall.events.envelope import EventDraft
from instant_recall.events.settings import Settings
from instant_recall.ops.corpus import make_drafts, make_requests
from instant_recall.ops.figures import percentiles
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.running import up
from instant_recall.workers.queue import enqueue_snapshot

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7_200)]

ITEMS = int(os.environ.get("INSTANT_RECALL_SOAK_ITEMS") or 5_000)
SWAPS = int(os.environ.get("INSTANT_RECALL_SOAK_SWAPS") or 20)
PER_S = 50
BATCH = 1_000
FAILED = ("deadline", "unreachable", "error", "refused")


class Load:
    """Pushes at a steady rate, whatever the answers: the next one is due when it is due."""

    def __init__(self, home: Path, requests: list[str]) -> None:
        self._home = home
        self._requests = requests
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.taken_ms: list[float] = []
        self.since_due_ms: list[float] = []
        self.outcomes: Counter[str] = Counter()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Under load within the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    @property
    def failed(self) -> int:
        """Pushes that brought nothing because something was wrong."""
        return sum(self.outcomes[reason] for reason in FAILED)

    def _run(self) -> None:
        with closing(Client(self._home)) as client:
            due = time.perf_counter()
            while not self._ended.wait(max(0.0, due - time.perf_counter())):
                began = time.perf_counter()
                answer = client.push(self._requests[len(self.taken_ms) % len(self._requests)])
                ended = time.perf_counter()
                self.taken_ms.append((ended - began) * 1_000)
                # From when it was due: a push that had to wait for a slow one before it is late as well.
                self.since_due_ms.append((ended - due) * 1_000)
                self.outcomes[answer.reason or "pushed"] += 1
                due += 1 / PER_S


def store(settings: Settings, drafts: list[EventDraft]) -> None:
    log = open_log(settings)
    for first in range(0, len(drafts), BATCH):
        log.append(drafts[first : first + BATCH])


def swap(settings: Settings, client: Client, changes: list[EventDraft]) -> None:
    """Write a little, have the worker build a snapshot, and wait until the API reads it."""
    before = client.status().generation
    store(settings, changes)
    enqueue_snapshot(settings)

    def swapped() -> bool:
        time.sleep(0.2)  # asked all the time, the API would be busy with that
        return client.status().generation > before

    wait_until(swapped, 600, f"the swap from generation {before}")


def test_no_push_fails_or_is_late_during_swaps_under_a_steady_load(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(home=home)
    drafts = list(make_drafts(ITEMS + 10 * SWAPS))
    with up(settings), closing(Client(home, deadline_ms=10_000)) as client:
        store(settings, drafts[:ITEMS])
        swap(settings, client, drafts[:1])
        before = client.status().generation
        for request in make_requests(50, drafts, seed=1):
            client.push(request)
        load = Load(home, make_requests(1_000, drafts))
        with load.running():
            for number in range(SWAPS):
                swap(settings, client, drafts[ITEMS + 10 * number :][:10])
        swaps = client.status().generation - before

    push_ms = percentiles(load.taken_ms)
    figures = {
        "items": ITEMS,
        "swaps": swaps,
        "pushes": len(load.taken_ms),
        "failed": load.failed,
        "push_ms": push_ms | {"max": round(max(load.taken_ms), 3)},
        "since_due_ms": percentiles(load.since_due_ms),
        "outcomes": dict(load.outcomes),
    }
    with capsys.disabled():
        print(f"\n{json.dumps(figures)}")  # noqa: T201 - the figures are what this test is run for
    assert swaps >= SWAPS
    assert load.failed == 0
    assert push_ms["p99"] < 50
    assert percentiles(load.since_due_ms)["p95"] < 50, "it cannot keep up with the load"
