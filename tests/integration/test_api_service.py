"""The whole way: the client, HTTP, and the real service over a log in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from instant_recall import Client
from instant_recall.api.service import Service
from instant_recall.events.envelope import draft
from instant_recall.events.errors import InvalidEvent, NotFound
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import AssetRecorded, ItemClosed, NoteRecorded
from instant_recall.projections.meaning.encoders import load_encoders
from instant_recall.tests.api_stand_in import serving


@pytest.fixture
def client() -> Iterator[Client]:
    with serving(Service(MemoryEventLog(), load_encoders())) as home:
        yield Client(home, deadline_ms=5_000)


def test_what_is_remembered_is_found_and_opened(client: Client) -> None:
    kept = client.remember("The camera's lens is cleaned with the blue cloth.", name="camera care")
    assert client.search("lens", min_position=kept.position).found[0].item == kept.item
    assert "blue cloth" in client.open(kept.item).text


def test_a_correction_is_in_the_very_next_push(client: Client) -> None:
    client.remember("Drives a logged-in browser.", kind="skill", name="portal-helper", item="skill:portal-helper")
    for n in range(20):
        request = f"fetch the quarterly figures number {n} from the company site"
        client.correct(request, "skill:portal-helper")
        assert "skill:portal-helper" in [pointer.item for pointer in client.push(request).pointers]


def test_an_event_published_twice_is_stored_once(client: Client) -> None:
    once = draft(NoteRecorded(item="note:x", text="text of x"))
    first, second = client.publish(once), client.publish(once)
    assert (first.events[0].duplicate, second.events[0].duplicate) == (False, True)
    assert first.position == second.position


def test_a_batch_with_one_bad_event_stores_nothing(client: Client) -> None:
    before = client.status().position
    bad = AssetRecorded(item="skill:x", kind="no such kind")  # type: ignore[arg-type]
    with pytest.raises(InvalidEvent):
        client.publish([NoteRecorded(item="note:x", text="x"), bad])
    assert client.status().position == before


def test_bad_questions_are_refused_with_what_is_wrong(client: Client) -> None:
    with pytest.raises(NotFound):
        client.open("note:none")
    with pytest.raises(NotFound):
        client.correct("request", "skill:none")
    with pytest.raises(InvalidEvent, match="position"):
        client.search("x", min_position="yesterday")
    assert client.push("find the report", min_position="yesterday").reason == "error"


def test_what_is_closed_is_not_pushed_any_more(client: Client) -> None:
    client.remember("Drives a logged-in browser.", kind="skill", name="portal-helper", item="skill:portal-helper")
    assert client.push("use the portal-helper skill").pointers
    client.publish(ItemClosed(item="skill:portal-helper", reason="gone"))
    assert not client.push("use the portal-helper skill").pointers


def test_readers_and_writers_at_once_each_get_their_answers(client: Client) -> None:
    def work(n: int) -> bool:
        kept = client.remember(f"Fact number {n} about topic{n}.", item=f"note:fact-{n}")
        found = client.search(f"topic{n}", min_position=kept.position).found
        return bool(found) and found[0].item == f"note:fact-{n}"

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(80)))
