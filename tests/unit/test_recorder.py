"""Accesses written behind the requests' backs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest
from instant_recall.api import recorder as module
from instant_recall.api.messages import PublishEvent, PublishRequest, PushRequest, RememberRequest
from instant_recall.api.recorder import Recorder
from instant_recall.api.service import Service
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.errors import LogUnavailable
from instant_recall.events.log import Appended
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.events.types import ItemOpened, PushServed
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.small_world import encoder

REPORT = "download the quarterly report from the portal"


class GoesAway(MemoryEventLog):
    """A log that can be away, or fail in a way that nobody thought of."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None
        self.tries = 0

    def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
        """Append, or fail."""
        self.tries += 1
        if self.failure is not None:
            raise self.failure
        return super().append(drafts)


@pytest.fixture
def log() -> GoesAway:
    return GoesAway()


@pytest.fixture
def recorder(log: GoesAway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    monkeypatch.setattr(module, "_AGAIN_S", 0.01)
    recorder = Recorder(log)
    yield recorder
    recorder.close()


def opened(item: str, session: str = "") -> EventDraft:
    return draft(ItemOpened(item=item, reader="owner", session=session))


def recorded(log: GoesAway) -> list[str]:
    return [event.event.item for event in log.read(START) if isinstance(event.event, ItemOpened)]


def test_accesses_wait_while_the_log_is_away(log: GoesAway, recorder: Recorder) -> None:
    log.failure = LogUnavailable()
    recorder(opened("note:1"))
    wait_until(lambda: log.tries > 1, what="a second try")
    recorder(opened("note:2"))
    log.failure = None

    wait_until(lambda: recorded(log) == ["note:1", "note:2"], what="writing both in order")


def test_an_access_that_cannot_be_stored_takes_no_other_with_it(log: GoesAway, recorder: Recorder) -> None:
    log.failure = LogUnavailable()
    recorder(opened("note:first"))
    wait_until(lambda: log.tries > 0, what="the first try")
    for access in (opened("note:1"), opened("note:2", session="bad\0session"), opened("note:3")):
        recorder(access)
    log.failure = None
    recorder.close()

    assert recorded(log) == ["note:first", "note:1", "note:3"]


def test_after_a_failure_that_nobody_thought_of_accesses_are_written_again(log: GoesAway, recorder: Recorder) -> None:
    log.failure = OSError("out of processes")
    recorder(opened("note:1"))
    wait_until(lambda: log.tries > 0, what="the first try")
    log.failure = None
    recorder(opened("note:2"))

    wait_until(lambda: recorded(log)[-1:] == ["note:2"], what="writing the second")


def test_the_end_does_not_wait_for_a_log_that_is_away(log: GoesAway, recorder: Recorder) -> None:
    log.failure = LogUnavailable()
    recorder(opened("note:1"))
    recorder.close()

    assert not recorder._thread.is_alive()
    assert recorded(log) == []


def test_what_became_of_a_pointer_stands_behind_its_push() -> None:
    class Slow(MemoryEventLog):
        """Takes its time over pushes."""

        def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
            if any(isinstance(one.event, PushServed) for one in drafts):
                time.sleep(0.05)
            return super().append(drafts)

    log = Slow()
    recorder = Recorder(log)
    service = Service(log, encoder(), record=recorder)
    try:
        service.remember(RememberRequest(text="Drives a browser", name="lark", kind="skill", use_when=(REPORT,)))
        service.push(PushRequest(request=REPORT, session="s"))
        body = {"item": "skill:lark", "session": "s"}
        service.publish(PublishRequest(events=(PublishEvent(type="pointer_rejected", body=body),)))
        assert service.push(PushRequest(request=REPORT)).pointers == ()
    finally:
        recorder.close()


def test_who_waits_for_a_log_that_is_away_is_let_go(log: GoesAway, recorder: Recorder) -> None:
    log.failure = LogUnavailable()
    recorder(opened("note:1"))
    assert not recorder.settle(within_s=0.05)
    log.failure = None

    assert recorder.settle(within_s=5.0)
    assert recorded(log) == ["note:1"]
