"""`remember` with something to replace: said by id, address or name, refused when it is not there or not one."""

from __future__ import annotations

import pytest
from instant_recall.api.callers import Caller
from instant_recall.api.messages import PushRequest, RememberRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft, new_event_id
from instant_recall.events.errors import NotFound, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import AssetKind
from instant_recall.tests.small_world import encoder


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    made = Service(log, encoder())
    keep(made, "40 an hour", "price list", address="prices/1.md")
    return made


def keep(
    service: Service,
    text: str,
    name: str,
    supersedes: str | None = None,
    kind: AssetKind | None = "document",
    address: str = "",
    event_id: str = "",
) -> str:
    asked = RememberRequest(
        text=text, name=name, kind=kind, supersedes=supersedes, address=address, event_id=event_id
    )  # fmt: skip
    return service.remember(asked).item


def pushed(service: Service, request: str) -> list[str]:
    return [pointer.item for pointer in service.push(PushRequest(request=request)).pointers]


@pytest.mark.parametrize("old", ["document:price-list", "prices/1.md", "price list", "my Price List"])
def test_what_is_replaced_may_be_said_by_id_address_or_name(service: Service, old: str) -> None:
    newer = keep(service, "50 an hour", "rate card", old)
    assert newer == "document:rate-card"
    assert pushed(service, "what does the rate card say") == [newer]
    known = service._item_now("document:price-list")
    assert known is not None
    assert known.superseded_by == newer


def test_a_note_is_replaced_by_its_title(service: Service) -> None:
    old = keep(service, "It hangs behind the desk", "chart room key", kind=None)
    newer = keep(service, "It lies in the drawer", "where the key is", "Chart room key", kind=None)
    known = service._item_now(old)
    assert known is not None
    assert known.superseded_by == newer


@pytest.mark.parametrize("old", ["document:nosuch", "no such thing", "price lost"])
def test_what_is_not_there_cannot_be_replaced(service: Service, log: MemoryEventLog, old: str) -> None:
    before = log.last_position()
    with pytest.raises(NotFound, match="Nothing has this id, address or name"):
        keep(service, "50 an hour", "rate card", old)
    assert log.last_position() == before


def test_of_several_that_are_called_so_none_is_replaced(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.AssetRecorded(item="tool:b", kind="tool", name="price list"))])
    before = log.last_position()
    with pytest.raises(RecallError, match=r"Several items are called that.*document:price-list, tool:b"):
        keep(service, "50 an hour", "rate card", "price list")
    assert log.last_position() == before


def test_the_same_name_again_keeps_every_version(service: Service) -> None:
    second, third = new_event_id(), new_event_id()
    ids = ["document:price-list"]
    for event_id in (second, third):
        ids.append(keep(service, f"text of {event_id}", "price list", "price list", event_id=event_id))
        # A second try, when the answer to the first was lost, is answered as the first was.
        assert keep(service, f"text of {event_id}", "price list", "price list", event_id=event_id) == ids[-1]

    assert len(set(ids)) == 3
    assert pushed(service, "send the price list") == [ids[-1]]
    assert service._writer._versions(ids[-1]) == ids[::-1]


def test_a_narrow_reader_is_told_the_same_of_what_is_there_and_what_is_not(
    service: Service, log: MemoryEventLog
) -> None:
    log.append([draft(ev.ReaderGranted(reader="scout", scopes=("lab",)))])
    log.append([draft(ev.NoteRecorded(item="note:scout~a", name="a", text="x"), audience=("lab",))])
    told = set()
    for old in ("document:price-list", "price list", "prices/1.md", "document:nosuch", "nosuch"):
        with pytest.raises(Refused) as refused:
            service.permitted(RememberRequest(text="x", supersedes=old), "", Caller("scout", "sub_agent"))
        told.add(str(refused.value))
    for own in ("note:scout~a", "note:scout~none"):
        asked = service.permitted(RememberRequest(text="x", supersedes=own), "", Caller("scout", "sub_agent"))
        assert isinstance(asked, RememberRequest)
        with pytest.raises(Refused) as refused:
            service.remember(asked)
        told.add(str(refused.value))
    assert len(told) == 2
