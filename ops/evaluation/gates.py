"""By which of the five gates the misses of a run failed: where work on keys, filters and ranking would pay.

A miss is a case that expects something and got none of it. Each is asked about again, at its moment and as the owner,
of the code that pushed; see projections/why.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, get_args

import msgspec

from ...api.messages import WhyRequest, WhyResponse
from ...projections.meaning.encoders import Encoders, load_encoders
from ...projections.why import Gate
from ..output import count, one_line, table
from .playback import FULL, Playback, Setup
from .worlds import Case, World, millis

if TYPE_CHECKING:
    from .evaluate import Answer

ORDER: Final[tuple[Gate, ...]] = tuple(gate for gate in get_args(Gate) if gate != "found")
"""The gates as an item comes to them."""


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """A case that got nothing of what it expects, and the gate at which the nearest of that failed."""

    case: str
    kind: str
    item: str
    """The world's id."""
    gate: str
    rule: str
    cut: str
    ranks: dict[str, int | None]
    """As in WhyResponse; so are the others."""
    rank: int | None
    probability: float | None
    words: str


class GateTable(msgspec.Struct, frozen=True, kw_only=True):
    """The misses of one setup by gate."""

    expecting: int
    """Cases that expect something."""
    misses: int
    gates: dict[str, tuple[Miss, ...]]
    """All five in their order, and `found` where asking again found what the answers lack."""


def gates(
    world: World,
    answers: Sequence[Answer],
    *,
    setup: Setup = FULL,
    bar: float | None = None,
    encoders: Encoders | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> GateTable:
    """Say of every miss at which gate it failed.

    Args:
        world: the one that was asked.
        answers: what was pushed.
        setup: with which parts of the product, as for evaluate.ask.
        bar: as it was for the answers.
        encoders: the bundled ones when it is None.
        on_case: told (misses asked about, misses in all) after each.
    """
    expecting = [answer for answer in answers if answer.case.expect]
    missed = [answer.case for answer in expecting if not set(answer.pushed) & set(answer.case.expect)]
    playback = Playback(world, load_encoders() if encoders is None else encoders, setup)
    found: list[Miss] = []
    try:
        for case in sorted(missed, key=lambda case: case.at):
            found.append(_miss(playback, case, bar if setup.bar else 0.0, setup))
            if on_case is not None:
                on_case(len(found), len(missed))
    finally:
        playback.close()
    every = {gate: tuple(miss for miss in found if miss.gate == gate) for gate in (*ORDER, "found")}
    return GateTable(
        expecting=len(expecting),
        misses=len(missed),
        gates={gate: misses for gate, misses in every.items() if misses or gate != "found"},
    )


def lines(found: GateTable, *, verbose: bool = False) -> list[str]:
    """The table for a person; `verbose` lists the cases below each gate."""
    told = [f"{count(found.misses, 'miss')} of {count(found.expecting, 'case')} that expect something, by gate:"]
    rows = [("gate", "misses", "of which")]
    rows += [(gate.replace("_", " "), f"{len(misses):>6}", _kinds(misses)) for gate, misses in found.gates.items()]
    head, *body = table(rows)
    told.append(head)
    for line, misses in zip(body, found.gates.values(), strict=True):
        told.append(line)
        if verbose:
            told += table([(m.case, m.kind, one_line(m.item), one_line(m.words)) for m in misses], indent="    ")
    return told


def _miss(playback: Playback, case: Case, bar: float | None, setup: Setup) -> Miss:
    """The verdict on what came nearest of all that would have been right."""
    at = millis(case.at)
    playback.feed_until(at)
    verdicts = {
        item: playback.service.why(
            WhyRequest(request=case.request, item=playback.product_id(item), for_reader=case.reader),
            now=at,
            bar=bar,
            names=setup.names,
            links=setup.links,
        )
        for item in case.expect
    }
    nearest = max(verdicts, key=lambda item: _nearness(verdicts[item]))
    told = verdicts[nearest]
    return Miss(
        case=case.id,
        kind=case.kind,
        item=nearest,
        gate=told.gate,
        rule=told.rule,
        cut=told.cut,
        ranks=told.ranks,
        rank=told.rank,
        probability=told.probability,
        words=told.words,
    )


def _nearness(told: WhyResponse) -> tuple[int, float]:
    gate = len(ORDER) if told.gate == "found" else ORDER.index(told.gate)
    return gate, told.probability or 0.0


def _kinds(misses: Sequence[Miss]) -> str:
    """What the misses of a gate are, the most frequent first; behind a semicolon by which rule or cut."""
    kinds = Counter(miss.kind for miss in misses)
    how = Counter((miss.rule or miss.cut).replace("_", " ") for miss in misses if miss.rule or miss.cut)
    return "; ".join(", ".join(f"{name} {n}" for name, n in each.most_common()) for each in (kinds, how) if each)
