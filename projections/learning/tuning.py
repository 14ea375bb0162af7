"""Tuning: what an owner's log says about how the ranker is to judge for them: the bar they set, and refits.

Pure data and its fold; `own_model.py` makes the ranker's model from it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ...events.envelope import RecordedEvent
from ...events.types import BarSet, Millis, RankerRefitted, RankerReverted
from ..policy.eligibility import Reader

REFITS_KEPT: Final = 5
"""So many can be taken back, one after the other, before the default counts again."""
_TRUSTED: Final = frozenset({"owner", "agent", "system"})
"""Actors whose word on how the ranker judges counts. What a web page or an imported text says does not."""


class Refit(msgspec.Struct, frozen=True):
    """One refit of the ranker, with the event that told of it."""

    event_id: str
    recorded_at: Millis
    audience: tuple[str, ...]
    told: RankerRefitted


class Tuning(msgspec.Struct, frozen=True):
    """The bar and the refits as they stand after some event. Without any event: the default ranker and its bar."""

    bar: float | None = None
    """Least probability of a pointer; None: the model's."""
    refits: tuple[Refit, ...] = ()
    """Those adopted and not taken back, the latest last."""
    reverted_at: Millis = 0
    """When the owner last took one back: what was done before is learned from no more."""

    @property
    def refit(self) -> Refit | None:
        """The one that counts."""
        return self.refits[-1] if self.refits else None

    def seen_by(self, reader: Reader) -> Tuning:
        """What of it counts for a reader.

        The bar counts for everybody: it is a wish of the owner's that tells nothing of what they have. A refit is the
        owner's alone, whatever its labels: it was learned from all that the owner has.
        """
        return self if reader.is_owner or not self.refits else msgspec.structs.replace(self, refits=())

    def after(self, recorded: RecordedEvent) -> Tuning:
        """With one more event."""
        event = recorded.event
        if recorded.actor.kind not in _TRUSTED:
            return self
        if isinstance(event, BarSet):
            return msgspec.structs.replace(self, bar=event.bar)
        if isinstance(event, RankerRefitted):
            new = Refit(recorded.event_id, recorded.recorded_at, recorded.audience, event)
            return msgspec.structs.replace(self, refits=(*self.refits, new)[-REFITS_KEPT:])
        if isinstance(event, RankerReverted):
            left = tuple(refit for refit in self.refits if refit.event_id != event.refit)
            if len(left) < len(self.refits):
                return msgspec.structs.replace(self, refits=left, reverted_at=recorded.recorded_at)
        return self


DEFAULT: Final = Tuning()
