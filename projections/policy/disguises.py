"""What a text says under a disguise: letters that pass for others, broken or spaced words, codes of HTML. Pure."""

from __future__ import annotations

import html
import re
from typing import Final

from ..language.lookalikes import latinised, unaccented

UNSEEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufff8\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Ranges, for a pattern, of characters that cannot be seen."""
_GONE = re.compile(f"[{UNSEEN}\ufe00-\ufe0f]+")
_ENTITY = re.compile(r"&#?\w{1,31};?")
_COMMENT = re.compile(r"<!--(?:(?!<!--).){0,400}?-->", re.S)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|wbr)"
    r"(?:\s[^<>]{0,200})?/?>",
    re.I,
)
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>", re.I)
_EMPHASIS = re.compile(r"(?<=\w)[*`~]{1,3}(?=\w)")
_SPACED = re.compile(r"(?<!\w)\w(?:[ \u00a0.·|*_-]\w){2,400}(?!\w)")
"""Letters with one sign between each two: a letter alone stands in a row of three only in such a word."""
_LONG: Final = 12
"""Letters from which on such a row is more than one word."""
_KNOWN = re.compile(
    "(ignore|disregard|forget|override|all|any|the|your|my|these|of|previous|prior|earlier|above|system|safety|and|"
    "instructions?|directions?|directives?|guidelines?|rules?|prompts?)"
)
_DIGITS: Final = str.maketrans("013457@$", "oieastas")
_WITH_DIGITS = re.compile(r"(?<![\w@$])(?:[a-z]{1,20}[013457@$]|[013457@$]{1,3}[a-z])[a-z013457@$]{0,20}(?![\w@$])")


def unbroken(text: str) -> str:
    """The text without what stands unseen in its words."""
    return text if text.isascii() else _GONE.sub("", text)


def undressed(text: str) -> str:
    """The text in small letters without accents, markup, comments, and what cannot be seen, in its own script."""
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = unaccented(unbroken(text))
    if "<" in text:
        text = _TAG.sub(" ", _INLINE.sub("", _COMMENT.sub("", text)))
    return _EMPHASIS.sub("", text).lower()


def read(text: str) -> str:
    """What an undressed text reads as to one who takes its letters, digits and rows of letters for what they resemble.

    Only to look for orders in: it reads any text of another script as nonsense, and a part number as a word.
    """
    plain = _SPACED.sub(_closed, latinised(text).lower())
    return _WITH_DIGITS.sub(lambda word: word[0].translate(_DIGITS), plain)


def _closed(row: re.Match[str]) -> str:
    letters = row[0][::2].translate(_DIGITS)
    if len(letters) < _LONG:
        return letters
    return " ".join(_KNOWN.sub(r" \1 ", letters).split())
