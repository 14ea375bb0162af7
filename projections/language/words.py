"""One way to cut text into words, for everything that is indexed and everything that is asked.

A word is compared by its stem, without accents. English stems are plain terms. A text in another language in Latin
letters has, beside them, terms of that language: `german:rechnung`. Of a request every word is looked for under its
English stem and under that of each language that the rows have, whatever its own: three words are too few to tell it
by. Other scripts need no such vote: the script says how a word is stemmed, and where words are not set apart by spaces
the terms are runs of two or three letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

import Stemmer
from bm25s.stopwords import STOPWORDS_EN

from .languages import LATIN, function_words, languages_of
from .scripts import LATIN_END, PAIRS, THREES, fold, has_unspaced, marks, stem_by_script

HEARD: Final = 4_000
"""Characters of a request's beginning, and as many of its end, in which is looked for what it asks. What stands
between them in a longer one was pasted; to weigh every word of it would make this push late, and others behind it."""
TAG: Final = ":"
"""Stands between language and stem; no plain term holds it."""
SHORT: Final = 40
"""Words of a request from which its own language can be told for sure; it is then not tried in all others."""

_UNSEEN: Final = dict.fromkeys(map(ord, "\u00ad\u180e\u200b\u2060\u2061\u2062\u2063\u2064\ufeff"))
"""Letters without a shape that also say nothing of how those around them join."""
_WORD = re.compile(r"\b\w\w+\b")
_STOP_WORDS: Final = frozenset(STOPWORDS_EN)


def heard(request: str) -> str:
    """The part of a request that is listened to: all of it, unless it is longer than twice HEARD."""
    return request if len(request) <= 2 * HEARD else f"{request[:HEARD]}\n{request[-HEARD:]}"


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Plain terms of each text: stems of its words, without English stop words and single letters; repeats kept.

    Of ASCII texts the words are those of `bm25s.tokenize`, which takes ten times as long for one short request (it sets
    up progress bars that are never shown).
    """
    return [_stems(_without_stops(_words(text)), ascii_only=text.isascii()) for text in texts]


def index_terms(texts: Sequence[str]) -> list[list[str]]:
    """What each text is indexed under: its plain terms, then those of the languages that it may be in."""
    return [_both(text) for text in texts]


def request_terms(request: str, languages: Iterable[str]) -> list[tuple[str, ...]]:
    """For each word of a request the terms of which any will do, the plain one first.

    Args:
        request: what was asked.
        languages: those of which there are terms at all.
    """
    words, own = _read(request)
    tried = [language for language in LATIN if language in frozenset(languages)]
    if len(words) >= SHORT:
        tried = [language for language in tried if language in own]
    ways = [_stems(words, ascii_only=request.isascii()), *(_tagged(words, language) for language in tried)]
    return [tuple(dict.fromkeys(filter(None, terms))) for terms in zip(*ways, strict=True)]


def readings(phrase: str, languages: Iterable[str]) -> list[list[str]]:
    """The ways to read a phrase, as plain terms and in each language: terms of which a text about it has all.

    Words that hold a sentence together are left out in the language whose they are, as they are of the texts in it.

    Args:
        phrase: a few words.
        languages: those of which there are terms at all.
    """
    words = _without_stops(_words(phrase))
    plain = _stems(words)
    found = [plain]
    for language in (language for language in LATIN if language in frozenset(languages)):
        terms = zip(words, _tagged(words, language), plain, strict=True)
        found.append([own or stem for word, own, stem in terms if word not in function_words(language)])
    return [terms for terms in map(_once, found) if terms]


def _once(terms: list[str]) -> list[str]:
    return list(dict.fromkeys(terms))


def is_plain(term: str) -> bool:
    """Whether a term is of no language in particular. A text is as long as it has plain terms."""
    return TAG not in term


def language_of(term: str) -> str:
    """The language of a term that has one; empty for a plain one."""
    return term.partition(TAG)[0] if TAG in term else ""


def _both(text: str) -> list[str]:
    words, own = _read(text)
    terms = _stems(words, ascii_only=text.isascii())
    for language in own:
        terms += filter(None, _tagged(words, language))
    return terms


def _read(text: str) -> tuple[list[str], tuple[str, ...]]:
    """The words that say what a text is about, and in which of LATIN it may be."""
    words = _words(text)
    telling = _without_stops(words)
    own = languages_of(words)
    if own:
        small = frozenset[str]().union(*map(function_words, own))
        telling = [word for word in telling if word not in small]
    return telling, own


def _without_stops(words: list[str]) -> list[str]:
    return [word for word in words if word not in _STOP_WORDS]


def _words(text: str) -> list[str]:
    """Words of two letters and more, lower case; runs of letters where words are not set apart."""
    if text.isascii():
        return _WORD.findall(text.lower())
    # What nobody sees parts no word: the text is shown without it.
    text = unicodedata.normalize("NFKC", text.translate(_UNSEEN)).lower().replace("\u0307", "")
    if not has_unspaced(text):
        return _marked().findall(text)
    return [part for run in _runs().finditer(text) for part in _parts(run[0], run.lastgroup)]


def _parts(run: str, script: str | None) -> Iterable[str]:
    if script == "word":
        return (run,)
    size = 2 if script == "pairs" else 3
    if len(run) <= size:
        return (run,)
    return (run[at : at + size] for at in range(len(run) - size + 1))


@cache
def _marked() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w{marks()}])\w[\w{marks()}]+")


@cache
def _runs() -> re.Pattern[str]:
    spaced = rf"(?:(?![{PAIRS}{THREES}])[\w{marks()}])"
    return re.compile(rf"(?P<pairs>[{PAIRS}]+)|(?P<threes>[{THREES}]+)|(?P<word>{spaced}{{2,}})")


@cache
def _stem(language: str) -> Callable[[list[str]], list[str]]:
    stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(language).stemWords
    return stem


def _stems(words: list[str], *, ascii_only: bool = False) -> list[str]:
    stems = _stem("english")(words)
    if ascii_only:
        return stems
    return [
        stem if word.isascii() else fold(stem if word[0] < LATIN_END else stem_by_script(word))
        for word, stem in zip(words, stems, strict=True)
    ]


def _tagged(words: list[str], language: str) -> list[str]:
    """The term of that language for each word; empty for one in other letters."""
    return [
        f"{language}{TAG}{stem if stem.isascii() else fold(stem)}" if word[0] < LATIN_END else ""
        for word, stem in zip(words, _stem(language)(words), strict=True)
    ]
