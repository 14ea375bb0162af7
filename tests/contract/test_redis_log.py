"""The contract on the embedded server and on the installed one, and what only a server can do wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import redis
from instant_recall.events.connect import connect
from instant_recall.events.envelope import UnreadableEvent, draft
from instant_recall.events.errors import LogFull, LogUnavailable
from instant_recall.events.log import EventLog
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemUnmuted
from instant_recall.tests.contract.event_log import EventLogContract, names, note


class RedisContract(EventLogContract):
    client: redis.Redis

    def make_log(self, owner: str) -> EventLog:
        return RedisEventLog(self.client, owner)

    def store_raw(self, log: EventLog, event_id: str, envelope: bytes, payload: bytes) -> None:
        self.client.xadd(f"ir:{{{log.owner}}}:log", {"id": event_id, "e": envelope})
        if payload:
            self.client.hset(f"ir:{{{log.owner}}}:payloads", event_id, payload)

    def test_entries_that_somebody_else_put_into_the_stream_hide_nothing(self, log: EventLog) -> None:
        log.append([note("first")])
        self.client.xadd(f"ir:{{{log.owner}}}:log", {b"\xff": b"\xff", "id": b"\xff"})
        log.append([note("last")])

        assert names(log.read(START)) == ["first", "last"]
        assert isinstance(log.read(START)[1].event, UnreadableEvent)

    @pytest.mark.parametrize("part", ["log", "ids", "payloads"])
    def test_a_key_of_another_type_is_told_and_nothing_is_half_stored(self, log: EventLog, part: str) -> None:
        self.client.set(f"ir:{{{log.owner}}}:{part}", "somebody else's")

        with pytest.raises(LogUnavailable, match="something else"):
            log.append([note("a")])

        assert self.client.keys(f"ir:{{{log.owner}}}:*") == [f"ir:{{{log.owner}}}:{part}".encode()]

    def test_a_server_that_forgot_the_scripts_is_told_them_again(self, log: EventLog) -> None:
        log.append([note("a")])
        self.client.script_flush()
        log.append([note("b")])
        self.client.script_flush()

        assert names(log.read(START)) == ["a", "b"]

    def test_the_last_position_stays_when_the_events_were_archived_and_trimmed(self, log: EventLog) -> None:
        [appended] = log.append([note("a")])
        self.client.xtrim(f"ir:{{{log.owner}}}:log", maxlen=0, approximate=False)

        assert log.last_position() == appended.position

    def test_text_is_kept_beside_the_stream_only(self, log: EventLog) -> None:
        log.append([note("a", text="the secret")])

        [(_, entry)] = cast("list[Any]", self.client.xrange(f"ir:{{{log.owner}}}:log"))
        assert set(entry) == {b"id", b"e"}
        assert b"the secret" not in entry[b"e"]
        [payload] = self.client.hvals(f"ir:{{{log.owner}}}:payloads")
        assert b"the secret" in payload

    def test_a_server_at_its_memory_limit_refuses_and_keeps_what_it_has(self, log: EventLog) -> None:
        log.append([note("a")])
        self.client.config_set("maxmemory", 1)
        try:
            with pytest.raises(LogFull, match="memory limit"):
                log.append([note("b"), note("c")])
            assert names(log.read(START)) == ["a"]
        finally:
            self.client.config_set("maxmemory", 0)

        log.append([note("d")])
        assert names(log.read(START)) == ["a", "d"]


class TestOnTheEmbeddedServer(RedisContract):
    @pytest.fixture(autouse=True)
    def _connect(self, embedded_client: redis.Redis) -> None:
        self.client = embedded_client


class TestOnTheInstalledServer(RedisContract):
    @pytest.fixture(autouse=True)
    def _connect(self, installed_client: redis.Redis) -> None:
        self.client = installed_client


def test_without_a_server_the_error_says_what_to_do_and_recovery_was_tried_once(home: Path) -> None:
    calls: list[int] = []
    client = connect(Settings(home=home))
    log = RedisEventLog(client, "owner", recover=lambda: calls.append(1))

    with pytest.raises(LogUnavailable, match=r"server\.sock.*instant-recall up"):
        log.append([draft(ItemUnmuted(item="note:a"))])

    assert calls == [1]
