"""From answers to figures and comparisons of setups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, get_args

import msgspec

from .evaluate import Answer
from .setups import BASELINE, SETUPS
from .statistics import LOSSES, Interval, discordance, holm, mcnemar, mean_interval, pairs_needed, smallest_gain, wilson
from .suite_result import AskedCase, CaseRow, Comparison, Figures, Mean, Power, Rate
from .worlds import Case, CaseKind

PLANNED_GAIN: Final = 0.10
_ROUNDING: Final = 4
_PARTS: Final = {"use": ("learnable", "cold"), "none": ("near", "far")}


def asked(case: Case) -> AskedCase:
    """A case as the result keeps it."""
    return AskedCase(
        id=case.id,
        kind=case.kind,
        part=_part(case),
        at=case.at.isoformat(),
        reader=case.reader,
        request=case.request,
        expect=case.expect,
        must_not=case.must_not,
        why=case.why,
    )


def row_of(answer: Answer) -> CaseRow:
    """An answer, judged."""
    right, never = set(answer.case.expect), set(answer.case.must_not)
    return CaseRow(
        id=answer.case.id,
        kind=answer.case.kind,
        pushed=answer.pushed,
        scores=answer.scores,
        tokens=answer.tokens,
        took_ms=round(answer.took_ms, 3),
        hit1=bool(right & set(answer.pushed[:1])),
        hit5=bool(right & set(answer.pushed[:5])),
        forbidden=tuple(item for item in answer.pushed if item in never),
        # Other makes tell no lines; the tokens of the whole are the best that is known of a part.
        tokens_to=answer.tokens_to or (answer.tokens,) * len(answer.pushed),
    )


def figures(cases: Sequence[AskedCase], rows: Sequence[CaseRow], seed: int) -> dict[str, Figures]:
    """The figures by kind, `all` first, then the kinds in the order of the world format; parts as `use/cold`."""
    pairs = list(zip(cases, rows, strict=True))
    found = {"all": _figures(pairs, seed)}
    for kind in get_args(CaseKind):
        of_kind = [pair for pair in pairs if pair[0].kind == kind]
        if of_kind:
            found[kind] = _figures(of_kind, seed)
        for part in _PARTS.get(kind, ()):
            of_part = [pair for pair in of_kind if pair[0].part == part]
            if of_part and len(of_part) < len(of_kind):
                found[f"{kind}/{part}"] = _figures(of_part, seed)
    return found


def compare(
    cases: Sequence[AskedCase], first: Sequence[CaseRow], second: Sequence[CaseRow], measure: str
) -> tuple[list[bool], list[bool]]:
    """Which cases of a measure each of two setups gets right, as pairs in the same order."""
    of_measure = [n for n, case in enumerate(cases) if bool(case.expect) == (measure == "hit5")]

    def right(rows: Sequence[CaseRow]) -> list[bool]:
        return [rows[n].hit5 if measure == "hit5" else not rows[n].pushed for n in of_measure]

    return right(first), right(second)


def comparisons(cases: Sequence[AskedCase], setups: Mapping[str, Sequence[CaseRow]]) -> list[Comparison]:
    """Each setup against the baseline, and against the one that it builds on.

    Over all eight setups that is seven comparisons for each measure and family; each family is corrected for itself.
    """
    order = [name for name in SETUPS if name in setups]
    # The baseline itself is compared with what it adds to; turned round that would be the same test twice.
    families = {
        "baseline": [(name, BASELINE) for name in order if name != BASELINE and BASELINE in setups],
        "predecessor": [(name, before) for before, name in pairwise(order)],
    }
    return [
        comparison
        for measure in ("hit5", "silence")
        for family, pairs in families.items()
        for comparison in _corrected(
            [_compared(cases, setups[name], setups[other], measure, family, name, other) for name, other in pairs]
        )
    ]


def power(cases: Sequence[AskedCase]) -> Power:
    """What the cases at hand can find, and how many pairs find ten points."""
    kinds = [kind for kind in get_args(CaseKind) if any(case.kind == kind and case.expect for case in cases)]
    pairs = {"all": sum(bool(case.expect) for case in cases)}
    pairs |= {kind: sum(case.kind == kind and bool(case.expect) for case in cases) for kind in kinds}
    return Power(
        planned_gain=PLANNED_GAIN,
        planned_losses=LOSSES,
        planned_pairs=pairs_needed(PLANNED_GAIN, LOSSES),
        formula="Connor 1987, McNemar, two-sided 5 %, power 80 %",
        pairs=pairs,
        smallest_gains={kind: _rounded(smallest_gain(count)) for kind, count in pairs.items()},
    )


def rate(count: int, of: int) -> Rate:
    """So many of so many."""
    low, high = wilson(count, of)
    return Rate(
        count=count,
        of=of,
        rate=round(count / of, _ROUNDING) if of else 0.0,
        low=round(low, _ROUNDING),
        high=round(high, _ROUNDING),
    )


def _part(case: Case) -> str:
    if case.kind == "none":
        return "near" if case.why.lower().startswith("near") else "far"
    return next((part for part in _PARTS.get(case.kind, ()) if case.why.startswith(part)), "")


def _figures(pairs: Sequence[tuple[AskedCase, CaseRow]], seed: int) -> Figures:
    expecting = [pair for pair in pairs if pair[0].expect]
    silent = [row for case, row in pairs if not case.expect]
    pushes = [row for _, row in pairs if row.pushed]
    return Figures(
        cases=len(pairs),
        hit1=rate(sum(row.hit1 for _, row in expecting), len(expecting)),
        hit5=rate(sum(row.hit5 for _, row in expecting), len(expecting)),
        hit5_by_item=_mean(expecting, [float(row.hit5) for _, row in expecting], seed),
        false_pushes=rate(sum(bool(row.pushed) for row in silent), len(silent)),
        precision=rate(sum(row.hit5 for row in pushes), len(pushes)),
        forbidden=sum(bool(row.forbidden) for _, row in pairs),
        pointers=_mean(pairs, [float(len(row.pushed)) for _, row in pairs], seed),
        tokens=_mean(pairs, [float(row.tokens) for _, row in pairs], seed),
    )


def _mean(pairs: Sequence[tuple[AskedCase, CaseRow]], values: Sequence[float], seed: int) -> Mean:
    if not values:
        return Mean(mean=0.0)
    # A case that expects nothing is about nothing but itself.
    interval = mean_interval(values, [case.expect[0] if case.expect else case.id for case, _ in pairs], seed)
    if interval is not None:
        interval = Interval(round(interval.low, _ROUNDING), round(interval.high, _ROUNDING))
    return Mean(mean=round(sum(values) / len(values), _ROUNDING), interval=interval)


def _compared(
    cases: Sequence[AskedCase],
    rows: Sequence[CaseRow],
    others: Sequence[CaseRow],
    measure: str,
    family: str,
    setup: str,
    against: str,
) -> Comparison:
    pairs = discordance(*compare(cases, rows, others, measure))
    of_measure = sum(bool(case.expect) == (measure == "hit5") for case in cases)
    p = mcnemar(pairs)
    return Comparison(
        measure=measure,
        family=family,
        setup=setup,
        against=against,
        pairs=of_measure,
        gained=pairs.gained,
        lost=pairs.lost,
        p=p,
        p_holm=p,
        smallest_gain=_rounded(smallest_gain(of_measure)),
    )


def _corrected(family: Sequence[Comparison]) -> list[Comparison]:
    p_values = holm({one.setup: one.p for one in family})
    return [msgspec.structs.replace(one, p_holm=p_values[one.setup]) for one in family]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _ROUNDING)
