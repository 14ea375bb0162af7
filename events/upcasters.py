"""Old forms of events, brought up to date at read time.

When an event type must change in a way that a new field with a default cannot express, raise its `version` and add
one function here: `upcast_<type>_v<n>_v<n+1>`, from the raw fields of version n to those of version n+1. It gets
stream fields and payload as one dict; any payload field may be absent (defaults are not stored, and it may have been
erased). Then add a line of the new version to tests/golden/ and leave the old lines as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Raw = dict[str, Any]
"""An event's fields as they were stored, before they become a struct."""


def upcast_asset_recorded_v1_v2(raw: Raw) -> Raw:
    """Version 1 kept all use keys in one text, one a line, and called the address `where`."""
    raw["use_when"] = [phrase for line in raw.get("use_when", "").splitlines() if (phrase := line.strip())]
    raw["address"] = raw.pop("where", "")
    return raw


UPCASTERS: dict[tuple[str, int], Callable[[Raw], Raw]] = {
    ("asset_recorded", 1): upcast_asset_recorded_v1_v2,
}
"""By type and the version it starts from; each goes up by one."""


def upcast(event_type: str, stored: int, current: int, raw: Raw) -> Raw:
    """The fields of a stored event in the form of version `current`. May change `raw` in place.

    Raises:
        KeyError: a step is missing, so the event was stored with a version that never existed.
    """
    for version in range(stored, current):
        raw = UPCASTERS[event_type, version](raw)
    return raw
