"""A pointer that was rejected for a request: it does not come back for it, and for nothing else does it stay away."""

from __future__ import annotations

from typing import Any

import pytest
from instant_recall.api.key_messages import KeysRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, draft
from instant_recall.projections.items import UseKey
from instant_recall.projections.push import compose
from instant_recall.projections.why import why
from instant_recall.tests.small_world import NOW, World, encoder, note, skill

REPORT = "download the quarterly report from the portal"
LETTER = "a letter on paper has to be read into the archive"
HELPER = skill("portal-helper", "Drives a logged-in browser", use_when=("a site blocks downloads", REPORT, LETTER))
HERON = skill("heron", "Turns sheets into pages", use_when=(REPORT,))


def world(*events: ev.Event) -> World:
    made = World()
    made.happens(HELPER, note("rates", "Kilometre allowance is 30 cents"), *events)
    return made


def pushed(made: World, request: str, reader: str = "owner") -> list[str]:
    return [r.evidence.item.id for r, _ in compose(made.searcher(reader), request).pointers]


def rejected(request: str = REPORT, session: str = "") -> ev.PointerRejected:
    return ev.PointerRejected(item="skill:portal-helper", request=request, session=session)


def keys(made: World) -> list[UseKey]:
    item = made.overlay.state.get("skill:portal-helper")
    assert item is not None
    return [key for key in item.keys if key.source == "rejected"]


def test_what_was_rejected_is_not_in_the_very_next_push_for_that_request_or_one_much_alike() -> None:
    made = world()
    alike = "please download the quarterly report from our portal"
    assert pushed(made, REPORT) == pushed(made, alike) == ["skill:portal-helper"]
    made.happens(rejected())

    assert pushed(made, REPORT) == []
    made.happens(ev.KeyRemoved(item="skill:portal-helper", key=_key_of(made, REPORT)))
    assert pushed(made, alike) == []


def _key_of(made: World, phrase: str) -> str:
    item = made.overlay.state.get("skill:portal-helper")
    assert item is not None
    return next(key.key for key in item.keys if key.phrase == phrase and not key.negative)


def test_its_other_needs_and_other_items_lose_nothing() -> None:
    made = world(HERON)
    before = {r.evidence.item.id: r.probability for r in made.ranked(LETTER)}
    made.happens(rejected())

    # The words of one more key count among all words, and so they move the word scores a little.
    after = {r.evidence.item.id: r.probability for r in made.ranked(LETTER)}
    assert after == pytest.approx(before, abs=0.02)
    assert pushed(made, LETTER) == ["skill:portal-helper"]
    assert pushed(made, REPORT) == ["skill:heron"]


def test_a_request_that_names_it_still_shows_it() -> None:
    made = world(rejected(), rejected("ask portal-helper to download the quarterly report"))

    assert pushed(made, "ask portal-helper to download the quarterly report") == ["skill:portal-helper"]


def test_a_correction_for_the_same_request_takes_the_rejection_back() -> None:
    made = world(rejected(), ev.OwnershipCorrected(item="skill:portal-helper", request=REPORT))

    assert keys(made) == []
    assert pushed(made, REPORT) == ["skill:portal-helper"]


def test_the_owner_can_take_a_rejection_away_by_its_key() -> None:
    made = world(rejected())
    [key] = keys(made)
    made.happens(ev.KeyRemoved(item="skill:portal-helper", key=key.key))

    assert pushed(made, REPORT) == ["skill:portal-helper"]


def test_without_a_request_it_is_the_last_one_that_the_session_was_shown_it_for() -> None:
    def served(request: str, *items: str, session: str = "s") -> ev.PushServed:
        return ev.PushServed(reader="owner", session=session, items=items, seen=("1-0",) * len(items), request=request)

    made = world(
        served("what came first", "skill:portal-helper"),
        served(REPORT, "note:rates", "skill:portal-helper"),
        served("something else", "note:rates"),
        served("of another session", "skill:portal-helper", session="other"),
        rejected("", "s"),
    )

    assert [(key.phrase, key.negative) for key in keys(made)] == [(REPORT, True)]


def test_a_rejection_of_something_never_shown_without_a_request_says_nothing() -> None:
    assert keys(world(rejected("", "s"), rejected("  ", ""))) == []


def test_the_request_of_a_push_with_a_forgotten_item_is_not_remembered() -> None:
    shown = ev.PushServed(
        reader="owner", session="s", items=("note:rates", "skill:portal-helper"), seen=("1-0", "1-0"), request=REPORT
    )

    assert keys(world(shown, ev.ItemForgotten(item="note:rates"), rejected("", "s"))) == []


def test_a_rejection_moves_nothing_for_readers_who_may_not_know_of_it() -> None:
    made = World()
    made.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    made.happens(HELPER, audience=("owner", "lab"))
    before = [r.probability for r in made.ranked(REPORT, "sub:lab")]
    made.happens(rejected())

    assert [r.probability for r in made.ranked(REPORT, "sub:lab")] == before
    made.happens(rejected(), audience=("owner", "lab"))
    assert pushed(made, REPORT, "sub:lab") == []


def test_why_says_that_a_key_keeps_it_away() -> None:
    made = world(rejected())
    verdict = why(made.overlay, made.searcher(now=NOW), REPORT, "skill:portal-helper", owner=True)()

    assert verdict.gate == "drowned"
    assert "not for" in verdict.words


@pytest.mark.parametrize("kind", ["web", "tool", "import"])
def test_what_a_page_or_a_tool_rejects_stays(kind: Any) -> None:
    made = world()
    made.happens(draft(rejected(), occurred_at=NOW, actor=Actor(kind=kind)))

    assert keys(made) == []


def test_who_rejects_over_the_client_sees_it_in_the_keys_and_only_the_owner_is_told_the_counts() -> None:
    made = world()
    made.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    made.happens(HELPER, rejected(), audience=("owner", "lab"))
    key = _key_of(made, LETTER)
    made.happens(ev.KeyWeighed(item="skill:portal-helper", key=key, weight=0.8, shown=9, opened=1, rejected=2))
    service = Service(made.log, encoder(), clock=lambda: NOW)
    told = {
        reader: {
            (k.phrase, k.not_for): k for k in service.keys(KeysRequest(item="skill:portal-helper", reader=reader)).keys
        }
        for reader in ("owner", "sub:lab")
    }

    assert told["owner"][REPORT, True].source == "rejected"
    assert (told["owner"][LETTER, False].weight, told["owner"][LETTER, False].shown) == (0.8, 9)
    assert (told["sub:lab"][LETTER, False].shown, told["sub:lab"][LETTER, False].rejected) == (0, 0)
