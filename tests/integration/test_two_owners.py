"""Two owners on one server never see each other, by any door, whatever they call their things."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
import redis
from instant_recall.api.client import Client
from instant_recall.events.connect import open_log
from instant_recall.events.envelope import draft
from instant_recall.events.errors import NotFound, RecallError
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.events.types import NoteRecorded
from instant_recall.tests.running import api, recall
from instant_recall.workers.jobs import build_snapshot
from instant_recall.workers.queue import enqueue_snapshot, queue
from rq import SimpleWorker
from rq.serializers import JSONSerializer

REQUEST = "what is the combination of the chart room's safe?"
TEXT = "the safe in the chart room opens with anna's birthday"


class Pair(NamedTuple):
    """One thing for each owner."""

    anna: Any
    bob: Any


@pytest.fixture(scope="module")
def settings(embedded_settings: Settings) -> Pair:
    """Two owners, one server; one's name begins with the other's, and each has a data folder."""
    url = f"unix://{embedded_settings.server_socket}"
    name = f"anna-{uuid.uuid4().hex[:12]}"
    return Pair(*(Settings(embedded_settings.home / who, redis_url=url, owner=who) for who in (name, f"{name}-bob")))


@pytest.fixture(scope="module")
def clients(settings: Pair) -> Iterator[Pair]:
    """A client of an API process for each; Anna has one thing, Bob none."""
    with ExitStack() as running:
        both = Pair(*(running.enter_context(api(each)) for each in settings))
        both.anna.remember(TEXT, name="chart room safe", use_when=(REQUEST,))
        yield both


def count_of(settings: Settings) -> int:
    """Events in an owner's log."""
    return len(open_log(settings).read(START, 10_000))


def what_is_told(ask: Client, address: str) -> str:
    """The error with which opening an address fails."""
    with pytest.raises(NotFound) as refused:
        ask.open(address)
    return str(refused.value)


def test_what_one_has_is_pushed_and_found_for_that_one_only(clients: Pair) -> None:
    assert [pointer.item for pointer in clients.anna.push(REQUEST).pointers] == ["note:chart-room-safe"]
    assert [found.item for found in clients.anna.search("safe").found] == ["note:chart-room-safe"]

    pushed = clients.bob.push(REQUEST)
    assert (pushed.pointers, pushed.block, pushed.reason) == ((), "", "nothing_fits")
    assert clients.bob.search("safe").found == ()


def test_what_the_other_has_cannot_be_opened_or_corrected_and_is_told_like_what_nobody_has(clients: Pair) -> None:
    assert TEXT in clients.anna.open("note:chart-room-safe").text
    assert what_is_told(clients.bob, "note:chart-room-safe") == what_is_told(clients.bob, "note:nobody-has-this")
    told = []
    for item in ("note:chart-room-safe", "chart room safe", "note:nobody-has-this"):
        with pytest.raises(RecallError) as refused:
            clients.bob.correct("where is it", item)
        told.append((type(refused.value), str(refused.value)))
    assert len(set(told)) == 1


def test_neither_status_counts_what_the_other_has(clients: Pair, settings: Pair) -> None:
    anna, bob = clients.anna.status(), clients.bob.status()

    assert (anna.owner, bob.owner) == (settings.anna.owner, settings.bob.owner)
    assert anna.items == {"note": 1}
    assert bob.items == {}
    assert recall(settings.bob, "replay")["items"] == {}


def test_one_id_for_two_things_is_one_thing_for_each(settings: Pair) -> None:
    logs = Pair(*(open_log(each) for each in settings))
    shared = [draft(NoteRecorded(item="note:shared", text=f"{who}'s")) for who in ("anna", "bob")]
    same_id = str(uuid.uuid4())
    with_id = [draft(one.event, event_id=same_id) for one in shared]
    assert [log.append([one])[0].duplicate for log, one in zip(logs, with_id, strict=True)] == [False, False]

    assert logs.anna.erase_payload(same_id)

    last = [log.read(START)[-1].event for log in logs]
    assert [cast("NoteRecorded", event).text for event in last] == ["", "bob's"]


def test_neither_export_nor_backup_holds_anything_of_the_other(clients: Pair, settings: Pair, tmp_path: Path) -> None:
    for what in ("events", "items"):
        for who, each in zip(("anna", "bob"), settings, strict=True):
            recall(each, "export", what, str(tmp_path / f"{who}-{what}"))
    assert TEXT in (tmp_path / "anna-events").read_text()
    assert TEXT in (tmp_path / "anna-items").read_text()
    for what in ("events", "items"):
        assert "chart" not in (tmp_path / f"bob-{what}").read_text().replace(REQUEST, "")  # Bob asked that himself

    of_anna, of_bob = (recall(each, "backup", str(tmp_path / each.owner)) for each in settings)
    assert (of_anna["owner"], of_bob["owner"]) == (settings.anna.owner, settings.bob.owner)
    assert of_anna["events"] == count_of(settings.anna)
    assert of_bob["events"] == count_of(settings.bob)


def test_the_doctor_of_one_tells_nothing_of_the_other(clients: Pair, settings: Pair) -> None:
    examined = recall(settings.bob, "doctor", code=1)  # an API without an `up` is not well
    told = json.dumps(examined).replace(settings.bob.owner, "")

    assert settings.anna.owner not in told.replace(str(settings.bob.home), "")
    assert "chart" not in told


def test_what_was_shown_in_a_session_of_one_is_still_shown_in_that_session_of_the_other(clients: Pair) -> None:
    for client in clients:
        client.remember("the ladder hangs in the boat shed", name="ladder")
    shown = [
        [pointer.item for pointer in client.push("where is the ladder?", session="s").pointers] for client in clients
    ]

    assert shown == [["note:ladder"], ["note:ladder"]]


def test_no_key_in_the_server_belongs_to_both(clients: Pair, settings: Pair, embedded_client: redis.Redis) -> None:
    for each in settings:
        build_snapshot(str(each.home), each.redis_url, each.owner)
        enqueue_snapshot(each)
    keys = {key.decode() for key in cast("list[bytes]", embedded_client.keys("*"))}
    mine = [{key for key in keys if f"{{{each.owner}}}" in key or key.endswith(f":{each.owner}")} for each in settings]

    assert all(
        {f"ir:{{{each.owner}}}:log", f"rq:queue:instant-recall:{each.owner}"} <= held
        for each, held in zip(settings, mine, strict=True)
    )
    assert mine[0] & mine[1] == set()
    assert {key for key in keys if settings.anna.owner in key} == mine[0] | mine[1]


def test_a_worker_of_one_leaves_the_jobs_of_the_other_alone(settings: Pair, embedded_client: redis.Redis) -> None:
    job = enqueue_snapshot(settings.anna)
    waiting = queue(embedded_client, settings.anna.owner)
    before = waiting.count

    SimpleWorker(
        [queue(embedded_client, settings.bob.owner)], connection=embedded_client, serializer=JSONSerializer
    ).work(burst=True, logging_level="WARNING")

    assert job in waiting.job_ids
    assert waiting.count == before
    assert queue(embedded_client, settings.bob.owner).count == 0


def test_even_in_one_data_folder_the_snapshot_of_one_is_never_served_to_the_other(
    settings: Pair, clients: Pair
) -> None:
    guest = Settings(settings.anna.home, redis_url=settings.bob.redis_url, owner=f"{settings.anna.owner}-guest")
    assert (
        build_snapshot(str(settings.anna.home), settings.anna.redis_url, settings.anna.owner)["outcome"] == "published"
    )

    assert recall(guest, "replay")["generation"] == 0
    assert build_snapshot(str(guest.home), guest.redis_url, guest.owner)["counts"]["items"] == 0
    assert recall(settings.anna, "replay")["same"]
    assert settings.anna.snapshots_dir != guest.snapshots_dir
