"""What each route brings in, and for whom."""

from __future__ import annotations

import pytest
from instant_recall.events import types as ev
from instant_recall.projections.searcher import WIDTH
from instant_recall.tests.small_world import World, note, skill

LAB = ("owner", "lab")


def test_a_request_that_shares_no_word_finds_its_item_by_a_use_key() -> None:
    world = World()
    world.happens(skill("portal-helper", "Relays commands to a logged-in browser"))
    world.happens(*[note(f"n{n}", f"Something else entirely, number {n}") for n in range(30)])
    request = "fetch last quarter's figures from the company site"
    before = {each.evidence.item.id: each.probability for each in world.ranked(request)}
    world.happens(ev.OwnershipCorrected(item="skill:portal-helper", request="get the report off the company portal"))

    first = world.ranked(request)[0]
    assert (first.evidence.item.id, first.route) == ("skill:portal-helper", "use")
    assert first.probability > 2 * before.get("skill:portal-helper", 0.0)


def test_a_named_item_comes_first_whatever_the_rest_is_about() -> None:
    world = World()
    world.happens(skill("lark", "Feeds paper through the scanner"), note("casserole", "How to bake the casserole lid"))

    ranked = world.ranked("while the casserole bakes, is lark done")
    assert (ranked[0].evidence.item.id, ranked[0].probability, ranked[0].route) == ("skill:lark", 1.0, "name")


def test_a_narrow_reader_is_not_starved_by_what_stands_in_front_unseen() -> None:
    world = World()
    world.happens(*[note(f"secret{n}", "the camera on the bench, the camera on the bench") for n in range(3 * WIDTH)])
    world.happens(note("open", "somebody wrote about a camera once"), audience=LAB)
    world.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))

    assert world.found("camera on the bench", "sub:lab") == ["note:open"]


def test_a_reader_without_grants_finds_nothing() -> None:
    world = World()
    world.happens(skill("lark", "Feeds paper through the scanner"), audience=LAB)

    assert world.found("lark", "sub:nobody") == []


def test_a_key_that_a_reader_may_not_see_finds_nothing_for_it() -> None:
    world = World()
    world.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    world.happens(skill("lark", "Feeds paper through the scanner"), audience=LAB)
    world.happens(ev.OwnershipCorrected(item="skill:lark", request="letters from my lawyer"), audience=("owner",))

    (owner_view,) = world.ranked("letters from my lawyer")
    (lab_view,) = world.ranked("letters from my lawyer", "sub:lab")
    assert owner_view.evidence.use_words > 0
    assert (lab_view.evidence.use_words, lab_view.evidence.use_meaning) == (0, 0)


@pytest.mark.parametrize(
    "event",
    [
        ev.ItemMuted(item="skill:lark"),
        ev.ItemQuarantined(item="skill:lark"),
        ev.ItemClosed(item="skill:lark"),
        ev.ItemForgotten(item="skill:lark"),
        ev.ItemSuperseded(item="skill:lark"),
    ],
)
def test_an_item_that_is_held_back_is_not_found_by_any_route(event: ev.Event) -> None:
    world = World()
    world.happens(skill("lark", "Feeds paper through the scanner", use_when=("a letter on paper",)))
    world.happens(event)

    for request in ("lark", "paper scanner", "a letter on paper"):
        assert world.found(request) == []


def test_the_older_version_is_not_found_and_the_newer_is() -> None:
    world = World()
    world.happens(note("rates", "Kilometre allowance is 30 cents"))
    world.happens(note("rates2", "Kilometre allowance is 38 cents", supersedes="note:rates"))

    assert world.found("kilometre allowance") == ["note:rates2"]


def test_a_hit_in_a_session_has_the_address_of_its_turn() -> None:
    world = World()
    world.happens(
        ev.TurnRecorded(session="s1", turn=1, role="owner", text="good morning to you"),
        ev.TurnRecorded(session="s1", turn=2, role="agent", text="trained the vial sorter with frozen layers"),
    )

    assert world.ranked("which layers were frozen for the vial sorter")[0].evidence.anchor == "t2"


@pytest.mark.parametrize("request_", ["", "   ", "🙂", "\u202e\u0000", "x" * 100_000, "и" * 3])
def test_a_request_without_any_known_word_does_no_harm(request_: str) -> None:
    world = World()
    world.happens(skill("lark", "Feeds paper through the scanner"))

    assert isinstance(world.found(request_), list)


def test_an_empty_memory_finds_nothing() -> None:
    assert World().found("anything at all") == []
