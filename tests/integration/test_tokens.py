"""Tokens over a real socket: whose one counts, what its reader may do, and that nothing else makes a difference."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall import AsyncClient, Client
from instant_recall.api import peers
from instant_recall.api.auth import hash_token, make_token
from instant_recall.api.callers import OWNER, Caller
from instant_recall.api.messages import (
    PublishEvent,
    PushRequest,
    PushResponse,
    RememberRequest,
    Request,
    StatusResponse,
)
from instant_recall.api.openapi import OPERATIONS, Operation
from instant_recall.api.server import Tcp, create_app, serve
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, draft
from instant_recall.events.errors import InvalidEvent, LogUnavailable, NotFound, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from structlog.testing import capture_logs

from tests.api_stand_in import serving
from tests.helpers import FixedClock
from tests.small_world import encoder

HOUR = 3_600_000
EVERYWHERE = "0.0.0.0"  # noqa: S104 - to be refused
OWNER_TOKEN = make_token()
Answer = tuple[int, bytes, list[tuple[str, str]]]


@dataclass
class House:
    """A service over a log in memory, which answers on a Unix socket and on TCP."""

    clock: FixedClock = field(default_factory=FixedClock)
    log: MemoryEventLog = field(init=False)
    service: Service = field(init=False)
    home: str = ""
    port: int = 0

    def __post_init__(self) -> None:
        self.log = MemoryEventLog(clock=self.clock)
        self.service = Service(self.log, encoder(), clock=self.clock)

    @property
    def owner(self) -> Client:
        return Client(self.home, deadline_ms=5_000)

    def reader(self, token: str, *, tcp: bool = False) -> Client:
        where: dict[str, Any] = {"url": f"http://127.0.0.1:{self.port}"} if tcp else {"home": self.home}
        return Client(**where, token=token, deadline_ms=5_000)

    def let_in(self, name: str = "scout", *scopes: str, **more: Any) -> Client:
        return self.reader(self.owner.grant(name, scopes=scopes or ("work", "home"), **more).token)

    def ask(self, verb: str, path: str, body: Any, *headers: tuple[str, bytes | str], tcp: bool = False) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        if not tcp:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(Settings.from_env(self.home).api_socket))
        try:
            connection.putrequest(verb, path)
            content = b"" if body is None else json.dumps(body).encode()
            connection.putheader("Content-Length", str(len(content)))
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.getheaders()
        finally:
            connection.close()


@contextmanager
def open_house(house: House) -> Iterator[House]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        house.port = probe.getsockname()[1]
    with serving(house.service, tcp_port=house.port, token_hash=hash_token(OWNER_TOKEN)) as home:
        house.home = str(home)
        house.owner.remember("The bench camera listens on port 8080", name="bench camera", audience=["work"])
        house.owner.remember("The press wants oil every spring", name="press oil")
        yield house


@pytest.fixture
def house() -> Iterator[House]:
    with open_house(House()) as opened:
        yield opened


def found(client: Client, request: str) -> list[str]:
    return [pointer.item for pointer in client.push(request).pointers]


# --- whose token it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tcp", [False, True])
def test_a_token_says_who_asks_on_the_socket_as_over_tcp(house: House, tcp: bool) -> None:
    scout = house.reader(house.owner.grant("scout", scopes=["work"]).token, tcp=tcp)

    assert found(scout, "check the bench camera") == ["note:bench-camera"]
    assert found(scout, "press oil") == []
    assert found(house.owner, "press oil") == ["note:press-oil"]
    assert found(house.reader(OWNER_TOKEN, tcp=tcp), "press oil") == ["note:press-oil"]
    opened = scout.open("note:bench-camera")
    assert opened.text
    assert house.log.read(START)[-1].event == ev.ItemOpened(item="note:bench-camera", reader="scout")


def bad_tokens(house: House) -> dict[str, bytes]:
    """Headers that let nobody in, each for another reason."""
    good = house.owner.grant("scout", scopes=["work"]).token
    short, ended = (house.owner.grant(name, scopes=["work"], expires_s=60).token for name in ("short", "ended"))
    child = house.reader(ended).narrow("child", scopes=["work"])
    house.owner.revoke("ended")
    house.clock.advance(60_000)
    flipped = good[:-2] + ("A" if good[-2] != "A" else "B") + good[-1]
    return {
        "unknown": b"Bearer " + make_token().encode(),
        "expired": b"Bearer " + short.encode(),
        "revoked": b"Bearer " + ended.encode(),
        "of a revoked parent": b"Bearer " + child.encode(),
        "a flipped bit": b"Bearer " + flipped.encode(),
        "truncated": b"Bearer " + good[:-1].encode(),
        "longer": b"Bearer " + good.encode() + b"A",
        "in two": b"Bearer " + good[:9].encode() + b" " + good[9:].encode(),
        "another scheme": b"Basic " + good.encode(),
        "no scheme": good.encode(),
        "its hash": b"Bearer " + hash_token(good).encode(),
        "nothing": b"",
        "only the scheme": b"Bearer",
        "two spaces": b"Bearer  " + good.encode(),
        "other letters": b"Bearer \xff\xfe",
        "long": b"Bearer " + b"A" * 20_000,
    }


@pytest.mark.parametrize("tcp", [False, True])
def test_whatever_is_wrong_with_a_token_the_answer_and_the_work_are_the_same(
    house: House, tcp: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = bad_tokens(house)
    looked: list[str] = []
    caller_with = house.service.caller_with

    def looking(given: str) -> Caller | None:
        looked.append(given)
        return caller_with(given)

    monkeypatch.setattr(house.service, "caller_with", looking)
    answers = set()
    sent = [[("Authorization", value)] for value in headers.values()] + [[("Authorization", headers["unknown"])] * 2]
    for each in sent:
        looked.clear()
        status, body, told = house.ask("POST", "/v1/push", {"request": "x"}, *each, tcp=tcp)
        answers.add((status, body, tuple(told)))
        assert len(looked) == 1
    assert len(answers) == 1
    assert next(iter(answers))[0] == 401


@pytest.mark.parametrize(
    "value", [b"Bearer a\0b", b"Bearer " + b"A" * 10_000_000, b"Bearer a\nb"], ids=["nul", "10 MB", "a line break"]
)
def test_a_header_that_is_none_is_cut_off_and_the_server_goes_on(house: House, value: bytes) -> None:
    with socket.create_connection(("127.0.0.1", house.port)) as connection:
        answer = b""
        try:
            connection.sendall(b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: " + value + b"\r\n\r\n")
            answer = connection.recv(65_536)
        except OSError:
            pass  # cut off while it was sending
    assert not answer or answer.split()[1] in {b"400", b"431", b"401"}
    assert house.owner.status().owner == "owner"


def test_a_token_is_in_clear_nowhere_but_in_the_answer(house: House) -> None:
    with capture_logs() as lines:
        granted = house.owner.grant("scout", scopes=["work"])
        scout = house.reader(granted.token)
        child = scout.narrow("child", scopes=["work"])
        wrong = house.reader(granted.token[:-1] + "x")
        told = [str(house.owner.readers(ended=True)), str(scout.status())]
        for fails in (wrong.status, lambda: scout.narrow("y", scopes=["home"]), lambda: scout.forget(granted.token)):
            with pytest.raises(RecallError) as raised:
                fails()
            told.append(str(raised.value))
    kept = [msgspec.json.encode(recorded).decode() for recorded in house.log.read(START)]
    for token in (granted.token, child):
        assert len(token) == 43
        assert token not in "".join([*kept, *told, str(lines)])
        assert hash_token(token) in "".join(kept)
        assert hash_token(token) not in "".join([*told, str(lines)])


# --- when it counts ---------------------------------------------------------------------------------------------------


def test_a_revoke_counts_on_the_very_next_request_at_every_api(house: House) -> None:
    other = House(house.clock)
    other.log, other.service = house.log, Service(house.log, encoder(), clock=house.clock)
    with open_house(other):
        token = house.owner.grant("scout", scopes=["work"]).token
        readers = [house.reader(token), other.reader(token), other.reader(token, tcp=True)]
        child = other.reader(readers[0].narrow("child", scopes=["work"]))
        for each in (*readers, child):
            assert found(each, "check the bench camera") == ["note:bench-camera"]
        assert house.owner.revoke("scout").ended == ("scout", "scout/child")
        for each in (*readers, child):
            assert each.push("check the bench camera").reason == "refused"


class RevokedMeanwhile(Service):
    """The grant of `scout` ends when its request has been let in already."""

    meanwhile = False

    def _end(self) -> None:
        if self.meanwhile:
            self._log.append([draft(ev.ReaderRevoked(reader="scout"))])

    def push(self, request: PushRequest, **how: Any) -> PushResponse:
        self._end()
        return super().push(request, **how)

    def permitted(self, asked: Request | None, named: str, caller: Caller) -> Request | None:
        if isinstance(asked, RememberRequest):
            self._end()
        return super().permitted(asked, named, caller)


def test_a_revoke_during_a_request_never_makes_its_answer_wider() -> None:
    house = House()
    house.service = service = RevokedMeanwhile(house.log, encoder(), clock=house.clock)
    with open_house(house):
        scout = house.let_in()
        assert found(scout, "check the bench camera")
        service.meanwhile = True
        answer = scout.push("check the bench camera")
        assert (answer.pointers, answer.block, answer.reason) == ((), "", "nothing_fits")
        service.meanwhile = False
        again = house.let_in()
        service.meanwhile = True
        with pytest.raises(Refused, match="audience"):
            again.remember("x", audience=["work"])


def test_a_grant_that_comes_after_the_read_counts_from_the_next_request_on(house: House) -> None:
    token = make_token()
    reader = house.reader(token)

    assert reader.push("check the bench camera").reason == "refused"
    granted = ev.ReaderGranted(reader="late", scopes=("work",), token_hash=hash_token(token))
    house.owner.publish(granted)
    assert found(reader, "check the bench camera") == ["note:bench-camera"]


def test_the_servers_clock_decides_when_a_grant_ends_whatever_a_writers_clock_says(house: House) -> None:
    token, now = make_token(), house.clock.now
    granted = ev.ReaderGranted(reader="late", scopes=("work",), token_hash=hash_token(token), expires_at=now + HOUR)
    house.owner.publish(granted, occurred_at=now + HOUR - 1)
    reader = house.reader(token)

    house.clock.now = now + HOUR - 1
    assert found(reader, "check the bench camera")
    house.clock.now = now + HOUR
    assert reader.push("check the bench camera").reason == "refused"
    # A clock that is put back lets in again who was let in at that time: it is the only one there is.
    house.clock.now = now
    assert found(reader, "check the bench camera")


def test_while_the_log_cannot_be_read_no_token_but_the_owners_counts(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    scout = house.let_in()

    def away(*_: object) -> None:
        raise LogUnavailable

    monkeypatch.setattr(house.log, "read", away)
    assert scout.push("check the bench camera").reason == "unreachable"
    assert house.reader(make_token()).push("check the bench camera").reason == "unreachable"
    assert house.reader(OWNER_TOKEN, tcp=True).push("check the bench camera").stale


# --- what a reader may do ---------------------------------------------------------------------------------------------


def test_every_operation_says_who_may_call_it_and_nobody_else_may(house: House) -> None:
    token = house.owner.grant("scout", scopes=["work"]).token
    for operation in OPERATIONS:
        assert operation.who in {"owner", "reader"}, f"{operation.name} does not say who may call it"
        status, body, _ = house.ask(operation.verb, operation.path, {}, ("Authorization", f"Bearer {token}"))
        if operation.who == "owner":
            assert status == 403, operation.name
            assert "owner" in json.loads(body)["message"]
        else:
            assert status in {200, 400}, operation.name


def test_an_operation_that_says_nothing_is_for_the_owner_alone() -> None:
    silent = Operation("x", "/x", None, StatusResponse, False, "X.")
    assert not Caller("scout", "sub_agent").may(silent.who)
    assert OWNER.may(silent.who)


@pytest.mark.parametrize("named", ["owner", "other", "scout/child"])
def test_a_request_that_names_another_reader_than_the_tokens_is_refused(house: House, named: str) -> None:
    token = ("Authorization", f"Bearer {house.owner.grant('scout', scopes=['work']).token}")

    for path, asked in (("push", {"request": "x"}), ("search", {"query": "x"}), ("open", {"address": "x"})):
        assert house.ask("POST", f"/v1/{path}", asked | {"reader": named}, token)[0] == 403
    assert house.ask("GET", f"/v1/status?reader={named}", None, token)[0] == 403
    assert house.ask("POST", "/v1/push", {"request": "x", "reader": "scout"}, token)[0] == 200


def test_a_reader_learns_nothing_of_the_past_or_of_others(house: House) -> None:
    scout = house.let_in()

    for asks in (
        lambda: scout.search("x", as_of="1-0"),
        lambda: scout.status(as_of="1-0"),
        lambda: scout.why("x", "y", for_reader="owner"),
        scout.readers,
        lambda: scout.keys("note:bench-camera"),
        lambda: scout.correct("x", "note:bench-camera"),
        lambda: scout.bar("more"),
    ):
        with pytest.raises(Refused):
            asks()


NOT_A_READERS: list[ev.Event] = [
    ev.ItemMuted(item="note:bench-camera"),
    ev.ItemForgotten(item="note:bench-camera"),
    ev.KeyAdded(item="note:bench-camera", phrase="x"),
    ev.ReaderGranted(reader="scout", scopes=("work", "more")),
    ev.ReaderRevoked(reader="other"),
    ev.OwnershipCorrected(item="note:bench-camera", request="x"),
    ev.TurnRecorded(session="s", turn=1, role="owner", text="x"),
    ev.SessionClosed(session="s", helped=("note:bench-camera",)),
    ev.PushServed(reader="owner", session="s", items=("note:bench-camera",)),
    ev.BarSet(bar=0.0),
    ev.NoteRecorded(item="note:bench-camera", text="x"),
    ev.NoteRecorded(item="note:none-such", text="x"),
    ev.NoteRecorded(item="note:scout~x", text="x", supersedes="note:bench-camera"),
    ev.NoteRecorded(item="note:scouts~x", text="x"),
    ev.AssetRecorded(item="note:scout~x", kind="skill", name="x"),
    ev.ItemOpened(item="note:bench-camera", reader="owner"),
]


def test_what_changes_anything_of_the_owners_is_refused(house: House) -> None:
    scout, before = house.let_in(), house.log.last_position()
    for event in NOT_A_READERS:
        with pytest.raises(Refused):
            scout.publish(event)
    assert house.log.last_position() == before


def test_what_a_reader_keeps_is_its_own_in_name_audience_and_time(house: House) -> None:
    scout, helper = house.let_in(), house.let_in("helper", "work", kind="tool")
    kept = scout.remember("The lens is dusty", name="lens", audience=["work"], actor=Actor(kind="owner", name="me"))
    house.clock.advance(1)
    scout.publish(ev.NoteRecorded(item="note:scout~b", text="x"), occurred_at=house.clock.now + HOUR)
    scout.publish(ev.NoteRecorded(item="note:scout~c", text="x"), actor=Actor(kind="web", name="page"))
    helper.publish(ev.NoteRecorded(item="note:helper~d", text="x"), actor=Actor(kind="import", name="files"))
    first, second, third, fourth = house.log.read(START)[-4:]

    assert kept.item == "note:scout~lens"
    assert (first.actor, first.audience) == (Actor(kind="tool", name="scout"), ("work",))
    assert (second.occurred_at, second.audience) == (house.clock.now, ("owner",))
    assert third.actor == Actor(kind="web", name="scout")
    assert fourth.actor == Actor(kind="tool", name="helper")
    for labels in (["more"], ["work", "more"], ["scout"]):
        with pytest.raises(Refused, match="audience"):
            scout.remember("x", audience=labels)


def test_of_what_it_does_not_see_a_reader_tells_as_of_what_is_not_there(house: House) -> None:
    scout = house.let_in()
    token = ("Authorization", f"Bearer {house.owner.grant('scout', scopes=['work']).token}")

    def said(item: str, kind: str) -> Answer:
        event = {"type": kind, "body": {"item": item} | ({"reader": ""} if kind == "item_opened" else {})}
        return house.ask("POST", "/v1/publish", {"events": [event]}, token)

    for kind in ("item_opened", "item_helped", "pointer_rejected"):
        hidden, none = said("note:press-oil", kind), said("note:none-such", kind)
        assert hidden == none
        assert hidden[0] == 404
        assert said("note:bench-camera", kind)[0] == 200
    with pytest.raises(Refused):
        scout.opened("note:bench-camera")  # its token ended with the second grant
    [opened] = [r.event for r in house.log.read(START) if isinstance(r.event, ev.ItemOpened)]
    assert opened.reader == "scout"


def test_a_reader_that_publishes_nothing_is_not_told_where_the_log_stands(house: House) -> None:
    scout = house.let_in()
    with pytest.raises(InvalidEvent, match="no event"):
        scout.publish([])
    assert house.owner.publish([]).position == str(house.log.last_position())


def test_an_owner_with_a_token_opens_as_the_owner(house: House) -> None:
    house.reader(OWNER_TOKEN, tcp=True).opened("note:press-oil")
    assert house.log.read(START)[-1].event == ev.ItemOpened(item="note:press-oil", reader="owner")


# --- handing on less --------------------------------------------------------------------------------------------------


def test_a_narrowed_token_is_never_wider_and_never_lives_longer(house: House) -> None:
    scout = house.let_in("scout", "work", "home", expires_s=3_600)
    child = house.reader(scout.narrow("child", scopes=["work"], expires_s=60), tcp=True)

    assert found(child, "check the bench camera") == ["note:bench-camera"]
    event = next(r for r in reversed(house.log.read(START)) if isinstance(r.event, ev.ReaderGranted))
    assert event.actor == Actor(kind="tool", name="scout")
    assert isinstance(event.event, ev.ReaderGranted)
    assert (event.event.reader, event.event.parent, event.event.scopes) == ("scout/child", "scout", ("work",))
    for wider in (["work", "more"], ["more"], ["owner"], []):
        with pytest.raises(RecallError):
            scout.narrow("x", scopes=wider)
    for name in ("owner", "a b", "", "x" * 65, "\0"):
        with pytest.raises(RecallError):
            scout.narrow(f"{name} " if name == "owner" else name, scopes=["work"])
    with pytest.raises(Refused, match="longer"):
        scout.narrow("x", scopes=["work"], expires_s=3_601)
    with pytest.raises(Refused, match="longer"):
        child.narrow("x", scopes=["work"], expires_s=61)
    with pytest.raises(Refused):
        child.narrow("x", scopes=["home"])
    house.clock.advance(60_000)
    assert child.push("check the bench camera").reason == "refused"


def test_what_is_not_said_to_end_ends_with_what_it_was_made_out_of(house: House) -> None:
    scout = house.let_in("scout", "work", expires_s=3_600)
    scout.narrow("child", scopes=["work"])

    ends = {each.name: each.expires_at for each in house.owner.readers().readers}
    assert ends == dict.fromkeys(("scout", "scout/child"), house.clock.now + HOUR)


def test_a_tool_makes_only_tools(house: House) -> None:
    tool = house.let_in("tool", "work", kind="tool")
    tool.narrow("child", scopes=["work"])

    assert {each.kind for each in house.owner.readers().readers} == {"tool"}
    with pytest.raises(Refused, match="kind"):
        tool.narrow("x", scopes=["work"], kind="sub_agent")


def test_grants_are_made_out_of_one_another_only_so_deep(house: House) -> None:
    reader, made = house.let_in("r", "work"), 0
    with pytest.raises(Refused, match="deep"):
        while made < 20:
            reader = house.reader(reader.narrow("r", scopes=["work"]))
            assert found(reader, "check the bench camera")
            made += 1
    assert made == 8


def test_only_so_many_grants_are_made_out_of_one_of_the_owners(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("instant_recall.api.readers.MOST_BELOW", 3)
    scout = house.let_in("scout", "work")
    child = house.reader(scout.narrow("a", scopes=["work"]))
    child.narrow("a", scopes=["work"])
    child.narrow("b", scopes=["work"])
    for each in (scout, child):
        with pytest.raises(Refused, match="Revoke"):
            each.narrow("c", scopes=["work"])
    child.revoke("a")
    assert child.narrow("c", scopes=["work"])


def test_a_reader_ends_those_below_it_and_nobody_else(house: House) -> None:
    scout, other = house.let_in(), house.let_in("other")
    child = house.reader(scout.narrow("child", scopes=["work"]))

    told = set()
    for name in ("other", "scout", "nobody"):
        with pytest.raises(NotFound) as raised:
            scout.revoke(name)
        told.add(str(raised.value))
    assert len(told) == 1
    with pytest.raises(NotFound):
        other.revoke("scout/child")
    assert scout.revoke("child").ended == ("scout/child",)
    assert child.push("x").reason == "refused"
    assert found(other, "check the bench camera")


def test_the_owner_hands_on_without_a_token(house: House) -> None:
    helper = house.reader(house.owner.narrow("helper", scopes=["work"], expires_s=60))
    house.owner.grant("scout", scopes=["work"], token=False)
    below = house.reader(Client(house.home, reader="scout").narrow("child", scopes=["work"]))

    assert found(helper, "check the bench camera") == found(below, "check the bench camera") == ["note:bench-camera"]
    assert [(each.name, each.has_token) for each in house.owner.readers().readers] == [
        ("helper", True),
        ("scout", False),
        ("scout/child", True),
    ]


async def handed_on(house: House) -> str:
    return await AsyncClient(house.home).narrow("helper", scopes=["work"])


def test_the_asynchronous_client_hands_on_as_well(house: House) -> None:
    assert found(house.reader(asyncio.run(handed_on(house))), "check the bench camera")


def test_another_device_of_the_owners_does_all_that_the_owner_does_and_its_grants_end_with_it(house: House) -> None:
    laptop = house.reader(house.owner.grant("laptop", kind="owner").token, tcp=True)
    assert found(laptop, "press oil") == ["note:press-oil"]
    laptop.opened("note:press-oil")
    scout = house.reader(laptop.grant("scout", scopes=["work"]).token)
    child = house.reader(laptop.narrow("child", scopes=["work"]))
    assert found(scout, "check the bench camera") == found(child, "check the bench camera") != []
    with pytest.raises(Refused):
        laptop.grant("desktop", kind="owner")
    with pytest.raises(Refused):
        laptop.publish(ev.ReaderGranted(reader="ghost", scopes=("work",), token_hash="a" * 64))
    house.owner.revoke("laptop")
    assert {each.push("x").reason for each in (laptop, scout, child)} == {"refused"}


# --- what cannot be granted -------------------------------------------------------------------------------------------


def test_scopes_that_are_none_are_refused_and_never_mended(house: House) -> None:
    before = house.log.last_position()
    for scopes in (
        *([""], ["a b"], ["a\0"], ["a,b"], ["é"], ["a" * 65], ["work\n"]),
        *([f"s{n}" for n in range(33)], ["owner"], []),
    ):
        with pytest.raises(InvalidEvent, match="Nothing was granted"):
            house.owner.grant("scout", scopes=scopes)
    assert house.log.last_position() == before


def test_ten_thousand_labels_are_refused_wherever_they_are_said(house: House) -> None:
    many = tuple(f"label-{n}" for n in range(10_000))
    scout = house.let_in()

    for says in (
        lambda: house.owner.grant("x", scopes=many),
        lambda: scout.narrow("x", scopes=many),
        lambda: house.owner.publish(ev.ReaderGranted(reader="x", scopes=many)),
        lambda: scout.remember("x", audience=many),
    ):
        with pytest.raises((InvalidEvent, Refused)):
            says()
    assert [each.name for each in house.owner.readers().readers] == ["scout"]


def test_a_scope_that_nothing_carries_is_granted_and_told(house: House) -> None:
    granted = house.owner.grant("scout", scopes=["work", "wrok"])

    assert granted.unused == ("wrok",)
    assert found(house.reader(granted.token), "check the bench camera") == ["note:bench-camera"]


def test_what_would_end_before_it_begins_or_is_no_grant_is_refused(house: House) -> None:
    now, before = house.clock.now, house.log.last_position()
    for event in (
        ev.ReaderGranted(reader="x", scopes=("work",), expires_at=now),
        ev.ReaderGranted(reader="owner", scopes=("work",)),
        ev.ReaderGranted(reader="a b", scopes=("work",)),
        ev.ReaderGranted(reader="x", scopes=("work",), token_hash=make_token()),
    ):
        with pytest.raises(InvalidEvent):
            house.owner.publish(event)
    with pytest.raises(Refused):
        house.owner.publish(ev.ReaderGranted(reader="x", scopes=("work",)), actor=Actor(kind="agent", name="x"))
    for asked in ({"expires_at": now}, {"expires_s": 0}, {"expires_s": 1, "expires_at": now + 1}, {"kind": "root"}):
        assert house.ask("POST", "/v1/readers/grant", {"name": "x", "scopes": ["work"]} | asked)[0] == 400
    assert house.log.last_position() == before


# --- who may open the doors -------------------------------------------------------------------------------------------


def test_a_process_of_another_user_is_hung_up_on_before_it_says_anything(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert house.owner.status()
    monkeypatch.setattr(peers, "own_uid", lambda: 12_345_678)
    with capture_logs() as lines, pytest.raises(RecallError):
        house.owner.status()
    assert [line["uid"] for line in lines if line["event"] == "peer.refused"] == [os.geteuid()]
    assert house.reader(OWNER_TOKEN, tcp=True).status().owner == "owner"


def test_no_publish_event_may_stand_for_another_type(house: House) -> None:
    scout = house.let_in()
    with pytest.raises(Refused):
        scout.publish(PublishEvent(type="reader_granted", body={"reader": "scout", "scopes": ["more"]}))


def test_beyond_this_machine_there_is_no_door_without_tls_unless_it_is_said(home: Path) -> None:
    with pytest.raises(RecallError, match="--tls-cert"):
        Tcp(8765, EVERYWHERE).check()
    with pytest.raises(RecallError, match="--tls-cert"):
        Tcp(8765, "::").check()
    assert Tcp(8765, EVERYWHERE, without_tls=True).check() is None
    assert Tcp(8765).check() is Tcp(8765, "::1").check() is Tcp(8765, "localhost").check() is None
    with pytest.raises(RecallError, match="--tls-cert"):
        serve(create_app(House().service), socket_path=home / "s.sock", tcp=Tcp(1, EVERYWHERE), token_hash="x")
