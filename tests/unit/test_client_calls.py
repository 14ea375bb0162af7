"""Searching and writing through the client: what is sent, what is sent again, and what a failure says."""

import asyncio
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from instant_recall import AsyncClient, Client
from instant_recall.api.messages import (
    ErrorResponse,
    Published,
    PublishEvent,
    PublishResponse,
    PushRequest,
    WhyResponse,
    WriteResponse,
)
from instant_recall.api.transport import StrangeAnswer
from instant_recall.events.envelope import Actor, Source, draft
from instant_recall.events.errors import (
    InvalidEvent,
    LogFull,
    LogUnavailable,
    NotFound,
    NotRunning,
    RecallError,
    Refused,
)
from instant_recall.events.types import ItemMuted, NoteRecorded
from instant_recall.tests.raw_server import answer, raw_server, read_request

STORED = answer(msgspec.json.encode(PublishResponse(events=(Published(event_id="e", position="1-0"),), position="1-0")))
WRITTEN = answer(msgspec.json.encode(WriteResponse(event_id="e", position="1-0", item="note:x")))


class Recording:
    """Answers everything with `reply` and keeps what was asked. None: never answers. b"": hangs up."""

    def __init__(self, *replies: bytes | None) -> None:
        self.bodies: list[Any] = []
        self.replies = list(replies)

    def __call__(self, connection: socket.socket) -> None:
        while True:
            self.bodies.append(msgspec.json.decode(read_request(connection)))
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
            if reply is None:
                connection.recv(1)
                return
            if reply == b"":
                connection.shutdown(socket.SHUT_RDWR)
                return
            connection.sendall(reply)


def test_a_plain_event_is_published_with_what_was_said_about_it() -> None:
    with raw_server(record := Recording(STORED)) as server:
        client = Client(server.home, session="s1")
        client.publish(NoteRecorded(item="note:x", text="hi"), audience=("owner", "lab"), actor=Actor(kind="agent"))
    (sent,) = record.bodies[0]["events"]
    assert sent["type"] == "note_recorded"
    assert sent["body"]["item"] == "note:x"
    assert sent["body"]["text"] == "hi"
    assert "type" not in sent["body"]
    assert sent["audience"] == ["owner", "lab"]
    assert sent["actor"]["kind"] == "agent"
    assert sent["source"]["session"] == "s1"
    assert len(sent["event_id"]) == 36


def test_drafts_and_published_events_keep_what_they_have() -> None:
    mine = draft(ItemMuted(item="skill:x"), source=Source(uri="file:x"), occurred_at=5)
    theirs = PublishEvent(type="item_muted", body={"item": "skill:y"}, event_id="0" * 36)
    with raw_server(record := Recording(STORED)) as server:
        Client(server.home).publish([mine, theirs], audience=("others",))
    first, second = record.bodies[0]["events"]
    assert (first["event_id"], first["occurred_at"], first["source"]["uri"]) == (mine.event_id, 5, "file:x")
    assert second["event_id"] == "0" * 36
    assert second.get("audience", ["owner"]) == ["owner"]


@pytest.mark.parametrize("failure", [None, b""])
def test_a_write_without_an_answer_is_sent_again_with_the_same_ids(failure: bytes | None) -> None:
    with raw_server(record := Recording(failure, STORED)) as server:
        Client(server.home, timeout_s=0.2).publish([ItemMuted(item="skill:x"), ItemMuted(item="skill:y")])
    first, second = record.bodies
    assert first == second


@pytest.mark.parametrize("failure", [None, b""])
def test_a_write_never_answered_says_that_it_may_be_stored_and_can_be_repeated(failure: bytes | None) -> None:
    with raw_server(record := Recording(failure)) as server:
        client = Client(server.home, timeout_s=0.2)
        with pytest.raises(LogUnavailable, match="may or may not be stored") as failed:
            client.remember("text", event_id="11111111-1111-7111-8111-111111111111")
    assert len(record.bodies) == 2
    assert "11111111-1111-7111-8111-111111111111" in str(failed.value)


def test_a_write_that_a_dying_server_may_have_stored_is_not_reported_as_never_sent() -> None:
    def die(connection: socket.socket) -> None:
        read_request(connection)
        server.close_listener()
        connection.shutdown(socket.SHUT_RDWR)

    with raw_server(die) as server, pytest.raises(LogUnavailable, match="may or may not"):
        Client(server.home).correct("request", "skill:x")


def test_a_write_on_a_kept_connection_that_was_closed_goes_out_on_a_fresh_one() -> None:
    def once(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(WRITTEN)
        connection.shutdown(socket.SHUT_RDWR)

    with raw_server(once) as server:
        client = Client(server.home)
        assert [client.remember("x").item for _ in range(5)] == ["note:x"] * 5


def test_a_question_without_an_answer_says_so() -> None:
    with raw_server(Recording(None)) as server, pytest.raises(LogUnavailable, match=r"no answer within 0\.1 s"):
        Client(server.home, timeout_s=0.1).search("x")


def test_without_a_server_everything_but_push_says_how_to_start_one() -> None:
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        client = Client(folder)
        calls: list[Callable[[], object]] = [
            client.status,
            lambda: client.search("x"),
            lambda: client.open("note:x"),
            lambda: client.remember("x"),
            lambda: client.correct("r", "skill:x"),
            lambda: client.publish(ItemMuted(item="skill:x")),
            lambda: client.opened("skill:x"),
            lambda: client.helped("skill:x", "s"),
            lambda: client.rejected("skill:x", "r"),
        ]
        for call in calls:
            with pytest.raises(NotRunning, match="instant-recall up"):
                call()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("not_found", NotFound),
        ("refused", Refused),
        ("invalid", InvalidEvent),
        ("unavailable", LogUnavailable),
        ("full", LogFull),
        ("internal", RecallError),
        ("of a later version", RecallError),
    ],
)
def test_a_failure_is_raised_as_its_own_kind_with_the_servers_words(code: str, kind: type[RecallError]) -> None:
    failed = answer(msgspec.json.encode(ErrorResponse(error=code, message="what to do")), "500 X")
    with raw_server(Recording(failed)) as server, pytest.raises(kind, match="what to do") as raised:
        Client(server.home).open("note:x")
    assert type(raised.value) is kind


def test_another_program_on_the_socket_is_named_as_that() -> None:
    with raw_server(Recording(answer(b"<html>"))) as server, pytest.raises(StrangeAnswer, match="which program"):
        Client(server.home).search("x")


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.search(cast(Any, None)),
        lambda client: client.search("x", kinds="skill"),
        lambda client: client.search("x", limit=cast(Any, "many")),
        lambda client: client.search("x", limit=-1),
        lambda client: client.open(cast(Any, b"note:x")),
        lambda client: client.remember("x" * 9_000_000),
        lambda client: client.remember("\ud800"),
        lambda client: client.remember("x", kind=cast(Any, "sklil")),
        lambda client: client.correct("x", cast(Any, None)),
        lambda client: client.publish(cast(Any, "item_muted")),
        lambda client: client.publish(cast(Any, [{"type": "item_muted"}])),
        lambda client: client.publish(PublishEvent(type="x", body={"a": object()})),
    ],
)
def test_arguments_that_cannot_be_sent_are_refused_before_anything_is_sent(call: Callable[[Client], object]) -> None:
    with raw_server(record := Recording(STORED)) as server:
        with pytest.raises(InvalidEvent):
            call(Client(server.home))
        assert not record.bodies
        assert server.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://192.168.1.5:80",
        "http://example.com:80",
        "http://127.0.0.1",
        "http://127.0.0.1:notaport",
        "http://user:secret@127.0.0.1:80",
        "ftp://127.0.0.1:80",
        "http://127.0.0.1:80/prefix",
        "127.0.0.1:80",
        "http://[::1",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(RecallError) as refused:
        Client(url=url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:80", "http://localhost:80/", "http://[::1]:80", "https://example.com"]
)
def test_loopback_and_https_are_fine(url: str) -> None:
    Client(url=url)


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "two words", "šifra", "nul\0"])
def test_a_token_that_would_break_the_header_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(RecallError, match="as it was shown") as refused:
        Client(url="http://127.0.0.1:80", token=token)
    assert token not in str(refused.value)


def test_the_async_twin_has_the_same_methods_and_raises_the_same() -> None:
    missing = {name for name in vars(Client) if not name.startswith("_")} - set(vars(AsyncClient)) - {"close"}
    assert not missing

    async def go(home: Path) -> None:
        client = AsyncClient(home)
        assert (await client.remember("x")).item == "note:x"
        with pytest.raises(InvalidEvent):
            await client.search(cast(Any, None))

    with raw_server(Recording(WRITTEN)) as server:
        asyncio.run(go(server.home))


def test_what_is_not_asked_for_is_not_sent_so_an_older_server_does_not_refuse_it() -> None:
    assert msgspec.json.decode(msgspec.json.encode(PushRequest(request="x"))) == {"request": "x"}


def test_why_sends_what_is_asked_and_reads_the_verdict() -> None:
    ranks: dict[str, int | None] = {"use_words": 1, "topic_words": None}
    reply = WhyResponse(item="note:x", gate="drowned", cut="bar", ranks=ranks, rank=2, bar=0.1, words="Below the bar.")
    with raw_server(record := Recording(answer(msgspec.json.encode(reply)))) as server:
        told = Client(server.home, session="s1").why("where is x", "x", for_reader="sub:lab", as_of="1767225600000-0")
    assert told == reply
    assert record.bodies == [
        {"request": "where is x", "item": "x", "for_reader": "sub:lab", "session": "s1", "as_of": "1767225600000-0"}
    ]
