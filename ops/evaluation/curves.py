"""Silence measured: what a setup would push at every bar, from what it pushes without one.

A bar cuts the ranking, so the push at a bar is the beginning of the push without: exactly, but for a pointer that found
no room among the five, and with the tokens of lines as short as they were then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from ...projections.bar import reaches
from ...projections.language.scripts import count_words
from ...projections.ranker import model
from .suite_result import AskedCase, CaseRow, Curve, Point

RECALLS = tuple(n / 20 for n in range(1, 20))
"""The fixed recalls: 0.05 to 0.95."""
_ROUNDING = 4
BARS = (0.0, *(round(1 / (1 + math.exp(-logit / 5)), _ROUNDING) for logit in range(-30, 31)))
"""0, and equal steps of log odds from 0.0025 to 0.9975: where calibrated probabilities differ."""


def curve(
    cases: Sequence[AskedCase],
    rows: Sequence[CaseRow],
    bars: Iterable[float] = BARS,
    *,
    probabilities: bool = True,
) -> Curve:
    """The curve of one setup.

    Args:
        cases: as asked.
        rows: what was pushed, in the same order; without a bar, or there is nothing to be known of lower ones.
        bars: where to look.
        probabilities: the scores are the ranker's, to which the bar applies as in a push (see projections/bar.py);
            otherwise a pointer is pushed when its score reaches the bar.
    """
    if probabilities:
        rows = [_with_reaches(case, row) for case, row in zip(cases, rows, strict=True)]
    reached = sorted((_right_score(case, row) for case, row in zip(cases, rows, strict=True)), reverse=True)
    expecting = sum(bool(case.expect) for case in cases)
    at_recall: dict[str, Point] = {}
    for recall in RECALLS:
        needed = max(1, math.ceil(round(recall * expecting, 6)))
        if expecting and reached[needed - 1] >= 0:
            at_recall[f"{recall:.2f}"] = point(cases, rows, reached[needed - 1])
    return Curve(points=tuple(point(cases, rows, bar) for bar in bars), at_recall=at_recall)


def point(cases: Sequence[AskedCase], rows: Sequence[CaseRow], bar: float) -> Point:
    """What is pushed when a pointer is pushed at a bar that its score reaches."""
    cut = [sum(score >= bar for score in row.scores) for row in rows]
    right = [bool(set(row.pushed[:n]) & set(case.expect)) for case, row, n in zip(cases, rows, cut, strict=True)]
    pushes = [n for n in cut if n]
    none = [(case.part, bool(n)) for case, n in zip(cases, cut, strict=True) if case.kind == "none"]
    return Point(
        bar=bar,
        recall=_share([hit for case, hit in zip(cases, right, strict=True) if case.expect]) or 0.0,
        false_push=_share([pushed for _, pushed in none]),
        false_push_near=_share([pushed for part, pushed in none if part == "near"]),
        false_push_far=_share([pushed for part, pushed in none if part == "far"]),
        precision=_share([hit for hit, n in zip(right, cut, strict=True) if n]),
        pointers=_share(pushes) or 0.0,
        tokens=_share([row.tokens_to[n - 1] if n else 0 for row, n in zip(rows, cut, strict=True)]) or 0.0,
    )


def _with_reaches(case: AskedCase, row: CaseRow) -> CaseRow:
    push = model().push.of(count_words(case.request))
    return msgspec.structs.replace(row, scores=tuple(reaches(row.scores, push)))


def _right_score(case: AskedCase, row: CaseRow) -> float:
    """The bar up to which a right answer is pushed; -1 when it never is."""
    right = set(case.expect)
    return max((score for item, score in zip(row.pushed, row.scores, strict=True) if item in right), default=-1.0)


def _share(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), _ROUNDING) if values else None
