"""Which item a caller means: by its id, its address, or its name."""

from __future__ import annotations

from collections.abc import Callable

from ..events.errors import RecallError
from ..projections.items import Item
from ..projections.names import named_in
from ..projections.overlay import Overlay
from ..projections.words import heard


def at(overlay: Overlay, wanted: str, allowed: Callable[[str], bool]) -> tuple[Item | None, str]:
    """The allowed item at an address and the part meant: the whole address first, then the part behind #."""
    whole = overlay.at(wanted, allowed)
    if whole is not None:
        return whole, ""
    start, _, anchor = wanted.partition("#")
    return overlay.at(start, allowed), anchor


def called(
    overlay: Overlay, wanted: str, allowed: Callable[[str], bool], is_word: Callable[[str], bool]
) -> Item | None:
    """The allowed item that is called so; None when there is none.

    Args:
        overlay: where to look.
        wanted: a name or an alias, as it may be typed.
        allowed: whether an item may be told of, by its id.
        is_word: see names.named_in.

    Raises:
        RecallError: several items are called so; the message lists their ids.
    """
    spans = named_in(heard(wanted), (overlay.names, overlay.base.names), allowed, is_word)
    ids = list(dict.fromkeys(item for span in spans for item in sorted(span.items)))
    if len(ids) > 1:
        raise RecallError(f"Several items are called that. Say which by its id: {', '.join(ids)}.")
    return overlay.state.get(ids[0]) if ids else None


def subject(
    overlay: Overlay, wanted: str, sees: Callable[[str], bool], is_word: Callable[[str], bool], *, owner: bool
) -> str:
    """The id of the item that a question is about; `wanted` itself when there is none.

    What the reader sees goes first; the owner may mean what is hidden as well. Raises as `called` does.
    """
    if owner and overlay.state.get(wanted) is not None:
        return wanted
    for allowed in (sees, _any) if owner else (sees,):
        found = at(overlay, wanted, allowed)[0] or called(overlay, wanted, allowed, is_word)
        if found is not None:
            return found.id
    return wanted


def _any(_item: str) -> bool:
    return True
