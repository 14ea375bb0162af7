"""Scripts: what follows from the letters alone, whatever the language: where words end, and what an accent means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Final

import Stemmer

LATIN_END: Final = "\u0370"
"""The first character behind the Latin letters."""
PAIRS: Final = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Chinese, Japanese and Korean letters, for a class of a pattern: a word has one to three, or endings of one."""
THREES: Final = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0eff\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
"""Thai, Lao, Burmese and Khmer letters, for a class of a pattern."""

_HAN_START: Final = "\u3400"
_HAN_END: Final = "\u9fff"
"""Chinese letters, which stand next to each other as they like: a long text of them is not matched one by one."""
_UNSPACED: Final = re.compile(f"[{PAIRS}{THREES}]")
_PAIR: Final = re.compile(f"[{PAIRS}]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]{2}")
_KATAKANA: Final = re.compile("[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]{2}")
_LEANING: Final = re.compile("[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b6-\u17d3]")
"""Vowels and tones that belong to the letter before."""
_STEMMERS: Final = (
    ("\u0370", "\u03ff", "greek"), ("\u1f00", "\u1fff", "greek"), ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"), ("\u0600", "\u077f", "arabic"), ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)  # fmt: skip
"""First and last letter of a script, and the stemmer for its words. Others with those letters do well enough with it:
request and text lose the same endings."""
_PLAIN: Final = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})
_SPELLED_OUT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


def has_unspaced(text: str) -> bool:
    """Whether a text holds a letter of a script that does not set words apart."""
    return _UNSPACED.search(text) is not None


def count_words(text: str) -> int:
    """About how many words a text has: where none are set apart, two letters are one."""
    return len(text.split()) + count_unspaced(text) // 2


def count_unspaced(text: str) -> int:
    """How many letters of scripts that do not set words apart a text has."""
    return 0 if text.isascii() else len(_UNSPACED.findall(text))


def is_unspaced(word: str) -> bool:
    """Whether a word begins with such a letter."""
    return word[:1] >= "\u0e01" and (_HAN_START <= word[0] <= _HAN_END or _UNSPACED.match(word) is not None)


def is_pair(word: str) -> bool:
    """Whether a word begins with a Chinese, Japanese or Korean letter: two of them can be a whole name."""
    return word[:1] >= "\u3005" and _PAIR.match(word) is not None


def may_start(before: str, letter: str) -> bool:
    """Whether a word can start with a letter that stands right behind another: not within a Korean or Katakana word."""
    if _HAN_START <= letter <= _HAN_END:
        return True
    both = before + letter
    return not (_HANGUL.fullmatch(both) or _KATAKANA.fullmatch(both) or _LEANING.match(letter))


def may_end(letter: str, behind: str) -> bool:
    """Whether a word can end with a letter right before another. A Korean one can: its endings are written on to it."""
    if _HAN_START <= behind <= _HAN_END:
        return True
    return not (_KATAKANA.fullmatch(letter + behind) or _LEANING.match(behind))


@cache
def marks() -> str:
    """The combining marks, for a class of a pattern: without them every vowel of a Hindi word would end it."""
    codes = chain(range(0x300, 0x1E00), range(0x20D0, 0x2100), range(0xA66F, 0xAC00), range(0xFE20, 0xFE30))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == "M")


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = Stemmer.Stemmer(language).stemWord
    return stem


def stem_by_script(word: str) -> str:
    """A lower-case word in other letters than Latin ones without its ending, if its script has a stemmer."""
    if is_unspaced(word):
        return word
    for first, last, language in _STEMMERS:
        if first <= word[0] <= last:
            return _stemmer(language)(word)
    return word


def fold(word: str) -> str:
    """A lower-case word without accents, where they only colour its letters: those of Hindi or Thai are letters."""
    if word.isascii() or word[0] >= "\u0590":
        return word
    apart = unicodedata.normalize("NFD", word.translate(_PLAIN))
    return unicodedata.normalize("NFC", "".join(c for c in apart if not "\u0300" <= c <= "\u036f"))


def spelled_out(text: str) -> str:
    """A text with the two letters that stand for an umlaut where a keyboard has none: "Mueller"."""
    return text.lower().translate(_SPELLED_OUT)
