"""The later sections of a report's page: rules, tests, every case, and what the run rests on."""

from __future__ import annotations

from typing import Final

from .report_cells import mark, p_value, points, rows_of
from .report_page import Html, Section, facts, folded, heading, join, marked, paragraph, table
from .setups import BASELINE, SETUPS
from .statistics import ALPHA, discordance, holm, mcnemar
from .suite_figures import compare
from .suite_result import Comparison, ProbeTally, SuiteResult

MEASURES: Final = {"hit5": "a right pointer among the five", "silence": "nothing pushed where nothing fits"}
RULES: Final = {"named": "a named thing comes first", "access": "nothing hidden is told"}
WHOSE: Final = {"owner": " (the owner)", "sub_agent": " (sub-agents)", "tool": " (tools)"}


def probes(tallies: list[ProbeTally]) -> Section:
    """The generated requests for the two rules, and each that failed."""
    rows = [
        (
            RULES.get(each.rule, each.rule) + WHOSE.get(each.readers, ""),
            *(each.route, str(each.probes), _failures(each), f"{100 * each.bound:.2g} %"),
        )
        for each in tallies
    ]
    failed = [
        (f"{each.rule}, {each.route}", one.request, one.reader, one.item, ", ".join(one.got) or "nothing")
        for each in tallies
        for one in each.failures
    ]
    parts = [
        paragraph(
            "Two rules may never be broken. They are tried with requests made by machine from the world's own names: "
            "inflected, hyphenated, in longer sentences, and by readers of every scope."
        ),
        table("Generated requests", ("rule", "route", "tried", "failed", "at most"), rows, numbers=[2, 3, 4]),
        paragraph(
            "the last column is the share of such requests that fails at most, with 95 % confidence. "
            "Without a failure that is 3 divided by the number tried.",
            "read",
        ),
    ]
    if failed:
        heads = ("rule and route", "request", "reader", "item", "told instead")
        parts += [heading("What failed"), table("Failures", heads, failed)]
    return Section("Rules that may not be broken", join(parts))


def tests(result: SuiteResult) -> Section:
    """The exact tests, and what so many cases can find."""
    parts = [
        paragraph(
            "Each case is a pair: right or wrong in one setup, right or wrong in the other. Only pairs that differ "
            "count (McNemar's exact test). p: how often so great a difference comes by chance alone; corrected (Holm): "
            "for all comparisons of its table."
        )
    ]
    heads = ("setup", "against", "pairs", "gained", "lost", "points", "p", "p corrected", "verdict")
    for family, name in (("predecessor", "the one that it builds on"), ("baseline", f"the baseline {BASELINE}")):
        for measure, says in MEASURES.items():
            found = [test for test in result.tests if (test.family, test.measure) == (family, measure)]
            if found:
                caption = f"Each against {name}: {says}"
                parts.append(table(caption, heads, map(_test, found), numbers=range(2, 8)))
    return Section("Tests", join([*parts, *_power(result)]))


def cases(result: SuiteResult) -> Section:
    """What came of every case in every setup."""
    names = list(result.figures)
    by_name = [rows_of(result, name) for name in names]
    rows = [
        (
            *(case.id, f"{case.kind} {case.part}".rstrip(), case.request, ", ".join(case.expect) or "nothing"),
            *(mark(case, found[place]) for found in by_name),
        )
        for place, case in enumerate(result.cases)
    ]
    caption = (
        "✓1 right and first; ✓ right among the five, or rightly silent; · wrong; ✗ something forbidden was pushed. "
        "In the order in which they were asked."
    )
    body = table(caption, ("case", "kind", "request", "expected", *names), rows)
    return Section("Case by case", folded(f"All {len(rows):,} cases", body))


def settings(result: SuiteResult) -> Section:
    """What the run rests on, and how it is repeated."""
    commit = result.commit.rstrip("+") or "unknown: the code does not lie in its own repository"
    changed = " (with changes that are in no commit)" if result.commit.endswith("+") else ""
    plain = {name: value for name, value in result.settings.items() if name != "setups"}
    pairs = [
        ("commit", commit + changed),
        *((f"world, {name}", value) for name, value in result.world.items() if isinstance(value, str)),
        ("world holds", ", ".join(f"{n:,} {part}" for part, n in result.world.items() if not isinstance(n, str))),
        ("seeds", ", ".join(f"{name} {seed}" for name, seed in result.seeds.items())),
        *((name.replace("_", " "), value) for name, value in plain.items()),
    ]
    repeat = Html(
        "<p>The same commit, world, setups and seed give this page again, byte for byte, but for its last section "
        "(leave that out with <code>--no-times</code>). All of it is in <code>report.json</code> beside this page; "
        "<code>instant-recall eval --compare A.json B.json</code> tells case by case what differs between two.</p>"
    )
    return Section("Settings", join([facts(pairs), repeat]))


def other_makes(result: SuiteResult) -> list[Html]:
    """The setup that pushes its best five, as they do, against each of the other makes, by the same test."""
    without_bar = [name for name in result.setups if not (name in SETUPS and SETUPS[name].bar)]
    if not without_bar:
        return []
    ours = without_bar[-1]
    pairs = {
        make: discordance(*compare(result.cases, result.setups[ours], rows, "hit5"))
        for make, rows in result.baselines.items()
    }
    corrected = holm({make: mcnemar(found) for make, found in pairs.items()})
    expecting = sum(bool(case.expect) for case in result.cases)
    rows = []
    for make, (gained, lost) in pairs.items():
        gain = (gained - lost) / expecting if expecting else 0.0
        rows.append(
            (make, str(gained), str(lost), points(gain), p_value(corrected[make]), _verdict(gain, corrected[make]))
        )
    heads = ("make", f"only {ours} finds", "only the make finds", "points", "p corrected", f"verdict on {ours}")
    return [
        heading("Other makes"),
        paragraph(
            "They know at each moment what the full product knows, use keys included, see only what the reader may "
            f"see, and push their best five whatever the score. So they are compared with {ours}, which does that, too."
        ),
        table(
            f"{expecting} cases with a right answer: a right pointer among the five", heads, rows, numbers=[1, 2, 3, 4]
        ),
    ]


def _verdict(gain: float, p: float) -> Html | str:
    if p < ALPHA and gain:
        return marked("better", "good") if gain > 0 else marked("worse", "bad")
    return "may be chance" if gain else "no difference"


def _failures(tally: ProbeTally) -> Html:
    count = len(tally.failures)
    return marked(count, "bad" if count else "good")


def _power(result: SuiteResult) -> list[Html]:
    power = result.power
    gains = [
        (kind, str(power.pairs[kind]), "none" if gain is None else f"{100 * gain:.1f}")
        for kind, gain in power.smallest_gains.items()
    ]
    gained = 100 * (power.planned_gain + power.planned_losses)
    return [
        heading("What these cases can find"),
        paragraph(
            f"{power.planned_pairs} paired cases find a gain of {100 * power.planned_gain:.0f} points ({gained:.0f} % "
            f"gained against {100 * power.planned_losses:.0f} % lost; {power.formula}). A smaller gain than "
            "this table has may be there without being seen."
        ),
        table("The smallest gain found at 80 % power", ("kind", "pairs", "points"), gains, numbers=[1, 2]),
    ]


def _test(test: Comparison) -> tuple[object, ...]:
    gain = (test.gained - test.lost) / test.pairs if test.pairs else 0.0
    return (
        *(test.setup, test.against, str(test.pairs), str(test.gained), str(test.lost), points(gain)),
        *(p_value(test.p), p_value(test.p_holm), _verdict(gain, test.p_holm)),
    )
