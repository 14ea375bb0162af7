"""The push: what is put in front of the model for one request, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

import msgspec

from .items import Item
from .language.trivial import is_trivial
from .learning.own_model import model_of
from .pointers import MOST, block, fitting, render, tokens
from .policy.caps import FOREIGN
from .ranker import Ranked, over, rank
from .searcher import Searcher

MOST_OF_OTHERS: Final = 2
"""Pointers of a push that may lead to somebody else's words."""


class Push(msgspec.Struct, frozen=True):
    """Pointers with their lines, best first, and why there is none."""

    pointers: tuple[tuple[Ranked, str], ...] = ()
    block: str = ""
    tokens: int = 0
    reason: str = ""


NOTHING: Final = Push(reason="nothing_fits")


def compose(
    searcher: Searcher,
    request: str,
    *,
    shown: Mapping[str, str] | None = None,
    bar: float | None = None,
    names: bool = True,
    links: bool = True,
) -> Push:
    """Choose and render the pointers for a request.

    Args:
        searcher: the view of one reader at one moment.
        request: what was typed.
        shown: items that this session has in front of it, with the `changed` they were shown at ("": whatever it was).
        bar: how likely it has to be that one of the pointers helps, see bar.py; the owner's when it is None.
        names: see Searcher.find.
        links: see Searcher.find.
    """
    if is_trivial(request):
        return Push(reason="trivial_turn")
    weights = model_of(searcher.tuning)
    least = weights.bar if bar is None else bar
    ranked = rank(searcher.find(request, names=names, links=links), weights)
    fits = few_of_others(one_of_each(searcher, over(ranked, least, request, weights)))
    seen = shown or {}
    fresh = [r for r in fits if not was_shown(r.evidence.item, seen)]
    if not fresh:
        return Push(reason="already_shown") if fits else NOTHING
    # A line that would need a block for itself must not keep those behind it away.
    sayable = (r for r in fresh if fitting([_line(searcher, r, seen, lean=True)]))
    fresh = list(islice(sayable, MOST))
    if not fresh:
        return NOTHING
    lines = _lines(searcher, fresh, seen)
    text = block(lines)
    return Push(tuple(zip(fresh, lines, strict=False)), text, tokens(text))


def few_of_others(fits: list[Ranked]) -> list[Ranked]:
    """No more than MOST_OF_OTHERS of what pages and tools said: ten pages about one thing must not crowd it out."""
    others = [r.evidence.item.id for r in fits if r.evidence.item.by in FOREIGN][MOST_OF_OTHERS:]
    return [r for r in fits if r.evidence.item.id not in others]


def one_of_each(searcher: Searcher, fits: list[Ranked]) -> list[Ranked]:
    """One of each version chain: the newest, unless the request asks for an older one or names both."""
    older = {old for r in fits for old in searcher.versions.before(r.evidence.item.id)}
    return [r for r in fits if r.evidence.named >= 0 or not (r.evidence.stands_back_for or r.evidence.item.id in older)]


def _lines(searcher: Searcher, ranked: list[Ranked], shown: Mapping[str, str]) -> list[str]:
    """The lines of as many of these as fit; where room is short, the lower ones go without their "For:"."""
    lines = [_line(searcher, r, shown) for r in ranked]
    for place in reversed(range(len(lines))):
        if fitting(lines) == len(lines):
            break
        lines[place] = _line(searcher, ranked[place], shown, lean=True)
    return lines[: fitting(lines)]


def was_shown(item: Item, shown: Mapping[str, str]) -> bool:
    """Whether it was shown as it is now."""
    return item.id in shown and shown[item.id] in {"", item.changed}


def _line(searcher: Searcher, ranked: Ranked, shown: Mapping[str, str], *, lean: bool = False) -> str:
    item = ranked.evidence.item
    older = searcher.peek_name(item.supersedes) if item.supersedes and item.supersedes in shown else ""
    seed = searcher.peek_name(ranked.evidence.linked_to) if ranked.route == "link" else ""
    keys = () if lean else searcher.keys_for(ranked.evidence)
    return render(item, ranked.evidence.anchor, keys, older, seed, searcher.versions.mark(item))
