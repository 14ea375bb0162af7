"""Use keys through the service: who is told of them, who may change them, and that a change counts at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from instant_recall.api.key_messages import (
    AddKeysRequest,
    KeyEntry,
    KeysRequest,
    KeysResponse,
    KeysTodoRequest,
    RemoveKeyRequest,
)
from instant_recall.api.messages import CorrectRequest, PushRequest, RememberRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.errors import InvalidEvent, NotFound, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.building import build
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import encoder

REQUEST = "download the quarterly report from the company portal"


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    service = Service(log, encoder())
    remember(service, "portal-helper", "Relays commands to a logged-in browser", kind="skill")
    for n in range(20):
        remember(service, f"note {n}", f"Something else, number {n}, about the garden")
    return service


def remember(service: Service, name: str, text: str, **fields: object) -> str:
    return service.remember(RememberRequest(text=text, name=name, **fields)).item  # type: ignore[arg-type]


def pushed(service: Service, request: str, reader: str = "owner") -> list[str]:
    return [p.item for p in service.push(PushRequest(request=request, reader=reader)).pointers]


def add(service: Service, item: str, *use_when: str, not_for: tuple[str, ...] = ()) -> tuple[int, int]:
    entry = KeyEntry(item=item, use_when=use_when, not_for=not_for)
    (done,) = service.add_keys(AddKeysRequest(entries=(entry,))).items
    return done.added, done.known


def keys(service: Service, item: str, request: str = "", reader: str = "owner") -> KeysResponse:
    return service.keys(KeysRequest(item=item, request=request, reader=reader))


def phrases(service: Service, item: str, reader: str = "owner") -> list[str]:
    return [key.phrase for key in keys(service, item, reader=reader).keys]


def test_a_key_that_is_added_counts_on_the_next_push_and_not_after_it_was_removed(service: Service) -> None:
    before = pushed(service, REQUEST)
    add(service, "portal helper", REQUEST)
    between = pushed(service, REQUEST)
    service.remove_key(RemoveKeyRequest(item="skill:portal-helper", key=REQUEST))

    assert "skill:portal-helper" not in before
    assert between[0] == "skill:portal-helper"
    assert "skill:portal-helper" not in pushed(service, REQUEST)
    assert not phrases(service, "portal-helper")


def test_a_key_is_told_with_where_it_came_from_and_who_may_see_it(service: Service, log: MemoryEventLog) -> None:
    remember(service, "lark", "Feeds paper", kind="skill", use_when=("print 12 pages",), audience=("owner", "lab"))
    service.correct(CorrectRequest(request="get it on paper", item="lark"))
    add(service, "lark", not_for=("buy paper",))
    said = keys(service, "lark").keys

    assert [(k.phrase, k.need, k.source, k.not_for) for k in said] == [
        ("print 12 pages", "print pages", "use_when", False),
        ("get it on paper", "get it on paper", "correction", False),
        ("buy paper", "buy paper", "owner", True),
    ]
    assert [k.audience for k in said] == [("owner", "lab")] * 3
    assert [k.event for k in said] == [event.event_id for event in log.read(START)[-3:]]
    assert all(k.key.startswith(k.event) and k.since > 0 and k.weight == 1 for k in said)
    assert {(k.words, k.meaning) for k in said} == {(None, None)}


def test_with_a_request_the_key_that_fits_best_is_told(service: Service) -> None:
    add(service, "portal-helper", "feed the fish", "fetch the quarterly report of the company", "a page wants a login")
    told = keys(service, "portal-helper", REQUEST)
    by_phrase = {key.phrase: key for key in told.keys}
    best = by_phrase["fetch the quarterly report of the company"]

    assert told.best == best.key
    assert (best.words or 0) > (by_phrase["feed the fish"].words or 0) == 0
    assert (best.meaning or 0) > (by_phrase["feed the fish"].meaning or 0)
    assert keys(service, "portal-helper", "👍").best == ""


def test_the_same_is_told_from_a_snapshot(service: Service, log: MemoryEventLog, tmp_path: Path) -> None:
    add(service, "portal-helper", "fetch the quarterly report", not_for=("report a bug",))
    build(log, store := SnapshotStore(tmp_path), encoder())

    assert keys(Service(log, encoder(), store), "portal-helper", REQUEST) == keys(service, "portal-helper", REQUEST)


def test_a_reader_is_told_only_what_it_may_see(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    remember(service, "lark", "Feeds paper", kind="skill", audience=("owner", "lab"))
    log.append([draft(ev.KeyAdded(item="skill:lark", phrase="a secret of the owner"))])
    add(service, "lark", "get it on paper")

    assert phrases(service, "lark") == ["a secret of the owner", "get it on paper"]
    assert phrases(service, "lark", reader="sub:lab") == ["get it on paper"]
    assert [key.audience for key in keys(service, "lark", reader="sub:lab").keys] == [()]


@pytest.mark.parametrize("reader", ["sub:lab", "nobody"])
def test_a_hidden_item_answers_as_one_that_never_was(service: Service, log: MemoryEventLog, reader: str) -> None:
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    add(service, "portal-helper", "get the report")
    said = set()
    for wanted in ("skill:portal-helper", "portal-helper", "skill:no-such-thing", "no such thing"):
        with pytest.raises(NotFound) as refused:
            keys(service, wanted, "get the report", reader=reader)
        said.add(str(refused.value))

    assert len(said) == 1


def test_only_the_owner_may_change_keys_or_ask_what_has_none(service: Service) -> None:
    entry = KeyEntry(item="portal-helper", use_when=("x y",))
    with pytest.raises(Refused, match="owner"):
        service.add_keys(AddKeysRequest(entries=(entry,), reader="sub:lab"))
    with pytest.raises(Refused, match="owner"):
        service.remove_key(RemoveKeyRequest(item="portal-helper", key="x", reader="sub:lab"))
    with pytest.raises(Refused, match="owner"):
        service.keys_todo(KeysTodoRequest(reader="sub:lab"))
    assert not phrases(service, "portal-helper")


def test_a_phrase_that_is_there_already_is_not_added_again(service: Service, log: MemoryEventLog) -> None:
    assert add(service, "portal-helper", "Fetch  the report.", "log in", "LOG IN") == (2, 0)
    last = log.last_position()

    assert add(service, "portal-helper", "fetch the report", "log in") == (0, 2)
    assert log.last_position() == last
    assert add(service, "portal-helper", "fetch the report", "log out") == (1, 1)
    assert phrases(service, "portal-helper") == ["Fetch the report.", "log in", "log out"]


def test_of_many_entries_all_are_added_or_none_and_every_bad_one_is_named(
    service: Service, log: MemoryEventLog
) -> None:
    last = log.last_position()
    good = KeyEntry(item="portal-helper", use_when=("get the report",))
    bad = [
        KeyEntry(item="no such thing", use_when=("x y",), where="line 3"),
        KeyEntry(item="portal-helper", use_when=("...",), where="line 4"),
        KeyEntry(item="portal-helper", use_when=("a" * 301,), where="line 5"),
        KeyEntry(item="portal-helper", use_when=("get the \u202ereport",), where="line 6"),
        KeyEntry(item="portal-helper", not_for=("GET THE REPORT",), where="line 7"),
        KeyEntry(item="portal-helper", use_when=tuple(f"phrase {n}" for n in range(21)), where="line 8"),
        KeyEntry(item="portal-helper", use_when=("get \x1b[2J",), where="line 9"),
    ]
    with pytest.raises(InvalidEvent, match=r"Nothing was added") as refused:
        service.add_keys(AddKeysRequest(entries=(good, *bad)))

    assert all(f"line {n} (" in str(refused.value) for n in range(3, 10))
    assert log.last_position() == last


def test_a_push_that_an_agent_repeats_becomes_no_key(service: Service) -> None:
    block = service.push(PushRequest(request="portal-helper")).block
    assert block
    with pytest.raises(InvalidEvent, match="no word"):
        add(service, "portal-helper", block)


def test_a_key_is_removed_by_its_id_or_its_phrase_and_an_unknown_one_is_told(service: Service) -> None:
    add(service, "portal-helper", "get the report", "log in", not_for=("report a bug",))
    first = keys(service, "portal-helper").keys[0]
    service.remove_key(RemoveKeyRequest(item="portal-helper", key=first.key))
    service.remove_key(RemoveKeyRequest(item="portal-helper", key="Report a bug"))

    assert phrases(service, "portal-helper") == ["log in"]
    with pytest.raises(NotFound, match="keys list"):
        service.remove_key(RemoveKeyRequest(item="portal-helper", key="get the report"))


def test_a_phrase_that_two_keys_have_is_not_removed_by_chance(service: Service, log: MemoryEventLog) -> None:
    add(service, "portal-helper", "get the report")
    log.append([draft(ev.KeyAdded(item="skill:portal-helper", phrase="Get the report"))])
    with pytest.raises(RecallError, match="by its id"):
        service.remove_key(RemoveKeyRequest(item="portal-helper", key="get the report"))


def test_a_name_that_several_have_lists_them(service: Service) -> None:
    remember(service, "lark", "one", kind="skill")
    remember(service, "lark", "two", kind="tool")
    with pytest.raises(RecallError, match="skill:lark, tool:lark"):
        keys(service, "lark")
    with pytest.raises(RecallError, match="skill:lark, tool:lark"):
        add(service, "lark", "x y")


def test_what_has_no_key_is_told_with_the_most_useful_first(service: Service, log: MemoryEventLog) -> None:
    remember(service, "petrel", "The workstation", kind="machine", purpose="runs models")
    remember(service, "lark", "Feeds paper", kind="skill", use_when=("print",))
    remember(service, "gone", "Old", kind="skill")
    log.append([draft(ev.ItemForgotten(item="skill:gone")), draft(ev.TurnRecorded(session="s", turn=1, role="owner"))])
    service.add_keys(AddKeysRequest(entries=(KeyEntry(item="petrel", not_for=("a bird",)),)))
    todo = service.keys_todo(KeysTodoRequest(limit=3))

    assert [(each.item, each.purpose) for each in todo.items[:2]] == [
        ("skill:portal-helper", "Relays commands to a logged-in browser"),
        ("machine:petrel", "runs models"),
    ]
    assert todo.items[2].kind == "note"
    assert (len(todo.items), todo.total) == (3, 22)


def test_the_owner_is_told_the_keys_of_what_is_muted(service: Service, log: MemoryEventLog) -> None:
    add(service, "portal-helper", "get the report")
    log.append([draft(ev.ItemMuted(item="skill:portal-helper"))])

    assert phrases(service, "skill:portal-helper") == ["get the report"]
    assert keys(service, "skill:portal-helper", REQUEST).best == ""
