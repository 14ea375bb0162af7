"""Names: which items a request names. Decided in code, not by a score.

A name is compared by its letters and digits alone, so case, hyphens and spaces do not matter ("Turn-Stile" is
"turnstile"). The last word may be inflected (plural, possessive, verb forms), and a name of five letters or more may be
off by one letter when what was typed is no word of its own. Accents do not matter. Where words are not set apart by
spaces a name may stand anywhere in them; a Korean one only at their beginning, since endings are written on to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import Stemmer
from rapidfuzz.distance import OSA

from ..items import Item
from ..language.languages import small_words
from ..language.scripts import LATIN_END, is_pair, is_unspaced, may_end, may_start, spelled_out, stem_by_script
from .grammar import DETERMINERS, JOINS, PREPOSITIONS, PRONOUNS
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
LONGEST_RUN: Final = 20
"""Letters of the longest name that is looked for where words are not set apart by spaces."""
SHORTEST_BEFORE_KIND: Final = 5
"""Letters of the shortest name that is known in front of what the thing is, written as one word: "Eisvogelskript"."""
LONGEST_SLIP: Final = 60
"""Letters of the longest name that may be off by one: each letter is another form to keep, as long as the name."""

_KINDS_WRITTEN_ON: Final = (
    "skript", "script", "programm", "rechner", "maschine", "maskin", "server", "werkzeug", "tool", "dienst", "roboter",
    "kamera", "drucker", "dokument", "helfer", "machine", "skriptet", "servern", "computer", "bot",
)  # fmt: skip
"""What languages with compounds write on to the name of a thing."""
_ABBREVIATIONS = re.compile(r"([bcdfghjklmnpqrtvwxz]{2,}|[a-z])s")


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


_SMALL: Final = DETERMINERS | PRONOUNS | PREPOSITIONS | JOINS


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def _words(text: str) -> list[str]:
    return [token.word for token in tokens(text)]


def _forms(words: list[str]) -> tuple[str, str]:
    """The words run together as they are, and with the last one stemmed."""
    body = "".join(words[:-1])
    return body + words[-1], body + stem(words[-1])


def stem(word: str) -> str:
    """A lower-case word without its ending. The stemmer leaves plurals of abbreviations ("PCs", "rev Bs") alone."""
    if word[0] >= LATIN_END:
        return stem_by_script(word)
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
        self._starts: set[str] = set()

    def add(self, item: Item) -> None:
        """Take in an item's name and aliases, in place of those it had."""
        self.remove(item.id)
        named = item.kind in NAMED_KINDS and not item.forgotten
        self._forms_of[item.id] = forms = tuple(dict.fromkeys(self._forms(item))) if named else ()
        self._starts.update(form[0] for form in forms if is_unspaced(form))
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
            for written in dict.fromkeys((name, name if name.isascii() else spelled_out(name))):
                words = _words(written)
                if words and _can_be_named(words):
                    yield from _forms(words)

    def may_start(self, letter: str) -> bool:
        """Whether any name begins with this letter of a script that does not set words apart."""
        return letter in self._starts

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
    old: Callable[[str], bool] = lambda _item: False,
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
        old: whether an item is an old version, which counts where it is spelled right and nothing allowed is called so.
    """
    sentence = tokens(request)
    words = [token.word for token in sentence]
    stems = [stem(word) for word in words]
    spelled = _visible(_exact(words, stems, tables, _edges(sentence)), allowed, old)
    names = frozenset(span.first for span in spelled if span.last == span.first + 1)
    spans: list[Span] = []
    taken, doubted = bytearray(len(words)), bytearray(len(words))

    def choose(found: Iterable[Span]) -> None:
        for one in sorted(found, key=lambda span: (span.first - span.last, span.first)):
            # What was spelled right and not meant is no slip either: "a jackdaw" is one letter from "jackdaw".
            if any(taken[one.first : one.last]) or (not one.exact and any(doubted[one.first : one.last])):
                continue
            span = one if judge is None else _meant(sentence, one, judge, names)
            if span.items:
                spans.append(span)
            (taken if span.items else doubted)[one.first : one.last] = bytes([1]) * (one.last - one.first)

    choose(spelled)
    choose(_visible(_slips(words, stems, taken, tables, is_word), allowed))
    return sorted(spans)


def _visible(found: Iterable[Span], *allowed: Callable[[str], bool]) -> list[Span]:
    """The spans with those of their items that the first of these allows which allows any."""
    cut = (
        span._replace(items=next(filter(None, (frozenset(filter(may, span.items)) for may in allowed)), frozenset()))
        for span in found
    )
    return [span for span in cut if span.items]


def _can_be_named(words: list[str]) -> bool:
    """Whether a name is neither too long to be looked for nor too short to be meant, nor made of small words alone.

    A thing called "the" would be named by every sentence.
    """
    if all(word in _SMALL for word in words):
        return False
    letters = sum(map(is_unspaced, words))
    return len(words) - letters <= LONGEST and letters <= LONGEST_RUN and _long_enough("".join(words))


def _long_enough(form: str) -> bool:
    return len(form) >= SHORTEST or (len(form) == SHORTEST - 1 and is_pair(form) and is_pair(form[1:]))


def _edges(sentence: Sequence[Token]) -> tuple[bytearray, bytearray]:
    """For each token whether a name may start with it, and whether one may end with it."""
    starts, ends = bytearray(b"\1" * len(sentence)), bytearray(b"\1" * len(sentence))
    for at, token in enumerate(sentence):
        if at and not token.gap and is_unspaced(token.word):
            before = sentence[at - 1].word
            starts[at], ends[at - 1] = may_start(before, token.word), may_end(before, token.word)
    return starts, ends


def _exact(
    words: list[str], stems: list[str], tables: Sequence[NameIndex], edges: tuple[bytearray, bytearray]
) -> Iterator[Span]:
    starts, ends = edges
    for first, word in enumerate(words):
        reach = LONGEST
        if is_unspaced(word):
            if not starts[first] or not any(table.may_start(word) for table in tables):
                continue
            reach = LONGEST_RUN
        elif found := _found(tables, _before_kind(word), NameIndex.exact):
            yield Span(first, first + 1, frozenset(found), exact=True)
        body = ""
        for at in range(first, min(first + reach, len(words))):
            if ends[at] and _long_enough(body + words[at]):
                found = _found(tables, (body + words[at], body + stems[at]), NameIndex.exact)
                if found:
                    yield Span(first, at + 1, frozenset(found), exact=True)
            body += words[at]


def _before_kind(word: str) -> tuple[str, ...]:
    """What a word may have in front of a kind of thing that is written on to it."""
    if not word.endswith(_KINDS_WRITTEN_ON):
        return ()
    fronts = {word.removesuffix(kind) for kind in _KINDS_WRITTEN_ON} - {word}
    fronts |= {front.removesuffix("s") for front in fronts}
    return tuple(sorted(front for front in fronts if len(front) >= SHORTEST_BEFORE_KIND))


def _slips(
    words: list[str], stems: list[str], taken: bytearray, tables: Sequence[NameIndex], is_word: Callable[[str], bool]
) -> Iterator[Span]:
    """A slip is looked for within one word, or across a space that does not belong there."""
    small = small_words()
    known = [len(word) == 1 or word in small or is_word(word) for word in words]
    for first, word in enumerate(words):
        for last in (first + 1, first + 2):
            if last > len(words) or all(known[first:last]) or any(taken[first:last]):
                continue
            body = "" if last == first + 1 else word
            typed = body + words[last - 1]
            if SHORTEST_SLIP <= len(typed) <= LONGEST_SLIP + 1 and not (body and is_word(typed)):
                found = _found(tables, (typed, body + stems[last - 1]), NameIndex.off_by_one)
                if found:
                    yield Span(first, last, frozenset(found), exact=False)


def _meant(sentence: Sequence[Token], span: Span, judge: Judge, names: frozenset[int]) -> Span:
    """The span with those of its items that are meant by their name."""
    verdicts = {item: judge(sentence, span.first, span.last, item, names) for item in sorted(span.items)}
    counting = {item: verdict.why for item, verdict in verdicts.items() if verdict.counts}
    return span._replace(items=frozenset(counting), why=next(iter(counting.values()), ""))


def _found(
    tables: Sequence[NameIndex], forms: tuple[str, ...], look_up: Callable[[NameIndex, str], Iterable[str]]
) -> set[str]:
    found = set()
    for place, table in enumerate(tables):
        for form in forms:
            for item in look_up(table, form):
                if not any(newer.knows(item) for newer in tables[:place]):
                    found.add(item)
    return found
