"""Percentiles, as `eval`, `bench` and `demo` print them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentiles(values: Sequence[float], wanted: Sequence[int] = (50, 95, 99)) -> dict[str, float]:
    """`{"p50": ..., ...}` by nearest rank: each figure is one that was really measured. All zero for no values."""
    ordered = sorted(values)
    if not ordered:
        return {f"p{p}": 0.0 for p in wanted}
    return {f"p{p}": round(ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)], 3) for p in wanted}
