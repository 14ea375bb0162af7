"""Which item somebody means who types an id, an address, or a name. What they may not see is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote

from ...events.errors import NotFound, RecallError
from ..items import Item
from ..language.words import heard
from ..overlay import Overlay
from ..plain import shown_id
from ..policy.caps import FOREIGN
from ..policy.eligibility import Rule
from ..searcher import Searcher
from .names import NAMED_KINDS, Span, named_in
from .sentence import tokens

NOTHING: Final = "Nothing has this id, address or name. `instant-recall search` shows what there is."
_ASIDE: Final = frozenset({"a", "an", "the", "my", "our", "your", "this", *NAMED_KINDS})
"""Words that may stand beside a name: "the portal-helper skill"."""
_LETS_GO: Final[Mapping[Rule | None, str]] = {
    "muted": "{item} is muted. `instant-recall mutes` lists what is, `instant-recall unmute {item}` takes it back.",
    "topic_muted": "{item} is muted, by a topic. `instant-recall mutes` lists what is, "
    '`instant-recall unmute --topic "{topic}"` takes it back.',
    "quarantined": "{item} is held back until you have looked at it: `instant-recall quarantine show {item}`, "
    "`instant-recall quarantine release {item}`.",
    "forgotten": "{item} was forgotten. That cannot be taken back.",
    "unreadable": "Who may be told of {item} cannot be read, so nobody is; `instant-recall mutes` tells more.",
    "not_yet_valid": "{item} is not valid yet. `instant-recall why REQUEST {item}` tells from when on it is.",
    "ended": "{item} was closed: it is not valid any more. `instant-recall why REQUEST {item}` tells since when, "
    "`--as-of` a moment before opens it.",
    "superseded": "{item} was replaced. `instant-recall why REQUEST {item}` tells by what.",
}
"""What the owner is told of an item that some rule keeps back, by that rule."""
_LISTED: Final = 8
"""Ids of the candidates that an error lists."""


def meant(overlay: Overlay, searcher: Searcher, wanted: str, *, spelled: bool = False) -> tuple[Item, str]:
    """The visible item of this id, address, name or alias, or else of this title; and the part, where there is a #.

    It may be an old version, where that one's own id, address or name is given.

    Args:
        overlay: where to look.
        searcher: the view over it of who asks.
        wanted: what was typed.
        spelled: a name must be spelled right: for what cannot be undone.

    Raises:
        NotFound: there is no such item, or none that may be seen; only the owner is told which of the two it is.
        RecallError: several are called so; the message lists the ids of those that may be seen.
    """
    found, anchor = at(overlay, wanted, searcher.sees)
    if found is None:
        found, anchor = at(overlay, wanted, searcher.sees_if_asked)
    found = found or called(overlay, searcher, wanted, spelled=spelled)
    found = found or titled(searcher, wanted)
    if found is None:
        raise NotFound(held_back(overlay, searcher, wanted, spelled=spelled) if searcher.reader.is_owner else NOTHING)
    return searcher.know(found.id) or found, anchor


def held_back(overlay: Overlay, searcher: Searcher, wanted: str, *, spelled: bool = False) -> str:
    """For the owner alone: which rule keeps what is meant from being shown, and what lets it go; NOTHING: it never was.

    Anybody else must get for what is hidden, letter by letter, the answer for what never existed.
    """
    item = at(overlay, wanted, _any)[0] or called(overlay, searcher, wanted, spelled=spelled, hidden=True)
    item = item or _titled_and_refused(searcher, wanted)
    rule = searcher.refused_by(item.id) if item is not None else None
    if item is None or rule not in _LETS_GO:
        return NOTHING
    topic = searcher.muted_topic(item.id) if rule == "topic_muted" else None
    name = shown_id(item.id)
    return _LETS_GO[rule].format(item=name, topic=heard(topic.phrase) if topic else "PHRASE")


def _titled_and_refused(searcher: Searcher, wanted: str) -> Item | None:
    title = _plain(wanted)
    first = title.partition(" ")[0]
    refused = (item for item in searcher.refused_items() if first and first in item.name.casefold())
    return next((item for item in refused if _plain(item.name) == title), None)


def at(overlay: Overlay, wanted: str, allowed: Callable[[str], bool]) -> tuple[Item | None, str]:
    """The allowed item at an address and the part meant: the whole address first, then the part behind #.

    Where nothing is there, an address that is percent-encoded, as pointers.address gives it, is read as what it stands
    for.
    """
    for address in dict.fromkeys((wanted, unquote(wanted))):
        whole = overlay.at(address, allowed)
        if whole is not None:
            return whole, ""
        start, _, anchor = address.partition("#")
        found = overlay.at(start, allowed)
        if found is not None:
            return found, anchor
    return None, ""


def called(
    overlay: Overlay, searcher: Searcher, wanted: str, *, spelled: bool = False, hidden: bool = False
) -> Item | None:
    """The item that is called so; None when there is none, or when more is said than a name.

    Args:
        overlay: where to look.
        searcher: the view over it of who asks.
        wanted: a name or an alias, as it may be typed; with an article or its kind, if you like.
        spelled: a name one slip away does not count.
        hidden: whatever has the name counts, seen or not.

    Raises:
        RecallError: several items are called so; the message lists their ids.
    """
    wanted = heard(wanted)
    tables = (overlay.names, overlay.base.names)
    allowed = _any if hidden else searcher.sees
    spans = named_in(wanted, tables, allowed, searcher.is_word, old=searcher.sees_if_asked)
    if not _covered(wanted, spans) or (spelled and not all(span.exact for span in spans)):
        return None
    meant_by = [span.items if hidden else searcher.versions.settle(span, wanted) for span in spans]
    ids = list(dict.fromkeys(item for items in meant_by for item in sorted(items)))
    return searcher.know(_the_one(ids)) if ids else None


def titled(searcher: Searcher, wanted: str) -> Item | None:
    """The visible note, or session, whose title this is, whatever its case and marks. Raises as `called` does."""
    title = _plain(wanted)
    if not title:
        return None
    found = {e.item.id: e.item for e in searcher.find(wanted, names=False, links=False) if _plain(e.item.name) == title}
    # What a page or a tool calls itself must not stand in the way of what the owner calls theirs.
    own = [item for item in found if found[item].by not in FOREIGN]
    return found[_the_one(sorted(own or found))] if found else None


def subject(overlay: Overlay, searcher: Searcher, wanted: str, *, owner: bool) -> str:
    """The id of the item that a question is about; `wanted` itself when there is none.

    What the reader sees goes first; the owner may mean what is hidden as well. Raises as `called` does.
    """
    if owner and overlay.state.get(wanted) is not None:
        return wanted
    for hidden in (False, True) if owner else (False,):
        there = at(overlay, wanted, _any if hidden else searcher.sees)[0]
        found = there or called(overlay, searcher, wanted, hidden=hidden)
        if found is not None:
            return found.id
    return wanted


def _covered(wanted: str, spans: list[Span]) -> bool:
    """Whether nothing but names stands there: the address of a file may hold somebody's name among its words."""
    left = [token.word for n, token in enumerate(tokens(wanted)) if not any(s.first <= n < s.last for s in spans)]
    return bool(spans) and all(word in _ASIDE for word in left)


def _the_one(ids: list[str]) -> str:
    if len(ids) > 1:
        more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
        listed = ", ".join(map(shown_id, ids[:_LISTED])) + more
        raise RecallError(f"Several items are called that. Say which by its id: {listed}.")
    return ids[0]


def _plain(title: str) -> str:
    return " ".join(token.word for token in tokens(heard(title)))


def _any(_item: str) -> bool:
    return True
