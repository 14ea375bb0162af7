"""The ranker's model for one reader: the one that comes with the package, as the owner's log has tuned it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, Literal

import msgspec

from ...events.errors import RecallError
from ..ranker import FEATURES, Model, model
from .tuning import DEFAULT, Refit, Tuning

STEP: Final = 0.5
"""How far "more" or "less" moves the bar, in log-odds: the odds that a pointer must have change by a factor of 1.65,
wherever the bar stands. Two steps from the default are plainly noticed."""
LOWEST, HIGHEST = 0.001, 0.999
"""Steps end here. Only a number sets the bar to 0 (everything that was found) or to 1 (only what is named)."""

Fate = Literal["none", "in_force", "outdated"]


@lru_cache(maxsize=32)
def model_of(tuning: Tuning = DEFAULT) -> Model:
    """The model that judges under this tuning.

    A refit that was made for another default model than today's is passed over: its numbers mean nothing beside others.
    """
    default = model()
    bar = default.bar if tuning.bar is None else tuning.bar
    if fate(tuning) != "in_force" or tuning.refit is None:
        return default if tuning.bar is None else msgspec.structs.replace(default, bar=bar)
    told = tuning.refit.told
    return msgspec.structs.replace(default, features=told.features, weights=told.weights, bias=told.bias, bar=bar)


def fate(tuning: Tuning) -> Fate:
    """Whether there is a refit, and whether it counts with the model that the package has today."""
    if tuning.refit is None:
        return "none"
    return "in_force" if fits(tuning.refit) else "outdated"


def fits(refit: Refit) -> bool:
    """Whether a refit can stand in place of the package's model: made for it, whole, and finite."""
    told = refit.told
    return (
        told.base == model().fingerprint
        and len(told.features) == len(told.weights)
        and set(told.features) <= set(FEATURES)
        and all(map(math.isfinite, (*told.weights, told.bias)))
    )


def moved(bar: float, change: str) -> float | None:
    """The bar after a change: `more` (speak more: lower), `less`, a number, or `default` (None).

    A step that would leave LOWEST to HIGHEST ends there, and one from beyond goes nowhere.

    Raises:
        RecallError: the change is none of these.
    """
    word = change.strip().lower()
    if word == "default":
        return None
    if word == "more":
        return bar if bar <= LOWEST else max(LOWEST, _stepped(bar, -STEP))
    if word == "less":
        return bar if bar >= HIGHEST else min(HIGHEST, _stepped(bar, STEP))
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise RecallError(f"The bar cannot be {change!r:.40}. Say more, less, default, or a number from 0 to 1.")
    return number + 0.0  # of a negative zero the plain one


def _stepped(bar: float, step: float) -> float:
    bar = min(max(bar, LOWEST / 2), 1 - LOWEST / 2)
    odds = bar / (1 - bar) * math.exp(step)
    return round(odds / (1 + odds), 4)


def words(tuning: Tuning) -> str:
    """How sure a pointer has to be, in a sentence or two."""
    default = model().bar
    if tuning.bar is None:
        return f"Your bar is {default:g}, the default: a push is made when it is {_times(default)} to help."
    if tuning.bar == 0:
        said = "everything that was found is pushed, as far as there is room"
    elif tuning.bar == 1:
        said = "nothing is pushed but what you name"
    else:
        said = f"a push is made when it is {_times(tuning.bar)} to help"
    return f"Your bar is {tuning.bar:g}; the default is {default:g}. So {said}: {_compared(tuning.bar, default)}."


def _times(bar: float) -> str:
    return f"at least {100 * bar:.3g} % likely"


def _compared(bar: float, default: float) -> str:
    if bar == default:
        return "as much as by default"
    return "more than by default" if bar < default else "less than by default"
