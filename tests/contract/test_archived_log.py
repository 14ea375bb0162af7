"""The contract once more, on a log whose older part is in an archive; its readers must not be able to tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import redis
from instant_recall.events.archive import Archive
from instant_recall.events.envelope import EventDraft
from instant_recall.events.log import Appended, EventLog
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.tests.contract.event_log import EventLogContract, names, note
from instant_recall.workers.trimming import Stream


class ArchivingLog(RedisEventLog):
    """Moves the older half of the stream into the archive after every append; of a single event, all of it."""

    def __init__(self, client: redis.Redis, owner: str, root: Path) -> None:
        self.client = client
        self.archive = Archive(root / owner, owner)
        self.stream = Stream(client, owner)
        super().__init__(client, owner, archive=self.archive)

    def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
        results = super().append(drafts)
        self.move()
        return results

    def move(self) -> None:
        with self.archive.lock():
            before = self.trimmed()
            there = self.stored(before, 1_000)
            if older := there[: (len(there) + 1) // 2]:
                self.archive.write(older)
                assert self.stream.trim(older, before) == []


class TestHalfOfTheEventsArchived(EventLogContract):
    client: redis.Redis
    root: Path

    @pytest.fixture(autouse=True)
    def _prepare(self, embedded_client: redis.Redis, tmp_path: Path) -> None:
        self.client, self.root = embedded_client, tmp_path

    def make_log(self, owner: str) -> EventLog:
        return ArchivingLog(self.client, owner, self.root)

    def store_raw(self, log: EventLog, event_id: str, envelope: bytes, payload: bytes) -> None:
        assert isinstance(log, ArchivingLog)
        self.client.xadd(f"ir:{{{log.owner}}}:log", {"id": event_id, "e": envelope})
        if payload:
            self.client.hset(f"ir:{{{log.owner}}}:payloads", event_id, payload)
        log.move()

    def test_the_suite_is_about_archived_events(self, log: EventLog) -> None:
        log.append([note(str(n)) for n in range(10)])

        assert isinstance(log, ArchivingLog)
        assert self.client.xlen(f"ir:{{{log.owner}}}:log") == 5
        assert len(log.archive.read(START, 100)) == 5
        assert names(log.read(START)) == [str(n) for n in range(10)]
