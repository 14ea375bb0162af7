"""What several tests need and that is no fixture."""

from __future__ import annotations

import time
from collections.abc import Callable

from instant_recall.events.types import Millis

NEW_YEAR_2026: Millis = 1_767_225_600_000


class FixedClock:
    """A clock that moves only when told to."""

    def __init__(self, now: Millis = NEW_YEAR_2026) -> None:
        self.now = now

    def __call__(self) -> Millis:
        return self.now

    def advance(self, millis: Millis) -> None:
        self.now += millis


def wait_until(happened: Callable[[], object], seconds: float = 10.0, what: str = "it") -> None:
    """Return as soon as `happened()` is true; fail when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.005)
