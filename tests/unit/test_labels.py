"""What a label is: checked where events enter the log, never mended, never widened."""

from __future__ import annotations

import pytest
from instant_recall.events import types as ev
from instant_recall.events.checks import MAX_LABELS
from instant_recall.events.envelope import draft
from instant_recall.events.errors import InvalidEvent
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.policy.eligibility import Reader

GOOD = ["lab", "team-a", "a.b_c:d/e", "A", "7", "x" * 64]
BAD = {
    "empty": "",
    "a space": "team a",
    "a comma": "lab,web",
    "a semicolon": "lab;web",
    "a tab": "lab\tweb",
    "a line": "lab\nweb",
    "a line at the end": "lab\n",
    "a null byte": "lab\0",
    "an escape": "lab\x1b[0m",
    "too long": "x" * 65,
    "a look-alike": "l\u0430b",  # a Cyrillic a
    "full-width": "\uff4cab",
    "an accent": "caf\u00e9",
    "a joiner": "la\u200db",
    "a turn of direction": "la\u202eb",
    "a quote": 'lab"',
    "a star": "*",
}


def stored(audience: tuple[str, ...]) -> tuple[str, ...]:
    log = MemoryEventLog()
    log.append([draft(ev.NoteRecorded(item="note:a", text="a"), audience=audience)])
    return log.read(START)[0].audience


@pytest.mark.parametrize("label", GOOD)
def test_a_label_of_plain_letters_is_kept_as_it_is(label: str) -> None:
    assert stored((label,)) == (label,)


@pytest.mark.parametrize("label", BAD.values(), ids=BAD.keys())
def test_a_label_that_is_none_is_refused_and_nothing_is_stored(label: str) -> None:
    log = MemoryEventLog()
    for event, audience in (
        (ev.NoteRecorded(item="note:a", text="a"), ("lab", label)),
        (ev.AudienceChanged(item="note:a", audience=("lab", label)), ("owner",)),
        (ev.ReaderGranted(reader="scout", scopes=("lab", label)), ("owner",)),
    ):
        with pytest.raises(InvalidEvent, match="label"):
            log.append([draft(event, audience=audience)])
    assert log.read(START) == []


@pytest.mark.parametrize("number", [MAX_LABELS + 1, 10_000])
def test_too_many_labels_are_refused(number: int) -> None:
    labels = tuple(f"label{n}" for n in range(number))

    with pytest.raises(InvalidEvent, match=f"{number} labels; {MAX_LABELS} is the most"):
        stored(labels)
    with pytest.raises(InvalidEvent, match=f"{number} labels"):
        MemoryEventLog().append([draft(ev.AudienceChanged(item="note:a", audience=labels))])
    assert stored(labels[:MAX_LABELS]) == labels[:MAX_LABELS]


def test_no_label_at_all_is_for_nobody_but_the_owner() -> None:
    assert stored(()) == ()
    assert not Reader("scout", frozenset({"lab", ""})).meets(())


def test_a_label_matches_whole_and_to_the_letter() -> None:
    reader = Reader("scout", frozenset({"lab"}))

    assert reader.meets(("lab",))
    assert not any(reader.meets((label,)) for label in ("Lab", "lab/a", "la", "lab:", "labs"))
