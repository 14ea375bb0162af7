"""What the owner may have meant who types something that is no id, address or name: notes that have its words."""

from __future__ import annotations

from typing import Final

from ...events.errors import NotFound
from ..items import Item
from ..overlay import Overlay
from ..plain import clean, shown_id
from ..pointers import gist
from ..searcher import Searcher
from . import resolving

_OFFERED: Final = 3
_TITLE: Final = 60
"""Columns of what is told of each."""


def meant(overlay: Overlay, searcher: Searcher, wanted: str, *, spelled: bool = False) -> tuple[Item, str]:
    """As resolving.meant; where nothing is called so, the error offers the owner notes that say it.

    Many a note has no name by which it could be called. Nobody else than the owner is offered anything.
    """
    try:
        return resolving.meant(overlay, searcher, wanted, spelled=spelled)
    except NotFound as error:
        if str(error) != resolving.NOTHING or not searcher.reader.is_owner:
            raise
        raise NotFound(resolving.NOTHING + _offer(searcher, wanted)) from None


def _offer(searcher: Searcher, wanted: str) -> str:
    found = [each for each in searcher.find(wanted, links=False) if each.item.kind == "note" and each.topic_words > 0]
    best = sorted(found, key=lambda each: (-each.topic_words, each.item.id))[:_OFFERED]
    told = [_told(each.item) for each in best]
    return f" Do you mean {' or '.join(told)}?" if told else ""


def _told(item: Item) -> str:
    title = clean(item.name or gist(item), _TITLE)
    return shown_id(item.id) + (f' ("{title}")' if title else "")
