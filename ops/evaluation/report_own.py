"""The report of the owner's own corrections: counts, and the corrections themselves only when they are asked for."""

from __future__ import annotations

from typing import Any, Final

from ..output import count
from . import report_charts as charts
from .own import OwnCase, OwnReport
from .report_charts import Mark, Panel
from .report_page import Html, Section, figure, folded, join, page, paragraph, table
from .suite_figures import rate

_MEASURES: Final = {
    "known": ("recorded before the correction", "plain"),
    "hit5": ("pushed now, just before it", "full"),
    "hit5_without_bar": ("the same without the bar", "step3"),
    "hit5_after": ("pushed now, just after it", "full"),
}
"""By the name of the count: what it counts, and its colour."""


def own_page(report: OwnReport, *, verbose: bool = False) -> str:
    """The page; with `verbose` it tells what was asked and what is had, and is as private as the log."""
    counts = report.counts()
    cases = counts["cases"]
    intro = paragraph(
        f"The owner said {count(report.corrections, 'time')} of something that it is there already. Of these "
        f"corrections {cases:,} can be asked again, each with what was known just before it, and "
        f"{report.unusable:,} cannot: those have no request, or what they meant was forgotten since."
    )
    sections = [_counted(counts)] if cases else []
    if verbose and cases:
        sections.append(Section("Corrections", folded(f"All {cases:,}", _told(report.cases))))
    private = "It holds requests and items: it is as private as the log." if verbose else "It holds counts only."
    return page("Instant Recall on your own corrections", join([intro, paragraph(private, "small")]), sections)


def own_data(report: OwnReport, *, verbose: bool = False) -> dict[str, Any]:
    """What report.json holds: the counts, and with `verbose` the cases."""
    counts = report.counts()
    return {**counts, "cases": report.cases, "cases_asked": counts["cases"]} if verbose else counts


def _counted(counts: dict[str, Any]) -> Section:
    cases = counts["cases"]
    found = [(told, colour, rate(counts[name], cases)) for name, (told, colour) in _MEASURES.items()]
    then = rate(counts["hit5_then"], counts["pushes_then"])
    if then.of:
        found.append(("pushed then, where the log has it", "base", then))
    marks = [Mark(told, each.rate, each.low, each.high, colour) for told, colour, each in found]
    alt = "Of the corrected requests, in percent: " + ", ".join(f"{told} {100 * e.rate:.0f}" for told, _, e in found)
    rows = [(told, str(e.count), str(e.of), f"{100 * e.low:.0f} to {100 * e.high:.0f}") for told, _, e in found]
    chart = charts.rates("own", f"{alt}.", [Panel(f"corrections ({cases})", marks)], "the right item is there, %")
    parts = [
        figure(
            chart,
            "each dot is the share of corrected requests for which the item that was meant is there, its line the 95 % "
            "interval. Every request here once missed, so the second line shows what was learnt since, and the fourth "
            "should be at 100.",
        ),
        table("The same as numbers", ("what", "count", "of", "95 % interval, %"), rows, numbers=[1, 2, 3]),
    ]
    return Section("How many are found", join(parts))


def _told(cases: tuple[OwnCase, ...]) -> Html:
    rows = [
        (
            *(case.at, case.request, case.item if case.known else f"{case.item} (not recorded yet)"),
            ", ".join(case.pushed) or "nothing",
            ", ".join(case.pushed_after) or "nothing",
            "not in the log" if case.pushed_then is None else ", ".join(case.pushed_then) or "nothing",
        )
        for case in cases
    ]
    heads = ("when", "request", "meant", "pushed before", "pushed after", "pushed then")
    return table("What is pushed now just before and after each correction, and what was then", heads, rows)
