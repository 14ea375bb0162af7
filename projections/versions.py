"""Versions: of a chain the newest is told of, an older one only when it is asked for by its name, date or place.

A version's own name says something that the newest one's names do not ("price list v1", "rate card 2025"); a date
counts when it stands right beside the name that the versions share ("the price list from last March"). Where all are
called alike, so does the place in the chain: "price list v1", "the first version of the price list", "the old one".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from ..events.moment import time_text
from ..events.types import Millis
from .items import Item
from .naming.names import Span, stem
from .naming.sentence import tokens
from .past.periods import Period, periods_in, years_in
from .plain import clean, shown_id


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONGEST_CHAIN: Final = 50
_NAME: Final = 40
"""Characters of the newest one's name in the mark of an old one."""
_WORD: Final = re.compile(r"[^\W_]+")
_BEFORE: Final = _set("before until till vor bis avant antes")
_OF: Final = _set("from of s last as vom von aus de du d del last letzten dernier pasado") | _BEFORE
"""What ties a date to the name beside it. "In june" and "on monday" may be when something is to be done with it."""
_FORCE: Final = _set("version valid force used was were had gültig galt valable vigente válida")
"""With one of these, "in june" is a date of the thing as well."""
_BESIDE: Final = _set("the a my our their its la le el die das der one that which in on im en it we i")
_FILLING: Final = _OF | _FORCE | _BESIDE
_LED: Final = re.compile(
    r"\b(?:the|before|until|till|vor|bis|avant|antes de) (?=(?:march|may|april|june|august|spring|mai|mars)\b)"
)
"""What makes a time of a word that is mostly something else, beside the words that do so in every sentence."""
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
_PLACE: Final = re.compile(
    rf"\b(?:v(?P<v>[1-9]\d?)|version (?P<number>[1-9]\d?)|(?P<ordinal>{'|'.join(_ORDINALS)}) version)\b(?![.,/:-]?\d)"
    r"|\b(?:old|older|previous)\b(?: version\b)?"
)
"""Which version is meant, by its place: the oldest is the first, the old one is that before the newest."""
_ALONE: Final = _set("old older previous")
"""Those that have to stand right before the name."""
_LINKING: Final = re.compile(r"\s+|\s+of\s+(?:(?:the|my|our|your|their|its)\s+)?")
"""What may stand between such words and the name that follows."""
_TRAILING: Final = re.compile(r"(?:['\u2019]s)?(?:\s*[,(]\s*|\s+)(?:(?:the|its|in its)\s+)?")
"""What may stand between the name and such words behind it."""


class Asked(NamedTuple):
    """An old version that a request asks for."""

    old: str
    newest: str
    """What stands in its place today."""


class Versions:
    """The version chains as far as one reader may know them: what is hidden ends a chain, as if it were not there."""

    def __init__(
        self, get: Callable[[str], Item | None], sees: Callable[[str], bool], is_old: Callable[[str], bool]
    ) -> None:
        """Look at the versions of one owner with the eyes of one reader.

        Args:
            get: an item by its id, hidden or not.
            sees: whether the reader may be told of it.
            is_old: whether nothing keeps it from the reader but that a newer version took its place.
        """
        self._get = get
        self._sees = sees
        self._is_old = is_old

    def newest(self, item: str) -> Item | None:
        """What stands in the place of an old version today; None when nothing does that the reader may see."""
        chain = self._walk(item, lambda one: one.superseded_by)
        return next((one for one in reversed(chain) if self._sees(one.id)), None)

    def older(self, item: str) -> list[Item]:
        """The old versions of an item, the youngest first."""
        return [one for one in self._walk(item, _supersedes) if self._is_old(one.id)]

    def before(self, item: str) -> list[str]:
        """Ids of the versions before an item, old or (when it was recorded again) not."""
        return [one.id for one in self._walk(item, _supersedes)]

    def mark(self, item: Item) -> str:
        """What is told of an old version behind its name, and "" of one that is not old."""
        if not self._is_old(item.id):
            return ""
        day = time_text(item.valid_until or 0)[:10]
        newest = self.newest(item.id)
        by = f" by {clean(newest.name, _NAME) or shown_id(newest.id)}" if newest else ""
        return f"old, replaced{by} on {day}"

    def settle(self, span: Span, request: str) -> frozenset[str]:
        """The items that a name in the request means, where only old versions have it.

        Of several versions with this name it is the youngest. A plain name that the newest one's name only adds to
        means the newest: "rate card" is not the rate card before "rate card 2026".
        """
        if not any(map(self._is_old, span.items)):
            return span.items
        newer = {one.id for item in span.items for one in self._walk(item, _supersedes)}
        said = frozenset(stem(token.word) for token in tokens(request)[span.first : span.last])
        return frozenset(self._meant(item, said) for item in span.items - newer or span.items)

    def _meant(self, item: str, said: frozenset[str]) -> str:
        newest = self.newest(item)
        if newest is None or said - _unmarked(said) or not any(said <= _stems(name) for name in _names(newest)):
            return item
        return newest.id

    def asked_for(self, request: str, recent: Sequence[str], now: Millis, candidates: Iterable[Item]) -> list[Asked]:
        """The old versions that a request asks for by date, by place, or by the words of their own name in any order.

        Args:
            request: what was typed.
            recent: the lines before it, which may have the name ("and the version before June?").
            now: the moment from which dates are counted.
            candidates: visible items of which the request may be.
        """
        sentence: _Sentence | None = None
        found = []
        for item in candidates:
            older = self.older(item.id) if item.supersedes else []
            if older:
                sentence = sentence or _Sentence(request, recent, now)
                old = sentence.own_name(item, older) or sentence.by_place(item, older) or sentence.by_date(item, older)
                if old is not None:
                    found.append(Asked(old.id, item.id))
        return found

    def _walk(self, item: str, step: Callable[[Item], str | None]) -> list[Item]:
        """The versions one way from an item, itself left out, as far as the reader may know of them."""
        found: dict[str, Item] = {}
        one = self._get(item)
        while one is not None and len(found) < _LONGEST_CHAIN:
            following = step(one)
            if not following or following == item or following in found:
                break
            one = self._get(following) if self._sees(following) or self._is_old(following) else None
            if one is not None:
                found[following] = one
        return list(found.values())


class _Sentence:
    """A request cut into words, with what each may be of a version's name and date."""

    def __init__(self, request: str, recent: Sequence[str], now: Millis) -> None:
        text = request.lower()
        found = list(_WORD.finditer(text))
        self._text = text
        self._words = [match[0] for match in found]
        self._starts, self._ends = [match.start() for match in found], [match.end() for match in found]
        self._stems = [stem(word) for word in self._words]
        self._places = [
            (match, range(inside[0], inside[-1] + 1))
            for match in _PLACE.finditer(text)
            if (inside := [n for n, word in enumerate(found) if match.start() <= word.start() < match.end()])
        ]
        self._recent = [frozenset(map(stem, _WORD.findall(line.lower()))) for line in recent]
        periods, spans = periods_in(_LED.sub(lambda led: "in ".rjust(len(led[0])), text), now)
        years, places = years_in(text, spans)
        self._years = frozenset(years)
        self._periods: list[tuple[Period, range]] = []
        for period, (start, end) in zip([*periods, *years], [*spans, *places], strict=True):
            inside = [n for n, match in enumerate(found) if start < match.end() and match.start() < end]
            if inside:
                self._periods.append((period, range(inside[0], inside[-1] + 1)))

    def own_name(self, newest: Item, older: Iterable[Item]) -> Item | None:
        """The youngest old version all words of whose name stand together here, one of them its own."""
        taken = frozenset().union(*map(_stems, _names(newest)))
        for item in older:
            for words in map(_stems, _names(item)):
                if len(words) > 1 and words - taken and self._run(words):
                    return item
        return None

    def by_place(self, newest: Item, older: Sequence[Item]) -> Item | None:
        """The old version whose place in the chain stands beside the name that all versions have."""
        names = [frozenset(map(_stems, _names(item))) for item in (newest, *older)]
        shared = frozenset[frozenset[str]].intersection(*names)
        alike = frozenset[frozenset[str]].intersection(*(frozenset(map(_unmarked, each)) for each in names))
        for match, place in self._places:
            number = int(match["v"] or match["number"] or 0) or 1 + _ORDINALS.index(match["ordinal"] or "first")
            numbered = bool(match["v"] or match["number"] or match["ordinal"])
            # Of versions that say which they are themselves, one that may not be told of would shift the numbers.
            if any(self._touches(title, place, match[0]) for title in (shared if numbered else alike) if title):
                back = len(older) - number if numbered else 0
                return older[back] if 0 <= back < len(older) else None
        return None

    def _touches(self, title: frozenset[str], place: range, said: str) -> bool:
        """Whether a name of these words follows right on the words of a place, or they on it."""
        size, first, after = len(title), place.start, place.stop
        for start in range(after, min(after + 3, len(self._words))):  # "v1 of the price list"
            if title == frozenset(self._stems[start : start + size]):
                between = self._text[self._ends[after - 1] : self._starts[start]]
                return bool(_LINKING.fullmatch(between)) and (start == after or said not in _ALONE)
        if said in _ALONE or self._words[after : after + 1] == ["of"]:
            return False  # "the price list, version 1 of the app"
        for stop in range(max(first - 3, size), first + 1):
            if title == frozenset(self._stems[stop - size : stop]):
                return bool(_TRAILING.fullmatch(self._text[self._ends[stop - 1] : self._starts[first]]))
        return False

    def by_date(self, newest: Item, older: Sequence[Item]) -> Item | None:
        """The old version that was in force at the date which stands beside the name; None when that is the newest."""
        titles = {_unmarked(_stems(name)) for item in (newest, *older) for name in _names(item)} - {frozenset()}
        for period, place in self._periods:
            if any(self._beside(title, place, year=period in self._years) for title in titles):
                return _in_force([newest, *older], period, before=self._said_before(place))
        return None

    def _beside(self, title: frozenset[str], place: range, *, year: bool) -> bool:
        run = self._run(title, place)
        if run:
            title_at = [n for n in run if self._stems[n] in title and n not in place]
            # "The march price list", "the price list 2025": then nothing ties them but their places.
            return self._tied(run, place) or place.stop in title_at or (year and place.start - 1 in title_at)
        around = self._run(frozenset({"version"}), place)
        return bool(around) and self._tied(around, place) and any(title <= line for line in self._recent)

    def _tied(self, run: range, place: range) -> bool:
        said = {self._words[n] for n in (place.start - 1, *place) if n >= 0}
        return bool(said & _OF) or bool(_FORCE & {self._words[n] for n in run})

    def _said_before(self, place: range) -> bool:
        return any(self._words[n] in _BEFORE for n in (place.start - 1, *place) if n >= 0)

    def _run(self, wanted: frozenset[str], beside: Collection[int] = ()) -> range:
        """The stretch with all these words, and these places, in which nothing else is said; empty for none."""
        start = 0
        for n in range(len(self._words) + 1):
            inside = n < len(self._words) and (self._stems[n] in wanted or n in beside or self._words[n] in _FILLING)
            if not inside:
                run = range(start, n)
                if wanted <= {self._stems[at] for at in run if at not in beside} and all(at in run for at in beside):
                    return run
                start = n + 1
        return range(0)


def _in_force(versions: Sequence[Item], period: Period, *, before: bool) -> Item | None:
    """Of versions, the youngest first: the one made in a period, else the one that held then; None for the newest."""
    since = [item.valid_from or item.recorded_at for item in versions]
    end = period.start if before else period.end
    for place, item in enumerate(versions):
        if since[place] < end:
            held = item.valid_until is None or item.valid_until >= (end if before else period.start)
            return item if place and held else None
    return None


def _supersedes(item: Item) -> str | None:
    return item.supersedes


def _names(item: Item) -> tuple[str, ...]:
    return tuple(filter(None, (item.name, *item.aliases)))


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _WORD.findall(name.lower())))


def _unmarked(words: frozenset[str]) -> frozenset[str]:
    """The words without those that tell one version from the next: a number, a letter, a month or season."""
    return frozenset(
        word
        for word in words
        if len(word) > 1 and not any(map(str.isdigit, word)) and word not in {"version", "rev"} and not _is_time(word)
    )


def _is_time(word: str) -> bool:
    return bool(periods_in(f"in {word}", 0)[0])
