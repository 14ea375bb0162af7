"""What comes with a narrow token moves nothing of the owner's: through the real service, as its permits let it in."""

from __future__ import annotations

import pytest
from instant_recall.api.callers import Caller
from instant_recall.api.messages import OpenRequest, PublishEvent, PushRequest, RememberRequest
from instant_recall.api.permits import Permit
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.policy.eligibility import Reader
from instant_recall.tests.small_world import NOW, encoder, note, skill

SCOUT = Caller("scout", "sub_agent")
WORK = ("work",)


class Owner:
    """An owner with a few things, and a sub-agent with a token that sees what is labelled `work`."""

    def __init__(self) -> None:
        self.log = MemoryEventLog(clock=lambda: NOW)
        self.service = Service(self.log, encoder(), clock=lambda: NOW)
        granted = ev.ReaderGranted(reader="scout", scopes=WORK, kind="sub_agent", token_hash="0" * 64)
        self.log.append([draft(granted, occurred_at=NOW)])

    def has(self, *events: ev.Event, audience: tuple[str, ...] = WORK) -> None:
        self.log.append([draft(one, occurred_at=NOW, audience=audience) for one in events])

    def permit(self) -> Permit:
        return Permit(SCOUT, Reader("scout", frozenset(WORK)), lambda _item: True, NOW)

    def scout_records(self, **facts: object) -> str:
        asked = RememberRequest(text=str(facts.pop("text", "")), audience=WORK, **facts)  # type: ignore[arg-type]
        allowed = self.permit().remembered(asked)
        self.service.remember(allowed)
        return allowed.item

    def scout_says(self, kind: str, **body: object) -> None:
        event = self.permit().event(PublishEvent(type=kind, body=body, audience=WORK))
        actor = event.actor
        made = draft(ev.EVENT_TYPES[kind](**event.body), occurred_at=NOW, actor=actor, audience=event.audience)
        self.log.append([made])

    def pushes(self, request: str, **more: object) -> list[str]:
        answer = self.service.push(PushRequest(request=request, **more), now=NOW)  # type: ignore[arg-type]
        return [pointer.item for pointer in answer.pointers]


@pytest.fixture
def owner() -> Owner:
    return Owner()


def test_a_sub_agent_stands_in_the_log_as_a_tool(owner: Owner) -> None:
    allowed = owner.permit().event(PublishEvent(type="note_recorded", body={"item": "note:scout~a"}, audience=WORK))

    assert allowed.actor == Actor(kind="tool", name="scout")


def test_what_it_records_has_no_address_and_takes_over_none(owner: Owner) -> None:
    owner.has(
        ev.AssetRecorded(item="machine:petrel", kind="machine", name="petrel", text="the owner's", address="m.md:L8")
    )
    owner.scout_records(name="petrel", text="evil", address="m.md:L8")

    opened = owner.service.open(OpenRequest(address="m.md:L8"), now=NOW)
    assert (opened.item, opened.text) == ("machine:petrel", "the owner's")


def test_it_names_nothing_and_is_found_by_no_use_key(owner: Owner) -> None:
    said = ev.AssetRecorded(item="machine:scout~z", kind="machine", name="zorblax", use_when=("pay the port invoice",))
    owner.log.append([draft(said, occurred_at=NOW, actor=Actor(kind="tool", name="scout"), audience=WORK)])

    for request in ("use zorblax for it", "pay the port invoice"):
        assert owner.service.push(PushRequest(request=request), now=NOW, bar=1.0).pointers == ()


def test_it_cannot_reject_for_the_owner(owner: Owner) -> None:
    owner.has(note("birds", "How many birds did we count at the harbour"))
    before = owner.pushes("how many birds did we count")
    owner.scout_says("pointer_rejected", item="note:birds", request="how many birds did we count")

    assert before == owner.pushes("how many birds did we count") == ["note:birds"]


def test_what_it_opens_in_the_owners_session_teaches_nothing(owner: Owner) -> None:
    owner.has(skill("harbour", description="Counts boats"), note("seals", "Seals are counted twice"))
    owner.service.open(OpenRequest(address="skill:harbour", reader="scout", session="mine"), now=NOW)
    owner.service.close()
    [opened] = [one for one in owner.log.read(START, 100) if isinstance(one.event, ev.ItemOpened)]

    assert opened.actor == Actor(kind="tool", name="scout")


def test_it_takes_at_most_two_places_of_a_push(owner: Owner) -> None:
    for n in range(6):
        owner.scout_records(name=f"restore {n}", text="how to restore a laptop from the backup")
    owner.has(note("dunlin", "To restore a laptop from the backup, boot it from the stick"))

    found = owner.pushes("restore a laptop from the backup")
    assert "note:dunlin" in found
    assert sum("scout~" in item for item in found) == 2
