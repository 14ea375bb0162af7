"""What a run's figures say of each setup, in words: which parts earn their place, and which do not.

A setup is judged against the one that it builds on, by the exact test corrected for all of its family. Nothing is
called a gain that may be chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from .report_cells import p_value, percent
from .setups import BASELINE, SETUPS
from .statistics import ALPHA
from .suite_result import Comparison, Point, SuiteResult

Word = Literal["starts", "earns", "costs", "unproven", "does not earn", "harms"]

TOLD: Final[dict[Word, str]] = {
    "starts": "is where the comparison starts",
    "earns": "earns its place",
    "costs": "earns its place, at a price",
    "unproven": "is not proven here",
    "does not earn": "does not earn its place",
    "harms": "does harm here",
}
LOOK: Final[dict[Word, str]] = {
    "starts": "",
    "earns": "good",
    "costs": "doubt",
    "unproven": "doubt",
    "does not earn": "bad",
    "harms": "bad",
}
"""How a word is marked on the page."""


class Judgement(NamedTuple):
    """What is to be thought of one setup."""

    setup: str
    subject: str
    """What is judged: the setup, or the part that it leaves out."""
    word: Word
    why: str
    """One to three sentences."""


def judgements(result: SuiteResult) -> list[Judgement]:
    """One for each setup, in their order."""
    return [_judged(result, setup) for setup in result.setups]


def _judged(result: SuiteResult, setup: str) -> Judgement:
    found, silence = (_against_predecessor(result, setup, measure) for measure in ("hit5", "silence"))
    if found is None:
        return Judgement(setup, setup, "starts", f"It is the first that was run here: {_says(result, setup)}.")
    if setup in SETUPS and not SETUPS[setup].overlay:
        return _left_out(setup, found)
    word = _word(found, silence)
    if word in ("earns", "costs") and _as_silent_with_a_bar(result, setup):
        word = "unproven"
    return Judgement(setup, setup, word, " ".join(_reasons(result, setup, found, silence, word)))


def _against_predecessor(result: SuiteResult, setup: str, measure: str) -> Comparison | None:
    return next(
        (t for t in result.tests if (t.setup, t.measure, t.family) == (setup, measure, "predecessor") and t.pairs), None
    )


def _word(found: Comparison, silence: Comparison | None) -> Word:
    verdicts = {_verdict(test) for test in (found, silence) if test is not None}
    if "better" in verdicts:
        return "costs" if "worse" in verdicts else "earns"
    if "worse" in verdicts:
        return "harms"
    gained = any(test is not None and test.gained > test.lost for test in (found, silence))
    return "unproven" if gained else "does not earn"


def _verdict(test: Comparison) -> Literal["better", "worse", "same"]:
    if test.p_holm >= ALPHA or test.gained == test.lost:
        return "same"
    return "better" if test.gained > test.lost else "worse"


def _reasons(
    result: SuiteResult, setup: str, found: Comparison, silence: Comparison | None, word: Word
) -> Iterator[str]:
    of = f"of {found.pairs} cases with a right answer"
    if found.gained or found.lost:
        gained, lost = _none(found.gained), _none(found.lost)
        yield f"Against {found.against} it finds {gained} more and loses {lost} {of} ({chance(found)})."
    else:
        yield f"It changes nothing against {found.against} in the {found.pairs} cases with a right answer."
    if silence is not None and (silence.gained or silence.lost):
        changed = f"{_changed(silence)} ({chance(silence)})"
        yield f"Of {silence.pairs} cases where nothing fits it is rightly silent in {changed}."
    if word == "unproven" and found.gained > found.lost and found.smallest_gain is not None:
        yield f"So many cases reliably find only gains from {100 * found.smallest_gain:.0f} points on."
    if setup in SETUPS and SETUPS[setup].bar:
        yield from _with_a_bar(result, setup)


def _with_a_bar(result: SuiteResult, setup: str) -> Iterator[str]:
    """A bar trades right answers for silence, so that only the baseline at the same recall is a fair measure."""
    every = result.figures[setup]["all"]
    yield (
        f"With the bar {every.precision.count} of {every.precision.of} pushes hold a right pointer, and a turn costs "
        f"{every.tokens.mean:.0f} tokens on average."
    )
    if (both := _at_its_recall(result, setup)) is not None:
        mine, base = both
        yield (
            f"{setup} finds {100 * mine.recall:.0f} % and pushes in {percent(mine.false_push)} % of the cases of kind "
            f"none; {BASELINE} with a bar of its own that finds {100 * base.recall:.0f} % would push in "
            f"{percent(base.false_push)} % of them."
        )
    if _as_silent_with_a_bar(result, setup):
        yield f"So a bar on {BASELINE} alone does as well here."


def _at_its_recall(result: SuiteResult, setup: str) -> tuple[Point, Point] | None:
    """What a setup with a bar does, and the baseline at the nearest bar that finds as much or a little less."""
    if setup not in result.curves or BASELINE not in result.curves or setup == BASELINE:
        return None
    mine = next(iter(result.curves[setup].points), None)
    reached = result.curves[BASELINE].at_recall
    as_much = [recall for recall in reached if mine is not None and float(recall) <= mine.recall]
    return (mine, reached[max(as_much)]) if mine is not None and mine.false_push is not None and as_much else None


def _as_silent_with_a_bar(result: SuiteResult, setup: str) -> bool:
    """Whether the baseline needs no more than a bar to be as good: as silent, at most one step of recall below."""
    if setup not in SETUPS or not SETUPS[setup].bar or (both := _at_its_recall(result, setup)) is None:
        return False
    mine, base = both
    return base.recall > mine.recall - 0.05 and (base.false_push or 0.0) <= (mine.false_push or 0.0)


def _left_out(setup: str, found: Comparison) -> Judgement:
    """A setup that lacks a part speaks for that part by what it loses."""
    lost = (
        f"Without it {_none(found.lost)} of {found.pairs} right answers are lost and {_none(found.gained)} gained "
        f"({chance(found)})."
    )
    verdict = _verdict(found)
    if verdict == "worse":
        word: Word = "earns"
    elif verdict == "better":
        word = "harms"
    else:
        word = "unproven" if found.lost > found.gained else "does not earn"
    return Judgement(setup, f"The overlay ({setup} is {found.against} without it)", word, lost)


def chance(test: Comparison) -> str:
    """What the test says, corrected: "p = 0.032", "p < 0.001"; and that it may be chance, where it may."""
    p = f"p {p_value(test.p_holm)}" if test.p_holm < 0.001 else f"p = {p_value(test.p_holm)}"
    return p if test.p_holm < ALPHA else f"{p}: may be chance"


def _changed(test: Comparison) -> str:
    if not test.lost:
        return f"{test.gained} more"
    return f"{test.gained} more, and no longer in {test.lost}" if test.gained else f"{test.lost} fewer"


def _none(count: int) -> str:
    return f"{count}" if count else "none"


def _says(result: SuiteResult, setup: str) -> str:
    return str(result.settings.get("setups", {}).get(setup, setup))
