"""The section of a report's page that asks whether a probability means what it says."""

from __future__ import annotations

from collections.abc import Iterator

from . import report_drawn as drawn
from .reliability import TRAINED
from .report_cells import rate
from .report_page import Html, Section, figure, folded, join, paragraph, table
from .suite_result import Reliability, SuiteResult


def reliability(result: SuiteResult) -> Section:
    """Predicted against observed, with what sums it up."""
    sums = [
        (name, what, _whose(name), f"{each.of:,}", f"{each.brier:.4f}", f"{each.error:.4f}")
        for name, what, each in _each(result)
    ]
    heads = ("of", "what", "whose", "number", "Brier score", "calibration error")
    parts = [
        paragraph("Of what is said to help in so many of a hundred cases, how much does?"),
        figure(
            drawn.reliability(result),
            "a dot is a tenth of the pointers (left) or pushes (right), the least likely first; the likeliest tenth of "
            "the pointers is cut in five. It shows how likely they were said to be right, and how many were, with the "
            "95 % interval. On the dotted line both are the same; above it the product is too modest, below it too "
            "sure. A push is made right of the dashed line.",
        ),
        table("Both sums are 0 at best", heads, sums, numbers=(3, 4, 5)),
        paragraph(
            "Counted are the best five of each case without a bar; cases that name something are left out, since what "
            "is named is certain by rule. The calibration error is the mean distance of the tenths from the dotted "
            "line.",
            "small",
        ),
        folded("The same as numbers", _bins(result)),
    ]
    return Section("Is a probability what it says?", join(parts))


def _each(result: SuiteResult) -> Iterator[tuple[str, str, Reliability]]:
    for name, found in result.calibration.items():
        yield name, "pointers", found.pointers
        yield name, "pushes", found.pushes


def _bins(result: SuiteResult) -> Html:
    rows = [
        (
            *(name, what, f"{each.least:.4f} to {each.most:.4f}{again}", f"{100 * each.predicted:.1f}"),
            *(rate(each.observed), f"{each.observed.count} of {each.observed.of}"),
        )
        for name, what, found in _each(result)
        for again, bins in (("", found.bins), (", again", found.likeliest if what == "pointers" else ()))
        for each in bins
    ]
    heads = ("of", "what", "probabilities", "predicted, %", "observed, %", "right")
    return table("By tenths", heads, rows, numbers=(3, 4, 5))


def _whose(name: str) -> str:
    if name == TRAINED:
        return "of the cases that the ranker was trained on, each judged by a model that had not seen it"
    return "of the cases of this run, which the ranker may have been trained on"
