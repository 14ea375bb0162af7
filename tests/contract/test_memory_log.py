from __future__ import annotations

import pytest
from instant_recall.events.codec import Encoded
from instant_recall.events.envelope import draft
from instant_recall.events.log import EventLog
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START, Position
from instant_recall.events.types import ItemUnmuted
from instant_recall.tests.contract.event_log import EventLogContract
from instant_recall.tests.helpers import FixedClock


class TestMemoryEventLog(EventLogContract):
    def make_log(self, owner: str) -> EventLog:
        return MemoryEventLog(owner)

    def store_raw(self, log: EventLog, event_id: str, envelope: bytes, payload: bytes) -> None:
        assert isinstance(log, MemoryEventLog)
        log._append_one(event_id, Encoded(envelope, payload), 0)


def test_positions_go_on_when_the_clock_steps_back(clock: FixedClock) -> None:
    log = MemoryEventLog(clock=clock)
    given = []
    for step in (0, 0, -5_000, 4_999, 2):
        clock.advance(step)
        given += log.append([draft(ItemUnmuted(item="note:a"))])

    now = clock.now - 1
    assert [one.position for one in given] == [*(Position(now, n) for n in range(4)), Position(now + 1, 0)]


@pytest.mark.parametrize("broken", [0, -1])
def test_a_clock_that_was_never_set_still_gives_positions_behind_the_start(broken: int) -> None:
    log = MemoryEventLog(clock=FixedClock(broken))

    [appended] = log.append([draft(ItemUnmuted(item="note:a"))])

    assert appended.position > START
    assert len(log.read(START)) == 1
