"""Rankings: the ten best of a make for a case, whatever its bar, and the figures by which public sets are read.

A make is the product or anything that answers the same cases. The product is asked through its own service; what it
ranks is its search, what it pushes is its push.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np

from ...api.messages import SearchRequest
from ...api.service import Service
from ...projections.meaning.encoders import Encoders
from ..figures import percentiles
from .evaluate import Answer
from .playback import Playback, request_of
from .public_sets import Group, PublicSet
from .worlds import Case, millis

PRODUCT: Final = "instant-recall"
DEPTH: Final = 10
"""How many of a ranking count."""
RECALL: Final = 0.95
"""Share of the requests with something to find at which it is asked how many of the others are pushed to as well."""


@dataclass(frozen=True)
class Ranking:
    """What a make finds for a case, best first, at most DEPTH."""

    case: Case
    items: tuple[str, ...]
    """The world's ids; one may be there several times where turns are ranked."""
    places: tuple[str, ...]
    """Of each its address, exact to the turn: `SESSION#tNUMBER`; the id again where there are no turns."""
    scores: tuple[float, ...]
    took_ms: float
    pushed: bool | None = None
    """Whether anything passes the make's own bar; None: it has none."""
    tokens_to: tuple[int, ...] = ()
    """Tokens of the product's block if it held the first, the first two, ..."""
    evidence: tuple[str, ...] = ()
    """Addresses of the turns that hold the answer."""

    @property
    def score(self) -> float:
        """Of the best; minus infinity when nothing was found."""
        return self.scores[0] if self.scores else -math.inf


def answer_of(ranking: Ranking, most: int = 5) -> Answer:
    """A ranking as what a push of its first would have been, to be judged like the product's."""
    return Answer(
        case=ranking.case,
        pushed=ranking.items[:most],
        scores=tuple(round(score, 4) for score in ranking.scores[:most]),
        tokens=max(ranking.tokens_to, default=0),
        took_ms=ranking.took_ms,
        tokens_to=ranking.tokens_to,
    )


def rank_set(asked: PublicSet, encoders: Encoders, on_case: Callable[[], None] = lambda: None) -> list[Ranking]:
    """Ask the product every case of a set, owner by owner; `on_case` is called after each."""
    rankings = []
    for group in asked.groups:
        for ranking in rank_group(group, encoders):
            rankings.append(ranking)
            on_case()
    return rankings


def rank_group(group: Group, encoders: Encoders) -> Iterator[Ranking]:
    """Ask the product every case of one owner, earliest first."""
    playback = Playback(group.world, encoders)
    try:
        for case in sorted(group.world.cases, key=lambda case: case.at):
            playback.feed_until(millis(case.at))
            _settle(playback.service)
            yield _rank(playback, case, group.evidence.get(case.id, ()))
    finally:
        playback.close()


def _rank(playback: Playback, case: Case, evidence: tuple[str, ...]) -> Ranking:
    at = millis(case.at)
    request = request_of(case)
    began = time.perf_counter()
    push = playback.service.push(request, now=at)
    took = (time.perf_counter() - began) * 1_000
    search = SearchRequest(query=request.request, reader=request.reader, limit=DEPTH)
    # A turn that asks nothing gets nothing at any bar.
    found = () if push.reason == "trivial_turn" else playback.service.search(search, now=at).found
    return Ranking(
        case=case,
        items=tuple(playback.world_id(one.item) for one in found),
        places=tuple(one.address.removeprefix("session:") for one in found),
        scores=tuple(one.score for one in found),
        took_ms=took,
        pushed=bool(push.pointers),
        evidence=evidence,
    )


def _settle(service: Service) -> None:
    """Let it take everything in: what is measured is not how fast a whole corpus is indexed."""
    while (status := service.status()).applied != status.position:
        continue


def judge_rankings(rankings: Sequence[Ranking]) -> dict[str, Any]:
    """The figures of one make on a set: rates from 0 to 1; None where nothing can be told.

    `hit@1`, `hit@5` and `mrr@10` are over the cases that expect something, without a bar. `turns@5` and `turns@10` are
    the shares of the turns with the answer that are among the first five and ten. `gate` is about telling these cases
    from those on which nothing should be pushed; see `gate`. `categories` has the same by category.
    """
    categories = dict.fromkeys(ranking.case.why for ranking in rankings)
    return {
        **_figures(rankings),
        "gate": gate(rankings),
        "latency_ms": percentiles([ranking.took_ms for ranking in rankings]),
        "categories": {
            category: _figures([ranking for ranking in rankings if ranking.case.why == category])
            for category in categories
            if len(categories) > 1
        },
    }


def gate(rankings: Sequence[Ranking]) -> dict[str, float | None] | None:
    """How well the best score tells cases with something to find from the others; None without both.

    `auroc`: the chance that one of the former has the higher score. `pushed_at_recall`: the share of the others that
    are pushed to at the score that lets RECALL of the former through. `pushed_at_bar`: the same at the make's own bar,
    and `recall_at_bar` the share of the former; None when it has no bar.
    """
    fits = [ranking for ranking in rankings if ranking.case.expect]
    others = [ranking for ranking in rankings if not ranking.case.expect]
    if not fits or not others:
        return None
    high, low = (np.array([ranking.score for ranking in side]) for side in (fits, others))
    wins = (high[:, None] > low[None, :]).mean() + (high[:, None] == low[None, :]).mean() / 2
    least = np.sort(high)[::-1][math.ceil(RECALL * len(high)) - 1]
    return {
        "auroc": round(float(wins), 4),
        "pushed_at_recall": _mean(bool(score >= least) for score in low),
        "pushed_at_bar": _mean(ranking.pushed for ranking in others if ranking.pushed is not None),
        "recall_at_bar": _mean(ranking.pushed for ranking in fits if ranking.pushed is not None),
    }


def _figures(rankings: Sequence[Ranking]) -> dict[str, Any]:
    fits = [ranking for ranking in rankings if ranking.case.expect]
    silent = [ranking for ranking in rankings if not ranking.case.expect and ranking.pushed is not None]
    turns = [ranking for ranking in rankings if ranking.evidence]
    figures: dict[str, Any] = {
        "cases": len(rankings),
        "expecting": len(fits),
        "hit@1": _mean(_place(ranking) <= 1 for ranking in fits),
        "hit@5": _mean(_place(ranking) <= 5 for ranking in fits),
        "mrr@10": _mean(1 / _place(ranking) for ranking in fits),
        "false_push_rate": _mean(bool(ranking.pushed) for ranking in silent),
    }
    if turns:
        figures |= {f"turns@{count}": _mean(_turns_within(ranking, count) for ranking in turns) for count in (5, 10)}
    return figures


def _place(ranking: Ranking) -> float:
    """Where the first right answer stands, from 1; infinity when it is not there."""
    return next((place for place, item in enumerate(ranking.items, 1) if item in ranking.case.expect), math.inf)


def _turns_within(ranking: Ranking, count: int) -> float:
    return len(set(ranking.evidence) & set(ranking.places[:count])) / len(set(ranking.evidence))


def _mean(values: Iterable[float | None]) -> float | None:
    found = [float(value) for value in values if value is not None]
    return round(fmean(found), 4) if found else None
