"""Two runs of the suite side by side: what got better and what got worse, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...events.errors import RecallError
from ..output import count, dim, one_line, table
from .statistics import ALPHA, discordance, mcnemar
from .suite_result import AskedCase, CaseRow, SuiteResult


class SetupChange(msgspec.Struct, frozen=True, kw_only=True):
    """One setup in both runs, over the cases that both have."""

    setup: str
    expecting: int
    """Cases that expect something; `silent` is the others."""
    hit1: tuple[int, int]
    """Right answers in first place, before and after; so are the other pairs."""
    hit5: tuple[int, int]
    silent: int
    silences: tuple[int, int]
    """Rightly silent."""
    forbidden: tuple[int, int]
    """Cases in which something was pushed that must never be."""
    better: int
    """Cases."""
    worse: int
    p: float
    """Exact McNemar over all cases: as many better as worse?"""


class CaseChange(msgspec.Struct, frozen=True, kw_only=True):
    """One case that is judged differently in at least one setup."""

    id: str
    kind: str
    request: str
    expect: tuple[str, ...]
    better: tuple[str, ...]
    """Setups."""
    worse: tuple[str, ...]
    pushed: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    """By setup that differs: before and after."""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two runs."""

    before: str
    """The commit; so is `after`."""
    after: str
    differ: tuple[str, ...]
    """What else was not the same: the world, a setting, a seed."""
    cases: int
    """Cases that both have, with the same request and answers. Only they are compared."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    """A case that was changed in between counts as one of each."""
    setups: tuple[SetupChange, ...]
    changed: tuple[CaseChange, ...]


def compare(before: SuiteResult, after: SuiteResult) -> Changes:
    """What got better and worse from one run to the other, in the setups and other makes that both have.

    A case is right with a right pointer among the five, or, where nothing is expected, with silence; never with a
    forbidden pointer. It got better when it was wrong and is right, or when a forbidden pointer went.

    Raises:
        RecallError: the two have no setup or no case in common.
    """
    ours, theirs = _by_case(before), _by_case(after)
    shared = [case for case in after.cases if case.id in ours and _same(ours[case.id], case)]
    both = {case.id for case in shared}
    setups = [name for name in _rows(after) if name in _rows(before)]
    if not shared or not setups:
        raise RecallError(
            f"These two runs have no {'setup' if shared else 'case'} in common. Compare two runs on the same world."
        )
    pairs = {name: _paired(shared, _rows(before)[name], _rows(after)[name]) for name in setups}
    changes = [_case_change(place, case, pairs) for place, case in enumerate(shared)]
    return Changes(
        before=before.commit,
        after=after.commit,
        differ=tuple(_differ(before, after)),
        cases=len(shared),
        only_before=tuple(case for case in ours if case not in both),
        only_after=tuple(case for case in theirs if case not in both),
        setups=tuple(_setup_change(name, shared, pairs[name]) for name in setups),
        changed=tuple(change for change in changes if change.better or change.worse),
    )


def lines(changes: Changes, *, verbose: bool = False) -> Iterator[str]:
    """The comparison for a person; `verbose` tells what was pushed, too."""
    yield f"{count(changes.cases, 'case')} in both, from {_commit(changes.before)} to {_commit(changes.after)}"
    for what in changes.differ:
        yield f"not the same: {what}"
    for told, ids in (("first", changes.only_before), ("second", changes.only_after)):
        if ids:
            yield f"only in the {told} run, left out: {count(len(ids), 'case')} ({_some(ids)})"
    yield ""
    heads = ("setup", "in five", "first", "rightly silent", "forbidden", "better", "worse", "p", "")
    yield from table([heads, *map(_setup_row, changes.setups)])
    yield ""
    if not changes.changed:
        yield "No case is judged differently."
    every = {each.setup for each in changes.setups}
    for change in changes.changed:
        yield from _case_lines(change, every, verbose=verbose)


Pair = tuple[CaseRow, CaseRow]


def _by_case(result: SuiteResult) -> dict[str, AskedCase]:
    return {case.id: case for case in result.cases}


def _rows(result: SuiteResult) -> dict[str, list[CaseRow]]:
    return {**result.setups, **result.baselines}


def _same(one: AskedCase, other: AskedCase) -> bool:
    """What its author says about it may change; what is asked and what is right may not."""
    return msgspec.structs.replace(one, why="", part="") == msgspec.structs.replace(other, why="", part="")


def _paired(cases: Sequence[AskedCase], before: Sequence[CaseRow], after: Sequence[CaseRow]) -> list[Pair]:
    ours, theirs = ({row.id: row for row in rows} for rows in (before, after))
    return [(ours[case.id], theirs[case.id]) for case in cases]


def _right(case: AskedCase, row: CaseRow) -> bool:
    return not row.forbidden and (row.hit5 if case.expect else not row.pushed)


def _judged(case: AskedCase, row: CaseRow) -> int:
    """-1 with a forbidden pointer, 1 when it is right, else 0."""
    return -1 if row.forbidden else int(_right(case, row))


def _setup_change(name: str, cases: Sequence[AskedCase], pairs: Sequence[Pair]) -> SetupChange:
    judged = [(_judged(case, one), _judged(case, other)) for case, (one, other) in zip(cases, pairs, strict=True)]
    better, worse = (sum(b > a for a, b in judged), sum(b < a for a, b in judged))
    expecting = [pair for case, pair in zip(cases, pairs, strict=True) if case.expect]
    silent = [pair for case, pair in zip(cases, pairs, strict=True) if not case.expect]
    return SetupChange(
        setup=name,
        expecting=len(expecting),
        hit1=(sum(one.hit1 for one, _ in expecting), sum(other.hit1 for _, other in expecting)),
        hit5=(sum(one.hit5 for one, _ in expecting), sum(other.hit5 for _, other in expecting)),
        silent=len(silent),
        silences=(sum(not one.pushed for one, _ in silent), sum(not other.pushed for _, other in silent)),
        forbidden=(sum(bool(one.forbidden) for one, _ in pairs), sum(bool(other.forbidden) for _, other in pairs)),
        better=better,
        worse=worse,
        p=mcnemar(discordance([b > a for a, b in judged], [b < a for a, b in judged])),
    )


def _case_change(place: int, case: AskedCase, pairs: dict[str, list[Pair]]) -> CaseChange:
    judged = {name: tuple(_judged(case, row) for row in found[place]) for name, found in pairs.items()}
    better = tuple(name for name, (one, other) in judged.items() if other > one)
    worse = tuple(name for name, (one, other) in judged.items() if other < one)
    pushed = {name: (pairs[name][place][0].pushed, pairs[name][place][1].pushed) for name in (*better, *worse)}
    return CaseChange(
        id=case.id,
        kind=case.kind,
        request=case.request,
        expect=case.expect,
        better=better,
        worse=worse,
        pushed=pushed,
    )


def _differ(before: SuiteResult, after: SuiteResult) -> Iterator[str]:
    """Whatever else may explain a difference. Digests and names only; setups are told by their names."""
    for told, one, other in (
        ("world", before.world, after.world),
        ("setting", before.settings, after.settings),
        ("seed", before.seeds, after.seeds),
    ):
        for name in dict.fromkeys((*one, *other)):
            if one.get(name) != other.get(name) and name != "setups":
                yield f"{told} {name} ({one.get(name, 'none')} to {other.get(name, 'none')})"
    if missing := set(_rows(before)) ^ set(_rows(after)):
        yield f"setups in one of them only: {', '.join(sorted(missing))}"


def _setup_row(change: SetupChange) -> tuple[str, ...]:
    verdict = "" if change.better == change.worse else "may be chance"
    if change.p < ALPHA:
        verdict = "better" if change.better > change.worse else "worse"
    return (
        *(change.setup, _from_to(change.hit5, change.expecting), _from_to(change.hit1, change.expecting)),
        *(_from_to(change.silences, change.silent), _from_to(change.forbidden, 0)),
        *(f"{change.better}", f"{change.worse}", f"{change.p:.2g}", verdict),
    )


def _from_to(pair: tuple[int, int], of: int) -> str:
    told = f"{pair[0]}" if pair[0] == pair[1] else f"{pair[0]} to {pair[1]}"
    return f"{told} of {of}" if of else told


def _case_lines(change: CaseChange, every: set[str], *, verbose: bool) -> Iterator[str]:
    for word, setups in (("better", change.better), ("worse", change.worse)):
        if setups:
            where = "all" if len(setups) > 1 and set(setups) == every else ", ".join(setups)
            yield f"{word:<6}  {one_line(f'{change.id} {change.kind}, in {where}: {change.request}')}"
            for name in setups if verbose else ():
                before, after = (", ".join(items) or "nothing" for items in change.pushed[name])
                expected = ", ".join(change.expect) or "nothing"
                yield dim(f"        {one_line(f'{name}: {before} -> {after}; expected {expected}')}")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")


def _commit(commit: str) -> str:
    return f"{commit[:10]}{'+' if commit.endswith('+') else ''}" if commit else "an unknown commit"
