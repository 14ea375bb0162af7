"""Which session or approach a request that points back means, and what helped there.

A session is one document here: it is about a word when any of its turns is. What speaks for it are the words that the
request leaves, those of the lines before at less weight, its meaning, the time that the request names, and recency.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...events.types import Millis
from ..language.cutting import best_of
from ..language.words import request_terms, tokenize
from ..overlay import Overlay
from ..policy.eligibility import BoolArray
from ..segment import Segment
from ..text_index import any_of, heard_of, languages_in, may_be_seam
from .last_time import Back
from .uses import Use

BEFORE: Final = 0.5
"""Weight of a word of the lines before, beside one of the request itself."""
PERIOD: Final = 0.6
MEANING: Final = 0.6
RECENCY: Final = 0.15
PROJECT: Final = 0.1
"""What a fitting time, the same meaning, the present day and the same project add to the words' share (0 to 1). The
project is little: what was done in one is asked for in another."""
HALF_LIFE: Final[Millis] = 90 * 86_400_000
WIDE: Final = 40
"""Candidates by each of: words, time named, recency."""
HELPED: Final = 0.9
USED: Final = 0.5
"""How far what helped, or was only used, in a session is meant along with it."""

Floats = NDArray[np.float64]

_SAYS_NOTHING: Final = frozenset(
    tokenize(
        [
            "same like last time times again another once more previous previously before earlier way ways did do does "
            "done doing made make used use using thing things one ones how what where when who we you i us our my me "
            "had have has got get went please now back then first just also exactly still this year today "
            "letzte letzten letztes mal damals nochmal noch einmal wieder wie wir du ich haben hatten das dasselbe "
            "gleiche gleichen selbe bitte und der die den dem mit für beim bei im zu "
            "dernière derniere fois comme avant même encore nouveau on nous tu avons as le la les des une un pour avec "
            "última ultima vez como antes mismo misma otra nuevo lo el los las una un con para por que "
            "ultima volta scorsa stesso stessa prima ancora abbiamo hai usato fatto fare rifai per che del della "
            "vorige laatste keer hetzelfde dezelfde zoals toen opnieuw hebben hadden gebruikt gedaan doe nog eens voor "
            "outra passada mesmo mesma fizemos usamos usámos faz novamente da do na no em "
            "vegada darrera mateix mateixa vam fer fes com el la al amb "
            "上次 上一次 之前 以前 我们 我們 用过 一样 一樣 再来一次 那个 那样 "
            "前回 この前 同じ もう一度 もう一回 使った やった "
            "지난번 처럼 다시 прошлый раз снова так же"
        ]
    )[0]
)


class Place(NamedTuple):
    """A segment, and which of its rows the reader may see."""

    segment: Segment
    visible: BoolArray


class Asked(NamedTuple):
    """A request that points back, and what is known of its moment."""

    back: Back
    recent: Sequence[str]
    """The lines said just before."""
    project: str
    now: Millis


def meant(
    asked: Asked,
    overlay: Overlay,
    places: Sequence[Place],
    pool: BoolArray,
    meanings: Callable[[list[int]], Mapping[int, float]],
    sees: Callable[[Use], bool],
) -> dict[int, float]:
    """How likely the request means an item, 0 to 1, by ordinal; what no score speaks for is left out.

    Args:
        asked: the request.
        overlay: what is known.
        places: where the words stand.
        pool: which items are visible sessions and approaches, by ordinal.
        meanings: the cosine of the request with the best topic of each of these ordinals.
        sees: whether the reader may know of a use.
    """
    recorded = overlay.policies.recorded
    words = words_share(asked.back.rest, asked.recent, places, pool)
    fit = times_fit(asked.back, recorded, pool)
    new = recency(recorded, asked.now, pool)
    found = candidates((words, fit, new), pool, overlay.id_of)
    meaning = meanings(found)
    given = words + PERIOD * fit + RECENCY * new
    scores = {
        ordinal: float(given[ordinal]) + MEANING * meaning[ordinal] + PROJECT * _in_project(ordinal, asked, overlay)
        for ordinal in found
    }
    return spread(with_what_helped(scores, overlay, sees), asked.back.strength)


def _in_project(ordinal: int, asked: Asked, overlay: Overlay) -> bool:
    item = overlay.state.get(overlay.id_of(ordinal))
    return asked.project != "" and item is not None and item.project == asked.project


def words_share(rest: str, before: Iterable[str], places: Sequence[Place], pool: BoolArray) -> Floats:
    """By ordinal, the share (0 to 1) of the request's weight that an item of the pool holds, wherever in it."""
    languages = languages_in([segment.postings for segment, _ in places])
    seen = [(segment.postings, visible) for segment, visible in places]
    said, asked = ([heard_of(terms, seen) for terms in _telling(text, languages)] for text in (" ".join(before), rest))
    weights = dict.fromkeys(said, BEFORE) | dict.fromkeys(asked, 1.0)
    shares, total, size = np.zeros(len(pool)), 0.0, float(np.count_nonzero(pool))
    for terms, weight in weights.items():
        has = np.zeros(len(pool), dtype=np.bool_)
        for segment, visible in places:
            rows, _ = any_of(segment.postings, terms)
            has[segment.rows.item[rows[visible[rows]]]] = True
        has &= pool
        among = float(np.count_nonzero(has))
        if not among and may_be_seam(terms):
            continue
        worth = weight * math.log1p((size - among + 0.5) / (among + 0.5))
        shares[has] += worth
        total += worth
    return shares / total if total else shares


def times_fit(back: Back, recorded: NDArray[np.int64], pool: BoolArray) -> Floats:
    """By ordinal, how well an item's time fits what the request names; 0 for all when it names none."""
    fit = np.zeros(len(pool))
    members = np.flatnonzero(pool)
    for period in back.periods:
        fit[members] = np.maximum(fit[members], period.fits(recorded[members]))
    return fit


def recency(recorded: NDArray[np.int64], now: Millis, pool: BoolArray) -> Floats:
    """By ordinal, 1 for now and half for each HALF_LIFE before; 0 outside the pool."""
    new = np.zeros(len(pool))
    members = np.flatnonzero(pool)
    new[members] = np.exp2(-np.maximum(now - recorded[members], 0) / HALF_LIFE)
    return new


def candidates(scores: Sequence[Floats], pool: BoolArray, id_of: Callable[[int], str]) -> list[int]:
    """Ordinals of the pool that stand among the WIDE best by one of the scores, without those of score 0."""
    chosen: dict[int, None] = {}
    members = np.flatnonzero(pool)
    for score in scores:
        held = members[score[members] > 0]
        chosen |= dict.fromkeys(best_of(score[held], held, WIDE, id_of))
    return list(chosen)


def with_what_helped(scores: Mapping[int, float], overlay: Overlay, sees: Callable[[Use], bool]) -> dict[int, float]:
    """The scores, by ordinal, and with each session's those of what was visibly used there."""
    found = dict(scores)
    for ordinal, score in scores.items():
        kind, _, session = overlay.id_of(ordinal).partition(":")
        for use in overlay.state.uses.of_session(session) if kind == "session" else ():
            used = overlay.ordinal(use.item)
            if used is not None and sees(use):
                found[used] = max(found.get(used, 0.0), score * (HELPED if use.helped else USED))
    return found


def spread(scores: Mapping[int, float], strength: float) -> dict[int, float]:
    """Evidence from scores: the best has all of its own, the others the less the further they are behind it."""
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return {}
    return {item: strength * min(score, 1.0) * (score / best) ** 2 for item, score in scores.items()}


def _telling(text: str, languages: Iterable[str]) -> list[tuple[str, ...]]:
    """For each word that says what it is about the terms of which any will do."""
    return [terms for terms in request_terms(text, languages) if terms[0] not in _SAYS_NOTHING]
