"""The charts of a report: inline SVG by matplotlib (the extra `eval`), the same bytes for the same numbers.

A chart has no background, and its colours are the page's: they follow light and dark. Its text is text.
"""

from __future__ import annotations

import importlib
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...events.errors import RecallError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 9.0
"""Inches, as matplotlib counts them; on the page a chart is as wide as its column."""
COLUMNS: Final = 4
COLOURS: Final = (
    *("ink", "muted", "grid", "paper"),
    *("plain", "base", "full", "make"),
    *("step1", "step2", "step3", "step4"),
    *("gate1", "gate2", "gate3", "gate4", "gate5", "gate6"),
)
"""Names of the page's colours (`--ink` and so on in its style sheet)."""
LIMIT_MS: Final = 50.0
"""What 99 of 100 pushes have to stay under."""

_DASHES: Final = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
_STAND_INS: Final = {name: f"#a0b0{n:02x}" for n, name in enumerate(COLOURS, 1)}
_STYLE: Final = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine lays a chart out alike
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.6,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
}
_COLOURED: Final = {
    "text.color": "ink",
    "axes.titlecolor": "ink",
    "axes.labelcolor": "muted",
    "axes.edgecolor": "grid",
    "grid.color": "grid",
    "xtick.labelcolor": "muted",
    "ytick.labelcolor": "ink",
    "xtick.color": "grid",
    "ytick.color": "grid",
}
_NO_METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}


class Mark(NamedTuple):
    """A rate with its interval, on one line of a panel; shares, 0 to 1."""

    label: str
    rate: float
    low: float
    high: float
    colour: str
    """Of COLOURS."""
    hollow: bool = False


class Panel(NamedTuple):
    """One kind of case: a mark for each setup, all panels in the same order."""

    title: str
    marks: Sequence[Mark]
    reference: float | None = None
    """Where the dashed line stands."""


class Line(NamedTuple):
    """One setup in all panels of a chart of curves. One point alone is drawn as a diamond."""

    label: str
    points: Sequence[Sequence[tuple[float, float]]]
    """By panel: x and y, shares."""
    colour: str
    dashes: int = 0
    """0 to 3: unbroken, long, dotted, mixed."""
    hollow: bool = False


class Observed(NamedTuple):
    """One series of a chart of reliability: predicted, observed, and the interval of the observed; shares."""

    label: str
    points: Sequence[tuple[float, float, float, float]]
    colour: str
    hollow: bool = False


def check() -> None:
    """See that charts can be drawn, before anything is run for them.

    Raises:
        RecallError: matplotlib is not installed.
    """
    _matplotlib("figure")


def rates(name: str, alt: str, panels: Sequence[Panel], axis: str) -> str:
    """Rates with intervals, a small panel for each kind."""
    across = min(COLUMNS, len(panels))
    down = math.ceil(len(panels) / across)
    lines = max((len(panel.marks) for panel in panels), default=1)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for place, ax in enumerate(axes.flat):
            if place < len(panels):
                _panel(ax, panels[place])
                # The last panel of a column has the numbers, wherever that is.
                ax.tick_params(labelbottom=place + across >= len(panels))
            else:
                ax.set_axis_off()
        figure.supxlabel(axis, fontsize=9.5, color=_STAND_INS["muted"])

    return _drawn(name, alt, (WIDTH, down * (0.2 * lines + 0.42) + 0.4), draw)


def curves(name: str, alt: str, panels: Sequence[tuple[str, str]], lines: Sequence[Line], axis: str) -> str:
    """Curves over recall.

    Args:
        name: of the chart, in small letters.
        alt: what it shows, for those who do not see it.
        panels: title and what the upright axis shows.
        lines: what is drawn in them.
        axis: what the other axis shows.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots(math.ceil(len(panels) / 2), 2, squeeze=False, sharex=True, sharey=True)
        for place, (ax, (title, upright)) in enumerate(zip(axes.flat, panels, strict=False)):
            for line in lines:
                _line(ax, line, line.points[place])
            ax.set(title=title, ylabel=upright, xlim=(-2, 102), ylim=(-3, 103))
            ax.tick_params(labelbottom=True, labelleft=True)
        figure.supxlabel(axis, fontsize=9.5, color=_STAND_INS["muted"])
        handles, labels = axes.flat[0].get_legend_handles_labels()
        across = min(len(labels), 8)
        # A legend is filled down its columns; it is read along its lines.
        order = [place for column in range(across) for place in range(column, len(labels), across)]
        figure.legend(
            [handles[place] for place in order], [labels[place] for place in order],
            loc="outside upper left", ncols=across, handlelength=2.2,
        )  # fmt: skip

    return _drawn(name, alt, (WIDTH, 0.6 + 2.9 * math.ceil(len(panels) / 2)), draw)


def reliability(name: str, alt: str, panels: Sequence[tuple[str, Sequence[Observed], float | None]]) -> str:
    """Observed against predicted; a panel has a title, its series, and where the bar stands."""

    def draw(figure: Figure) -> None:
        for ax, (title, series, bar) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            ax.plot([0, 100], [0, 100], color=_STAND_INS["muted"], linestyle=_DASHES[2], linewidth=1)
            for each in series:
                _observed(ax, each)
            if bar is not None:
                ax.axvline(100 * bar, color=_STAND_INS["base"], linestyle=_DASHES[1], linewidth=1.2, label="the bar")
            ax.set(title=title, xlabel="predicted, %", xlim=(-3, 103), ylim=(-3, 103))
            ax.set_aspect("equal")
        figure.axes[0].set_ylabel("observed, %")
        handles, labels = figure.axes[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), handlelength=2.2)

    return _drawn(name, alt, (WIDTH, 5.1), draw)


def stacks(name: str, alt: str, rows: Mapping[str, Sequence[int]], parts: Sequence[tuple[str, str]], axis: str) -> str:
    """One bar a row, cut into parts (each a label and a colour) with their counts in them."""

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        before = [0] * len(rows)
        widest = max((sum(counts) for counts in rows.values()), default=1) or 1
        for n, (label, colour) in enumerate(parts):
            counts = [row[n] for row in rows.values()]
            ax.barh(list(rows), counts, left=before, color=_STAND_INS[colour], height=0.68, label=label)
            for y, (left, count) in enumerate(zip(before, counts, strict=True)):
                if count > widest / 60:
                    middle = left + count / 2
                    ax.text(middle, y, f"{count}", ha="center", va="center", color=_STAND_INS["paper"])
            before = [left + count for left, count in zip(before, counts, strict=True)]
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.set(xlim=(0, widest * 1.02))
        ax.set_xlabel(axis)
        figure.legend(loc="outside upper left", ncols=len(parts), handlelength=1, handleheight=1)

    return _drawn(name, alt, (WIDTH, 1.0 + 0.32 * len(rows)), draw)


def latencies(name: str, alt: str, took_ms: Sequence[float]) -> str:
    """How many pushes took how long, with the limit as a line."""
    top = max(8, math.ceil(4 * math.log2(max([LIMIT_MS * 2, *took_ms]))))
    edges = [2 ** (n / 4) for n in range(-8, top + 1)]

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        ax.hist([max(took, edges[0]) for took in took_ms], bins=edges, color=_STAND_INS["full"], rwidth=0.92)
        ax.set_xscale("log", base=2)
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= edges[-1]]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.grid(visible=False, axis="x")
        ax.axvline(LIMIT_MS, color=_STAND_INS["base"], linestyle=_DASHES[1], linewidth=1.5)
        ax.annotate(
            f"limit: {LIMIT_MS:g} ms", (LIMIT_MS, 0.97), xycoords=("data", "axes fraction"), va="top", ha="left",
            xytext=(5, 0), textcoords="offset points", color=_STAND_INS["base"],
        )  # fmt: skip
        ax.set(xlim=(edges[0], edges[-1]))
        ax.set_xlabel("milliseconds a push (each step to the right is twice as long)")
        ax.set_ylabel("pushes")

    return _drawn(name, alt, (WIDTH, 2.8), draw)


def _panel(ax: Axes, panel: Panel) -> None:
    for y, mark in enumerate(panel.marks):
        colour = _STAND_INS[mark.colour]
        ax.hlines(y, 100 * mark.low, 100 * mark.high, color=colour, linewidth=1.6)
        inside = _STAND_INS["paper"] if mark.hollow else colour
        ax.plot(100 * mark.rate, y, "o", markersize=5.2, color=colour, markerfacecolor=inside)
    if panel.reference is not None:
        ax.axvline(100 * panel.reference, color=_STAND_INS["base"], linestyle=_DASHES[1], linewidth=0.9, zorder=1)
    ax.set_yticks(range(len(panel.marks)), [mark.label for mark in panel.marks])
    ax.set(title=panel.title, xlim=(-4, 104), xticks=(0, 50, 100), ylim=(len(panel.marks) - 0.4, -0.6))
    ax.grid(visible=False, axis="y")


def _observed(ax: Axes, series: Observed) -> None:
    colour = _STAND_INS[series.colour]
    inside = _STAND_INS["paper"] if series.hollow else colour
    predicted, observed, low, high = ([100 * point[n] for point in series.points] for n in range(4))
    ax.vlines(predicted, low, high, color=colour, linewidth=1.4)
    ax.plot(
        predicted, observed, "o", markersize=6, color=colour, markerfacecolor=inside, label=series.label, zorder=3
    )  # fmt: skip


def _line(ax: Axes, line: Line, points: Sequence[tuple[float, float]]) -> None:
    colour = _STAND_INS[line.colour]
    xs, ys = [100 * x for x, _ in points], [100 * y for _, y in points]
    inside = _STAND_INS["paper"] if line.hollow else colour
    if len(points) == 1:
        shape: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 7, "zorder": 4}
    else:
        shape = {"linestyle": _DASHES[line.dashes % len(_DASHES)], "linewidth": 1.8}
    ax.plot(xs, ys, color=colour, markerfacecolor=inside, label=line.label, **shape)


def _drawn(name: str, alt: str, size: tuple[float, float], draw: Callable[[Figure], None]) -> str:
    pyplot_free = _matplotlib("figure").Figure
    style = _STYLE | {key: _STAND_INS[colour] for key, colour in _COLOURED.items()}
    out = io.StringIO()
    with importlib.import_module("matplotlib").rc_context({**style, "svg.hashsalt": name}):
        figure = pyplot_free(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(out, format="svg", transparent=True, metadata=_NO_METADATA)
    return _inline(out.getvalue(), name, alt)


def _inline(svg: str, name: str, alt: str) -> str:
    """The picture as a part of a page: its ids are its own, its colours and letters the page's."""
    svg = svg[svg.index("<svg") :]
    head, _, body = svg.partition(">")
    box = re.search(r'viewBox="[^"]+"', head)
    assert box, "matplotlib gives every picture a box"  # noqa: S101
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<defs>\s*<style.*?</defs>", "", body, flags=re.DOTALL)
    wanted = set(re.findall(r'(?:href="|url\()#([^")]+)', body))
    body = re.sub(r'\s*\bid="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in wanted else "", body)
    body = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    body = re.sub(r"<g\s*/>", "", body)
    body = body.replace("'DejaVu Sans'", "var(--letters)").replace("&quot;DejaVu Sans&quot;", "var(--letters)")
    for colour, stand_in in _STAND_INS.items():
        body = body.replace(stand_in, f"var(--{colour})")
    body = re.sub(r"\s*\n\s*", "\n", body)
    return f'<svg {box.group()} role="img" aria-label="{escape(alt)}">{body.strip()}'


def _matplotlib(part: str) -> Any:
    try:
        return importlib.import_module(f"matplotlib.{part}")
    except ImportError as error:
        raise RecallError("The report's charts need matplotlib: `pip install instant-recall[eval]`.") from error
