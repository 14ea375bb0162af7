"""Which items a request names."""

from __future__ import annotations

import time

import pytest
from instant_recall.projections.items import Item
from instant_recall.projections.naming.names import NameIndex, named_in
from instant_recall.tests.small_world import World, skill

WORDS = "put the under study letter bacon badge is up what does it for a on"
ORDINARY = frozenset(WORDS.split())


def index(**names: str) -> NameIndex:
    table = NameIndex()
    for key, name in names.items():
        first, *aliases = name.split("|")
        table.add(Item(id=key, kind="tool", name=first, aliases=tuple(aliases), recorded_at=1))
    return table


TABLE = index(
    heron="heron|bench box",
    stile="turnstile|turn stile",
    thimble="thimble",
    badger="badger|rover",
    beacon="beacon",
    study="understudy",
    grip="two-stage grip training|two-stage grip",
    quill="quill",
    café="Café Wächter",
    camera="камера",
    big="the big PC",
    wiring="shed wiring rev A",
)


def named(request: str, table: NameIndex = TABLE) -> list[str]:
    spans = named_in(request, [table], lambda _item: True, ORDINARY.__contains__)
    return [item for span in spans for item in sorted(span.items)]


@pytest.mark.parametrize(
    ("request_", "item"),
    [
        ("is heron up", "heron"),
        ("is HERON up", "heron"),
        ("restart herons second camera", "heron"),
        ("restart heron's second camera", "heron"),
        ("heron\u2019s lens", "heron"),
        ("the bench-box is warm", "heron"),
        ("turn-stile says no", "stile"),
        ("TurnStile says no", "stile"),
        ("has thimbel finished", "thimble"),
        ("has thimle finished", "thimble"),
        ("has thimblee finished", "thimble"),
        ("under study stopped", "study"),
        ("quilled the recording", "quill"),
        ("quilling the recording", "quill"),
        ("the two stage grip thing", "grip"),
        ("ask café wächter", "café"),
        ("где камера", "camera"),
        ("run the big PCs again", "big"),
        ("The-Big-Pcs", "big"),
        ("open shed wiring rev As", "wiring"),
    ],
)
def test_a_name_is_found_in_any_ordinary_spelling(request_: str, item: str) -> None:
    assert named(request_) == [item]


@pytest.mark.parametrize("request_", ["a badge for it", "bacon for breakfast", "hero", "", "🙂", "the heronry"])
def test_another_word_is_not_a_name(request_: str) -> None:
    assert named(request_) == []


def test_two_names_come_in_the_order_of_naming() -> None:
    assert named("put thimble beside heron") == ["thimble", "heron"]


def test_the_longest_name_wins() -> None:
    table = index(short="grip", long="two-stage grip")

    assert named("the two-stage grip", table) == ["long"]


def test_a_hidden_item_does_not_take_the_place_of_a_visible_one() -> None:
    table = index(short="grip", long="two-stage grip")
    spans = named_in("the two-stage grip", [table], lambda item: item == "short", ORDINARY.__contains__)

    assert [span.items for span in spans] == [{"short"}]


def test_an_item_named_anew_is_not_found_under_its_old_name() -> None:
    table = index(heron="heron")
    table.add(Item(id="heron", kind="tool", name="egret", recorded_at=1))

    assert named("is heron up", table) == []
    assert named("has heorn moved", table) == []
    assert named("is egret up", table) == ["heron"]


def test_a_name_with_a_double_letter_is_taken_out_again() -> None:
    table = index(kettle="kettle")
    table.remove("kettle")

    assert named("is the ketle on", table) == []
    table.add(Item(id="kettle", kind="tool", name="kettle", recorded_at=1))
    assert named("is the ketle on", table) == ["kettle"]


def test_a_newer_table_replaces_what_an_older_one_says_of_an_item() -> None:
    newer, older = index(heron="egret"), index(heron="heron", stile="turnstile")
    spans = named_in("heron and turnstile", [newer, older], lambda _item: True, ORDINARY.__contains__)

    assert [set(span.items) for span in spans] == [{"stile"}]


def test_headings_of_notes_are_no_names() -> None:
    table = NameIndex()
    table.add(Item(id="n", kind="note", name="Camera", recorded_at=1))

    assert named("is the camera up", table) == []


def test_a_log_pasted_whole_that_names_a_thing_on_every_line_is_read_in_no_time() -> None:
    began = time.perf_counter()
    spans = named_in("heron says no\n" * 2_000, [TABLE], lambda _item: True, ORDINARY.__contains__)

    assert len(spans) == 2_000
    assert time.perf_counter() - began < 2.0


def test_a_name_of_endless_letters_is_found_when_said_and_costs_no_more_than_its_length() -> None:
    endless = "ba" * 50_000
    table = index(long=endless, heron="heron")

    assert named(f"is {endless} up", table) == ["long"]
    assert named(f"is {endless}x up", table) == []
    assert named("is heorn up", table) == ["heron"]
    table.remove("long")
    assert named(f"is {endless} up", table) == []


def test_what_is_made_of_small_words_alone_is_no_name() -> None:
    world = World()
    world.happens(skill("the", description="Whatever"), skill("kestrel", aliases=("our", "in the")))

    named = world.searcher().named
    assert named("where is the mooring chart in the hut, our own one") == {}
    assert named("use kestrel") == {"skill:kestrel": 0}
