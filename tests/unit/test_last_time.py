"""Requests that point back find the session that is meant, its turn, and what helped there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from instant_recall.api.messages import PushRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.evidence import Evidence
from instant_recall.projections.past.last_time import points_back
from instant_recall.projections.past.periods import periods_in
from instant_recall.projections.push import compose
from instant_recall.projections.searcher import Searcher
from instant_recall.tests.small_world import World, encoder, note, skill


def at(month: int, day: int, year: int = 2026) -> int:
    return int(datetime(year, month, day, 12, tzinfo=UTC).timestamp() * 1000)


NOW = at(9, 15)
LAB = ("owner", "lab")

BACK = """
do the invoice thing the same way as before
use whatever we used for the wedding photos
can you set up the tent lights like last summer
which glue did we use on the oar
the one we used last time
get the gas one the way you got the water one
again like in spring
pick up where we left off with the thesis
handle this complaint like you handled the one from the hotel
book the same place as last year
that script you wrote for the archive, run it on this folder
do it like the time before
the recipe with the two kinds of flour, once more
wie haben wir das letztes Mal mit dem Drucker gemacht
mach es genauso wie im Frühling
nimm das Rezept, das wir für Oma benutzt haben
nochmal dasselbe wie letzte Woche bitte
der Trick vom Juni, nochmal
mach das wie bei der Hochzeit
fais comme la dernière fois pour les factures
la même chose qu'en juin
reprends la méthode qu'on a utilisée pour le toit
encore une fois comme au printemps
le modèle que tu as fait pour la mairie
hazlo como la última vez
lo mismo que en primavera
usa la plantilla que usamos para el museo
otra vez como en marzo
cómo arreglamos la bomba
""".strip().split("\n")

AHEAD = """
what's the weather like in june
send the invoice to the bakery
is the router on again
i need a new tent for the summer
add another row to the table
what does the calendar say for march
please like the post on the page
could you look at this error again
the report is due at the same time every week
set an alarm for seven
mach mir eine Liste der Rechnungen
wie ist das Wetter im Juni
kannst du das Licht wieder anmachen
écris une lettre au propriétaire
il fait beau en juin
encore du café
escribe un correo al casero
qué tiempo hace en junio
pon otra alarma
""".strip().split("\n")


@pytest.mark.parametrize("request_", BACK)
def test_a_request_that_points_back_is_known_in_several_languages(request_: str) -> None:
    assert points_back(request_, NOW) is not None


@pytest.mark.parametrize("request_", AHEAD)
def test_a_request_that_asks_for_something_new_points_nowhere(request_: str) -> None:
    assert points_back(request_, NOW) is None


def test_what_stands_in_the_middle_of_a_long_paste_is_not_listened_to() -> None:
    assert points_back("a b c " * 500 + "the same as last time " + "a b c " * 500, NOW) is None


@pytest.mark.parametrize(
    "odd", ["", " ", "\u0130" * 50, "\u2019", "31 june, same as then", "same as 99 months ago", "\0"]
)
def test_odd_requests_do_no_harm(odd: str) -> None:
    points_back(odd, NOW)


@pytest.mark.parametrize(
    ("said", "inside", "outside"),
    [
        ("in june", at(6, 20), at(8, 1)),
        ("im juni", at(6, 20), at(8, 1)),
        ("en juin", at(6, 20), at(8, 1)),
        ("en junio", at(6, 20), at(8, 1)),
        ("in november", at(11, 5, 2025), at(6, 1)),
        ("in march 2025", at(3, 10, 2025), at(3, 10)),
        ("in the beginning of april", at(4, 3), at(4, 25)),
        ("on the first of july", at(7, 1), at(7, 9)),
        ("on the ninth", at(9, 9), at(8, 9)),
        ("last spring", at(4, 15), at(7, 15)),
        ("letzten sommer", at(7, 15), at(2, 15)),
        ("l'hiver dernier", at(1, 15), at(6, 15)),
        ("la primavera", at(4, 15), at(8, 15)),
        ("last week", at(9, 8), at(8, 25)),
        ("yesterday", at(9, 14), at(9, 11)),
        ("last month", at(8, 10), at(6, 10)),
        ("last year", at(5, 10, 2025), at(5, 10)),
        ("two months ago", at(7, 17), at(4, 1)),
        ("vor drei wochen", at(8, 25), at(6, 1)),
        ("il y a deux ans", at(9, 15, 2024), at(9, 15)),
        ("hace tres días", at(9, 12), at(8, 12)),
        ("last friday", at(9, 11), at(9, 7)),
    ],
)
def test_a_time_that_is_named_is_the_last_one_of_its_name(said: str, inside: int, outside: int) -> None:
    [period], _ = periods_in(said, NOW)

    assert period.fits(np.array([inside, outside])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("said", ["may i ask", "march on", "a spring in my step", "the second plate", "marsh", "mayor"])
def test_words_that_only_look_like_months_are_none(said: str) -> None:
    assert [p for p, span in zip(*periods_in(said, NOW), strict=True) if "spring" not in said] == []


def lived() -> World:
    """Three sessions over the year, each with what helped in it."""
    world = World()
    world.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    world.happens(
        skill("turnstile"), skill("tide"), note("glue", "Bone glue sets in an hour"), audience=LAB, at=at(1, 1)
    )
    session(world, "water", at(2, 3), "household", "fetch the yearly statement of the water company", "skill:turnstile")
    session(world, "oar", at(4, 20), "boat", "the oar is split along the blade, glue it for me", "note:glue")
    session(world, "moon", at(6, 12), "boat", "when do we leave the harbour under the new moon", "skill:tide")
    return world


def session(world: World, name: str, when: int, project: str, asked: str, helped: str, *, labels=LAB) -> None:
    world.happens(
        ev.TurnRecorded(session=name, turn=1, role="owner", text="good morning to you all", project=project),
        ev.TurnRecorded(session=name, turn=2, role="owner", text=asked, project=project),
        ev.TurnRecorded(session=name, turn=3, role="agent", text="It is done as you wished it", project=project),
        ev.SessionClosed(session=name, project=project, used=(helped,), helped=(helped,), outcome="done"),
        audience=labels,
        at=when,
    )


def best(
    world: World,
    request: str,
    reader: str = "owner",
    *,
    before: Sequence[str] = (),
    project: str = "",
    session: str = "",
    links: bool = True,
) -> list[Evidence]:
    asked = Searcher(world.overlay, encoder(), world.overlay.state.reader(reader, NOW), NOW, before, project, session)
    found = asked.find(request, links=links)
    return sorted((e for e in found if e.last_time > 0), key=lambda e: -e.last_time)


def test_the_words_that_remain_tell_which_session() -> None:
    assert best(lived(), "do it the way you got the water statement")[0].item.id == "session:water"
    assert best(lived(), "which glue did we use on the oar")[0].item.id == "session:oar"


def test_the_pointer_names_the_turn() -> None:
    found = best(lived(), "do it the way you got the water statement")[0]
    assert found.anchor == "t2"

    pushed = compose(lived().searcher(now=NOW), "do it the way you got the water statement", bar=0.0)
    lines = {ranked.evidence.item.id: (ranked.route, line) for ranked, line in pushed.pointers}
    assert lines["session:water"][0] == "last_time"
    assert lines["session:water"][1].endswith("Open: session:water#t2")


def test_a_session_of_which_no_turn_matches_is_pointed_at_from_its_beginning() -> None:
    [found] = [e for e in best(lived(), "same as in april please") if e.item.id == "session:oar"]

    assert found.anchor.startswith("t")


def test_the_time_that_is_named_tells_which_session() -> None:
    assert best(lived(), "same as in april please")[0].item.id == "session:oar"
    assert best(lived(), "dasselbe wie im Februar bitte")[0].item.id == "session:water"
    assert best(lived(), "la même chose qu'au printemps")[0].item.id == "session:oar"
    assert best(lived(), "otra vez como en junio")[0].item.id == "session:moon"


def test_a_time_at_which_there_was_nothing_does_no_harm() -> None:
    assert best(lived(), "the water statement again, same as in november")[0].item.id == "session:water"


def test_without_anything_else_the_latest_session_is_meant() -> None:
    assert best(lived(), "same as last time")[0].item.id == "session:moon"


def test_the_lines_before_tell_what_it_is_about() -> None:
    world = lived()
    assert best(world, "same as last time", before=["owner: the oar has split again"])[0].item.id == "session:oar"


def test_the_request_outweighs_the_lines_before() -> None:
    before = ["owner: the oar has split again"]
    assert best(lived(), "the water statement, same as last time", before=before)[0].item.id == "session:water"


def test_what_helped_is_meant_along_with_its_session() -> None:
    found = {e.item.id: e.last_time for e in best(lived(), "do it the way you got the water statement")}

    assert 0 < found["skill:turnstile"] < found["session:water"]
    assert found["skill:turnstile"] > found.get("skill:tide", 0)


def test_an_approach_is_found_by_itself() -> None:
    world = lived()
    world.happens(
        ev.AssetRecorded(
            item="approach:wedge", kind="approach", name="oak wedge", description="Split oars get a wedge"
        ),
        at=at(5, 1),
    )

    assert "approach:wedge" in [e.item.id for e in best(world, "do what we did with the oak wedge")]


def test_the_project_is_no_wall_and_breaks_a_tie() -> None:
    world = lived()
    for project in ("shed", "quay"):
        session(world, f"paint-{project}", at(7, 7), project, "mix the grey paint for the door", "skill:tide")

    assert best(world, "the grey paint, same as last time", project="quay")[0].item.id == "session:paint-quay"
    assert best(world, "the grey paint, same as last time", project="shed")[0].item.id == "session:paint-shed"
    assert best(world, "the water statement, same as last time", project="quay")[0].item.id == "session:water"


def test_a_request_that_points_nowhere_has_no_last_time() -> None:
    assert best(lived(), "fetch the water statement") == []


def test_links_switch_it_off_too() -> None:
    assert best(lived(), "do it the way you got the water statement", links=False) == []


def test_what_a_reader_may_not_see_is_not_meant_and_moves_nothing() -> None:
    world = lived()
    request = "the water statement, the same as last time"
    before = {e.item.id: e.last_time for e in best(world, request, "sub:lab")}
    session(
        world, "secret", at(9, 14), "household", "the water statement of my neighbour", "skill:tide", labels=("owner",)
    )
    world.happens(ev.ItemHelped(item="note:glue", session="water"), at=at(9, 14))

    assert {e.item.id: e.last_time for e in best(world, request, "sub:lab")} == before
    assert "session:secret" in [e.item.id for e in best(world, request)]


def test_the_session_that_is_going_on_is_not_last_time() -> None:
    world = lived()
    session(world, "now", at(9, 15), "household", "the water statement, same as last time", "skill:tide")
    request = "the water statement, same as last time"

    assert best(world, request)[0].item.id == "session:now"
    found = best(world, request, session="now")
    assert found[0].item.id == "session:water"
    assert "session:now" not in [e.item.id for e in found]


def test_an_old_version_that_helped_is_not_meant() -> None:
    world = lived()
    world.happens(skill("turnstile2", supersedes="skill:turnstile"), at=at(9, 1))

    assert "skill:turnstile" not in [e.item.id for e in best(world, "do it the way you got the water statement")]


def test_a_muted_session_is_not_meant() -> None:
    world = lived()
    world.happens(ev.ItemMuted(item="session:water"))

    assert "session:water" not in [e.item.id for e in best(world, "do it the way you got the water statement")]


def test_the_service_passes_on_the_lines_before_and_the_project() -> None:
    world = lived()
    service = Service(world.log, encoder(), clock=lambda: NOW)
    try:
        asked = PushRequest(request="same as last time", recent=("owner: the oar has split again",), project="boat")
        found = service.candidates(asked, now=NOW)
    finally:
        service.close()

    assert max(found, key=lambda e: e.last_time).item.id == "session:oar"
    assert isinstance(world.log, MemoryEventLog)
