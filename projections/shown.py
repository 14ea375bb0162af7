"""What was put in front of a session, for each reader by itself: what others were shown is none of their business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .policy.eligibility import OWNER_NAME

SESSIONS_REMEMBERED: Final = 1_000
"""Sessions of a reader for which is known what was shown; the longest untouched is dropped first. A session that comes
back after a thousand others may be shown a pointer again."""

Shown = dict[str, dict[str, str]]
"""By session (the owner's by its id): item ids that were pushed, with the item's `changed` at that time."""
_BETWEEN: Final = "\n"
"""Stands between a reader's name and a session; no name of a reader holds it."""


def place(session: str, reader: str) -> str:
    """Where is kept what a reader was shown in a session."""
    return session if reader == OWNER_NAME else f"{reader}{_BETWEEN}{session}"


def shown_to(shown: Shown, session: str, reader: str) -> dict[str, str]:
    """What a reader was shown in a session."""
    return shown.get(place(session, reader), {}) if session else {}


def remember(shown: Shown, session: str, reader: str, items: Mapping[str, str]) -> None:
    """Note that a reader was shown items in a session."""
    key = place(session, reader)
    known = shown.pop(key, None)
    shown[key] = (known or {}) | dict(items)
    if known is None and len(shown) > SESSIONS_REMEMBERED:
        mine = [other for other in shown if _reader_of(other) == _reader_of(key)]
        if len(mine) > SESSIONS_REMEMBERED:
            del shown[mine[0]]


def reset(shown: Shown, session: str) -> None:
    """Forget what anybody was shown in a session."""
    for key in [key for key in shown if key == session or key.partition(_BETWEEN)[2] == session]:
        del shown[key]


def _reader_of(key: str) -> str:
    reader, between, _ = key.partition(_BETWEEN)
    return reader if between else OWNER_NAME
