"""Co-access links: what was used together is found together, by what the reader may know and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops.replay import digest
from instant_recall.projections.building import build
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.past import links
from instant_recall.projections.past.uses import Use, Uses
from instant_recall.projections.pointers import render
from instant_recall.projections.push import compose
from instant_recall.projections.ranker import Ranked
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.projections.state import State
from instant_recall.tests.small_world import NOW, World, encoder, skill

DAY = 86_400_000
LAB = ("owner", "lab")


def world(*, sessions: int = 2, audience: tuple[str, ...] = ("owner",)) -> World:
    """A scanner and a label printer that were used together, among sessions that used something else."""
    made = World()
    made.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    made.happens(skill("docuscan"), skill("labelmaker"), skill("kettle"), audience=LAB)
    for number in range(10):
        made.happens(closed(f"tea{number}", "skill:kettle"), audience=LAB)
    for number in range(sessions):
        made.happens(closed(f"scan{number}", "skill:docuscan", "skill:labelmaker"), audience=audience)
    return made


def closed(session: str, *used: str, helped: tuple[str, ...] = ()) -> ev.SessionClosed:
    return ev.SessionClosed(session=session, used=used, helped=helped)


def linked(world: World, *, to: str = "skill:docuscan", reader: str = "owner", now: int = NOW) -> dict[str, float]:
    found = world.searcher(reader, now).linked([to])
    return {item: link.strength for item, link in found.items()}


def test_naming_a_thing_brings_in_what_was_used_with_it() -> None:
    evidence = {e.item.id: e for e in world().searcher().find("put the letters through docuscan")}

    assert 0.5 < evidence["skill:labelmaker"].link < 1
    assert evidence["skill:labelmaker"].linked_to == "skill:docuscan"
    assert evidence["skill:docuscan"].link == 0
    assert evidence["skill:kettle"].link == 0


def test_once_together_is_an_accident() -> None:
    assert linked(world(sessions=1)) == {}


def test_what_is_used_in_every_session_is_linked_to_nothing() -> None:
    made = World()
    made.happens(skill("docuscan"), skill("kettle"))
    for number in range(6):
        made.happens(closed(f"s{number}", "skill:docuscan", "skill:kettle"))

    assert linked(made) == {}


def test_openings_and_helps_count_as_much_as_what_a_session_says_at_its_end() -> None:
    made = world(sessions=1)
    made.happens(
        ev.ItemOpened(item="skill:docuscan", reader="owner", session="live"),
        ev.ItemHelped(item="skill:labelmaker", session="live"),
    )

    assert list(linked(made)) == ["skill:labelmaker"]


def test_openings_alone_link_where_no_session_is_recorded() -> None:
    made = World()
    made.happens(skill("docuscan"), skill("labelmaker"))
    for session in ("one", "two"):
        for item in ("skill:docuscan", "skill:labelmaker"):
            made.happens(ev.ItemOpened(item=item, reader="owner", session=session))

    assert list(linked(made)) == ["skill:labelmaker"]


def test_openings_outside_of_a_session_link_nothing() -> None:
    made = world(sessions=0)
    for item in ("skill:docuscan", "skill:labelmaker") * 2:
        made.happens(ev.ItemOpened(item=item, reader="owner"))

    assert linked(made) == {}


def test_a_link_fades_over_the_months() -> None:
    made = world()
    fresh, old = (linked(made, now=NOW + days * DAY)["skill:labelmaker"] for days in (0, 720))

    assert old < fresh / 2


def test_what_was_used_elsewhere_too_is_linked_less() -> None:
    made, busy = world(), world()
    busy.happens(closed("other1", "skill:docuscan"), closed("other2", "skill:docuscan"))

    assert linked(busy)["skill:labelmaker"] < linked(made)["skill:labelmaker"]


def test_a_sweep_over_everything_links_nothing() -> None:
    made = world(sessions=0)
    many = [f"skill:tool{number}" for number in range(links.MOST_ITEMS)]
    made.happens(*(skill(item.partition(":")[2]) for item in many))
    for number in range(2):
        made.happens(closed(f"sweep{number}", "skill:docuscan", *many))

    assert linked(made) == {}


def test_links_are_one_hop() -> None:
    made = world()
    made.happens(skill("guillotine"))
    made.happens(
        closed("a", "skill:labelmaker", "skill:guillotine"), closed("b", "skill:labelmaker", "skill:guillotine")
    )

    assert list(linked(made)) == ["skill:labelmaker"]


def test_a_link_to_an_old_version_shows_neither_it_nor_anything_in_its_place() -> None:
    made = world()
    made.happens(skill("labelmaker2", supersedes="skill:labelmaker"))

    assert linked(made) == {}


# --- what the reader may not see --------------------------------------------------------------------------------------


def test_a_session_that_the_reader_may_not_see_links_nothing_for_them() -> None:
    made = world(audience=("owner",))

    assert list(linked(made)) == ["skill:labelmaker"]
    assert linked(made, reader="sub:lab") == {}
    assert list(linked(world(audience=LAB), reader="sub:lab")) == ["skill:labelmaker"]


@pytest.mark.parametrize(
    "hiding",
    [
        ev.ItemMuted(item="skill:labelmaker"),
        ev.ItemClosed(item="skill:labelmaker"),
        ev.ItemForgotten(item="skill:labelmaker"),
        ev.ItemMuted(item="session:scan1"),
        ev.ItemQuarantined(item="session:scan1"),
        ev.ItemForgotten(item="session:scan1"),
    ],
    ids=lambda event: f"{event.type_name()}-{event.item}",
)
def test_no_link_passes_through_what_is_hidden(hiding: ev.Event) -> None:
    made = world()
    made.happens(hiding)

    assert linked(made) == {}


def test_an_opening_that_the_reader_may_not_see_does_not_count() -> None:
    made = world(sessions=1, audience=LAB)
    for item in ("skill:docuscan", "skill:labelmaker"):
        made.happens(ev.ItemOpened(item=item, reader="owner", session="live"))

    assert list(linked(made)) == ["skill:labelmaker"]
    assert linked(made, reader="sub:lab") == {}


def test_hidden_uses_do_not_move_the_strength_of_a_visible_link() -> None:
    made = world(audience=LAB)
    before = linked(made, reader="sub:lab")
    made.happens(closed("secret1", "skill:docuscan"), closed("secret2", "skill:labelmaker", "skill:kettle"))

    assert linked(made, reader="sub:lab") == before
    assert linked(made) != before


def test_a_forgotten_session_takes_no_uses_any_more() -> None:
    made = world()
    made.happens(ev.ItemForgotten(item="session:scan1"))
    made.happens(ev.ItemOpened(item="skill:docuscan", reader="owner", session="scan1"))

    assert made.overlay.state.uses.of_session("scan1") == ()


# --- how it is said ---------------------------------------------------------------------------------------------------


def test_the_line_says_with_what_it_was_used() -> None:
    made = world()
    pushed = compose(made.searcher(), "put the letters through docuscan", bar=0.0)
    lines = {ranked.evidence.item.id: (ranked.route, line) for ranked, line in pushed.pointers}

    assert lines["skill:labelmaker"][0] == "link"
    assert "Used with: docuscan." in lines["skill:labelmaker"][1]
    assert "Used with" not in lines["skill:docuscan"][1]


def test_without_links_nothing_is_linked() -> None:
    pushed = compose(world().searcher(), "put the letters through docuscan", bar=0.0, links=False)

    assert {ranked.evidence.link for ranked, _ in pushed.pointers} == {0.0}
    assert "Used with" not in pushed.block


def test_the_name_in_the_line_is_cleaned() -> None:
    item = world().overlay.state.get("skill:labelmaker")
    assert item is not None

    assert "Used with: a b." in render(item, "", used_with="a\n`b`")


def test_a_link_is_the_route_only_when_nothing_speaks_more() -> None:
    [evidence] = [e for e in world().searcher().find("docuscan") if e.item.id == "skill:labelmaker"]
    assert Ranked(evidence, 0.5).route == "link"
    evidence.use_meaning = evidence.use_words = 1.0
    assert Ranked(evidence, 0.5).route == "use"


# --- the state --------------------------------------------------------------------------------------------------------


def test_uses_over_older_uses_are_those_of_one_fold() -> None:
    def happen(uses: Uses, numbers: range) -> None:
        for n in numbers:
            uses.add(f"s{n % 3}", Use(f"skill:{n % 4}", n, ("owner",), n % 5 == 0))
            if n == 7:
                uses.forget("s1")

    whole, older = Uses(), Uses()
    happen(whole, range(12))
    happen(older, range(6))
    frozen = dict(older.all())
    newer = Uses(older)
    happen(newer, range(6, 12))

    assert dict(newer.all()) == dict(whole.all())
    assert dict(older.all()) == frozen
    for item in ("skill:0", "skill:1", "skill:2", "skill:3"):
        assert latest_of(newer, item) == latest_of(whole, item)


def latest_of(uses: Uses, item: str) -> dict[str, int]:
    """An item's sessions, each with its latest time."""
    found: dict[str, int] = {}
    for when, session in uses.sessions_of(item, lambda _audience: True):
        assert session not in found or when <= found[session]
        found.setdefault(session, when)
    return found


@pytest.mark.parametrize("cut", range(8))
def test_a_snapshot_and_the_events_behind_it_link_as_a_replay_does(cut: int, tmp_path: Path) -> None:
    events = [
        draft(each, occurred_at=NOW + n * DAY, audience=LAB)
        for n, each in enumerate(
            [
                skill("docuscan"),
                skill("labelmaker"),
                closed("a", "skill:docuscan", "skill:labelmaker"),
                ev.ItemOpened(item="skill:docuscan", reader="owner", session="b"),
                closed("c", "skill:docuscan"),
                ev.ItemHelped(item="skill:labelmaker", session="b"),
                ev.ItemForgotten(item="session:c"),
                closed("a", helped=("skill:labelmaker",)),
            ]
        )
    ]
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    if cut:
        log.append(events[:cut])
    build(log, store, encoder())
    log.append(events[cut:])
    resumed, replayed = World(), World()
    resumed.overlay = Overlay(latest_base(store, encoder()), encoder())
    catch_up(resumed.overlay, log)
    catch_up(replayed.overlay, log)

    assert digest(resumed.overlay.state) == digest(replayed.overlay.state)
    assert linked(resumed) == linked(replayed) != {}


def test_the_digest_tells_uses_apart() -> None:
    one, other = State(), State()
    one.uses.add("s", Use("skill:docuscan", 1, ("owner",)))

    assert digest(one) != digest(other)
