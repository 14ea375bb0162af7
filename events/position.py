"""A position: an event's place in its owner's log."""

from __future__ import annotations

from typing import NamedTuple

from .errors import RecallError

LARGEST = (1 << 64) - 1
"""The largest number in a position; servers keep both in 64 bits without a sign."""


class Position(NamedTuple):
    """The place of an event in the log: server milliseconds and a sequence number within them.

    Positions of one log are totally ordered; compare them as tuples, never as text ("9-0" > "10-0" as text).
    """

    ms: int
    seq: int

    def __str__(self) -> str:
        """The form that `parse` reads."""
        return f"{self.ms}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read `ms-seq`, the form that Redis and every message of the API uses.

        Raises:
            RecallError: the text is not two whole numbers of at most 64 bits joined by a dash.
        """
        ms, dash, seq = text.partition("-")
        if not (dash and _is_number(ms) and _is_number(seq)):
            raise RecallError(
                f"{text!r:.60} is not a position. Give it as milliseconds-sequence, as in 1767225600000-0."
            )
        return cls(int(ms), int(seq))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST)) and int(text) <= LARGEST


START = Position(0, 0)
"""Before the first event of any log."""
