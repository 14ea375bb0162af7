"""Why: the first gate at which one item fails to come into the push for one request.

The gates stand in this order: it is not indexed; nobody asked; it is filtered out; it has the wrong keys; it is drowned
by others. It is computed with the push's own code, so that the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, NamedTuple, get_args

import msgspec
import numpy as np

from ..events.moment import time_text
from .bar import chance
from .items import Item
from .language.scripts import count_words
from .language.trivial import is_trivial
from .learning.own_model import model_of
from .overlay import Overlay
from .pointers import MOST
from .policy.eligibility import Rule
from .push import compose, was_shown
from .ranker import Ranked, over, rank
from .rows import rows_of
from .searcher import Route, Searcher
from .text_index import Scores

Gate = Literal["found", "not_indexed", "not_asked", "filtered", "wrong_key", "drowned"]
FilterRule = Literal[
    "",
    "unreadable",
    "audience",
    "muted",
    "topic_muted",
    "quarantined",
    "forgotten",
    "not_yet_valid",
    "closed",
    "superseded",
    "older_asked",
    "already_shown",
]
Cut = Literal["", "bar", "places", "tokens", "width"]
Ranks = dict[Route, int | None]

ROUTES: Final[dict[Route, str]] = {
    "use_words": "the words of its use keys",
    "use_meaning": "the meaning of its use keys",
    "topic_words": "the words of what it says",
    "topic_meaning": "the meaning of what it is",
    "text_meaning": "the meaning of what it says",
}
_NO_ROWS_NEEDED: Final = frozenset({"name", "link", "last_time"})
"""Routes of a Ranked that lead to an item whatever its rows say."""
_CUTS: Final[dict[Cut, str]] = {
    "bar": "at a probability of {probability:.3f} it does not reach the bar of {bar:.3f}, alone or beside others",
    "places": "others stand before it, and a push has five places: its own would be {rank}",
    "tokens": "its line no longer fits into the tokens of a push",
    "width": "rows of others took all the places that each route has for candidates",
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one item for one request."""

    item: str
    gate: Gate
    """`found`: it is in the push. Else the first gate that it fails."""
    rule: FilterRule = ""
    """What filtered it out; told to the owner only."""
    cut: Cut = ""
    """What drowned it: the bar, the five places, the tokens of a block, or the width of a route."""
    ranks: Ranks
    """By route, 1 + how many visible items have a better row there; None where nothing of it matches."""
    rank: int | None = None
    """Its place among all candidates, 1 for the first; None when it was not weighed."""
    probability: float | None = None
    """That a pointer to it helps, 0 to 1; 1 for an item that the request names."""
    bar: float
    """Below this probability nothing is pushed that the request does not name."""
    words: str
    """All of it in a sentence or two, for a person."""


def why(
    overlay: Overlay,
    searcher: Searcher,
    request: str,
    item: str,
    *,
    owner: bool,
    shown: Mapping[str, str] | None = None,
    bar: float | None = None,
    names: bool = True,
    links: bool = True,
    asked: bool = True,
) -> Callable[[], Verdict]:
    """Name the first gate that an item fails.

    What is slow about it is left for the call of what this returns; that needs nothing of the overlay any more.

    Args:
        overlay: what is known.
        searcher: the view over it of the reader whose push is meant.
        request: what was typed.
        item: the item's id.
        owner: whether the answer is for the owner. Anybody else is told of a hidden item what is told of none.
        shown: as for push.compose.
        bar: as for push.compose.
        names: as for push.compose.
        links: as for push.compose.
        asked: whether a push was asked for at all.
    """
    least = model_of(searcher.tuning).bar if bar is None else bar
    told = partial(_verdict, item, least)
    known, rule = searcher.know(item), searcher.refused_by(item)
    if rule == "superseded" and names and item in {evidence.item.id for evidence in searcher.find(request)}:
        rule = None  # it is asked for
    if known is None or (rule is not None and not owner):
        return partial(told, "not_indexed", "Nothing of this id, address or name is known.")
    if rule == "unrecorded":
        return partial(told, "not_indexed", "It was named, but never recorded.")
    # A key that the reader may not see is none: it must not tell that somebody has said something of the item.
    seen = msgspec.structs.replace(known, keys=tuple(searcher.visible_keys(known)))
    if rule != "forgotten" and not rows_of(seen):
        return partial(told, "not_indexed", "It has no text and no use key under which it could be found.")
    if is_trivial(request):
        return partial(told, "not_asked", "The turn asks for nothing, so nothing was looked for.")
    if not asked:
        return partial(told, "not_asked", "No push was served for this request: nobody asked.")
    if rule is not None:
        named = _filter_rule(rule)
        return partial(told, "filtered", _refused(named, known, searcher), rule=named)
    return _weighed(_Push(overlay, searcher, request, shown or {}, least, names, links), known, owner=owner)


class _Push(NamedTuple):
    """The push that is asked about."""

    overlay: Overlay
    searcher: Searcher
    request: str
    shown: Mapping[str, str]
    bar: float
    names: bool
    links: bool

    def pointers(self) -> list[str]:
        """Ids of what is pushed, in order."""
        push = compose(self.searcher, self.request, shown=self.shown, bar=self.bar, names=self.names, links=self.links)
        return [ranked.evidence.item.id for ranked, _ in push.pointers]

    def ranked(self, *also: str) -> list[Ranked]:
        """The candidates, best first, with the items of `also` among them."""
        found = self.searcher.find(self.request, names=self.names, links=self.links, also=also)
        return rank(found, model_of(self.searcher.tuning))

    def ranks(self, item: str) -> Callable[[], Ranks]:
        """See Verdict; worked out when it is called."""
        own = self.overlay.ordinal(item)
        assert own is not None, "an item without an ordinal"  # noqa: S101 - they are made together
        best = self.searcher.best_rows(self.request)
        return lambda: {route: _rank(scores, scores[own]) for route, scores in best().items()}


def _weighed(push: _Push, item: Item, *, owner: bool) -> Callable[[], Verdict]:
    """The verdict on an item that may be shown: where it stands, and what came of it."""
    ranks, ranked = push.ranks(item.id), push.ranked(item.id)
    place = next(n for n, each in enumerate(ranked) if each.evidence.item.id == item.id)
    mine = ranked[place]
    outcome = _outcome(push, ranked, place, owner=owner)
    also = " One of its keys says that it is not for such a request." if mine.evidence.refused else ""
    also += _about_its_name(push, item.id)

    def finish() -> Verdict:
        places, (gate, rule, cut, words) = ranks(), outcome
        if gate == "drowned" and mine.route not in _NO_ROWS_NEEDED and _far_behind(places):
            gate, cut, words = "wrong_key", "", _wrong_key(places)
        return Verdict(
            item=item.id,
            gate=gate,
            rule=rule,
            cut=cut,
            ranks=places,
            rank=place + 1,
            probability=round(mine.probability, 6),
            bar=push.bar,
            words=words + also,
        )

    return finish


class _Outcome(NamedTuple):
    """What came of an item that was weighed; see Verdict. `drowned` may turn out to be the wrong key."""

    gate: Gate
    rule: FilterRule
    cut: Cut
    words: str


def _outcome(push: _Push, ranked: list[Ranked], place: int, *, owner: bool) -> _Outcome:
    mine, pushed = ranked[place], push.pointers()
    item = mine.evidence.item
    if item.id in pushed:
        found = f"It is in the push, in place {pushed.index(item.id) + 1}."
        return _Outcome("found", "", "", found + _over(push, ranked))
    if was_shown(item, push.shown):
        rule: FilterRule = "already_shown" if owner else ""
        return _Outcome("filtered", rule, "", _refused(rule, item, push.searcher))
    if older := mine.evidence.stands_back_for:
        return _Outcome("filtered", "older_asked", "", f"The request asks for an older version of it: {older}.")
    if newer := [one for one in pushed if item.id in push.searcher.versions.before(one)]:
        told = f"Its newer version {newer[0]} is pushed, and of one thing only one version is."
        return _Outcome("filtered", "superseded", "", told)
    cut = _cut(push, ranked, place, pushed)
    told = _CUTS[cut].format(probability=mine.probability, bar=push.bar, rank=place + 1)
    return _Outcome("drowned", "", cut, f"It was found and not pushed: {told}.")


def _over(push: _Push, ranked: list[Ranked]) -> str:
    """What the bar was held against, where it decided."""
    odds = model_of(push.searcher.tuning).push.of(count_words(push.request))
    likely = chance([one.probability for one in ranked], odds)
    if likely < push.bar or not push.bar:
        return ""
    return f" The chance that one of its pointers helps is {likely:.3f}; that is what the bar of {push.bar:.3f} means."


def _about_its_name(push: _Push, item: str) -> str:
    """Why a word that is a name of the item counts as its name in this request, or does not."""
    verdict = push.searcher.hear_name(push.request, item) if push.names else None
    if verdict is None:
        return ""
    return f" Its name {'is meant' if verdict.counts else 'is said, but not meant'}: {verdict.why}."


def _verdict(item: str, bar: float, gate: Gate, words: str, *, rule: FilterRule = "") -> Verdict:
    """A verdict without places: nothing was weighed."""
    return Verdict(item=item, gate=gate, rule=rule, ranks=dict.fromkeys(get_args(Route)), bar=bar, words=words)


def _rank(scores: Scores, own: float) -> int | None:
    return 1 + int(np.count_nonzero(scores > own)) if own > 0 else None


def _cut(push: _Push, ranked: list[Ranked], place: int, pushed: list[str]) -> Cut:
    """What drowned the item that stands at a place among the candidates."""
    mine = ranked[place].evidence
    if ranked[place] not in over(ranked, push.bar, push.request, model_of(push.searcher.tuning)):
        return "bar"
    if all(each.evidence.item.id != mine.item.id for each in push.ranked()):
        return "width"
    behind = {each.evidence.item.id for each in ranked[place + 1 :]}
    # Something that ranks lower was pushed, or a place was left: then it was not the places that lacked.
    return "tokens" if len(pushed) < MOST or behind & set(pushed) else "places"


def _filter_rule(rule: Rule) -> FilterRule:
    if rule == "ended":
        return "closed"
    assert rule != "unrecorded", "it is not indexed"  # noqa: S101 - that gate stands before this one
    return rule


def _refused(rule: FilterRule, item: Item, searcher: Searcher) -> str:
    """Which rule holds an item back, as a sentence."""
    match rule:
        case "audience":
            labels = ", ".join(item.audience) or "nobody but the owner"
            return f"It is not meant for this reader: its audience is {labels}."
        case "not_yet_valid":
            return f"It is not valid before {time_text(item.valid_from or 0)}."
        case "superseded":
            newest = searcher.versions.newest(item.id)
            by = newest.id if newest else item.superseded_by
            done = f"It was replaced{f' by {by}' if by else ''} on {time_text(item.valid_until or 0)[:10]}"
            return f"{done}; an old version is told of when its own name, its date or its place is said."
        case "closed":
            since = f"It has not been valid since {time_text(item.valid_until or 0)}"
            return f"{since} ({item.reason})." if item.reason else f"{since}."
        case "already_shown":
            return "It was shown in this session already and has not changed since."
        case "muted":
            return "It is muted." if item.muted else "It is muted in this session."
        case "topic_muted":
            topic = searcher.muted_topic(item.id)
            where = " in this session" if topic is not None and topic.session else ""
            return f'It is muted{where}: topic "{topic.phrase if topic else ""}".'
        case "unreadable":
            return "Who may be told of it cannot be read, so nobody is; `instant-recall mutes` tells more."
        case "quarantined" | "forgotten":
            return f"It is {rule}."
    return "It is held back for now; only the owner is told by what."


def _far_behind(ranks: Ranks) -> bool:
    return all(at is None or at > MOST for at in ranks.values())


def _wrong_key(ranks: Ranks) -> str:
    places = {route: place for route, place in ranks.items() if place is not None}
    if not places:
        return "No key leads from this request to it: nothing of it matches, in words or in meaning."
    best = min(places, key=lambda route: places[route])
    return f"No key leads from this request to it: its best place is {places[best]}, by {ROUTES[best]}."
