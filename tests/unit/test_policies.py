"""Audiences and mutes through the service: only the owner says them, they count at once and on every route."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from instant_recall.api.key_messages import KeysRequest
from instant_recall.api.messages import (
    OpenRequest,
    PublishEvent,
    PublishRequest,
    PushRequest,
    RememberRequest,
    SearchRequest,
    StatusRequest,
    WhyRequest,
)
from instant_recall.api.policies import MOST_TOPICS
from instant_recall.api.policy_messages import (
    AudienceRequest,
    ChangeAudienceRequest,
    LabelsRequest,
    MuteRequest,
    MutesRequest,
    UnmuteRequest,
)
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.errors import InvalidEvent, NotFound, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.tests.small_world import encoder

REQUEST = "use the portal-helper for the divorce papers"


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    service = Service(log, encoder())
    log.append([draft(ev.ReaderGranted(reader=f"sub:{scope}", scopes=(scope,))) for scope in ("lab", "web")])
    remember(service, "portal-helper", "Relays commands to a logged-in browser", kind="skill", audience=("lab",))
    remember(service, "court", "The divorce papers are filed in the third drawer", audience=("lab",))
    return service


def remember(service: Service, name: str, text: str, **fields: object) -> str:
    return service.remember(RememberRequest(text=text, name=name, **fields)).item  # type: ignore[arg-type]


def change(service: Service, item: str, *labels: str, how: str = "set", reader: str = "owner") -> tuple[str, ...]:
    asked = ChangeAudienceRequest(item=item, labels=labels, change=how, reader=reader)  # type: ignore[arg-type]
    return service.change_audience(asked).audience


def pushed(service: Service, reader: str = "owner", session: str = "", request: str = REQUEST) -> set[str]:
    asked = PushRequest(request=request, reader=reader, session=session)
    return {p.item for p in service.push(asked, bar=0.0).pointers}


def routes(service: Service, item: str, reader: str = "owner", session: str = "") -> dict[str, bool]:
    """Which routes tell of an item."""

    def tells(call: Callable[[], object]) -> bool:
        try:
            call()
        except NotFound:
            return False
        return True

    asked = SearchRequest(query=REQUEST, reader=reader, session=session)
    why = service.why(WhyRequest(request=REQUEST, item=item, reader=reader, session=session))
    return {
        "why": why.gate not in {"not_indexed", "filtered"},
        "push": item in pushed(service, reader, session),
        "search": item in {found.item for found in service.search(asked).found},
        "open": tells(lambda: service.open(OpenRequest(address=item, reader=reader, session=session))),
    }


# --- audiences --------------------------------------------------------------------------------------------------------


def test_a_change_of_audience_counts_at_once_on_every_route(service: Service) -> None:
    item = "skill:portal-helper"
    assert set(routes(service, item, "sub:lab").values()) == {True}
    assert set(routes(service, item, "sub:web").values()) == {False}

    assert change(service, "portal-helper", "web") == ("web",)
    assert set(routes(service, item, "sub:lab").values()) == {False}
    assert set(routes(service, item, "sub:web").values()) == {True}
    assert set(routes(service, item).values()) == {True}


def test_labels_are_added_and_removed_and_the_last_one_leaves_the_owner(service: Service) -> None:
    assert change(service, "skill:portal-helper", "web", "lab", how="add") == ("lab", "web")
    assert change(service, "skill:portal-helper", "lab", how="remove") == ("web",)
    assert change(service, "skill:portal-helper", "web", how="remove") == ("owner",)
    assert change(service, "skill:portal-helper", "home", how="add") == ("home",)
    assert change(service, "skill:portal-helper", "home", how="remove") == ("owner",)

    with pytest.raises(InvalidEvent, match="does not have the label 'web'; it has: owner"):
        change(service, "skill:portal-helper", "web", how="remove")


def test_the_audience_of_an_item_is_told_with_whether_it_was_set_by_hand(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.KeyAdded(item="skill:portal-helper", phrase="a site without a download"))])
    told = service.audience(AudienceRequest(item="portal-helper"))
    assert (told.audience, told.by_hand, told.keys, told.keys_for_fewer) == (("lab",), False, 1, 1)

    change(service, "portal-helper", "owner")
    told = service.audience(AudienceRequest(item="portal-helper"))
    assert (told.audience, told.by_hand, told.keys_for_fewer) == (("owner",), True, 0)


def test_the_labels_are_listed_with_items_and_readers(service: Service) -> None:
    remember(service, "mine", "Something of my own")
    change(service, "court", "lab", "home")
    found = {label.label: (label.items, label.readers) for label in service.labels(LabelsRequest()).labels}

    assert found == {"lab": (2, ("sub:lab",)), "home": (1, ()), "owner": (1, ()), "web": (0, ("sub:web",))}


@pytest.mark.parametrize(
    "labels", [(), ("two words",), ("",), ("x" * 65,), tuple(f"l{n}" for n in range(33)), ("l\0",)]
)
def test_labels_that_are_none_change_nothing(service: Service, log: MemoryEventLog, labels: tuple[str, ...]) -> None:
    before = len(log.read(START))
    for how in ("set", "add"):
        with pytest.raises(InvalidEvent):
            change(service, "skill:portal-helper", *labels, how=how)
    assert len(log.read(START)) == before


# --- mutes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", ["owner", "sub:lab"])
@pytest.mark.parametrize(
    ("asked", "item"),
    [
        ({"item": "portal-helper"}, "skill:portal-helper"),
        ({"topic": "a logged-in browser"}, "skill:portal-helper"),
        ({"topic": "Divorce"}, "note:court"),
    ],
)
def test_a_mute_counts_at_once_on_every_route_until_it_is_taken_back(
    service: Service, reader: str, asked: dict[str, str], item: str
) -> None:
    assert set(routes(service, item, reader).values()) == {True}
    told = service.mute(MuteRequest(**asked))
    assert (told.items, told.duplicate) == (1, False)
    assert set(routes(service, item, reader).values()) == {False}

    service.unmute(UnmuteRequest(**asked))
    assert set(routes(service, item, reader).values()) == {True}


@pytest.mark.parametrize(
    ("asked", "item"), [({"item": "portal-helper"}, "skill:portal-helper"), ({"topic": "divorce"}, "note:court")]
)
def test_a_mute_for_a_session_counts_there_alone(service: Service, asked: dict[str, str], item: str) -> None:
    service.mute(MuteRequest(**asked, session="s1"))

    assert set(routes(service, item, session="s1").values()) == {False}
    assert set(routes(service, item, session="s2").values()) == {True}
    assert set(routes(service, item).values()) == {True}


def test_what_is_muted_is_not_counted_nor_are_its_keys_told_to_a_reader(service: Service) -> None:
    assert service.status(StatusRequest()).items == {"skill": 1, "note": 1}
    service.mute(MuteRequest(topic="divorce"))
    assert service.status(StatusRequest()).items == {"skill": 1}
    with pytest.raises(NotFound):
        service.keys(KeysRequest(item="note:court", reader="sub:lab"))


def test_the_owner_is_told_by_what_an_item_is_muted_and_nobody_else_is(service: Service) -> None:
    def why(reader: str, session: str = "") -> tuple[str, str, str]:
        told = service.why(WhyRequest(request=REQUEST, item="note:court", reader=reader, session=session))
        return told.gate, told.rule, told.words

    unknown = service.why(WhyRequest(request=REQUEST, item="note:nothing", reader="sub:lab"))
    service.mute(MuteRequest(topic="the divorce"))
    assert why("owner") == ("filtered", "topic_muted", 'It is muted: topic "the divorce".')
    assert why("sub:lab") == (unknown.gate, unknown.rule, unknown.words)

    service.unmute(UnmuteRequest(topic="The  Divorce"))
    service.mute(MuteRequest(topic="divorce", session="s1"))
    assert why("owner", "s1")[2] == 'It is muted in this session: topic "divorce".'
    service.mute(MuteRequest(item="court", session="s2"))
    assert why("owner", "s2") == ("filtered", "muted", "It is muted in this session.")


def test_mutes_are_listed_and_what_is_muted_already_is_not_muted_again(service: Service, log: MemoryEventLog) -> None:
    first = service.mute(MuteRequest(topic="divorce"))
    before = len(log.read(START))
    again = service.mute(MuteRequest(topic="DIVORCE"))
    assert (again.mute, again.duplicate, len(log.read(START))) == (first.mute, True, before)

    service.mute(MuteRequest(topic="divorce", session="s1"))
    service.mute(MuteRequest(item="skill:portal-helper", session="s1"))
    service.mute(MuteRequest(item="skill:portal-helper"))
    told = service.mutes(MutesRequest())
    assert [(topic.phrase, topic.session, topic.items) for topic in told.topics] == [
        ("divorce", "", 1), ("divorce", "s1", 1),
    ]  # fmt: skip
    assert [(item.item, item.name, item.session) for item in told.items] == [
        ("skill:portal-helper", "portal-helper", ""), ("skill:portal-helper", "portal-helper", "s1"),
    ]  # fmt: skip


def test_taking_one_mute_back_says_what_still_holds(service: Service) -> None:
    service.mute(MuteRequest(item="portal-helper"))
    service.mute(MuteRequest(item="portal-helper", session="s1"))
    assert service.unmute(UnmuteRequest(item="portal-helper", session="s1")).still == "for good"
    assert service.unmute(UnmuteRequest(item="portal-helper")).still == ""

    service.mute(MuteRequest(topic="divorce"))
    one = service.mute(MuteRequest(topic="divorce", session="s1")).mute
    assert service.unmute(UnmuteRequest(topic=one)).topics == ("divorce",)
    assert [topic.session for topic in service.mutes(MutesRequest()).topics] == [""]


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({}, InvalidEvent, "one of the two"),
        ({"item": "court", "topic": "divorce"}, InvalidEvent, "one of the two"),
        ({"topic": "the of a"}, InvalidEvent, "no word to go by"),
        ({"topic": "x" * 201}, InvalidEvent, "1 to 200 characters"),
        ({"topic": "div\0orce"}, InvalidEvent, "control character"),
        ({"item": "nothing like it"}, NotFound, "Nothing has this"),
    ],
)
def test_a_mute_of_nothing_is_refused(
    service: Service, log: MemoryEventLog, asked: dict[str, str], error: type[RecallError], words: str
) -> None:
    before = len(log.read(START))
    with pytest.raises(error, match=words):
        service.mute(MuteRequest(**asked))
    assert len(log.read(START)) == before


def test_a_muted_note_is_unmuted_by_its_title(service: Service) -> None:
    service.mute(MuteRequest(item="court"))
    assert service.unmute(UnmuteRequest(item="Court")).item == "note:court"


def test_what_is_not_muted_cannot_be_unmuted(service: Service) -> None:
    service.mute(MuteRequest(topic="divorce"))
    for asked in ({"item": "note:court"}, {"topic": "wedding"}, {"topic": "divorce", "session": "s1"}):
        with pytest.raises(NotFound, match="muted"):
            service.unmute(UnmuteRequest(**asked))


def test_so_many_topics_may_be_muted_and_no_more(service: Service) -> None:
    for n in range(MOST_TOPICS):
        service.mute(MuteRequest(topic=f"topic{n}"))
    with pytest.raises(InvalidEvent, match=f"{MOST_TOPICS} topics are muted"):
        service.mute(MuteRequest(topic="one more"))


def test_a_topic_without_a_word_to_go_by_is_not_published_either(service: Service) -> None:
    event = PublishEvent(type="topic_muted", body={"phrase": "the of"})
    with pytest.raises(InvalidEvent, match="no word to go by"):
        service.publish(PublishRequest(events=(event,)))


@pytest.mark.parametrize("reader", ["sub:lab", "nobody", ""])
def test_only_the_owner_is_told_and_only_the_owner_changes_anything(
    service: Service, log: MemoryEventLog, reader: str
) -> None:
    before = len(log.read(START))
    calls: list[Callable[[], object]] = [
        lambda: service.audience(AudienceRequest(item="note:court", reader=reader)),
        lambda: service.audience(AudienceRequest(item="note:nothing", reader=reader)),
        lambda: change(service, "note:court", "web", reader=reader),
        lambda: service.labels(LabelsRequest(reader=reader)),
        lambda: service.mute(MuteRequest(item="note:court", reader=reader)),
        lambda: service.unmute(UnmuteRequest(topic="divorce", reader=reader)),
        lambda: service.mutes(MutesRequest(reader=reader)),
    ]
    told = set()
    for call in calls:
        with pytest.raises(Refused) as refused:
            call()
        told.add(str(refused.value))
    assert len(told) == 1
    assert len(log.read(START)) == before
