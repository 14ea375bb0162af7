"""The follower: an overlay at the tail of the log, shared by requests."""

from __future__ import annotations

import threading
import time

import pytest
from instant_recall.api import follower as following
from instant_recall.api.follower import Follower
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.small_world import encoder, note


def test_whoever_may_wait_lets_others_in_between_while_catching_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that takes in a whole import must not hold a push up for as long as that takes."""
    log = MemoryEventLog()
    follower = Follower(log, encoder())
    log.append([draft(note(f"n{n}", "Something about cameras")) for n in range(40)])
    monkeypatch.setattr(following, "STEP", 2)
    step = Follower._step

    def slow_step(self: Follower, overlay: object) -> tuple[bool, bool]:
        time.sleep(0.05)
        return step(self, overlay)  # type: ignore[arg-type]

    monkeypatch.setattr(Follower, "_step", slow_step)
    patient = threading.Thread(target=follower.follow, args=(30,))
    patient.start()
    wait_until(lambda: len(follower._overlay) > 0)
    began = time.monotonic()
    with follower.at_tail(0.0) as (_, complete):
        waited = time.monotonic() - began
    patient.join()

    assert not complete
    assert waited < 0.5
    with follower.at_tail(0.0) as (overlay, complete):
        assert (len(overlay), complete) == (40, True)


def test_a_budget_that_runs_out_answers_as_of_where_it_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "STEP", 2)
    log = MemoryEventLog()
    follower = Follower(log, encoder())
    log.append([draft(note(f"n{n}", "Something about cameras")) for n in range(5)])

    with follower.at_tail(-1) as (overlay, complete):
        assert (len(overlay), complete) == (2, False)
    with follower.at_tail(30) as (overlay, complete):
        assert (len(overlay), complete) == (5, True)
