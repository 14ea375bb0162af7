"""Kinds of event about how the owner wants to be spoken to; offered by `types.py` with all others."""

from __future__ import annotations

from .event import Event, Millis


class BarSet(Event, frozen=True, tag="bar_set"):
    """The owner said how sure a pointer has to be before it is pushed; None: as sure as the default."""

    bar: float | None = None
    """Least probability, 0 to 1."""


class RankerRefitted(Event, frozen=True, tag="ranker_refitted"):
    """Other weights of the ranker were learned from an owner's accesses, and did better on days held back from them.

    They count for readers of the event's audience, and only in place of the model that they were made for. In the
    scores, `before` is with the weights in force until then and `after` with these, both on the days held back.
    """

    base: str
    """Fingerprint of the model that comes with the package, from which they were learned."""
    features: tuple[str, ...]
    weights: tuple[float, ...]
    """In the order of `features`."""
    bias: float
    since: Millis = 0
    """When the first of the requests was made from which they were learned."""
    until: Millis = 0
    """The same of the last one that was held back."""
    requests: int = 0
    held_back: int = 0
    loss_before: float = 0.0
    """Logarithmic loss a request."""
    loss_after: float = 0.0
    false_before: int = 0
    """Requests that would be answered with nothing but what was of no use."""
    false_after: int = 0
    right_before: int = 0
    """Requests that would be answered with something that was of use."""
    right_after: int = 0


class RankerReverted(Event, frozen=True, tag="ranker_reverted"):
    """The owner took a refit of the ranker back; the one before it counts again, or else the default."""

    refit: str
    """Id of the event that told of the refit."""
