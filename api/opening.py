"""The exact text behind an address."""

from __future__ import annotations

import re

from ..events.errors import NotFound
from ..projections.items import Item, Part
from ..projections.naming.resolving import NOTHING

_TURNS = re.compile(r"t(\d{1,18})-t(\d{1,18})")


def exact_text(item: Item, anchor: str = "") -> str:
    """The text of a part of an item (a turn `t3`, a range of turns `t3-t7`), or all of it for an empty anchor.

    Raises:
        NotFound: the item has no such part.
    """
    if not anchor:
        return "\n".join(filter(None, (_head(item), *map(_spoken, item.parts))))
    parts = [part for part in item.parts if part.anchor == anchor] or _range(item, anchor)
    if not parts:
        raise NotFound(NOTHING)
    return "\n".join(map(_spoken, parts))


def _range(item: Item, anchor: str) -> list[Part]:
    found = _TURNS.fullmatch(anchor)
    if not found:
        return []
    wanted = {f"t{turn}" for turn in range(int(found[1]), min(int(found[2]), int(found[1]) + 10_000) + 1)}
    return [part for part in item.parts if part.anchor in wanted]


def _head(item: Item) -> str:
    """What stands for the whole where there is no text of its own."""
    return item.purpose if item.kind == "session" else "" if item.parts else item.description


def _spoken(part: Part) -> str:
    return f"{part.role}: {part.text}" if part.role else part.text
