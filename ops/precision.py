"""The precision of pushes as a person reads it, with its interval. Without numpy and scipy: `status` is to be quick."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import TYPE_CHECKING, Final

from .output import count

if TYPE_CHECKING:
    from ..api.precision import Precision

Z: Final = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def wilson(used: int, shown: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate (Wilson 1927, JASA 22:209-212); (0, 1) when nothing was shown.

    The same numbers as `statistics.wilson` gives with scipy.
    """
    if not shown:
        return 0.0, 1.0
    rate, spread = used / shown, Z * Z / shown
    middle = (rate + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * sqrt(rate * (1 - rate) / shown + spread / (4 * shown))
    return max(0.0, middle - half), min(1.0, middle + half)


def told(spans: Iterable[Precision]) -> list[tuple[str, str]]:
    """A row for `status` for each span in which anything was pushed."""
    return [(f"last {span.days} days", _words(span)) for span in spans if span.pushes]


def _words(span: Precision) -> str:
    head = f"{count(span.pushes, 'push')}, {_percent(span.spoke / span.pushes)} % with pointers"
    if not span.pointers:
        return head
    shown = f"{head}; {count(span.pointers, 'pointer')}"
    if not span.followed:
        return f"{shown}, none in a session, so nobody can tell how many were used"
    if span.followed < span.pointers:
        shown += f", {span.followed:,} of them in a session"
    low, high = wilson(span.used, span.followed)
    used = f"{_percent(span.used / span.followed)} % were used ({_percent(low)} to {_percent(high)} %)"
    return f"{shown}, {span.opened:,} opened, {span.helped:,} helped, {span.rejected:,} rejected: {used}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
