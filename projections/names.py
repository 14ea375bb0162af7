"""Names: which items a request names. Decided in code, not by a score.

A name is compared by its letters and digits alone, so case, hyphens and spaces do not matter ("Turn-Stile" is
"turnstile"). The last word may be inflected (plural, possessive, verb forms), and a name of five letters or more may be
off by one letter when what was typed is no word of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import Stemmer
from rapidfuzz.distance import OSA

from .items import Item
from .name_evidence import Verdict
from .sentence import Token, tokens

NAMED_KINDS: Final = frozenset({"skill", "tool", "machine", "decision", "approach", "document"})
"""Kinds whose names an owner says. Headings of notes and ids of sessions are words like any other."""
SHORTEST: Final = 3
"""Letters of the shortest name that counts."""
SHORTEST_SLIP: Final = 5
"""Letters of the shortest name that may be off by one."""
LONGEST: Final = 6
"""Words of the longest name that is looked for."""
LONGEST_SLIP: Final = 60
"""Letters of the longest name that may be off by one: each letter is another form to keep, as long as the name."""

_ABBREVIATIONS = re.compile(r"[bcdfghjklmnpqrtvwxz]{2,}s")


class Span(NamedTuple):
    """Words `first` to `last` (exclusive) of a request that name something."""

    first: int
    last: int
    items: frozenset[str]
    exact: bool
    why: str = ""
    """Why it counts, for a name that is an ordinary word as well."""


Judge = Callable[[Sequence[Token], int, int, str, frozenset[int]], Verdict]
"""Whether the words from one place of a sentence to another (exclusive) are meant as the name of an item. The last
argument has the places of all words that spell a name: what they say of each other is no evidence."""


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def _words(text: str) -> list[str]:
    return [token.word for token in tokens(text)]


def _forms(words: list[str]) -> tuple[str, str]:
    """The words run together as they are, and with the last one stemmed."""
    body = "".join(words[:-1])
    return body + words[-1], body + _stem(words[-1])


def _stem(word: str) -> str:
    """The word without its ending. The stemmer leaves the plural of an abbreviation ("PCs", "VMs") as it is."""
    return word[:-1] if _ABBREVIATIONS.fullmatch(word) else str(_stemmer().stemWord(word))


def _with_one_less(form: str) -> Iterator[str]:
    """The form, and the form without each one of its letters: two forms one slip apart share one of these."""
    yield form
    for at in range(len(form)):
        yield form[:at] + form[at + 1 :]


def _slips_of(form: str) -> Iterable[str]:
    """Under what a form is filed for slips; nothing for one that is too short or too long to be looked for."""
    # Once each: the two t of "kettle" give the same form.
    return dict.fromkeys(_with_one_less(form)) if SHORTEST_SLIP <= len(form) <= LONGEST_SLIP else ()


def _take_out(table: dict[str, tuple[str, ...]], key: str, value: str) -> None:
    left = tuple(each for each in table[key] if each != value)
    if left:
        table[key] = left
    else:
        del table[key]


class NameIndex:
    """Names and aliases of items: forms of a name in dictionaries. Tuples, since a set takes four times the memory."""

    def __init__(self) -> None:
        self._by_form: dict[str, tuple[str, ...]] = {}
        self._by_slip: dict[str, tuple[str, ...]] = {}
        self._forms_of: dict[str, tuple[str, ...]] = {}

    def add(self, item: Item) -> None:
        """Take in an item's name and aliases, in place of those it had."""
        self.remove(item.id)
        named = item.kind in NAMED_KINDS and not item.forgotten
        self._forms_of[item.id] = forms = tuple(dict.fromkeys(self._forms(item))) if named else ()
        for form in forms:
            if form not in self._by_form:
                for less in _slips_of(form):
                    self._by_slip[less] = (*self._by_slip.get(less, ()), form)
            self._by_form[form] = (*self._by_form.get(form, ()), item.id)

    def remove(self, item: str) -> None:
        """Take an item's names out again."""
        for form in self._forms_of.pop(item, ()):
            _take_out(self._by_form, form, item)
            if form not in self._by_form:
                for less in _slips_of(form):
                    _take_out(self._by_slip, less, form)

    @staticmethod
    def _forms(item: Item) -> Iterator[str]:
        for name in (item.name, *item.aliases):
            words = _words(name)
            if words and len(words) <= LONGEST and len("".join(words)) >= SHORTEST:
                yield from _forms(words)

    def knows(self, item: str) -> bool:
        """Whether the item was ever taken in here, with a name or without."""
        return item in self._forms_of

    def exact(self, form: str) -> Iterable[str]:
        """Ids of the items with this form of a name."""
        return self._by_form.get(form, ())

    def off_by_one(self, form: str) -> set[str]:
        """Ids of the items with a name one slip (one letter more, less, other, or two swapped) from this form."""
        near = {other for less in _with_one_less(form) for other in self._by_slip.get(less, ())}
        return {
            item
            for other in near
            if OSA.distance(form, other, score_cutoff=1) == 1
            for item in self._by_form.get(other, ())
        }


def named_in(
    request: str,
    tables: Sequence[NameIndex],
    allowed: Callable[[str], bool],
    is_word: Callable[[str], bool],
    judge: Judge | None = None,
) -> list[Span]:
    """The spans of a request that name items, in order; the longest wins, an exact one before a slip.

    Args:
        request: what was typed.
        tables: where names are looked up, newest first: what an earlier one knows of an item replaces what a later one
            says of it.
        allowed: whether an item may be told of to this reader. Asked before anything wins over anything else, so that a
            hidden item never takes the place of a visible one.
        is_word: whether a lower-case word is an ordinary one; such a word is not taken for a slip of a name.
        judge: whether a name is meant as one, and not as the ordinary word that it also is; without it every one is.
    """
    sentence = tokens(request)
    words = [token.word for token in sentence]
    spans: list[Span] = []
    names: frozenset[int] | None = None
    taken, doubted = bytearray(len(words)), bytearray(len(words))
    for exact in (True, False):
        for length in range(min(LONGEST if exact else _WORDS_OF_A_SLIP, len(words)), 0, -1):
            for first in range(len(words) - length + 1):
                # What was spelled right and not meant is no slip either: "a jackdaw" is one letter from "jackdaw".
                if any(taken[first : first + length]) or (not exact and any(doubted[first : first + length])):
                    continue
                chunk = words[first : first + length]
                found = _exact(chunk, tables) if exact else _slips(chunk, tables, is_word)
                items = frozenset(filter(allowed, found))
                if not items:
                    continue
                span = Span(first, first + length, items, exact)
                if judge is not None:
                    names = _spelled(words, tables, allowed) if names is None else names
                    span = _meant(sentence, span, judge, names)
                if span.items:
                    spans.append(span)
                (taken if span.items else doubted)[first : first + length] = bytes([1]) * length
    return sorted(spans)


def _spelled(words: list[str], tables: Sequence[NameIndex], allowed: Callable[[str], bool]) -> frozenset[int]:
    """Places of the words that are names by themselves."""
    return frozenset(at for at, word in enumerate(words) if any(map(allowed, _exact([word], tables))))


def _meant(sentence: Sequence[Token], span: Span, judge: Judge, names: frozenset[int]) -> Span:
    """The span with those of its items that are meant by their name."""
    verdicts = {item: judge(sentence, span.first, span.last, item, names) for item in sorted(span.items)}
    counting = {item: verdict.why for item, verdict in verdicts.items() if verdict.counts}
    return span._replace(items=frozenset(counting), why=next(iter(counting.values()), ""))


def _exact(chunk: list[str], tables: Sequence[NameIndex]) -> set[str]:
    forms = _forms(chunk)
    return _found(tables, forms, NameIndex.exact) if len(forms[0]) >= SHORTEST else set()


def _slips(chunk: list[str], tables: Sequence[NameIndex], is_word: Callable[[str], bool]) -> set[str]:
    forms = _forms(chunk)
    if (
        not SHORTEST_SLIP <= len(forms[0]) <= LONGEST_SLIP + 1
        or is_word(forms[0])
        or (len(chunk) > 1 and all(map(is_word, chunk)))
    ):
        return set()
    return _found(tables, forms, NameIndex.off_by_one)


def _found(
    tables: Sequence[NameIndex], forms: tuple[str, str], look_up: Callable[[NameIndex, str], Iterable[str]]
) -> set[str]:
    return {
        item
        for place, table in enumerate(tables)
        for form in dict.fromkeys(forms)
        for item in look_up(table, form)
        if not any(newer.knows(item) for newer in tables[:place])
    }


_WORDS_OF_A_SLIP: Final = 2
"""A slip is looked for within one word, or across a space that does not belong there."""
