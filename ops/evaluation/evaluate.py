"""`eval`: how good the pushes are in a world where the right answers are known.

Each case is asked at its own moment, as its own reader, of the code that the server runs. What a case expects, and
why, is used for judging only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

import msgspec

from ...events.errors import RecallError
from ...projections.meaning.encoders import Encoders, load_encoders
from ...projections.pointers import block, tokens
from ..figures import percentiles
from .gates import gates
from .playback import FULL, Playback, Setup, request_of
from .worlds import Case, CaseKind, World, millis, read_world


@dataclass(frozen=True)
class Answer:
    """What was pushed for a case: the world's ids in order, their scores, the tokens and the milliseconds it took."""

    case: Case
    pushed: tuple[str, ...]
    scores: tuple[float, ...]
    tokens: int
    took_ms: float
    tokens_to: tuple[int, ...] = ()
    """Tokens of the block if it ended behind each pointer, in order: what a higher bar would have cost."""


def run(
    world: Path,
    *,
    bar: float | None = None,
    cases_out: Path | None = None,
    by_gate: bool = False,
    encoders: Encoders | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Play a world back, ask its cases, and judge the answers.

    Args:
        world: the folder.
        bar: the relevance bar, 0 to 1; None: the product's own; 0.0: the best five whatever their score.
        cases_out: write one JSON line per case there: `{"id", "kind", "pushed", "scores"}`.
        by_gate: also say at which gate each miss failed: `"gates"`, a GateTable.
        encoders: the bundled ones when it is None.
        on_case: told (cases asked, cases in all) after each case.

    Returns:
        `{"cases", "kinds": {KIND: ...}, "pointers_mean", "tokens_mean", "latency_ms": {"p50", ...}}`; see `judge`.

    Raises:
        BadWorld: the world cannot be run; nothing was.
        RecallError: `cases_out` cannot be written.
    """
    read = read_world(world)
    if cases_out is not None:
        # Opened before the work, so that a mistyped path does not cost a run.
        _write_lines(cases_out, [], mode="ab")
    answers = ask(read, bar=bar, encoders=encoders, on_case=on_case)
    if cases_out is not None:
        _write_lines(cases_out, [_line(answer) for answer in answers])
    if not by_gate:
        return judge(answers)
    return judge(answers) | {"gates": msgspec.to_builtins(gates(read, answers, bar=bar, encoders=encoders))}


def ask(
    world: World,
    *,
    bar: float | None = None,
    setup: Setup = FULL,
    encoders: Encoders | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> list[Answer]:
    """Ask every case of a world at its moment, earliest first.

    Args:
        world: what happened, and the cases.
        bar: see `run`; a setup without a bar has none, whatever is said here.
        setup: which parts of the product take part.
        encoders: the bundled ones when it is None; several runs can share one.
        on_case: told (cases asked, cases in all) after each case.
    """
    playback = Playback(world, load_encoders() if encoders is None else encoders, setup)
    answers: list[Answer] = []
    try:
        for case in sorted(world.cases, key=lambda case: case.at):
            answers.append(_ask_one(playback, case, bar if setup.bar else 0.0, setup))
            if on_case is not None:
                on_case(len(answers), len(world.cases))
    finally:
        playback.close()
    return answers


def judge(answers: Sequence[Answer]) -> dict[str, Any]:
    """The figures of a run, as `eval --json` prints them. Kinds stand in the order of the world format.

    For `use` there are two further entries, `use/learnable` and `use/cold`: the same cases by the first word of their
    `why`, when they have one.
    """
    kinds: dict[str, dict[str, Any]] = {}
    for kind in get_args(CaseKind):
        of_kind = [answer for answer in answers if answer.case.kind == kind]
        if of_kind:
            kinds[kind] = _figures(of_kind)
        if kind == "use":
            for part in ("learnable", "cold"):
                of_part = [answer for answer in of_kind if answer.case.why.startswith(part)]
                if of_part:
                    kinds[f"use/{part}"] = _figures(of_part)
    return {
        "cases": len(answers),
        "kinds": kinds,
        "pointers_mean": _mean(len(answer.pushed) for answer in answers if answer.pushed),
        "tokens_mean": _mean(answer.tokens for answer in answers),
        "latency_ms": percentiles([answer.took_ms for answer in answers]),
    }


def _ask_one(playback: Playback, case: Case, bar: float | None, setup: Setup) -> Answer:
    at = millis(case.at)
    playback.feed_until(at)
    request = request_of(case)
    # The events are taken in before the clock starts: between two cases of a world lie days, not milliseconds.
    playback.service.status()
    started = time.perf_counter()
    response = playback.service.push(request, now=at, bar=bar, names=setup.names, links=setup.links)
    took = (time.perf_counter() - started) * 1_000
    lines = [pointer.line for pointer in response.pointers]
    return Answer(
        case=case,
        pushed=tuple(playback.world_id(pointer.item) for pointer in response.pointers),
        scores=tuple(round(pointer.score, 4) for pointer in response.pointers),
        tokens=response.tokens,
        took_ms=took,
        tokens_to=tuple(tokens(block(lines[:place])) for place in range(1, len(lines) + 1)),
    )


def _figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """Counts and rates over the cases of one kind. `hit1` and `hit5` count among the `expecting` cases only."""
    expecting = [answer for answer in answers if answer.case.expect]
    silent = [answer for answer in answers if not answer.case.expect]
    return {
        "cases": len(answers),
        "expecting": len(expecting),
        "hit1": sum(1 for answer in expecting if set(answer.pushed[:1]) & set(answer.case.expect)),
        "hit5": sum(1 for answer in expecting if set(answer.pushed[:5]) & set(answer.case.expect)),
        "must_not": sum(1 for answer in answers if set(answer.pushed) & set(answer.case.must_not)),
        "pushed_mean": _mean(len(answer.pushed) for answer in answers),
        "false_push_rate": _mean(bool(answer.pushed) for answer in silent) if silent else None,
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(fmean(found), 4) if found else 0.0


def _line(answer: Answer) -> bytes:
    case = answer.case
    return msgspec.json.encode({"id": case.id, "kind": case.kind, "pushed": answer.pushed, "scores": answer.scores})


def _write_lines(path: Path, lines: Sequence[bytes], mode: Literal["wb", "ab"] = "wb") -> None:
    try:
        with path.open(mode) as out:
            out.writelines(line + b"\n" for line in lines)
    except OSError as error:
        raise RecallError(
            f"{path} cannot be written ({error.strerror}). Name a file in a folder that exists."
        ) from error
