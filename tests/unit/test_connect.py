from __future__ import annotations

from pathlib import Path

import pytest
from instant_recall.events.connect import connect, open_log, refuse_old_server
from instant_recall.events.envelope import draft
from instant_recall.events.errors import LogUnavailable, RecallError
from instant_recall.events.position import START
from instant_recall.events.redis_log import place
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemUnmuted, NoteRecorded
from instant_recall.tests.helpers import wait_until
from structlog.testing import capture_logs


@pytest.mark.parametrize("version", ["7.0.0", "7.2.4", "8.0.1", "10.0.0", "255.255.255"])
def test_a_server_of_today_is_taken(version: str) -> None:
    refuse_old_server({"redis_version": version}, "here")


@pytest.mark.parametrize("version", ["6.2.14", "6.9.99", "2.8", "", "unknown"])
def test_an_old_server_is_refused_by_name_with_what_to_do(version: str) -> None:
    with pytest.raises(LogUnavailable, match=r"server at here is Redis.*7\.0 or later.*REDIS_URL"):
        refuse_old_server({"redis_version": version}, "here")


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "redis://host:port/0", "://"])
def test_an_address_that_is_none_is_told_by_its_variable(url: str) -> None:
    with pytest.raises(RecallError, match="REDIS_URL cannot be used"):
        connect(Settings(home=Path("/x"), redis_url=url))


def test_an_address_that_asks_for_text_instead_of_bytes_is_refused() -> None:
    with pytest.raises(RecallError, match="decode_responses"):
        connect(Settings(home=Path("/x"), redis_url="redis://localhost/0?decode_responses=True"))


@pytest.mark.parametrize("protocol", [2, 3])
def test_either_protocol_of_the_wire_gives_the_same_log(embedded_settings: Settings, owner: str, protocol: int) -> None:
    url = f"unix://{embedded_settings.server_socket}?protocol={protocol}"
    log = open_log(Settings(home=embedded_settings.home, redis_url=url, owner=owner))
    with_payload = draft(NoteRecorded(item="note:a", text="text"))

    assert log.last_position() == START
    [first, again] = log.append([with_payload, with_payload])
    log.append([draft(ItemUnmuted(item="note:a"))])

    assert (first.duplicate, again.duplicate) == (False, True)
    assert [one.event for one in log.read(START)] == [with_payload.event, ItemUnmuted(item="note:a")]
    assert log.last_position() == log.read(first.position)[0].position
    assert log.erase_payload(with_payload.event_id) is True


def test_without_an_address_the_embedded_servers_socket_is_used() -> None:
    with connect(Settings(home=Path("/data"))) as client:
        assert place(client) == "/data/run/server.sock"


def test_a_server_that_may_forget_is_told_of_in_the_log(installed_settings: Settings) -> None:
    with connect(installed_settings) as client:
        client.config_set("appendonly", "no")
        client.config_set("maxmemory", "1gb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with capture_logs() as lines:
                open_log(installed_settings)
        finally:
            client.config_set("maxmemory", 0)
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("appendonly", "yes")
            wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"], what="the first file")

    assert [line["event"] for line in lines] == ["log.server_without_append_only_file", "log.server_evicts"]
