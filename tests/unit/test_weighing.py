"""The weight of use keys follows what became of the pointers they brought in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, draft
from instant_recall.projections.items import UseKey
from instant_recall.projections.learning.weighing import HEAVIEST, LIGHTEST, Counts, weight_of
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, World, encoder, skill
from instant_recall.workers.weighing import WINDOW_MS, weigh_from

REPORT = "download the quarterly report from the portal"
LETTER = "a letter on paper has to be read into the archive"
HELPER = skill("portal-helper", "Drives a logged-in browser", use_when=(REPORT, LETTER))
ITEM = "skill:portal-helper"
HOUR = 3_600_000
DAY = 24 * HOUR
BEFORE = NOW - 40 * DAY
LAB = ("owner", "lab")
Then = Callable[[str], list[ev.Event]]


def ignored(session: str) -> list[ev.Event]:
    return [ev.ItemOpened(item="note:other", reader="owner", session=session)]


def opened(session: str) -> list[ev.Event]:
    return [ev.ItemOpened(item=ITEM, reader="owner", session=session)]


def helped(session: str) -> list[ev.Event]:
    return [*opened(session), ev.ItemHelped(item=ITEM, session=session)]


def rejected(session: str) -> list[ev.Event]:
    return [ev.PointerRejected(item=ITEM, session=session)]


def served(session: str, request: str = REPORT, reader: str = "owner") -> ev.PushServed:
    return ev.PushServed(reader=reader, session=session, items=(ITEM,), seen=("1-0",), request=request)


class Weighed(World):
    """A world in which the night's job runs."""

    def __init__(self, folder: Path, audience: tuple[str, ...] = ("owner",)) -> None:
        super().__init__()
        self.store = SnapshotStore(folder)
        self.names = itertools.count()
        self.happens(HELPER, audience=audience, at=BEFORE)

    def push(self, *outcomes: Then, request: str = REPORT, audience: tuple[str, ...] = ("owner",)) -> None:
        """One push in a session of its own for each outcome."""
        for then in outcomes:
            name = f"s{next(self.names)}"
            self.happens(served(name, request), *then(name), audience=audience, at=NOW - 30 * DAY)

    def night(self, now: int = NOW + HOUR) -> dict[str, Any]:
        facts = weigh_from(self.log, self.store, encoder(), now=now)
        self.happens()
        return facts

    def key(self, phrase: str = REPORT) -> UseKey:
        item = self.overlay.state.get(ITEM)
        assert item is not None
        return next(key for key in item.keys if key.phrase == phrase and not key.negative)


@pytest.fixture
def world(tmp_path: Path) -> Weighed:
    return Weighed(tmp_path)


def test_ignored_again_and_again_a_key_gets_lighter_and_only_that_key(world: Weighed) -> None:
    world.push(*[ignored] * 9)
    world.night()
    key = world.key()

    assert key.weight == pytest.approx(LIGHTEST + (1 - LIGHTEST) * (2 / 14) / (1 / 3), abs=0.001)
    assert (key.shown, key.opened, key.helped, key.rejected) == (9, 0, 0, 0)
    assert world.key(LETTER).weight == 1.0


def test_a_key_whose_pointers_helped_gets_heavier_and_more_so_than_one_whose_were_opened(world: Weighed) -> None:
    world.push(*[helped] * 6)
    world.push(*[opened] * 6, request=LETTER)
    world.night()

    assert 1 < world.key(LETTER).weight < world.key().weight <= HEAVIEST
    assert (world.key().helped, world.key().opened) == (6, 0)
    assert (world.key(LETTER).helped, world.key(LETTER).opened) == (0, 6)


def test_a_lighter_key_pushes_its_item_down(world: Weighed) -> None:
    before = world.ranked(REPORT)[0].probability
    world.push(*[ignored] * 9)
    world.night()

    assert world.ranked(REPORT)[0].probability < before


@pytest.mark.parametrize("outcomes", [[ignored], [helped], [ignored, ignored], [helped, helped]])
def test_once_or_twice_changes_nothing(world: Weighed, outcomes: list[Then]) -> None:
    world.push(*outcomes)

    assert world.night()["changed"] == 0
    assert world.key().weight == 1.0


def test_one_ignored_push_among_many_that_helped_changes_nothing(tmp_path: Path) -> None:
    with_it, without = Weighed(tmp_path / "a"), Weighed(tmp_path / "b")
    with_it.push(*[helped] * 5, ignored)
    without.push(*[helped] * 5)
    for world in (with_it, without):
        world.night()

    assert with_it.key().weight == without.key().weight > 1


def test_a_second_run_finds_the_same_and_tells_nothing(world: Weighed) -> None:
    world.push(*[ignored] * 6, rejected, opened)
    first, weight = world.night(), world.key().weight
    second = world.night()

    assert (first["changed"], second["changed"]) == (1, 0)
    assert (first["pointers"], first["keys"]) == (second["pointers"], second["keys"]) == (8, 1)
    assert world.key().weight == weight < 1


def test_rejected_counts_against_a_key_and_more_than_ignored() -> None:
    assert weight_of(Counts(6, rejected=6)) < weight_of(Counts(6)) < 1


def test_what_is_no_longer_in_the_window_is_no_longer_held_against_a_key(world: Weighed) -> None:
    world.push(*[ignored] * 9)
    world.night()
    assert world.key().weight < 1
    world.night(now=NOW + WINDOW_MS + DAY)

    assert (world.key().weight, world.key().shown) == (1.0, 0)


def test_what_may_still_be_opened_is_not_ignored(world: Weighed) -> None:
    for n in range(9):
        world.happens(served(f"s{n}"), *ignored(f"s{n}"), at=NOW - HOUR)

    assert world.night(now=NOW)["pointers"] == 0


def test_silence_says_nothing_where_nobody_tells_what_was_opened(world: Weighed) -> None:
    world.push(*[lambda _session: []] * 30)
    assert world.night()["pointers"] == 0
    world.push(*[opened] * 4)

    assert world.night()["pointers"] == 34
    assert world.key().weight < 1


def test_what_a_session_says_when_it_is_closed_counts(world: Weighed) -> None:
    def closed(session: str) -> list[ev.Event]:
        return [ev.SessionClosed(session=session, used=(ITEM,), helped=(ITEM,))]

    world.push(*[closed] * 4)
    world.night()

    assert (world.key().helped, world.key().weight) == (4, weight_of(Counts(4, helped=4)))


def test_a_named_item_says_nothing_of_its_keys(world: Weighed) -> None:
    world.push(*[ignored] * 9, request=f"ask portal-helper to {REPORT}")

    assert world.night()["keys"] == 0


def test_a_key_is_not_judged_by_pushes_from_before_it_was_there(world: Weighed) -> None:
    world.push(*[ignored] * 9, request="fetch the invoices of the phone company")
    world.happens(ev.KeyAdded(item=ITEM, phrase="fetch the invoices of the phone company"))
    world.night()

    assert world.key("fetch the invoices of the phone company").weight == 1.0


def test_what_the_owner_took_away_stays_away_and_a_new_key_starts_afresh(world: Weighed) -> None:
    world.push(*[ignored] * 9)
    world.night()
    world.happens(ev.KeyRemoved(item=ITEM, key=world.key().key), ev.KeyAdded(item=ITEM, phrase=REPORT), at=NOW + HOUR)
    world.night(now=NOW + 2 * HOUR)

    assert world.key().weight == 1.0


def test_a_key_that_others_see_is_not_moved_by_what_they_may_not_know_of(tmp_path: Path) -> None:
    world = Weighed(tmp_path, LAB)
    world.push(*[ignored] * 9)
    assert world.night()["changed"] == 0
    world.push(*[ignored] * 9, audience=LAB)

    assert world.night()["changed"] == 1
    assert world.key().shown == 9


@pytest.mark.parametrize("kind", ["web", "tool", "import"])
def test_what_a_page_or_a_tool_says_moves_no_key(world: Weighed, kind: Any) -> None:
    world.push(*[opened] * 4)
    world.night()
    before = world.key()
    for n in range(9):
        events = [served(f"w{n}"), *rejected(f"w{n}")]
        world.happens(*[draft(e, occurred_at=NOW - 30 * DAY, actor=Actor(kind=kind)) for e in events])
    world.night()

    assert (world.key().weight, world.key().rejected) == (before.weight, 0)


def test_the_rule_is_monotone_and_bounded() -> None:
    for shown in range(3, 12):
        for helped_, opened_, rejected_ in itertools.product(range(shown + 1), repeat=3):
            if helped_ + opened_ + rejected_ > shown:
                continue
            counts = Counts(shown, opened_, helped_, rejected_)
            weight = weight_of(counts)
            assert LIGHTEST <= weight <= HEAVIEST
            assert weight_of(counts + Counts(1, helped=1)) >= weight
            assert weight_of(counts + Counts(1, opened=1)) >= weight
            assert weight_of(counts + Counts(1)) <= weight
            assert weight_of(counts + Counts(1, rejected=1)) <= weight_of(counts + Counts(1))
            if helped_ + opened_ + rejected_ < shown:
                assert weight_of(counts + Counts(0, opened=1)) >= weight
            if opened_:
                assert weight_of(counts + Counts(0, opened=-1, helped=1)) >= weight
