"""Every route and every command is here with a reason, or this fails: none tells a narrow reader of the hidden.

Each that answers a narrow reader is asked in two worlds, one of which holds something hidden whose every text is a mark
that stands nowhere else. The answers must be the same, byte for byte, and none may hold a mark.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import msgspec
import pytest
from instant_recall.api import messages as m
from instant_recall.api import reader_messages as m_readers
from instant_recall.api.callers import Caller
from instant_recall.api.key_messages import KeysRequest
from instant_recall.api.openapi import OPERATIONS
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.errors import NotFound, RecallError
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops.cli import main
from instant_recall.projections.meaning.encoder import load_encoder
from instant_recall.projections.meaning.encoders import Encoders
from instant_recall.tests.helpers import NEW_YEAR_2026, FixedClock

READER = "sub:lab"
MARK = "xqzvorpal"
LABEL = "xqzlabel"
WANTED = "focus the camera on the lamp"
OWNERS = "for the owner alone: refused to everybody else at the door"
ROUTES = {
    "push": "asked in both worlds",
    "search": "asked in both worlds",
    "open": "asked in both worlds",
    "why": "asked in both worlds",
    "status": "asked in both worlds",
    "publish": "asked in both worlds: a write is told nothing of what is there",
    "remember": "asked in both worlds: a write is told nothing of what is there",
    "narrow": "asked in both worlds: grants are no items, and a name of one is the reader's own",
    "revoke": "asked in both worlds: of others' grants it tells what it tells of none",
    "keys": f"{OWNERS}; who names a reader on the spot is asked in both worlds",
    **dict.fromkeys(
        (
            *("forget", "correct", "bar", "refit", "add_keys", "remove_key", "keys_todo", "readers", "grant"),
            *("audience", "change_audience", "labels", "mute", "unmute", "mutes", "quarantine", "hold_back", "release"),
        ),
        OWNERS,
    ),
}
"""Every operation of the API, and why it gives nothing away."""

FILES = "reads the owner's log, files or server, which only the owner's own user may"
NOTHING = "tells of no item"
ASKS = "asks the API, which decides"
COMMANDS = {
    **dict.fromkeys(
        (
            *("status", "import", "remember", "correct", "forget", "push", "why", "search", "open", "bar", "mute"),
            *("keys add", "keys fill", "keys list", "keys remove", "keys todo", "keys why", "refit show", "refit undo"),
            *("reader grant", "reader list", "reader narrow", "reader revoke", "audience add", "audience labels"),
            *("audience remove", "audience set", "audience show", "unmute", "mutes", "quarantine add"),
            *("quarantine list", "quarantine release", "quarantine show"),
        ),
        ASKS,
    ),
    **dict.fromkeys(
        (
            *("audit", "keys weigh", "snapshot", "snapshots list", "snapshots rollback", "snapshots verify", "replay"),
            *("archive", "doctor", "reactor", "dead-letters list", "dead-letters retry", "backup", "restore"),
            *("export", "cost", "eval"),
        ),
        FILES,
    ),
    **dict.fromkeys(("demo", "up", "down", "bench"), NOTHING),
}
"""Every command, and by what it is kept from telling others."""


class Asked:
    """One world, and what a narrow reader is answered in it."""

    def __init__(self, encoders: Encoders, *, hidden: bool) -> None:
        self.clock = FixedClock(NEW_YEAR_2026)
        self.log = MemoryEventLog(clock=self.clock)
        self._add(
            ev.ReaderGranted(reader=READER, scopes=("lab",)),
            ev.AssetRecorded(item="machine:lamp", kind="machine", name="lamp", purpose="Lights the camera"),
            ev.NoteRecorded(item="note:camera", name="camera", text="The camera wants focus by hand", address="cam.md"),
            ev.TurnRecorded(session="seen", turn=1, role="owner", text="focus the camera as last time", project="p"),
            audience=("lab",),
        )
        if hidden:
            self._add(*_secrets(), audience=(LABEL,))
            self._add(ev.NoteRecorded(item=f"note:{MARK}-muted", name=f"{MARK} muted", text=WANTED), audience=("lab",))
            self._add(ev.ItemMuted(item=f"note:{MARK}-muted"))
        self.clock.advance(1_000)
        self.service = Service(self.log, encoders, clock=self.clock, record=lambda _access: None)

    def _add(self, *events: ev.Event, audience: tuple[str, ...] = ("owner",)) -> None:
        self.log.append([draft(event, occurred_at=self.clock.now, audience=audience) for event in events])

    def answers(self) -> Iterator[tuple[str, bytes]]:
        """Each answer as it is sent, by what was asked; an error by its kind and its words."""
        for name, method, request in _questions(self.service):
            try:
                yield name, _plain(method(request))
            except RecallError as error:
                yield name, f"{type(error).__name__}: {error}".encode()


def _secrets() -> list[ev.Event]:
    """A world of its own that is hidden; of all things some are like what is there to see."""
    item, session = f"machine:{MARK}", f"{MARK}-session"
    return [
        ev.AssetRecorded(
            item=item, kind="machine", name=f"{MARK} lamp", aliases=("lamp", f"{MARK}alias"), purpose=WANTED,
            text=f"{MARK} {WANTED}", use_when=(WANTED, f"{MARK} camera"), address=f"{MARK}.md",
            supersedes="machine:lamp",
        ),
        ev.TurnRecorded(session=session, turn=1, role="owner", text=f"{MARK} {WANTED} once more", project=MARK),
        ev.SessionClosed(session=session, used=("machine:lamp",), helped=("note:camera", item), outcome=MARK),
        ev.KeyAdded(item="note:camera", phrase=f"{MARK} {WANTED}"),
        ev.OwnershipCorrected(item="machine:lamp", request=f"{MARK} camera", said=WANTED),
        ev.ItemOpened(item="machine:lamp", reader="owner", session="seen"),
        ev.PushServed(reader="owner", session="seen", items=("machine:lamp",), seen=("1-0",), request=MARK),
        ev.ReaderGranted(reader=f"sub:{MARK}", scopes=(LABEL,)),
    ]  # fmt: skip


def _questions(service: Service) -> Iterator[tuple[str, Callable[[Any], Any], Any]]:
    caller = Caller(READER, "sub_agent")

    def permitted(asked: Any) -> Any:
        return service.permitted(asked, "", caller)

    said = (WANTED, f"{MARK} camera", f"where is the {MARK} lamp", "the lamp from last time", MARK)
    for text in said:
        yield f"push {text}", service.push, m.PushRequest(request=text, reader=READER, session="seen")
        yield f"search {text}", service.search, m.SearchRequest(query=text, reader=READER, limit=100)
        for item in ("machine:lamp", f"machine:{MARK}", MARK):
            yield f"why {item} {text}", service.why, m.WhyRequest(request=text, item=item, reader=READER)
    for address in (f"machine:{MARK}", f"{MARK}.md", f"session:{MARK}-session#t1", f"{MARK}alias", "lamp", "cam.md"):
        yield f"open {address}", service.open, m.OpenRequest(address=address, reader=READER)
        yield f"keys {address}", service.keys, KeysRequest(item=address, reader=READER, request=WANTED)
        accessed = m.PublishEvent(type="item_opened", body={"item": address})
        yield f"publish {address}", lambda p: service.publish(permitted(p)), m.PublishRequest(events=(accessed,))
    for item in ("", f"note:{READER}~new", f"machine:{MARK}"):
        kept = m.RememberRequest(text=WANTED, name="new", item=item, event_id="01999999-0000-7000-8000-000000000000")
        yield f"remember {item}", lambda r: service.remember(permitted(r)), kept
    yield "status", service.status, m.StatusRequest(reader=READER)
    yield "narrow", service.narrow, m_readers.NarrowRequest(name="below", scopes=("lab",), reader=READER)
    yield "narrow wider", service.narrow, m_readers.NarrowRequest(name="wide", scopes=("lab", LABEL), reader=READER)
    for name in ("below", f"sub:{MARK}", "sub:nobody"):
        yield f"revoke {name}", service.revoke, m_readers.RevokeRequest(name=name, reader=READER)


def _plain(answer: Any) -> bytes:
    """An answer's bytes without what chance or the clock made: the time it took, ids and tokens that are drawn."""
    found = msgspec.to_builtins(answer)
    for drawn in ("took_ms", "uptime_s", "event_id", "token"):
        found.pop(drawn, None)
    for event in found.get("events", ()):
        event.pop("event_id")
    return msgspec.json.encode(found)


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    static = load_encoder()
    return Encoders(static, static)


@pytest.fixture(scope="module")
def with_it(encoders: Encoders) -> Asked:
    return Asked(encoders, hidden=True)


@pytest.fixture(scope="module")
def without_it(encoders: Encoders) -> Asked:
    return Asked(encoders, hidden=False)


def test_every_route_is_listed_with_the_reason_why_it_gives_nothing_away() -> None:
    assert {operation.name for operation in OPERATIONS} == set(ROUTES), "list the new one, with a reason and a question"


def test_a_route_is_for_the_owner_alone_or_is_asked_in_both_worlds(with_it: Asked) -> None:
    asked = {name.partition(" ")[0] for name, _, _ in _questions(with_it.service)}
    caller = Caller(READER, "sub_agent")

    assert {operation.name for operation in OPERATIONS if caller.may(operation.who)} <= asked
    assert {name for name, reason in ROUTES.items() if reason == OWNERS} == {
        operation.name for operation in OPERATIONS if not caller.may(operation.who) and operation.name not in asked
    }


def test_every_command_is_listed_with_what_keeps_it_from_telling_others() -> None:
    assert set(_commands(main)) == set(COMMANDS), "list the new one, with a reason"


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name)) if path or name != "import" else ("import",)
        else:
            yield " ".join((*path, name))


def test_no_route_answers_a_narrow_reader_otherwise_for_what_is_hidden(with_it: Asked, without_it: Asked) -> None:
    theirs, plain = dict(with_it.answers()), dict(without_it.answers())
    for asked, answer in theirs.items():
        assert answer == plain[asked], asked
        told = answer.replace(asked.encode(), b"").decode()
        if not any(mark in asked for mark in (MARK, LABEL)):  # what was said is said back
            assert MARK not in told
            assert LABEL not in told
    assert b"note:camera" in theirs[f"search {WANTED}"]


def test_a_hidden_thing_opens_as_one_that_never_was_in_the_same_time(with_it: Asked) -> None:
    service = with_it.service

    def refused(address: str) -> tuple[str, float]:
        began = time.perf_counter()
        with pytest.raises(NotFound) as error:
            service.open(m.OpenRequest(address=address, reader=READER))
        return str(error.value), time.perf_counter() - began

    hidden, never = f"machine:{MARK}", f"machine:{MARK[::-1]}"
    pairs = [(refused(hidden), refused(never)) for _ in range(150)]
    assert {words for pair in pairs for words, _ in pair} == {refused(never)[0]}
    ratio = statistics.median(a for (_, a), _ in pairs) / statistics.median(b for _, (_, b) in pairs)
    print(f"open: a hidden thing takes {ratio:.3f} times as long as none, medians of {len(pairs)}")  # noqa: T201 - shown by -s
    assert 0.7 < ratio < 1.4
