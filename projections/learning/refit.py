"""The refit: a change of the ranker's weights that one owner's accesses ask for, and whether it is better.

It is a logistic regression that is drawn to the default weights instead of to zero (a normal prior around them), so
that little data changes little. It is judged on the last days, which it has not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...events.types import Millis
from ..bar import PLAIN, PushOdds, reaches
from ..language.scripts import count_words
from ..pointers import MOST
from ..ranker import Model, features_of
from ..searcher import Searcher
from .outcomes import DAY_MS, Outcome

HELD_DAYS: Final = 7
"""So many of the last days on which anything was asked are held back."""
LEAST_LEARNED: Final = 40
LEAST_HELD: Final = 20
"""Requests with an outcome that there have to be to learn from, and to judge by."""
LEAST_THINGS: Final = 5
"""So many different things must have been right: one that is opened a thousand times tells of itself alone."""
LEAST_EACH: Final = 3
"""Requests with something right, and with nothing right, among those held back; twice as many to learn from."""
OF_ONE: Final = 3.0
"""All requests about one thing (or of one text, where nothing was right) count at most as much as so many."""
STRENGTH: Final = 4.0
"""Of the pull to the default weights: a hundred requests move a weight by about half of what they alone would say."""
WORTH: Final = 0.01
"""A refit has to lower the loss by this share: less than that is noise."""

Floats = NDArray[np.float64]
Came = Literal["adopted", "not_better", "not_enough"]


class Weights(NamedTuple):
    """A logistic model: the log-odds are the bias plus the weighted features."""

    weights: Floats
    bias: float

    def probabilities(self, features: Floats) -> Floats:
        """One probability per row."""
        odds = np.clip(features @ self.weights + self.bias, -60, 60)
        return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float64)


@dataclass(frozen=True)
class Judged:
    """One request with its candidates: a row of features each, and which rows were right."""

    at: Millis
    about: str
    """What was right, or the request itself when nothing was: what counts together at most as OF_ONE."""
    features: Floats
    right: NDArray[np.bool_]
    words: int = 1
    """Of the request."""


class Scores(NamedTuple):
    """How a model does on some requests."""

    loss: float
    """Logarithmic loss a request."""
    right: int
    """Requests that are answered with something that was of use."""
    false: int
    """Requests that are answered with nothing but what was of no use."""


@dataclass(frozen=True)
class Found:
    """What a refit came to."""

    outcome: Came
    why: str
    requests: int
    held_back: int
    since: Millis = 0
    until: Millis = 0
    weights: Weights | None = None
    before: Scores | None = None
    after: Scores | None = None


def judged(searcher: Searcher, outcome: Outcome, features: Sequence[str]) -> Judged:
    """Ask a request again and lay out its candidates. What the request names, or was shown before, is not judged."""
    asked = [
        evidence
        for evidence in searcher.find(outcome.request)
        if evidence.named < 0 and (evidence.item.id in outcome.right or evidence.item.id not in outcome.shown_before)
    ]
    rows = [[found.get(name, 0.0) for name in features] for found in map(features_of, asked)]
    return Judged(
        at=outcome.at,
        about=" ".join(sorted(outcome.right)) or f"? {outcome.request.casefold()}",
        features=np.array(rows, dtype=np.float64).reshape(len(rows), len(features)),
        right=np.array([evidence.item.id in outcome.right for evidence in asked], dtype=np.bool_),
        words=count_words(outcome.request),
    )


def too_few(requests: int) -> Found | None:
    """The answer when there are too few requests for any refit, known before one of them is asked again."""
    least = LEAST_LEARNED + LEAST_HELD
    if requests >= least:
        return None
    why = f"it takes {least} requests with an outcome; there are {requests}. Use it for some more days."
    return Found("not_enough", f"Not enough to go on: {why}", requests, 0)


def refit(requests: Sequence[Judged], default: Model, in_force: Model) -> Found:
    """Learn from all but the last days, and say whether the weights are better on these than those in force.

    The same requests and the same default give the same weights, so that nothing is adopted twice. Never raises: what
    cannot be learned from is said to be not enough.
    """
    usable = [one for one in requests if len(one.features) and bool(np.isfinite(one.features).all())]
    days = sorted({one.at // DAY_MS for one in usable})
    first_held = days[-HELD_DAYS] if len(days) > HELD_DAYS else 0
    learned = [one for one in usable if one.at // DAY_MS < first_held]
    held = [one for one in usable if one.at // DAY_MS >= first_held] if learned else []
    times = [one.at for one in usable] or [0]
    found = Found("not_enough", "", len(usable), len(held), min(times), max(times))
    if lacking := _lacking(learned, held):
        return replace(found, why=f"Not enough to go on: {lacking}")
    new = fit(learned, _weights_of(default))
    bar, push = in_force.bar, in_force.push
    before, after = score(held, _weights_of(in_force), bar, push), score(held, new, bar, push)
    finite = bool(np.isfinite([*new.weights, new.bias, after.loss]).all())
    worse = _worse(before, after, in_force.bar) if finite else "its numbers are not finite."
    if worse:
        return replace(found, outcome="not_better", why=f"Not better on the days held back: {worse}", before=before,
                       after=after)  # fmt: skip
    why = "It did better on days that it had not seen."
    return replace(found, outcome="adopted", why=why, weights=new, before=before, after=after)


def _weights_of(model: Model) -> Weights:
    return Weights(np.array(model.weights, dtype=np.float64), model.bias)


def fit(requests: Sequence[Judged], prior: Weights) -> Weights:
    """The weights that fit the requests, drawn to the prior.

    Newton's method, which for a logistic model is iteratively reweighted least squares (Hastie, Tibshirani and
    Friedman, The Elements of Statistical Learning, 2nd edition, section 4.4.1, equations 4.24 to 4.28), with a ridge
    around the prior (section 3.4.1) that also keeps every step solvable. The function is convex, so that there is one
    best point, and a step that overshoots is halved until it goes down.
    """
    rows = np.concatenate([one.features for one in requests])
    design = np.hstack([rows, np.ones((len(rows), 1))])
    right = np.concatenate([one.right for one in requests]).astype(np.float64)
    weight = np.repeat(_weights(requests), [len(one.features) for one in requests])
    start = np.append(prior.weights, prior.bias)

    def loss(at: Floats) -> float:
        odds = design @ at
        return float(weight @ (np.logaddexp(0, odds) - right * odds) + STRENGTH / 2 * np.sum((at - start) ** 2))

    at = start
    for _ in range(50):
        chance = Weights(at[:-1], float(at[-1])).probabilities(rows)
        gradient = design.T @ (weight * (chance - right)) + STRENGTH * (at - start)
        curvature = (design * (weight * chance * (1 - chance))[:, None]).T @ design + STRENGTH * np.eye(len(at))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-4 and not loss(at - size * step) <= loss(at):
            size /= 2
        at = at - size * step
        if float(np.abs(size * step).max()) < 1e-7:
            break
    return Weights(np.round(at[:-1], 4), round(float(at[-1]), 4))


def score(requests: Sequence[Judged], model: Weights, bar: float, push: PushOdds = PLAIN) -> Scores:
    """How a model does on requests, each counting as in `fit`, pushes plainly. `push` is as for bar.chance."""
    losses, right, false = [], 0, 0
    for one in requests:
        chance = np.clip(model.probabilities(one.features), 1e-9, 1 - 1e-9)
        losses.append(-float(np.sum(np.log(np.where(one.right, chance, 1 - chance)))))
        best = np.argsort(-chance, kind="stable")
        reached = reaches(chance[best].tolist(), push.of(one.words))[:MOST]
        pushed = [row for row, reach in zip(best, reached, strict=False) if reach >= bar]
        right += bool(one.right[pushed].any())
        false += bool(pushed) and not one.right[pushed].any()
    return Scores(float(np.average(losses, weights=_weights(requests))), right, false)


def _weights(requests: Sequence[Judged]) -> Floats:
    times = Counter(one.about for one in requests)
    return np.array([min(1.0, OF_ONE / times[one.about]) for one in requests])


def _lacking(learned: Sequence[Judged], held: Sequence[Judged]) -> str:
    """What there is too little of; empty when there is enough."""
    if len(learned) < LEAST_LEARNED or len(held) < LEAST_HELD:
        return (
            f"it takes {LEAST_LEARNED} requests with an outcome to learn from and {LEAST_HELD} on the {HELD_DAYS} days "
            f"behind them; there are {len(learned)} and {len(held)}. Use it for some more days."
        )
    things = len({one.about for one in learned if one.right.any()})
    if things < LEAST_THINGS:
        return f"only {things} different things were of use; it takes {LEAST_THINGS}."
    for some, least in ((learned, 2 * LEAST_EACH), (held, LEAST_EACH)):
        hits = sum(bool(one.right.any()) for one in some)
        if hits < least or len(some) - hits < least:
            return "nearly all of the requests, or nearly none, were answered with something of use."
    return ""


def _worse(before: Scores, after: Scores, bar: float) -> str:
    """What a model does worse than the one before it, in words; empty when it is better.

    A right push may be lost only for more false ones less than the bar says that it is worth: who wants a push that
    helps with a chance of one in five takes four false ones for a right one.
    """
    if after.loss > before.loss * (1 - WORTH):
        return f"its loss is {after.loss:.4f} a request where it was {before.loss:.4f}."
    if after.false > before.false:
        return f"{after.false} requests would get nothing but what is of no use, where it was {before.false}."
    if (before.right - after.right) * (1 - bar) > (before.false - after.false) * bar:
        return f"{after.right} requests would get something of use, where it was {before.right}."
    return ""
