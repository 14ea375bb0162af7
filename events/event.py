"""The base of all events; `types.py` has each kind."""

from __future__ import annotations

from typing import ClassVar

import msgspec

Millis = int
"""Milliseconds since 1970-01-01 UTC."""


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all events; holds no fields of its own.

    Not tracked by the garbage collector (`gc=False`): texts, numbers and tuples of them can form no cycle.
    """

    version: ClassVar[int] = 1
    forgettable: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def type_name(cls) -> str:
        """The stable snake_case tag under which this event is stored."""
        return str(cls.__struct_config__.tag)

    def subjects(self) -> tuple[str, ...]:
        """Ids of the items that this event is about, in no particular order."""
        item = getattr(self, "item", None)
        return (item,) if item else ()
