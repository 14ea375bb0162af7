"""The ranker: evidence to one calibrated probability that a pointer helps.

A small logistic model over the evidence of an item; its weights are in `ranker.json`, made by `python -m
instant_recall.ops.evaluation.train`.
Scores are fused as scores and never by rank: a rank says nothing about whether anything fits at all.
"""

from __future__ import annotations

import hashlib
import math
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import msgspec

from .bar import PushOdds, calibrated, reaches
from .evidence import Evidence
from .language.scripts import count_words

WEIGHTS: Final = Path(__file__).parent / "ranker.json"
HALF: Final = 10.0
"""BM25 at which words alone count half of what they ever can; fits k1 1.5, b 0.75 and Lucene's idf."""


def _absolute(share: float, evidence: Evidence) -> float:
    """BM25 itself and not its share of the request, 0 to 1: in a long request a good match is a small share."""
    bm25 = share * evidence.request_weight
    return bm25 / (bm25 + HALF)


STATIC: Final = 0.8
"""What a cosine of the static encoder is worth beside one of the contextual one: it is higher for what is unlike."""
_TEXTS: Final = ("note", "session")
"""Kinds of item that are found by what they say. Any other is found by what it is for."""


_MATCHES: Final = (
    "use_meaning",
    "use_meaning_squared",
    "use_words",
    "topic_meaning",
    "topic_meaning_squared",
    "topic_words",
    "text_meaning",
    "text_meaning_squared",
    "best_together",
    "use_weight",
    "topic_weight",
)


def _matches(e: Evidence) -> tuple[float, ...]:
    """How well a request fits an item, by words and meaning, of what it is for and what it is or says: see _MATCHES."""
    topic = max(e.topic_meaning, STATIC * e.text_meaning) + e.topic_words
    return (
        e.use_meaning,
        e.use_meaning**2,
        e.use_words,
        e.topic_meaning,
        e.topic_meaning**2,
        e.topic_words,
        e.text_meaning,
        e.text_meaning**2,
        max(e.use_meaning + e.use_words, topic),
        _absolute(e.use_words, e),
        _absolute(e.topic_words, e),
    )


_ALWAYS: Final = ("asset", "link", "last_time")
_OF_AN_ASSET: Final = (*_ALWAYS, *(f"asset_{name}" for name in _MATCHES))
_OF_A_TEXT: Final = (*_ALWAYS, *(f"text_{name}" for name in _MATCHES))
FEATURES: Final = tuple(dict.fromkeys((*_OF_AN_ASSET, *_OF_A_TEXT)))
"""The names of all features, in the order of the model's file."""


def features_of(evidence: Evidence) -> dict[str, float]:
    """What the model sees of an item, by name; each is 0 or more, and what is left out is 0.

    A thing and a text have weights of their own: a request shares no word with the tool that it needs, but it does with
    the note that answers it. Seen alike, the many notes that mean something similar stand in front of the tool.
    """
    text = evidence.item.kind in _TEXTS
    values = (0.0 if text else 1.0, evidence.link, evidence.last_time, *_matches(evidence))
    return dict(zip(_OF_A_TEXT if text else _OF_AN_ASSET, values, strict=True))


class Model(msgspec.Struct, frozen=True):
    """The weights, and where they come from."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float
    bar: float
    """The chance that a push helps below which none is made; see bar.py."""
    push: PushOdds = PushOdds()
    """How the chance that a push helps follows from its pointers' probabilities; see bar.chance."""
    data: str = ""
    seed: int = 0
    cases: int = 0

    @property
    def fingerprint(self) -> str:
        """Changes whenever the weights do, and not with the bar: what a refit for one owner was made for."""
        named = msgspec.json.encode((self.features, self.weights, self.bias))
        return hashlib.sha256(named).hexdigest()[:16]

    def probability(self, evidence: Evidence) -> float:
        """The probability, 0 to 1, that a pointer to this item helps with the request."""
        weights = _by_name(self.features, self.weights)
        total = self.bias
        for name, value in features_of(evidence).items():
            total += weights.get(name, 0.0) * value
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=8)
def _by_name(features: tuple[str, ...], weights: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(features, weights, strict=True))


@cache
def model() -> Model:
    """The model that comes with the package."""
    return msgspec.json.decode(WEIGHTS.read_bytes(), type=Model)


class Ranked(msgspec.Struct, frozen=True):
    """An item with its probability."""

    evidence: Evidence
    probability: float

    @property
    def route(self) -> str:
        """What speaks most for it: `name`, `use`, `topic`, `link` or `last_time`."""
        if self.evidence.named >= 0:
            return "name"
        # Words and meaning are two that speak; a link or the last time is one, and stands for both.
        speaks = {
            "use": self.evidence.use_meaning + self.evidence.use_words,
            "topic": max(self.evidence.topic_meaning, self.evidence.text_meaning) + self.evidence.topic_words,
            "link": 2 * self.evidence.link,
            "last_time": 2 * self.evidence.last_time,
        }
        return max(speaks, key=lambda route: speaks[route])


def rank(found: list[Evidence], weights: Model | None = None) -> list[Ranked]:
    """Best first: what the request names, in the order of naming, then by probability, equals by id.

    A named item is certain: its probability is 1 whatever its words and meaning say. `weights` are the reader's (see
    own_model.py); those that come with the package when it is None.
    """
    weights = weights or model()
    ranked = [Ranked(e, 1.0 if e.named >= 0 else weights.probability(e)) for e in found]
    return sorted(ranked, key=_order)


def over(ranked: list[Ranked], bar: float, request: str, weights: Model | None = None) -> list[Ranked]:
    """Those of the ranking that a push with this bar may show, in their order; see bar.py.

    What the request seems to name and does not mean never rides along with something better: it has the words of the
    request by accident.
    """
    push = (weights or model()).push.of(count_words(request))
    may = [r for r in ranked if not r.evidence.doubted or calibrated(r.probability, push) >= bar]
    reached = reaches([r.probability for r in may], push)
    return [r for r, reach in zip(may, reached, strict=True) if reach >= bar]


def _order(ranked: Ranked) -> tuple[int, float, str]:
    named = ranked.evidence.named
    return (named if named >= 0 else sys.maxsize, -ranked.probability, ranked.evidence.item.id)
