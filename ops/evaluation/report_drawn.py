"""What of a run is drawn, in which colours, and what is said for those who do not see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from . import report_charts as charts
from .reliability import TRAINED
from .report_charts import Line, Mark, Observed, Panel
from .setups import BASELINE, SETUPS
from .suite_result import Curve, Figures, Point, Rate, SuiteResult

GATES: Final = {
    "not_indexed": ("not indexed", "gate1"),
    "not_asked": ("not asked", "gate2"),
    "filtered": ("filtered", "gate3"),
    "wrong_key": ("wrong key", "gate4"),
    "drowned": ("drowned", "gate5"),
    "found": ("found when asked again", "gate6"),
}
"""By gate: its name for people, and its colour."""
_SETUP_COLOURS: Final = {"S1": "plain", "S3": "step1", "S4": "step2", "S5": "step3", "S6": "step4"}


def full(result: SuiteResult) -> str:
    """The setup that is nearest to the whole product: S7, or else the last one; empty when none was run."""
    with_bar = [name for name in result.setups if name in SETUPS and SETUPS[name].bar and SETUPS[name].overlay]
    return (with_bar or list(result.setups) or [""])[0]


def hits_by_kind(result: SuiteResult) -> str:
    """A right pointer among the five, by kind and setup."""
    of_reference = (result.figures.get(BASELINE) or {}) if BASELINE in result.setups else {}
    alt = _alt("Share of cases with a right pointer among the five, with 95 % intervals", result, lambda f: f.hit5)
    return charts.rates("hits", alt, _panels(result, lambda f: f.hit5, of_reference), "cases with a right pointer, %")


def pushes_by_kind(result: SuiteResult) -> str:
    """Anything pushed where nothing is expected, by kind and setup; empty without such cases."""
    panels = _panels(result, lambda f: f.false_pushes, {})
    alt = _alt("Share of cases where nothing fits and something is pushed", result, lambda f: f.false_pushes)
    return charts.rates("pushes", alt, panels, "cases with any pointer, %") if panels else ""


def silence(result: SuiteResult) -> str:
    """False pushes and precision over recall, a curve for each setup."""
    near = any(point.false_push_near is not None for point in _points(result))
    panels: list[tuple[str, str, Callable[[Point], float | None]]] = [
        ("Nothing fits: is something pushed?", "false pushes, %", lambda p: p.false_push),
        ("Is what is pushed right?", "precision, %", lambda p: p.precision),
    ]
    if near:
        panels += [
            ("Nothing fits, but something looks alike", "false pushes, %", lambda p: p.false_push_near),
            ("Nothing is anywhere near", "false pushes, %", lambda p: p.false_push_far),
        ]
    lines = [
        Line(
            name,
            [_xy(points, get) for _, _, get in panels],
            colour(name, result),
            dashes=_dashes(name, result),
            hollow=_hollow(name),
        )
        for name, curve in result.curves.items()
        if (points := _drawn(name, curve, result))
    ]
    alt = (
        "Curves of false pushes and of precision over recall for "
        f"{', '.join(result.curves)}; the table below has the figures at fixed recalls."
    )
    return charts.curves(
        "silence", alt, [panel[:2] for panel in panels], lines, "recall: cases with a right answer that get it, %"
    )


def reliability(result: SuiteResult) -> str:
    """Predicted probability against the observed share, of pointers and of pushes."""
    told: list[str] = []
    panels: list[list[Observed]] = [[], []]
    for name, found in result.calibration.items():
        pointers = [*found.pointers.bins[:-1], *found.pointers.likeliest]
        for panel, what, bins in zip(panels, ("pointers", "pushes"), (pointers, found.pushes.bins), strict=True):
            points = [(each.predicted, each.observed.rate, each.observed.low, each.observed.high) for each in bins]
            shade = "full" if name == TRAINED else colour(name, result)
            panel.append(Observed(name, points, shade, hollow=name == TRAINED))
            pairs = ", ".join(f"{100 * point[0]:.0f} and {100 * point[1]:.0f}" for point in points)
            told.append(f"{what} of {name}: {pairs}")
    alt = f"Predicted probability and observed share of right ones, in percent: {'; '.join(told)}."
    bar = result.settings.get("bar")
    bars = (None, float(bar) if isinstance(bar, int | float) else None)
    titles = ("Pointers", "Pushes: does one of the five help?")
    return charts.reliability("reliability", alt, list(zip(titles, panels, bars, strict=True)))


def misses(result: SuiteResult) -> str:
    """By which gate the misses failed, a bar for each setup; empty when nobody looked."""
    rows = {
        setup: [len(table.get("gates", {}).get(gate, ())) for gate in GATES]
        for setup, table in gate_tables(result).items()
    }
    if not rows:
        return ""
    parts = [
        (name, shade)
        for n, (name, shade) in enumerate(GATES.values())
        if name != GATES["found"][0] or any(counts[n] for counts in rows.values())
    ]
    told = "; ".join(
        f"{setup}: " + ", ".join(f"{name} {count}" for (name, _), count in zip(parts, counts, strict=False) if count)
        for setup, counts in rows.items()
    )
    return charts.stacks("gates", f"Misses by gate. {told}.", rows, parts, "misses")


def latency(result: SuiteResult) -> str:
    """How long pushes of the full setup took."""
    took = [row.took_ms for row in result.setups.get(full(result), [])]
    over = sum(ms > charts.LIMIT_MS for ms in took)
    alt = f"Histogram of how long {len(took)} pushes of {full(result)} took; {over} took more than 50 milliseconds."
    return charts.latencies("latency", alt, took)


def gate_tables(result: SuiteResult) -> dict[str, dict[str, Any]]:
    """By setup, what gates.GateTable is as JSON; empty when the gates were not looked at."""
    return {setup: table for setup, table in result.gates.items() if isinstance(table, dict) and "gates" in table}


def colour(name: str, result: SuiteResult) -> str:
    """The colour of a setup or of another make."""
    if name == BASELINE:
        return "base"
    if name not in result.setups:
        return "make"
    return "full" if name in SETUPS and SETUPS[name].bar else _SETUP_COLOURS.get(name, "step4")


def kinds(result: SuiteResult) -> list[str]:
    """The kinds of the cases, `all` first. A kind that falls in parts is left to its parts."""
    found = list(next(iter(result.figures.values()), {}))
    return [kind for kind in found if not any(other.startswith(f"{kind}/") for other in found)]


def _panels(result: SuiteResult, get: Callable[[Figures], Rate], reference: dict[str, Figures]) -> list[Panel]:
    panels = []
    for kind in kinds(result):
        of_kind = {name: get(found[kind]) for name, found in result.figures.items() if kind in found}
        cases = max((rate.of for rate in of_kind.values()), default=0)
        if cases:
            marks = [
                Mark(name, rate.rate, rate.low, rate.high, _mark_colour(name, result), hollow=_hollow(name))
                for name, rate in of_kind.items()
            ]
            base = get(reference[kind]).rate if kind in reference else None
            panels.append(Panel(f"{kind} ({cases})", marks, base))
    return panels


def _mark_colour(name: str, result: SuiteResult) -> str:
    """In a panel the setups are told apart by their lines; one blue for all that have no bar is calmer."""
    found = colour(name, result)
    return "step3" if found.startswith("step") else found


def _hollow(name: str) -> bool:
    return name in SETUPS and not SETUPS[name].overlay


def _dashes(name: str, result: SuiteResult) -> int:
    return 1 + list(result.baselines).index(name) % 3 if name in result.baselines else 0


def _points(result: SuiteResult) -> Sequence[Point]:
    return [point for curve in result.curves.values() for point in curve.points]


def _drawn(name: str, curve: Curve, result: SuiteResult) -> Sequence[Point]:
    """The bars of a curve suit probabilities. Other makes have scores of other scales: their own are taken for bars."""
    return list(curve.at_recall.values()) if name in result.baselines else curve.points


def _xy(points: Sequence[Point], get: Callable[[Point], float | None]) -> list[tuple[float, float]]:
    """Where nothing is pushed any more there is no precision, and so no point."""
    return [(point.recall, y) for point in points if (y := get(point)) is not None]


def _alt(what: str, result: SuiteResult, get: Callable[[Figures], Rate]) -> str:
    every = [f"{name} {100 * get(found['all']).rate:.0f} %" for name, found in result.figures.items()]
    return f"{what}, by kind of case. Over all: {', '.join(every)}. The table below has every figure."
