"""Why an item is, or is not, in the push for a request: one gate, the first that it fails."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result
from instant_recall.api.messages import PushRequest, RememberRequest, WhyRequest, WhyResponse
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.errors import RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops.cli import main
from instant_recall.projections.asset_index import cosines
from instant_recall.projections.building import build
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.push import compose
from instant_recall.projections.ranker import model
from instant_recall.projections.rows import BULK, GROUP_OF, OPENING, TEXT, TOPIC, USE, rows_of
from instant_recall.projections.snapshot import latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.projections.why import Verdict, why
from instant_recall.tests.api_stand_in import serving
from instant_recall.tests.small_world import NOW, World, encoder, note, skill
from structlog.testing import capture_logs

REQUEST = "download last quarter's report from the company portal"
ALONE = {"use_words": None, "use_meaning": None, "topic_words": None, "topic_meaning": None, "text_meaning": None}
CLOSE = "fetch the quarterly report from the company portal"


def ask(world: World, item: str, request: str = REQUEST, reader: str = "owner", **more: Any) -> Verdict:
    searcher = world.searcher(reader)
    return why(world.overlay, searcher, request, item, owner=more.pop("owner", reader == "owner"), **more)()


@pytest.fixture
def world() -> World:
    """A skill with a key for the request, ten notes about the garden, and a lab that sees two things."""
    made = World()
    made.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    made.happens(skill("portal-helper", "Relays commands to a browser", use_when=(CLOSE,)))
    made.happens(*(note(f"Bed {n}", f"Garden bed number {n} holds plant {n}") for n in range(10)))
    made.happens(note("Microscope", "The microscope lens cap is on the left"), audience=("lab",))
    return made


def test_what_is_in_the_push_is_found(world: World) -> None:
    verdict = ask(world, "skill:portal-helper")

    assert (verdict.gate, verdict.rule, verdict.cut, verdict.rank) == ("found", "", "", 1)
    assert verdict.ranks["use_meaning"] == verdict.ranks["use_words"] == 1
    assert verdict.probability is not None
    assert verdict.probability >= verdict.bar == model().bar
    assert verdict.words.startswith("It is in the push, in place 1. The chance that one of its pointers helps is 0.")


def test_what_was_never_there_is_not_indexed(world: World) -> None:
    assert ask(world, "skill:none") == Verdict(
        item="skill:none",
        gate="not_indexed",
        ranks=ALONE,  # type: ignore[arg-type]
        bar=model().bar,
        words="Nothing of this id, address or name is known.",
    )


def test_what_was_named_and_never_recorded_is_not_indexed(world: World) -> None:
    world.happens(ev.KeyAdded(item="skill:later", phrase=REQUEST))

    assert ask(world, "skill:later").gate == "not_indexed"
    assert "never recorded" in ask(world, "skill:later").words


def test_what_has_no_text_is_not_indexed(world: World) -> None:
    world.happens(ev.TurnRecorded(session="s1", turn=1, role="owner", text="yes"))

    assert ask(world, "session:s1").gate == "not_indexed"
    assert "no text" in ask(world, "session:s1").words


@pytest.mark.parametrize("request_", ["ok thanks", "/clear", "…"])
def test_in_a_turn_that_asks_for_nothing_nobody_asked(world: World, request_: str) -> None:
    assert ask(world, "skill:portal-helper", request_).gate == "not_asked"


def test_a_request_for_which_no_push_was_served_was_not_asked(world: World) -> None:
    assert ask(world, "skill:portal-helper", asked=False).gate == "not_asked"


@pytest.mark.parametrize(
    ("event", "rule", "words"),
    [
        (ev.ItemMuted(item="skill:portal-helper"), "muted", "muted"),
        (ev.ItemQuarantined(item="skill:portal-helper"), "quarantined", "quarantined"),
        (ev.ItemForgotten(item="skill:portal-helper"), "forgotten", "forgotten"),
        (ev.ItemClosed(item="skill:portal-helper", reason="the portal is gone"), "closed", "(the portal is gone)"),
        (ev.ItemSuperseded(item="skill:portal-helper", by="note:Bed 1"), "superseded", "note:Bed 1"),
        (skill("portal-helper", "Relays", valid_from=NOW + 1), "not_yet_valid", "2026"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_owner_is_told_by_which_rule_an_item_is_filtered(
    world: World, event: ev.Event, rule: str, words: str
) -> None:
    world.happens(event)
    verdict = ask(world, "skill:portal-helper")

    assert (verdict.gate, verdict.rule) == ("filtered", rule)
    assert words in verdict.words
    assert verdict.ranks == ALONE
    assert compose(world.searcher(), REQUEST).pointers == ()


def test_the_owner_is_told_of_another_reader_whose_scopes_an_audience_does_not_meet(world: World) -> None:
    verdict = ask(world, "skill:portal-helper", reader="sub:lab", owner=True)

    assert (verdict.gate, verdict.rule) == ("filtered", "audience")
    assert "owner" in verdict.words


@pytest.mark.parametrize("request_", [REQUEST, "ok thanks", "portal-helper"])
@pytest.mark.parametrize(
    "event",
    [
        None,
        ev.ItemMuted(item="skill:portal-helper"),
        ev.ItemForgotten(item="skill:portal-helper"),
        ev.ItemClosed(item="skill:portal-helper"),
        ev.KeyAdded(item="skill:portal-helper", phrase="of the lab"),
    ],
    ids=["hidden", "muted", "forgotten", "closed", "keyed"],
)
def test_any_other_reader_is_told_of_a_hidden_item_what_it_is_told_of_none(
    world: World, event: ev.Event | None, request_: str
) -> None:
    world.happens(*([event] if event else []))
    hidden = ask(world, "skill:portal-helper", request_, reader="sub:lab")
    none = ask(world, "skill:none", request_, reader="sub:lab")

    assert msgspec.json.encode(hidden).replace(b"portal-helper", b"none") == msgspec.json.encode(none)


def test_a_narrow_reader_is_not_told_by_which_rule_what_it_saw_is_held_back(world: World) -> None:
    shown = {"note:Microscope": ""}
    lab = ask(world, "note:Microscope", "where is the lens cap of the microscope", reader="sub:lab", shown=shown)
    owner = ask(world, "note:Microscope", "where is the lens cap of the microscope", shown=shown)

    assert (lab.gate, lab.rule) == ("filtered", "")
    assert (owner.gate, owner.rule) == ("filtered", "already_shown")


def test_hidden_items_move_no_rank_of_a_visible_one(world: World) -> None:
    request = "where is the lens cap of the microscope"
    before = ask(world, "note:Microscope", request, reader="sub:lab")
    world.happens(*(note(f"Lens {n}", request) for n in range(8)))

    assert ask(world, "note:Microscope", request, reader="sub:lab") == before
    assert ask(world, "note:Microscope", request).ranks["topic_words"] == 9


def test_what_stands_behind_five_others_on_every_route_has_the_wrong_key(world: World) -> None:
    world.happens(*(note(f"Report {n}", f"Download the report of the company portal, part {n}") for n in range(6)))
    verdict = ask(world, "note:Bed 3")

    assert verdict.gate == "wrong_key"
    assert all(rank is None or rank > 5 for rank in verdict.ranks.values())
    assert verdict.ranks["use_words"] is None
    assert verdict.rank is not None
    assert "No key leads" in verdict.words
    assert "best place is" in verdict.words


def test_what_does_not_match_at_all_has_the_wrong_key_and_no_rank(world: World) -> None:
    verdict = ask(world, "skill:portal-helper", "ქართული")

    assert (verdict.gate, verdict.ranks) == ("wrong_key", ALONE)
    assert "nothing of it matches" in verdict.words


def test_what_is_found_and_stays_below_the_bar_is_drowned(world: World) -> None:
    verdict = ask(world, "skill:portal-helper", bar=0.9999)

    assert (verdict.gate, verdict.cut, verdict.rank) == ("drowned", "bar", 1)
    assert verdict.probability is not None
    assert verdict.probability < 0.9999
    assert f"{verdict.probability:.3f} it does not reach the bar of 1.000" in verdict.words


def test_what_is_named_behind_five_others_is_drowned_by_them() -> None:
    world = World()
    names = ["heron", "plover", "curlew", "dunlin", "godwit", "turnstone"]
    world.happens(*(skill(name, f"Counts {name}s") for name in names))
    verdict = ask(world, "skill:turnstone", "compare " + ", ".join(names))

    assert (verdict.gate, verdict.cut, verdict.rank) == ("drowned", "places", 6)
    assert "its own would be 6" in verdict.words


def test_what_no_longer_fits_into_the_tokens_is_drowned_by_them() -> None:
    world = World()
    long = "-".join(f"w{n}" for n in range(90))
    world.happens(
        *(skill(name, f"Counts {name}s", address=f"{name}/{long}"[:245]) for name in ("heron", "plover", "curlew"))
    )
    request = "heron, plover, curlew"
    pushed = [ranked.evidence.item.id for ranked, _ in compose(world.searcher(), request).pointers]
    verdict = ask(world, "skill:curlew", request)

    assert "skill:curlew" not in pushed
    assert (verdict.gate, verdict.cut) == ("drowned", "tokens")


def test_what_many_rows_of_one_other_item_keep_out_is_drowned_by_the_width_of_a_route() -> None:
    world = World()
    turns = [f"where is the lens cap of the microscope, asked for the {n}th time" for n in range(40)]
    world.happens(
        *(ev.TurnRecorded(session="s1", turn=n, role="owner", text=text) for n, text in enumerate(turns)),
        note("Optics", "A lens cap and a microscope are listed among many other things in this long inventory"),
    )
    verdict = ask(world, "note:Optics", "where is the lens cap of the microscope", bar=0.0)

    assert (verdict.gate, verdict.cut, verdict.ranks["topic_words"]) == ("drowned", "width", 2)


def test_without_names_a_named_item_stands_where_its_words_put_it(world: World) -> None:
    world.happens(*(skill(f"portal {n}", "portal") for n in range(3)), skill("heron", ""))
    request = "does heron like the garden beds"

    assert ask(world, "skill:heron", request).probability == 1.0
    without = ask(world, "skill:heron", request, names=False)
    assert without.probability is not None
    assert without.probability < 1.0


def brute_force(world: World, request: str, item: str, now: int = NOW) -> dict[str, int | None]:
    """Ranks from the definition, with the product's own scores for each single row."""
    searcher, texts = world.searcher(now=now), {}
    vectors = encoder().encode_request(request)
    for one in searcher.visible_items():
        (found,) = [e for e in searcher.find(request, also=[one.id]) if e.item.id == one.id]
        rows = {kind: [row.text for row in rows_of(one) if row.kind == kind] for kind in (USE, TOPIC, OPENING, TEXT)}
        near = {
            kind: float(np.max(cosines(vectors[group], encoder().encode_rows(group, said)), initial=0.0))
            for kind, said in rows.items()
            for group in [GROUP_OF[kind]]
        }
        texts[one.id] = {
            "use_words": found.use_words,
            "use_meaning": near[USE],
            "topic_words": found.topic_words,
            "topic_meaning": max(near[TOPIC], near[OPENING]),
            "text_meaning": near[TEXT],
        }
    own = texts[item]
    return {
        route: 1 + sum(other[route] > score for other in texts.values()) if score > 0 else None
        for route, score in own.items()
    }


@pytest.mark.parametrize("request_", [REQUEST, "the lens cap of the microscope", "which plant is in bed 4", "portal"])
def test_ranks_are_those_of_a_count_by_hand_with_a_base_or_without(
    world: World, request_: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    world.happens(ev.KeyAdded(item="note:Bed 4", phrase="the plant that likes shade"))
    items = ["skill:portal-helper", "note:Bed 4", "note:Microscope"]
    by_hand = {item: brute_force(world, request_, item) for item in items}

    assert {item: ask(world, item, request_).ranks for item in items} == by_hand

    # A base in which a graph stands over the texts: its rows are compared one by one all the same.
    monkeypatch.setattr("instant_recall.projections.asset_index.EXACT_UP_TO", 4)
    monkeypatch.setattr("instant_recall.projections.building.EXACT_UP_TO", 4)
    store = SnapshotStore(tmp_path)
    build(world.log, store, encoder())
    world.overlay = Overlay(latest_base(store, encoder()), encoder())
    assert world.overlay.base.segment.vectors.groups[BULK].graph is not None
    assert {item: ask(world, item, request_).ranks for item in items} == by_hand


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    made = Service(log, encoder(), record=lambda _: None)
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    keep(made, "portal-helper", "Relays commands", use_when=(CLOSE,), address="skills/portal/SKILL.md", kind="skill")
    keep(made, "Lens", "The lens cap is on the left", audience=("lab",))
    return made


def keep(service: Service, name: str, text: str, **fields: Any) -> str:
    return service.remember(RememberRequest(text=text, name=name, **fields)).position


def asked(service: Service, item: str, request: str = REQUEST, **fields: Any) -> WhyResponse:
    return service.why(WhyRequest(request=request, item=item, **fields))


@pytest.mark.parametrize(
    "item", ["skill:portal-helper", "skills/portal/SKILL.md", "the Portal Helper", "portal-helper"]
)
def test_an_item_is_asked_about_by_id_address_or_name_also_when_it_is_hidden(
    service: Service, log: MemoryEventLog, item: str
) -> None:
    answer = asked(service, item)
    assert (answer.item, answer.gate) == ("skill:portal-helper", "found")
    assert answer.position == str(log.last_position())

    log.append([draft(ev.ItemMuted(item="skill:portal-helper"))])
    answer = asked(service, item)
    assert (answer.item, answer.gate, answer.rule) == ("skill:portal-helper", "filtered", "muted")


@pytest.mark.parametrize(
    "item", ["skill:portal-helper", "skills/portal/SKILL.md", "portal-helper", "skill:portal-helper#t1", "", "#", "💥"]
)
def test_the_answer_to_another_reader_is_byte_for_byte_that_of_an_item_that_never_existed(item: str) -> None:
    answers = []
    for name in ("portal-helper", "something-else"):
        made = Service(MemoryEventLog(clock=lambda: NOW), encoder(), record=lambda _: None)
        keep(made, name, "Relays commands", use_when=(CLOSE,), kind="skill", address=f"skills/{name[:6]}/SKILL.md")
        answers.append(msgspec.json.encode(asked(made, item, reader="sub:lab")))

    assert answers[0] == answers[1]
    assert b"not_indexed" in answers[0]


def test_several_items_of_one_name_are_listed_but_not_those_the_reader_may_not_see(service: Service) -> None:
    keep(service, "lark", "Feeds paper", kind="skill", audience=("lab",))
    keep(service, "lark", "Feeds letters", kind="tool")

    with pytest.raises(RecallError, match="skill:lark, tool:lark"):
        asked(service, "lark")
    assert asked(service, "lark", reader="sub:lab").item == "skill:lark"


def test_only_the_owner_may_ask_about_another_readers_push(service: Service) -> None:
    answer = asked(service, "portal-helper", for_reader="sub:lab")

    assert (answer.gate, answer.rule) == ("filtered", "audience")
    assert asked(service, "note:lens", "where is the lens cap", reader="sub:lab", for_reader="sub:lab").gate == "found"
    with pytest.raises(Refused, match="owner"):
        asked(service, "portal-helper", reader="sub:lab", for_reader="owner")


def test_what_was_shown_in_this_session_is_filtered_in_it_alone(log: MemoryEventLog) -> None:
    service = Service(log, encoder())
    keep(service, "portal-helper", "Relays commands", use_when=(CLOSE,), kind="skill")
    service.push(PushRequest(request=REQUEST, session="s1"))

    assert asked(service, "portal-helper", session="s1").rule == "already_shown"
    assert asked(service, "portal-helper", session="s2").gate == "found"


def test_asking_why_leaves_nothing_in_the_log(service: Service, log: MemoryEventLog) -> None:
    before = log.last_position()
    asked(service, "portal-helper")

    assert log.last_position() == before


def test_as_of_then_the_answer_is_the_one_of_then(service: Service, log: MemoryEventLog) -> None:
    then = keep(service, "lark", "Feeds paper", kind="skill")
    before = asked(service, "lark", "send the letters")
    log.append([draft(ev.KeyAdded(item="skill:lark", phrase="send the letters to the printer"))])
    after = asked(service, "lark", "send the letters")
    past = asked(service, "lark", "send the letters", as_of=then)

    assert (before.gate, after.gate) != ("found", "found")
    assert after.ranks["use_words"] == 1
    assert past.ranks == before.ranks
    assert past.ranks["use_words"] is None
    assert past.as_of
    with pytest.raises(Refused):
        asked(service, "lark", reader="sub:lab", as_of=then)


def test_of_a_request_of_the_past_it_tells_whether_anybody_asked() -> None:
    ticks = itertools.count(NOW, 1_000)
    log = MemoryEventLog(clock=lambda: next(ticks))
    service = Service(log, encoder(), record=lambda _: None)
    keep(service, "portal-helper", "Relays commands", use_when=(CLOSE,), kind="skill")

    def moment(*events: ev.Event) -> str:
        return [str(log.append([draft(event, occurred_at=next(ticks))])[0].position) for event in events][-1]

    typed = ev.TurnRecorded(session="s1", turn=1, role="owner", text=REQUEST)
    other = ev.PushServed(reader="owner", session="s1", request="another")
    unasked = moment(typed, other)
    helped = moment(ev.PushServed(reader="sub:lab", session="s1", request=REQUEST))
    answered = moment(ev.PushServed(reader="owner", session="s1", request=REQUEST))

    assert asked(service, "portal-helper", as_of=unasked).gate == "not_asked"
    assert "No push was served" in asked(service, "portal-helper", as_of=unasked).words
    assert (
        asked(service, "portal-helper", CLOSE, as_of=unasked).gate == "found"
    )  # nobody typed it: what would have been
    assert asked(service, "portal-helper", as_of=helped).gate == "not_asked"
    assert asked(service, "portal-helper", as_of=answered).gate == "found"
    assert asked(service, "portal-helper").gate == "found"


def test_a_push_whose_words_were_erased_may_have_been_the_one(service: Service, log: MemoryEventLog) -> None:
    typed = ev.TurnRecorded(session="s1", turn=1, role="owner", text=REQUEST)
    served = draft(ev.PushServed(reader="owner", session="s1", request=REQUEST))
    (*_, last) = log.append([draft(typed), served])
    log.erase_payload(served.event_id)

    assert asked(service, "portal-helper", as_of=str(last.position)).gate == "found"


def typed(service: Service, *arguments: str) -> Result:
    """What the command line prints, over a real server, whose own log lines are kept out of it."""
    with capture_logs(), serving(service) as home:
        return CliRunner().invoke(main, ["--home", str(home), *arguments])


def test_the_command_says_in_a_paragraph_and_a_table_why_something_is_not_pushed(service: Service) -> None:
    told = typed(service, "why", "the lens and the portal", "note:lens")
    lines = told.stdout.splitlines()

    assert told.exit_code == 0, told.stderr
    assert lines[0].startswith("note:lens: ")
    assert lines[1:3] == ["", "  its place"]
    assert [line.split("  ")[1] for line in lines[3:9]] == [
        "by the words of its use keys",
        "by the meaning of its use keys",
        "by the words of what it says",
        "by the meaning of what it is",
        "by the meaning of what it says",
        "all together",
    ]
    assert lines[3].split()[-1] == "-"
    assert "with a probability of 0." in lines[8]
    assert all(len(line) < 240 for line in lines)


def test_the_command_tells_the_owner_the_rule_and_another_reader_nothing(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.ItemMuted(item="skill:portal-helper"))])
    log.append([draft(ev.ReaderGranted(reader="sub:none", scopes=("none",)))])

    assert typed(service, "why", REQUEST, "portal-helper").stdout == (
        "skill:portal-helper: filtered (muted). It is muted.\n"
    )
    assert typed(service, "why", REQUEST, "note:lens", "--for", "sub:none").stdout == (
        "note:lens: filtered (audience). It is not meant for this reader: its audience is lab.\n"
    )
    assert typed(service, "why", REQUEST, "skill:portal-helper", "--reader", "sub:lab").stdout == (
        "skill:portal-helper: not indexed. Nothing of this id, address or name is known. "
        "`remember` or `import` brings it in.\n"
    )


def test_the_command_prints_one_json_object_also_as_of_then(service: Service, log: MemoryEventLog) -> None:
    then = str(log.last_position())
    log.append([draft(ev.ItemMuted(item="skill:portal-helper"))])
    told = json.loads(typed(service, "why", REQUEST, "portal-helper", "--as-of", then, "--json").stdout)

    assert (told["gate"], told["item"], told["ranks"]["use_words"]) == ("found", "skill:portal-helper", 1)
    assert typed(service, "why", REQUEST, "portal-helper", "--as-of", then).stdout.startswith("As of ")


def test_the_command_says_who_may_ask_about_whom(service: Service) -> None:
    told = typed(service, "why", REQUEST, "portal-helper", "--reader", "sub:lab", "--for", "owner")

    assert told.exit_code == 1
    assert "Only the owner" in told.stderr


def test_it_says_why_a_word_is_or_is_not_taken_for_a_name(world: World) -> None:
    world.happens(skill("toad", "Prints in resin"))

    meant = ask(world, "skill:toad", "toad and paper").words
    assert "Its name is meant: " in meant
    assert "it stands without an article" in meant
    not_meant = ask(world, "skill:toad", "a toad sits in the window well").words
    assert "Its name is said, but not meant: it is one of many" in not_meant
