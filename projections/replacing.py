"""What took an item's place, and for whom. Where the newer one is hidden from a reader, it has replaced nothing.

The state holds how things are for the owner: an old version has an end and the id of what replaced it. To a reader who
may not know of the newer version that end would tell that there is one. So each replacement is kept by itself, and a
reader sees the item as those leave it of which they may know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..events.position import Position
from ..events.types import Millis
from .items import Item, Replaced
from .policy.eligibility import RULES, Reader, Refusals

Changes = dict[str, Any]
_OVER: Final = RULES["ended"] | RULES["superseded"]


def replaced(known: Item | None, by: str, until: Millis, at: Position | None = None) -> Changes:
    """How an item changes when something takes its place.

    Args:
        known: the item before; None for one that nothing is known of.
        by: id of what took its place; empty when nobody said.
        until: when the item stopped being in force.
        at: position of the newer one's record that says so. None: the owner said so of the item itself; then it holds
            for everybody, and is no news.
    """
    item = known or Item(id="", kind="note")
    told = at is None
    earlier = tuple(one for one in item.replaced if (one.by, one.told) != (by, told))
    return {
        "superseded_by": by or item.superseded_by or "",
        "valid_until": until,
        "changed": item.changed if at is None else str(at),
        "said": item.said or item.changed,
        "valid_before": item.valid_before if item.replaced else item.valid_until,
        "replaced": (*earlier, Replaced(by, until, "" if at is None else str(at), told)),
    }


def replacing(known: Item | None, old: str) -> Changes:
    """How an item changes when it takes the place of one more."""
    before = (known.replaces or (known.supersedes,)) if known else ()
    return {"supersedes": old, "replaces": (*(one for one in before if one and one != old), old)}


BACK: Final[Changes] = {"superseded_by": None, "replaced": (), "valid_before": None, "said": ""}
"""How an item changes that is recorded anew, or closed: whatever replaced it before does not count any more."""


def chained_to(item: Item) -> tuple[str, ...]:
    """Ids of the items that an item replaced, or that replaced it; its own when nobody said what did."""
    if item.superseded_by is None and item.supersedes is None:
        return ()
    ids = (item.supersedes, *item.replaces, item.superseded_by, *(one.by for one in item.replaced), item.id)
    return tuple(one for one in dict.fromkeys(ids) if one)


def as_known(item: Item, knows: Callable[[str], bool]) -> Item:
    """The item as somebody sees it who knows only of some other items."""
    if item.superseded_by is None:
        pass
    elif not all(one.told or knows(one.by) for one in item.replaced):
        item = msgspec.structs.replace(item, **_left(item, knows))
    elif item.replaced:
        by = _by(item.replaced, knows)
        item = item if by == item.superseded_by else msgspec.structs.replace(item, superseded_by=by)
    older = next((one for one in reversed(item.replaces or (item.supersedes,)) if one and knows(one)), None)
    return item if older == item.supersedes else msgspec.structs.replace(item, supersedes=older)


def _left(item: Item, knows: Callable[[str], bool]) -> Changes:
    """The fields of an item of whose replacements only some count."""
    counting = [one for one in item.replaced if one.told or knows(one.by)]
    changed = item.changed
    if item.said:
        changed = max([item.said, *(one.at for one in counting if one.at)], key=Position.parse)
    return {
        "superseded_by": _by(counting, knows),
        "valid_until": counting[-1].until if counting else item.valid_before,
        "changed": changed,
    }


def _by(counting: Iterable[Replaced], knows: Callable[[str], bool]) -> str | None:
    by: str | None = None
    for one in counting:
        by = (one.by if one.by and knows(one.by) else by) or ""
    return by


class Otherwise(NamedTuple):
    """The items that a reader sees otherwise than the owner does."""

    version: int
    """Of the overlay, for which it holds."""
    items: dict[str, Item]
    ordinals: NDArray[np.int64]
    until: NDArray[np.int64]
    replaced: NDArray[np.bool_]

    def correct(self, found: Refusals, now: Millis) -> None:
        """Say of these items in `found` (see eligibility.refusals) whether their time is over for this reader."""
        if len(self.ordinals):
            over = np.where(self.replaced, RULES["superseded"], RULES["ended"])
            kept = found[self.ordinals] & ~found.dtype.type(_OVER)
            found[self.ordinals] = kept | np.where(self.until <= now, over, 0).astype(found.dtype)


def otherwise(
    version: int,
    reader: Reader,
    chained: Iterable[int],
    item_at: Callable[[int], Item],
    get: Callable[[str], Item | None],
) -> Otherwise:
    """What a reader sees otherwise.

    Args:
        version: see Otherwise.
        reader: who looks. The owner sees everything as it is.
        chained: ordinals of the items that replaced something or were replaced.
        item_at: the item of an ordinal.
        get: the item of an id, None when there is none.
    """

    def knows(item: str) -> bool:
        found = get(item)
        if found is None or found.recorded_at == 0 or found.forgotten or found.muted or found.quarantined:
            return False
        return reader.meets(found.audience)

    seen = {} if reader.is_owner else {n: (item, as_known(item, knows)) for n in chained if (item := item_at(n))}
    other = {n: now for n, (item, now) in seen.items() if now is not item}
    never = np.iinfo(np.int64).max
    until = [never if item.valid_until is None else item.valid_until for item in other.values()]
    return Otherwise(
        version,
        {item.id: item for item in other.values()},
        np.array(list(other), dtype=np.int64),
        np.array(until, dtype=np.int64),
        np.array([item.superseded_by is not None for item in other.values()], dtype=np.bool_),
    )
