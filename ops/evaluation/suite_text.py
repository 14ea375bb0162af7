"""What a run of the suite found, as aligned text."""

from __future__ import annotations

from collections.abc import Iterator

from ..output import count, dim, one_line, table
from .own import OwnReport
from .suite_result import Comparison, Point, Rate, SuiteResult

_FAILURES_SHOWN = 20
WHOSE = {"owner": ", the owner's", "sub_agent": ", sub-agents'", "tool": ", tools'"}
"""Whose probes a tally is of."""


def suite_lines(result: SuiteResult, *, verbose: bool = False) -> Iterator[str]:
    """The setups by kind, the tests, what the cases can find, and the probes."""
    yield "Right pointer among the five, % (95 % interval), where something is expected:"
    yield from _by_kind(result, expecting=True)
    yield ""
    yield "Anything pushed, % (95 % interval), where nothing is:"
    yield from _by_kind(result, expecting=False)
    yield ""
    yield from table([("setup", "tokens", "pointers a turn", "precision", "forbidden", "ms p99", ""), *_costs(result)])
    yield ""
    for family, against in (("baseline", "with the baseline"), ("predecessor", "with what it builds on")):
        found = [test for test in result.tests if test.family == family]
        if found:
            yield f"Each compared {against} (exact McNemar, Holm over {count(len(found) // 2, 'comparison')}):"
            heads = ("setup", "against", "on", "pairs", "gained", "lost", "p", "p Holm", "")
            yield from table([heads, *map(_test, found)])
            yield ""
    yield from _silence(result)
    yield from _calibration(result)
    yield from _power(result)
    yield from _probes(result, verbose=verbose)
    yield dim(f"commit {result.commit or 'unknown'}, world {result.world['digest']}, seed {result.seeds['bootstrap']}")


def own_lines(report: OwnReport, *, verbose: bool = False) -> Iterator[str]:
    """The counts of a run over the owner's own corrections; the corrections themselves only when asked."""
    counts = report.counts()
    cases = counts["cases"]
    yield f"{count(report.corrections, 'correction')}, of which {report.unusable:,} cannot be asked again"
    yield from table(
        [
            ("was recorded before the correction", f"{counts['known']} of {cases}"),
            ("would be pushed now, before it", f"{counts['hit5']} of {cases} ({counts['hit1']} first)"),
            ("the same without the bar", f"{counts['hit5_without_bar']} of {cases}"),
            ("just after it", f"{counts['hit5_after']} of {cases} ({counts['hit1_after']} first)"),
            ("was pushed then", f"{counts['hit5_then']} of {counts['pushes_then']} whose push is in the log"),
        ],
        indent="  ",
    )
    for case in report.cases if verbose else ():
        yield ""
        yield one_line(f"{case.at}  {case.request}")
        then = "not in the log" if case.pushed_then is None else ", ".join(case.pushed_then) or "nothing"
        yield from table(
            [
                ("meant", one_line(case.item) + ("" if case.known else " (not recorded yet)")),
                ("now", one_line(", ".join(case.pushed)) or "nothing"),
                ("then", one_line(then)),
                ("after", one_line(", ".join(case.pushed_after)) or "nothing"),
            ],
            indent="  ",
        )


def _by_kind(result: SuiteResult, *, expecting: bool) -> list[str]:
    makes = list(result.figures)
    rows = [("kind", "cases", *makes)]
    for kind, first in result.figures[makes[0]].items() if makes else ():
        of = first.hit5.of if expecting else first.false_pushes.of
        if of:
            found = [result.figures[make][kind] for make in makes]
            rates = [each.hit5 if expecting else each.false_pushes for each in found]
            rows.append((kind, f"{of}", *map(_percent, rates)))
    return table(rows)


def _percent(rate: Rate) -> str:
    return f"{100 * rate.rate:.0f} ({100 * rate.low:.0f}-{100 * rate.high:.0f})"


def _costs(result: SuiteResult) -> Iterator[tuple[str, ...]]:
    for make, kinds in result.figures.items():
        every = kinds["all"]
        says = result.settings["setups"].get(make, "")
        yield (
            *(make, f"{every.tokens.mean:.0f}", f"{every.pointers.mean:.2f}", _percent(every.precision)),
            *(f"{every.forbidden}", f"{result.latency[make]['p99']:.1f}", says),
        )


def _test(test: Comparison) -> tuple[str, ...]:
    gain = (test.gained - test.lost) / test.pairs if test.pairs else 0.0
    told = f"{100 * gain:+.1f} points" + ("" if test.p_holm < 0.05 else ", may be chance")
    return (
        *(test.setup, test.against, test.measure, f"{test.pairs}", f"{test.gained}", f"{test.lost}"),
        *(f"{test.p:.2g}", f"{test.p_holm:.2g}", told),
    )


def _silence(result: SuiteResult) -> Iterator[str]:
    """Each setup's silence where it finds the same share of the right answers."""
    recalls = sorted({recall for curve in result.curves.values() for recall in curve.at_recall})[1::2]
    if not recalls:
        return
    yield "At a bar that leaves so much recall: pushed where nothing fits (of these near misses), precision, in %:"
    rows = [("setup", *(f"recall {recall}" for recall in recalls))]
    for make, curve in result.curves.items():
        found = [curve.at_recall.get(recall) for recall in recalls]
        if any(found):
            rows.append((make, *("-" if point is None else _silent(point) for point in found)))
    yield from table(rows)
    yield ""


def _silent(point: Point) -> str:
    near = "" if point.false_push_near is None else f" ({100 * point.false_push_near:.0f})"
    return f"{100 * (point.false_push or 0):.0f}{near}, {100 * (point.precision or 0):.0f}"


def _calibration(result: SuiteResult) -> Iterator[str]:
    """Whether a probability means what it says: for what the training had not seen, and for the cases of this run."""
    if not result.calibration:
        return
    yield "Probabilities against what was right, without a bar (both sums are 0 at best):"
    rows = [("of", "", "number", "Brier score", "calibration error")]
    for name, found in result.calibration.items():
        for what, each in (("pointers", found.pointers), ("pushes", found.pushes)):
            rows.append((name, what, f"{each.of:,}", f"{each.brier:.4f}", f"{each.error:.4f}"))
    yield from table(rows)
    yield ""


def _power(result: SuiteResult) -> Iterator[str]:
    power = result.power
    wins = power.planned_gain + power.planned_losses
    yield (
        f"{power.planned_pairs} paired cases find a gain of {100 * power.planned_gain:.0f} points "
        f"({100 * wins:.0f} % gained, {100 * power.planned_losses:.0f} % lost; {power.formula})."
    )
    found = [
        f"{kind} ({power.pairs[kind]}) " + ("none" if gain is None else f"{100 * gain:.1f}")
        for kind, gain in power.smallest_gains.items()
    ]
    yield f"The smallest gains that these cases can find, in points: {', '.join(found)}."


def _probes(result: SuiteResult, *, verbose: bool) -> Iterator[str]:
    for tally in result.probes:
        yield (
            f"{tally.rule} by {tally.route}{WHOSE.get(tally.readers, '')}: "
            f"{len(tally.failures)} of {tally.probes} failed, so at most {100 * tally.bound:.2g} % do (95 %)"
        )
        for failure in tally.failures if verbose else tally.failures[:_FAILURES_SHOWN]:
            got = ", ".join(failure.got) or "nothing"
            yield one_line(f"  {failure.at} {failure.reader}: {failure.request!r} is about {failure.item}, got {got}")
