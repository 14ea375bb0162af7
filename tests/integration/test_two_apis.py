"""Two API processes on one log, each with a data folder of its own, give the same answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from instant_recall.api.client import Client
from instant_recall.api.messages import PushResponse
from instant_recall.events.connect import open_log
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemMuted, PushServed
from instant_recall.ops.corpus import make_drafts
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.running import api, recall

REQUESTS = (
    "check the camera on the lab machine",
    "get the quarterly figures",
    "where is the key to the chart room",
    "train it again with the setup we used last time",
    "thanks",
)


@pytest.fixture(scope="module")
def both(embedded_settings: Settings) -> list[Settings]:
    """Two data folders whose log is one owner's on one server."""
    url = f"unix://{embedded_settings.server_socket}"
    owner = f"two-apis-{uuid.uuid4().hex[:12]}"
    return [Settings(embedded_settings.home / owner / name, redis_url=url, owner=owner) for name in ("a", "b")]


@pytest.fixture(scope="module")
def clients(both: list[Settings]) -> Iterator[list[Client]]:
    """A client of an API process for each folder; there are a hundred items to begin with. Shared by all tests here."""
    open_log(both[0]).append(list(make_drafts(100)))
    with ExitStack() as running:
        yield [running.enter_context(api(settings)) for settings in both]


def same(clients: list[Client], request: str, at_least: str) -> PushResponse:
    """What both answer, which has to be the same to the byte."""
    first, second = (client.push(request, min_position=at_least) for client in clients)
    assert not first.stale
    assert not second.stale
    assert first.pointers == second.pointers
    assert first.block.encode() == second.block.encode()
    assert (first.tokens, first.reason) == (second.tokens, second.reason)
    return first


def test_both_know_what_was_written_through_either(clients: list[Client]) -> None:
    texts = ("the long lens is for the lab camera", "the key to the chart room hangs behind the desk")
    shown: list[tuple[str, ...]] = []
    for number in range(10):
        writer = clients[number % 2]
        written = writer.remember(texts[number // 2 % 2], name=f"written {number}", use_when=(REQUESTS[number % 3],))
        pushed = [same(clients, request, written.position) for request in REQUESTS]
        shown.append(tuple(pointer.item for pointer in pushed[number % 3].pointers))

    assert all(shown), "what was just written for a request was not pushed"
    assert len(set(shown)) > 3, "the answers never changed, so that they are the same says little"


def test_corrections_and_mutes_through_one_change_the_answers_of_the_other(clients: list[Client]) -> None:
    a, b = clients
    written = a.remember("drives a logged-in browser", name="portal helper")
    corrected = b.correct("get the quarterly figures", written.item)
    assert written.item in items(same(clients, "get the quarterly figures", corrected.position))

    muted = a.publish(ItemMuted(item=written.item))
    assert written.item not in items(same(clients, "get the quarterly figures", muted.position))


def test_a_snapshot_that_only_one_of_them_has_changes_no_answer(both: list[Settings], clients: list[Client]) -> None:
    a, b = clients
    before = a.remember("the long lens is for the lab camera", name="long lens")
    answers = [same(clients, request, before.position).block for request in REQUESTS]

    assert recall(both[0], "snapshot")["outcome"] == "published"
    wait_until(lambda: a.status().generation == 1, 10, "the take-over of the snapshot")

    assert b.status().generation == 0
    assert [same(clients, request, before.position).block for request in REQUESTS] == answers
    after = b.remember("the short lens is for the bench", name="short lens")
    assert after.item in items(same(clients, "which lens is for the bench?", after.position))


def test_what_one_has_pushed_in_a_session_the_other_does_not_push_again(
    both: list[Settings], clients: list[Client]
) -> None:
    a, b = clients
    written = a.remember("the red flask holds the fixing bath", name="red flask")
    log = open_log(both[0])
    pushed = a.push("what is in the red flask?", session="s", min_position=written.position)
    assert written.item in items(pushed)
    wait_until(lambda: any(isinstance(one.event, PushServed) for one in log.read(START)), what="the access in the log")
    seen = str(log.last_position())

    again = b.push("what is in the red flask?", session="s", min_position=seen)
    elsewhere = b.push("what is in the red flask?", session="another", min_position=seen)

    assert written.item not in items(again)
    assert written.item in items(elsewhere)


def test_a_folder_without_the_archive_of_its_log_is_told_so_and_one_that_shares_it_answers_the_same(
    embedded_settings: Settings, owner: str
) -> None:
    url = f"unix://{embedded_settings.server_socket}"
    a, b, shares = (Settings(embedded_settings.home / owner / name, redis_url=url, owner=owner) for name in "abc")
    open_log(a).append(list(make_drafts(20)))
    recall(a, "snapshot")
    assert recall(a, "archive", "--older-than", "0")["segments"]

    refused = recall(b, "replay", code=1)
    assert "archive" in refused["message"]

    shares.home.mkdir(parents=True)
    (shares.home / "archive").symlink_to(a.home / "archive")
    assert recall(shares, "replay")["items"] == recall(a, "replay")["items"]


def items(pushed: PushResponse) -> list[str]:
    return [pointer.item for pointer in pushed.pointers]
