"""What a description says about when a thing helps becomes use keys, when the words are the owner's own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, ActorKind, RecordedEvent, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.language import situations as module
from instant_recall.projections.language.situations import LONGEST, MOST, READ, situations
from instant_recall.projections.state import State
from instant_recall.workers.skills import scan_skills

SKILL = ev.AssetRecorded(
    item="skill:portal",
    kind="skill",
    name="portal",
    description="Drives a browser. Use when the user asks to get a report. Do not use when there is an API.",
    text="# Portal\n\n## When to use\n\n- a page wants a login\n",
    use_when=("the site blocks downloads",),
    request="fetch last month's bill",
)


@pytest.mark.parametrize(
    ("description", "phrases"),
    [
        ("Sets up op. Use when installing the CLI, e.g. on a Mac. More.", ["installing the CLI, e.g. on a Mac"]),
        ("Use this skill whenever the owner asks for slides", ["slides"]),
        ("Use for: quick charts!", ["quick charts"]),
        ("Makes: things. Use when: you need: things", ["you need: things"]),
        ("This skill should be used when writing React code. It is fast.", ["writing React code"]),
        ("Use when user wants to tweet, or publish content.", ["tweet, or publish content"]),
        ("Reads feeds. When the user asks about RSS news. Nothing else.", ["RSS news"]),
        ("Useful for long drives. Helps when the car is full.", ["long drives", "the car is full"]),
        ("A lathe. For: turning bowls", ["turning bowls"]),
        ("When to use: the drain is blocked", ["the drain is blocked"]),
        (
            "Use when: (1) a test fails, (2) the user says no, (3) a tool is slow.",
            ["a test fails", "no", "a tool is slow"],
        ),
        ("Use when:\n- a bowl breaks\n- a cup leaks\n\nIt is slow.", ["a bowl breaks", "a cup leaks"]),
        (
            'Use when the user says "mark it done", "what is open", or asks about old tasks. Triggers on "todo list".',
            ["mark it done", "what is open", "old tasks", "todo list"],
        ),
        ("Zum Drucken. Verwenden, wenn das Papier leer ist.", ["das Papier leer ist"]),
        ("Pour imprimer. À utiliser quand il n'y a plus de papier.", ["il n'y a plus de papier"]),
        ("Never use when tired. Don't use for play. Must not be used when wet. Nicht verwenden, wenn es regnet.", []),
        ("A useful thing that people use.", []),
        ("", []),
        ("Use when: ... !", []),
    ],
)
def test_a_sentence_that_says_when_a_thing_helps_gives_phrases(description: str, phrases: list[str]) -> None:
    assert list(situations(description)) == phrases


def test_a_list_below_the_heading_when_to_use_gives_a_phrase_each() -> None:
    text = """# Portal
- not this
## When to Use This Skill

Use it when:
- **Right before** opening a pull request
* the user asks to `merge` it
1. "fix the build", "why is it red"

## Setup
- nor this
"""
    assert situations("", text) == (
        "Right before opening a pull request",
        "merge it",
        "fix the build",
        "why is it red",
    )


def test_phrases_are_bounded_in_length_and_number() -> None:
    assert len(situations("Use when " + "very " * 200 + "tired")[0]) == LONGEST
    assert len(situations("Use when: " + "; ".join(f"phrase number {n} comes" for n in range(99)))) == MOST


@pytest.mark.parametrize(
    "piece", ["use ", "use when ", "(1) ", '"a ', "user asks ", "and or ", "- ", "# when to use\n", "'"]
)
def test_a_text_made_to_be_slow_is_read_in_no_time(piece: str) -> None:
    text = piece * (2 * READ // len(piece))
    began = time.process_time()
    situations(text, text)
    assert time.process_time() - began < 0.5


def keys(event: ev.Event, actor: ActorKind) -> list[tuple[str, str]]:
    log = MemoryEventLog()
    log.append([draft(event, actor=Actor(actor))])
    state = State()
    recorded: list[RecordedEvent] = log.read(START)
    for one in recorded:
        state.apply(one)
    item = state.get(event.subjects()[0])
    return [(key.phrase, key.source) for key in item.keys] if item else []


def test_the_owners_own_words_become_keys_behind_those_that_the_record_names() -> None:
    told = [("get a report", "use_when"), ("a page wants a login", "use_when")]
    named = [("the site blocks downloads", "use_when"), ("fetch last month's bill", "stored")]

    assert keys(SKILL, "owner") == keys(SKILL, "import") == named + told
    assert keys(SKILL, "agent") == named


@pytest.mark.parametrize("actor", ["web", "tool"])
@pytest.mark.parametrize(
    "event",
    [
        SKILL,
        ev.NoteRecorded(item="note:x", text="x", use_when=("anything at all",), request="anything"),
        ev.KeyAdded(item="note:x", phrase="anything at all"),
        ev.OwnershipCorrected(item="note:x", request="anything at all", said="this"),
    ],
    ids=lambda value: value.type_name() if isinstance(value, ev.Event) else "",
)
def test_what_a_page_or_a_tool_says_never_becomes_a_key(event: ev.Event, actor: ActorKind) -> None:
    assert keys(event, "owner")
    assert keys(event, actor) == []


def test_an_imported_skill_has_what_its_description_says_as_keys(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: a\ndescription: Use when the tub overflows.\n---\nBody")
    (found,) = scan_skills(tmp_path).drafts

    assert keys(found.event, found.actor.kind) == [("the tub overflows", "use_when")]


_PIECES = (
    "use used useful helps meant invoke activate triggers trigger this it me skill proactively only when "
    "whenever for if on includes phrases cases to the user owner verwende nutze es wenn falls "
    "für utilise cela quand pour si usa lo cuando para for: cases: words: . do not"
)


@given(st.lists(st.sampled_from(_PIECES.split(" ")), max_size=12).map(" ".join))
def test_looking_for_the_words_first_passes_over_no_sentence(text: str) -> None:
    if module._BEGINS.search(text):
        assert any(hint in text.lower() for hint in module._HINTS)
