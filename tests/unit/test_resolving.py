"""Which item somebody means who types a name."""

from __future__ import annotations

import re

import pytest
from instant_recall.api.messages import (
    CorrectRequest,
    ForgetRequest,
    OpenRequest,
    PublishEvent,
    PublishRequest,
    PushRequest,
    RememberRequest,
    SearchRequest,
)
from instant_recall.api.service import Service
from instant_recall.events.errors import NotFound, RecallError
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.naming.resolving import NOTHING
from instant_recall.tests.small_world import encoder


@pytest.fixture
def service() -> Service:
    made = Service(MemoryEventLog(), encoder())
    remember(made, "portal-helper", kind="skill", aliases=("gatehouse",), audience=("lab",))
    remember(made, "heron", kind="machine")
    remember(made, "Chart room: the key", item="note:chart", audience=("lab",))
    publish(made, "reader_granted", reader="sub:lab", scopes=["lab"])
    return made


def remember(service: Service, name: str, **fields: object) -> str:
    return service.remember(RememberRequest(text=f"About {name}", name=name, **fields)).item  # type: ignore[arg-type]


def publish(service: Service, type_: str, **body: object) -> None:
    service.publish(PublishRequest(events=(PublishEvent(type=type_, body=body),)))


def opened(service: Service, name: str, reader: str = "owner") -> str:
    return service.open(OpenRequest(address=name, reader=reader)).item


@pytest.mark.parametrize(
    "name", ["portal-helper", "Portal Helper", "gatehouse", "the portal helper skill", "portal helpr"]
)
def test_open_takes_a_name_or_an_alias(service: Service, name: str) -> None:
    assert opened(service, name) == "skill:portal-helper"
    assert opened(service, name, "sub:lab") == "skill:portal-helper"


def test_open_takes_the_title_of_a_note(service: Service) -> None:
    assert opened(service, "chart room - the KEY") == "note:chart"


@pytest.mark.parametrize(
    "name", ["fix heron", "notes/heron/lenses.md", "heron and portal-helper", "the", "", "--", "\u202e"]
)
def test_a_text_that_holds_a_name_among_others_is_no_name(service: Service, name: str) -> None:
    with pytest.raises(NotFound) as refused:
        opened(service, name)
    assert str(refused.value) == NOTHING


def test_a_name_that_several_have_is_refused_with_the_ids_of_those_that_may_be_seen(service: Service) -> None:
    remember(service, "gatehouse", kind="document", audience=("lab",))
    remember(service, "Gatehouse", kind="machine")

    with pytest.raises(RecallError, match=r"document:gatehouse, machine:gatehouse, skill:portal-helper\.$"):
        opened(service, "gatehouse")
    with pytest.raises(RecallError, match=r"by its id: document:gatehouse, skill:portal-helper\.$"):
        opened(service, "gatehouse", "sub:lab")


def test_a_hidden_thing_makes_no_name_ambiguous(service: Service) -> None:
    remember(service, "gatehouse", kind="document")
    remember(service, "Chart room: the key", item="note:other")

    assert opened(service, "gatehouse", "sub:lab") == "skill:portal-helper"
    assert opened(service, "Chart room: the key", "sub:lab") == "note:chart"


def test_a_hidden_name_answers_as_one_that_never_was(service: Service) -> None:
    said = []
    for name in ("heron", "no-such-thing"):
        with pytest.raises(NotFound) as refused:
            opened(service, name, "sub:lab")
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_many_of_one_name_are_not_all_listed(service: Service) -> None:
    for n in range(12):
        remember(service, "osprey", item=f"machine:osprey-{n:02}", kind="machine")
    with pytest.raises(RecallError, match=r"osprey-07 and 4 more\."):
        opened(service, "osprey")


def test_what_is_forgotten_by_name_is_spelled_right(service: Service) -> None:
    with pytest.raises(NotFound):
        service.forget(ForgetRequest(item="herin"))
    assert service.correct(CorrectRequest(request="log in there", item="herin")).item == "machine:heron"
    assert service.forget(ForgetRequest(item="Heron")).item == "machine:heron"


@pytest.mark.parametrize(
    "item", ["note:Bed 1", "note:a\u202eb", "note:\u00a0#x", "skill:zero\u200bwidth", "note:50% off", "note:ü"]
)
def test_what_a_pointer_says_opens_whatever_the_id_is_made_of(service: Service, item: str) -> None:
    remember(service, "cormorant tally", item=item, kind="document")
    (pointer,) = service.push(PushRequest(request="open the cormorant tally")).pointers

    assert opened(service, pointer.address) == item
    assert opened(service, pointer.line.rpartition(" ")[2]) == item
    assert opened(service, item) == item
    (found,) = service.search(SearchRequest(query="cormorant tally", limit=1)).found
    assert opened(service, found.address) == item
    assert pointer.line.isprintable()
    assert service.correct(CorrectRequest(request="count the birds", item=pointer.address)).item == item


RULES: dict[str, tuple[str, dict[str, object], str]] = {
    "muted": ("item_muted", {"item": "{}"}, "instant-recall unmute {}`"),
    "muted by a topic": ("topic_muted", {"phrase": "about"}, 'unmute --topic "about"`'),
    "held back": ("item_quarantined", {"item": "{}"}, "instant-recall quarantine show {}`"),
    "closed": ("item_closed", {"item": "{}"}, "{} was closed"),
    "forgotten": ("item_forgotten", {"item": "{}"}, "{} was forgotten"),
}


@pytest.mark.parametrize(
    ("item", "name"), [("skill:portal-helper", "portal helper"), ("note:chart", "chart room - the KEY")]
)
@pytest.mark.parametrize("rule", RULES)
def test_what_is_kept_back_is_told_to_the_owner_with_what_lets_it_go_and_to_nobody_else(
    service: Service, rule: str, item: str, name: str
) -> None:
    type_, body, told = RULES[rule]
    body = {key: value.format(item) if isinstance(value, str) else value for key, value in body.items()}
    publish(service, type_, **body)
    for wanted in (item, *([name] if rule != "forgotten" else [])):
        with pytest.raises(NotFound, match=re.escape(told.format(item))):
            opened(service, wanted)
        with pytest.raises(NotFound) as never:
            opened(service, wanted, "sub:lab")
        assert str(never.value) == NOTHING
    if rule != "forgotten":
        with pytest.raises(NotFound, match=re.escape(told.format(item))):
            service.correct(CorrectRequest(request="a way in", item=name))
    with pytest.raises(NotFound) as never:
        opened(service, "note:never")
    assert str(never.value) == NOTHING
