"""Versions: one pointer for each chain, the newest; an old one by its own name or its date, and marked as old."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from instant_recall.api.messages import OpenRequest, PushRequest, SearchRequest, WhyRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.errors import NotFound
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.push import Push, compose
from instant_recall.projections.searcher import Route, Searcher
from instant_recall.projections.text_index import Scores
from instant_recall.tests.small_world import World, encoder, note


def at(year: int, month: int, day: int = 1) -> int:
    return round(datetime(year, month, day, 9, tzinfo=UTC).timestamp() * 1_000)


NOW = at(2026, 9, 20)


def document(name: str, item: str = "", **fields: Any) -> ev.AssetRecorded:
    item = item or f"document:{name.replace(' ', '-')}"
    said = f"what is asked for each hour, {name}"
    return ev.AssetRecorded(item=item, kind="document", name=name, description=said, **fields)


def world() -> World:
    """Three price lists, made in January, March and July; each took the place of the one before."""
    made = World()
    for n, month in ((1, 1), (2, 3), (3, 7)):
        older = f"document:price-list-v{n - 1}" if n > 1 else None
        made.happens(document(f"price list v{n}", supersedes=older), at=at(2026, month, 2), audience=("owner", "lab"))
    made.happens(
        note("orchard", "The pear trees want pruning in winter"), ev.ReaderGranted(reader="sub:lab", scopes=("lab",))
    )
    return made


def pushed(world: World, request: str, reader: str = "owner", **more: Any) -> Push:
    return compose(world.searcher(reader, NOW), request, **more)


def ids(push: Push) -> list[str]:
    return [ranked.evidence.item.id.removeprefix("document:price-list-") for ranked, _ in push.pointers]


@pytest.mark.parametrize("request_", ["send the brewery my price list", "what do I ask for each hour", "price list"])
def test_without_its_name_or_date_only_the_newest_is_pushed(request_: str) -> None:
    assert ids(pushed(world(), request_)) == ["v3"]


@pytest.mark.parametrize("request_", ["send the brewery price list v1", "price list v1", "print v1 of the price list"])
def test_an_old_version_comes_alone_when_its_own_name_is_said(request_: str) -> None:
    assert ids(pushed(world(), request_)) == ["v1"]


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("send me the price list from last March", "v2"),
        ("the March price list please", "v2"),
        ("what did the price list from february say", "v1"),
        ("open the version of the price list before July", "v2"),
        ("die price list vom März bitte", "v2"),
        ("the price list that was valid in May", "v2"),
        ("the price list from August", "v3"),
        ("send the price list on Monday", "v3"),
        ("send the price list in October", "v3"),
        ("in March the brewery had asked for the price list", "v3"),
        ("mail the price list to the people from last March", "v3"),
    ],
)
def test_a_date_beside_the_name_brings_the_version_of_then(request_: str, wanted: str) -> None:
    assert ids(pushed(world(), request_)) == [wanted]


def test_the_lines_before_may_have_the_name_that_a_date_belongs_to() -> None:
    searcher = world().searcher(now=NOW)
    searcher._recent = ("the price list says 90 an hour",)
    assert ids(compose(searcher, "and the version before July? what did I ask for each hour")) == ["v2"]


def test_years_tell_versions_apart() -> None:
    made = World()
    made.happens(document("rate card 2025"), at=at(2025, 1))
    made.happens(document("rate card 2026", supersedes="document:rate-card-2025"), at=at(2026, 2))

    for request in ("rate card 2025", "the 2025 rate card", "the rate card of 2025"):
        assert ids(pushed(made, request)) == ["document:rate-card-2025"]
    assert ids(pushed(made, "the 2026 rate card")) == ["document:rate-card-2026"]


def test_two_versions_that_are_both_named_both_stand() -> None:
    assert ids(pushed(world(), "compare price list v1 with price list v3")) == ["v1", "v3"]


def test_an_old_version_says_that_it_is_old_and_what_replaced_it() -> None:
    (line,) = (line for _, line in pushed(world(), "price list v1").pointers)
    assert line.startswith("[document] price list v1 (old, replaced by price list v3 on 2026-03-02): ")
    assert "(old" not in pushed(world(), "price list v3").block


def test_a_plain_name_that_the_newest_adds_to_means_the_newest() -> None:
    made = World()
    made.happens(document("bed plan"), at=at(2026, 2))
    made.happens(document("bed plan autumn", supersedes="document:bed-plan"), at=at(2026, 8))

    push = pushed(made, "print the bed plan")
    assert [(r.evidence.item.id, r.route) for r, _ in push.pointers] == [("document:bed-plan-autumn", "name")]


def test_a_name_that_both_have_means_the_newest() -> None:
    made = World()
    made.happens(
        document("gannet tariff", "document:a"),
        document("gannet tariff", "document:b", supersedes="document:a"),
        at=at(2026, 2),
    )
    assert ids(pushed(made, "open the gannet tariff")) == ["document:b"]
    assert ids(pushed(made, "open the gannet tariff from January", bar=0.0)) == ["document:b"]


@pytest.mark.parametrize(
    "event",
    [
        ev.ItemMuted(item="document:price-list-v1"),
        ev.ItemQuarantined(item="document:price-list-v1"),
        ev.ItemForgotten(item="document:price-list-v1"),
    ],
)
def test_an_old_version_that_is_hidden_otherwise_is_never_shown(event: ev.Event) -> None:
    made = world()
    made.happens(event)
    for request in ("price list v1", "the price list from January"):
        assert "v1" not in ids(pushed(made, request, bar=0.0))


@pytest.mark.parametrize(
    "event",
    [
        ev.ItemClosed(item="skill:lark"),
        ev.ItemSuperseded(item="skill:lark"),
        ev.ItemClosed(item="skill:lark", closed_at=1),
    ],
)
def test_what_ended_without_a_successor_stays_hidden(event: ev.Event) -> None:
    made = World()
    made.happens(ev.AssetRecorded(item="skill:lark", kind="skill", name="lark"), event, at=at(2026, 2))
    assert pushed(made, "use lark", bar=0.0).pointers == ()


def test_an_old_version_that_was_closed_afterwards_stays_hidden() -> None:
    made = world()
    made.happens(ev.ItemClosed(item="document:price-list-v1"), at=at(2026, 5))
    for request in ("price list v1", "the price list from January"):
        assert "v1" not in ids(pushed(made, request, bar=0.0))


def test_a_version_is_the_newest_to_those_who_may_not_see_the_newer_one() -> None:
    made = world()
    made.happens(document("price list v4", supersedes="document:price-list-v3"), at=at(2026, 9))

    (line,) = (line for _, line in pushed(made, "price list v3", "sub:lab").pointers)
    assert "old, replaced" not in line  # to them nothing has taken its place
    assert "v4" not in pushed(made, "the price list from January", "sub:lab").block
    assert ids(pushed(made, "price list v3")) == ["v3"]


def test_a_hidden_old_version_moves_nothing() -> None:
    made, other = world(), World()
    for one in (made, other):
        one.happens(
            document("tariff", "document:new"), ev.ReaderGranted(reader="sub:lab", scopes=("lab",)), audience=("lab",)
        )
    other.happens(document("tariff 2025", "document:old"), ev.ItemSuperseded(item="document:old", by="document:new"))

    assert ids(pushed(other, "the 2025 tariff", "sub:lab", bar=0.0)) == ["document:new"]


def test_a_version_that_is_not_in_force_yet_leaves_the_older_one_in_force() -> None:
    made = world()
    coming = document("price list v4", supersedes="document:price-list-v3", valid_from=at(2026, 10))
    made.happens(coming, at=at(2026, 9), audience=("owner", "lab"))

    assert ids(pushed(made, "send the price list")) == ["v3"]
    later = compose(made.searcher(now=at(2026, 10, 2)), "send the price list")
    assert ids(later) == ["v4"]


def test_a_version_that_was_recorded_again_does_not_stand_beside_its_successor() -> None:
    made = world()
    made.happens(document("price list v2", supersedes="document:price-list-v1"), at=at(2026, 8))
    assert ids(pushed(made, "what do I ask for each hour, by the list")) == ["v3"]


def test_what_was_shown_before_it_was_replaced_is_shown_again_as_old() -> None:
    made = world()
    seen = {r.evidence.item.id: r.evidence.item.changed for r, _ in pushed(made, "price list v3").pointers}
    made.happens(document("price list v4", supersedes="document:price-list-v3"), at=at(2026, 9))

    assert ids(pushed(made, "price list v3", shown=seen)) == ["v3"]


def test_a_circle_of_versions_does_no_harm() -> None:
    made = World()
    made.happens(document("tariff a"), document("tariff b", supersedes="document:tariff-a"))
    made.happens(ev.ItemSuperseded(item="document:tariff-b", by="document:tariff-a"))
    made.happens(ev.ItemSuperseded(item="document:tariff-b", by="document:tariff-b"))
    for request in ("tariff a", "the tariff from March", "tariff b"):
        pushed(made, request, bar=0.0)


def alike() -> World:
    """Three price lists that are called alike."""
    made = World()
    for n, month in ((1, 1), (2, 3), (3, 7)):
        older = f"document:price-list-n{n - 1}" if n > 1 else None
        made.happens(document("price list", f"document:price-list-n{n}", supersedes=older), at=at(2026, month, 2))
    return made


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("Price list v1", "n1"),
        ("print v1 of the price list", "n1"),
        ("send the v2 price list", "n2"),
        ("price list version 1", "n1"),
        ("open version 2 of my price list", "n2"),
        ("the first version of the price list please", "n1"),
        ("the price list's first version", "n1"),
        ("send the price list, version 1", "n1"),
        ("the old price list", "n2"),
        ("what was in the previous price list?", "n2"),
        ("the previous version of the price list", "n2"),
        ("price list v3", "n3"),
        ("price list v4", "n3"),
        ("price list version 12", "n3"),
        ("price list v1.2", "n3"),
        ("price list v0", "n3"),
        ("send the price list in the pdf version", "n3"),
        ("I need a version of the price list for print", "n3"),
        ("send the price list. Version 1 of the app is out", "n3"),
        ("send the price list, version 1 of the app is out", "n3"),
        ("we run version 1. The price list has to say so", "n3"),
        ("send the price list to the old customers", "n3"),
        ("is she that old? price list", "n3"),
        ("write the first version of the letter about the price list", "n3"),
        ("send the price list", "n3"),
    ],
)
def test_the_place_beside_a_name_that_all_have_brings_that_version(request_: str, wanted: str) -> None:
    assert ids(pushed(alike(), request_)) == [wanted]


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [("the old price list", "v2"), ("the first version of the price list", "v3"), ("price list v9", "v3")],
)
def test_of_versions_with_names_of_their_own_a_number_is_no_place(request_: str, wanted: str) -> None:
    assert ids(pushed(world(), request_)) == [wanted]


def test_why_tells_of_the_place() -> None:
    def why(request: str, item: str) -> tuple[str, str, str]:
        log = MemoryEventLog(clock=lambda: NOW)
        for n, month in ((1, 1), (2, 3)):
            older = "document:n1" if n > 1 else None
            log.append([draft(document("price list", f"document:n{n}", supersedes=older), occurred_at=at(2026, month))])
        answer = Service(log, encoder(), clock=lambda: NOW).why(WhyRequest(request=request, item=item))
        return answer.gate, answer.rule, answer.words

    assert why("price list v1", "document:n1")[0] == "found"
    assert why("price list v1", "document:n2")[1] == "older_asked"
    gate, rule, words = why("price list v2", "document:n1")
    assert (gate, rule) == ("filtered", "superseded")
    assert "when its own name, its date or its place is said" in words


# --- through the service ----------------------------------------------------------------------------------------------


@pytest.fixture
def service() -> Service:
    log = MemoryEventLog(clock=lambda: NOW)
    for n, month in ((1, 1), (2, 3)):
        older = "document:price-list-v1" if n > 1 else None
        audience = ("owner", "lab") if n == 1 else ("owner",)
        made = document(f"price list v{n}", supersedes=older, text=f"{n}0 an hour", address=f"prices/{n}.md")
        log.append([draft(made, occurred_at=at(2026, month, 2), audience=audience)])
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    return Service(log, encoder(), clock=lambda: NOW)


@pytest.mark.parametrize("address", ["price list v1", "document:price-list-v1", "prices/1.md"])
def test_open_says_first_that_a_version_is_old(service: Service, address: str) -> None:
    opened = service.open(OpenRequest(address=address))
    assert (opened.text, opened.replaced_by) == ("10 an hour", "document:price-list-v2")
    assert opened.mark == "old, replaced by price list v2 on 2026-03-02"

    theirs = service.open(OpenRequest(address=address, reader="sub:lab"))
    assert (theirs.replaced_by, theirs.mark, theirs.valid_until) == (None, "", None)


def test_open_of_the_newest_has_no_mark(service: Service) -> None:
    assert service.open(OpenRequest(address="price list v2")).mark == ""
    with pytest.raises(NotFound):
        service.open(OpenRequest(address="price list v2", reader="sub:lab"))


def test_a_search_marks_what_is_old_and_still_has_the_newest(service: Service) -> None:
    found = service.search(SearchRequest(query="price list v1")).found
    assert [(one.item, one.mark) for one in found[:2]] == [
        ("document:price-list-v1", "old, replaced by price list v2 on 2026-03-02"),
        ("document:price-list-v2", ""),
    ]
    assert all(not one.mark for one in service.search(SearchRequest(query="price list")).found)


def test_why_tells_when_an_old_version_is_shown_and_what_stands_back_for_it(service: Service) -> None:
    def why(request: str, item: str, **fields: Any) -> tuple[str, str, str]:
        answer = service.why(WhyRequest(request=request, item=item, **fields))
        return answer.gate, answer.rule, answer.words

    assert why("price list v1", "document:price-list-v1")[:2] == ("found", "")
    gate, rule, words = why("my price list", "price list v1")
    assert (gate, rule) == ("filtered", "superseded")
    assert "replaced by document:price-list-v2 on 2026-03-02; an old version is told of when" in words
    assert why("price list v1", "document:price-list-v2")[1] == "older_asked"
    assert why("my price list", "document:price-list-v1", reader="sub:lab")[0] == "found"


def test_replaced_by_nobody_said_what_is_superseded_all_the_same(service: Service) -> None:
    service._log.append([draft(ev.ItemSuperseded(item="document:price-list-v2"))])
    answer = service.why(WhyRequest(request="my prices", item="document:price-list-v2"))
    assert (answer.rule, "replaced on" in answer.words) == ("superseded", True)


def test_why_explains_the_very_push_with_what_was_said_before(service: Service) -> None:
    around = {
        "request": "and the version before March? I mean the price",
        "recent": ("the price list says 90 an hour",),
    }
    pushed = [p.item for p in service.push(PushRequest(**around)).pointers]  # type: ignore[arg-type]

    assert "document:price-list-v1" in pushed
    assert service.why(WhyRequest(**around, item="document:price-list-v1")).gate == "found"  # type: ignore[arg-type]
    query = {"query": around["request"], "recent": around["recent"]}
    assert service.search(SearchRequest(**query)).found[0].item == "document:price-list-v1"  # type: ignore[arg-type]
    assert service.why(WhyRequest(request=str(around["request"]), item="document:price-list-v1")).gate == "filtered"


def test_why_compares_every_row_without_keeping_a_push_waiting(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    best_rows, compared = Searcher.best_rows, []

    def watched(searcher: Searcher, request: str) -> Callable[[], dict[Route, Scores]]:
        finish = best_rows(searcher, request)

        def finish_and_push() -> dict[Route, Scores]:
            # It would wait for ever for the lock that its own thread holds.
            compared.append(service._follower._lock.acquire(timeout=1))
            service._follower._lock.release()
            return finish()

        return finish_and_push

    monkeypatch.setattr(Searcher, "best_rows", watched)
    assert (
        service.why(WhyRequest(request="what an hour costs", item="document:price-list-v2")).ranks["topic_words"] == 1
    )
    assert compared == [True]
