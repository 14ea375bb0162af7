"""The first sections of a report's page: what the run says, the setups, silence, the gates of the misses; and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from . import report_drawn as drawn
from .report_cells import by_item, mean, percent, rate, rows_of
from .report_charts import LIMIT_MS
from .report_details import cases, other_makes, probes, settings, tests
from .report_page import Html, Section, bullets, figure, folded, join, marked, paragraph, table, text
from .report_reliability import reliability
from .report_words import LOOK, TOLD, judgements
from .setups import BASELINE
from .suite_result import SuiteResult

MEANS: Final = {
    "not_indexed": "it is not known: never recorded, or without text and key",
    "not_asked": "nobody asked: a trivial turn, or no push was made",
    "filtered": "a rule held it back: reader, mute, validity, or shown before",
    "wrong_key": "no key of it comes near this request, in words or in meaning",
    "drowned": "it was found, but others or the bar kept it out",
    "found": "asked again it is there: the answer of the run lacks it",
}


def summary(result: SuiteResult) -> Html:
    """What comes before the contents: what was run, and what it says."""
    told = [
        Html(f"<b>{text(each.subject)}</b> {marked(TOLD[each.word], LOOK[each.word])}. {text(each.why)}")
        for each in judgements(result)
    ]
    intro = (
        f"{len(result.cases):,} requests with known answers, each asked as things stood at its moment, put to "
        f"{len(result.setups)} setups: the product's own code with some of its parts off."
    )
    if full := drawn.full(result):
        every = result.figures[full]["all"]
        intro += (
            f" {full}, here the nearest to the whole product, has a right pointer in {every.hit5.count} of "
            f"{every.hit5.of} cases that have a right answer, and pushes something in {every.false_pushes.count} of "
            f"{every.false_pushes.of} in which nothing fits."
        )
    return join([paragraph(intro), Html(f'<div class="first"><p><b>What this run says</b></p>{bullets(told)}</div>')])


def sections(result: SuiteResult) -> Iterator[Section]:
    """All sections but the one with the times."""
    yield _setups(result)
    yield _kinds(result)
    yield _silence(result)
    if result.calibration:
        yield reliability(result)
    if gates := drawn.gate_tables(result):
        yield _gates(result, gates)
    if result.probes:
        yield probes(result.probes)
    yield tests(result)
    yield cases(result)
    yield settings(result)


def times(result: SuiteResult, written: str = "") -> Section:
    """The section that differs from run to run."""
    full = drawn.full(result)
    took = [row.took_ms for row in rows_of(result, full)]
    over = {name: sum(row.took_ms > LIMIT_MS for row in rows_of(result, name)) for name in result.latency}
    rows = [(name, *(f"{ms:.1f}" for ms in each.values()), f"{over[name]}") for name, each in result.latency.items()]
    heads = ["setup", *(f"{p}, ms" for p in next(iter(result.latency.values()), {})), f"over {LIMIT_MS:g} ms"]
    parts = [
        paragraph("Nothing else on this page differs between two runs of one seed."),
        figure(
            drawn.latency(result),
            f"each bar is the number of pushes of {full} that took so long, on the machine of this run. Right of "
            f"the dashed line they took longer than {LIMIT_MS:g} ms: {over.get(full, 0)} of {len(took)}.",
        ),
        table("From request to answer; 95 of 100 are at most p95", heads, rows, numbers=range(1, len(heads))),
        paragraph(
            "One small world in one process: what 100,000 items take is measured by `instant-recall bench`.", "small"
        ),
        *([paragraph(f"Written {written}.", "small")] if written else []),
    ]
    return Section("Times", join(parts))


def _setups(result: SuiteResult) -> Section:
    says: dict[str, str] = result.settings.get("setups", {})
    every = {name: kinds["all"] for name, kinds in result.figures.items()}
    rows = [
        (
            *(name, says.get(name, "another make")),
            *(rate(found.hit1), rate(found.hit5), rate(found.false_pushes), rate(found.precision)),
            *(str(found.forbidden), mean(found.pointers, 2), mean(found.tokens, 0)),
        )
        for name, found in every.items()
    ]
    heads = ("setup", "what it has", "first, %", "in five, %", "false pushes, %", "precision, %", "forbidden, cases",
             "pointers a turn", "tokens a turn")  # fmt: skip
    parts = [
        table("All cases; below each figure its 95 % interval", heads, rows, numbers=range(2, 9)),
        paragraph(
            "of the cases with a right answer so many have it first, so many among the five; of those without one "
            "so many get a push all the same (false pushes). Precision is the share of pushes with a right pointer. "
            "Forbidden are the cases with a pointer that must not be there.",
            "read",
        ),
        paragraph(
            "Setups without a bar push their best five whatever the score, so that what they find can be compared. How "
            f"silent they could be is shown further down. {BASELINE} is the baseline that every other has to beat.",
            "small",
        ),
    ]
    if result.baselines:
        parts += other_makes(result)
    return Section("The setups", join(parts))


def _kinds(result: SuiteResult) -> Section:
    parts = [
        figure(
            drawn.hits_by_kind(result),
            "a dot is the share of cases with a right pointer among the five, its line the 95 % interval (long: too "
            f"few cases to tell). A dot right of the dashed line does better than the baseline {BASELINE}. Behind each "
            "kind stands the number of its cases.",
        )
    ]
    if pushes := drawn.pushes_by_kind(result):
        parts.append(
            figure(
                pushes,
                "the same for cases without a right answer: the share in which something is pushed all the same, so "
                "further left is better. A setup without a bar pushes whenever anything matches at all.",
            )
        )
    rows = [
        (
            *(kind, name, rate(found[kind].hit1), rate(found[kind].hit5)),
            by_item(found[kind].hit5_by_item, found[kind].hit5.of),
            *(rate(found[kind].false_pushes), str(found[kind].forbidden)),
        )
        for kind in next(iter(result.figures.values()), {})
        for name, found in result.figures.items()
        if kind in found
    ]
    heads = ("kind", "setup", "first, %", "in five, %", "interval by item", "false pushes, %", "forbidden, cases")
    caption = "Interval by item: by a bootstrap that counts all cases about one item as one"
    body = table(caption, heads, rows, numbers=range(2, 7))
    return Section("Right pointers by kind of case", join([*parts, folded("The same as numbers", body)]))


def _silence(result: SuiteResult) -> Section:
    recalls = sorted({recall for curve in result.curves.values() for recall in curve.at_recall})
    shown = [recall for recall in recalls if recall.endswith("0")]
    rows = [
        (name, *(percent(curve.at_recall[recall].false_push) if recall in curve.at_recall else "-" for recall in shown))
        for name, curve in result.curves.items()
        if curve.at_recall
    ]
    caption = "False pushes, % of the cases of kind none, at the highest bar with a recall of"
    parts = [
        paragraph("How often is something pushed where nothing fits, if so much is found where something does?"),
        figure(
            drawn.silence(result),
            "each line is a setup, from a bar so high that nothing is pushed (left) to none at all (right). Lower is "
            "better for false pushes, higher for precision, further right for both. A diamond is a setup that has the "
            "product's bar: it is known there only.",
        ),
        table(caption, ["setup", *(f"{_hundredths(recall)} %" for recall in shown)], rows, numbers=range(1, 20)),
        folded("All figures, at every twentieth of recall", _at_recall(result)),
    ]
    return Section("Silence against recall", join(parts))


def _at_recall(result: SuiteResult) -> Html:
    rows = [
        (
            *(
                name,
                f"{point.bar:.4f}",
                percent(point.recall),
                percent(point.false_push),
                percent(point.false_push_near),
            ),
            *(percent(point.false_push_far), percent(point.precision), f"{point.pointers:.2f}", f"{point.tokens:.0f}"),
        )
        for name, curve in result.curves.items()
        for point in (curve.at_recall.values() or curve.points[:1])
    ]
    heads = ("setup", "bar", "recall, %", "false pushes, %", "near, %", "far, %", "precision, %", "pointers a push",
             "tokens a turn")  # fmt: skip
    return table("At the highest bar that reaches each recall", heads, rows, numbers=range(1, 9))


def _gates(result: SuiteResult, tables: dict[str, dict[str, Any]]) -> Section:
    full = drawn.full(result) if drawn.full(result) in tables else next(reversed(tables))
    gates: dict[str, list[dict[str, Any]]] = tables[full]["gates"]
    rows = [(_gate(gate), str(len(missed)), MEANS.get(gate, ""), _counted(missed)) for gate, missed in gates.items()]
    each = [
        (miss.get("case", ""), miss.get("kind", ""), _gate(gate), miss.get("item", ""), miss.get("words", ""))
        for gate, missed in gates.items()
        for miss in missed
    ]
    misses = sum(map(len, gates.values()))
    parts = [
        figure(
            drawn.misses(result),
            "a bar is the misses of one setup: cases with a right answer that got none. It is cut by the first gate "
            "that the nearest right answer failed; the longest part is where work pays most.",
        ),
        table(f"The {misses} misses of {full}", ("gate", "misses", "what it means", "which"), rows, numbers=[1]),
    ]
    if each:
        heads = ("case", "kind", "gate", "item", "why")
        parts.append(folded(f"Every miss of {full}", table("What kept the item out", heads, each)))
    return Section("Gates of the misses", join(parts))


def _gate(gate: str) -> str:
    return drawn.GATES.get(gate, (gate, ""))[0]


def _counted(missed: list[dict[str, Any]]) -> str:
    """The kinds of the misses, most frequent first, and by which rule or cut."""
    kinds = Counter(str(miss.get("kind", "")) for miss in missed).most_common()
    how = Counter(str(miss.get("rule") or miss.get("cut") or "").replace("_", " ") for miss in missed).most_common()
    told = [", ".join(f"{name} {count}" for name, count in each if name) for each in (kinds, how)]
    return "; by: ".join(part for part in told if part)


def _hundredths(recall: str) -> int:
    return round(100 * float(recall))
