"""How often the pushed pointers were of use, as `status` tells it. Imports only msgspec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ..events.types import Millis
    from ..projections.learning.feedback import Feedback

SPANS: Final = (7, 28)
"""Days that `status` tells of."""


class Precision(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over some days, the present one (UTC) included. What became of a pointer counts on the day of its push.

    The precision is `used / followed`. What is opened or helps in a session counts for the last pointer to it there.
    """

    days: int
    pushes: int = 0
    spoke: int = 0
    """Pushes that were not empty."""
    pointers: int = 0
    followed: int = 0
    """Pointers shown in a session: of others nobody can tell what became of them."""
    opened: int = 0
    helped: int = 0
    used: int = 0
    """Opened, or helped, or both."""
    rejected: int = 0


def precision(feedback: Feedback, now: Millis) -> tuple[Precision, ...]:
    """The counts of the last days, one for each of SPANS."""
    return tuple(Precision(days=days, **msgspec.structs.asdict(feedback.last(days, now))) for days in SPANS)
