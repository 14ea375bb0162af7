"""Letters and signs that pass for plain Latin ones: what a text looks like, whatever it is written with. Pure.

The table holds what is common; whoever looks long enough finds another letter that nearly passes.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SIGNS: Final = {
    ":": "\u02d0\u02f8\u205a\u2236\ua4fd\ua789\ufe13\ufe30\ufe55",
    ".": "\u2024\u2027\ufe52",
    "/": "\u2044\u2215\u29f8",
    "(": "\u207d\u208d\u2768\u276a\u2985\ufe59",
    ")": "\u207e\u208e\u2769\u276b\u2986\ufe5a",
    "::": "\u2237",
}
_OF_OTHER_SCRIPTS: Final = {
    "A": "АΑᎪꓮ", "B": "ВΒᏴꓐ", "C": "СϹᏟꓚ", "D": "ᎠꓓԀ", "E": "ЕΕᎬꓰ", "F": "Ϝꓝ", "G": "ԌᏀꓖ",
    "H": "НΗᎻꓧ", "I": "ІΙӀꓲ", "J": "ЈᎫꓙ", "K": "КΚᏦꓗ", "L": "Ꮮꓡ", "M": "МΜᎷꓟ", "N": "Νꓠ",
    "O": "ОΟՕꓳ", "P": "РΡᏢꓑ", "Q": "Ԛ", "R": "Ꭱꓣ", "S": "ЅՏᏚꓢ", "T": "ТΤᎢꓔ", "U": "Սꓴ", "V": "ѴᏙꓦ",
    "W": "ԜᎳꓪ", "X": "ХΧꓫ", "Y": "УΥҮꓬ", "Z": "ΖᏃꓜ", "a": "аα", "b": "вьβ", "c": "сϲ", "d": "ԁ",
    "e": "еεҽ", "f": "ϝ", "g": "ցԍ", "h": "нһհ", "i": "іιᎥ", "j": "јϳ", "k": "кκ", "l": "ӏ",
    "m": "м", "n": "пηո", "o": "оοσօ", "p": "рρ", "q": "ԛզ", "r": "г", "s": "ѕ", "t": "тτ",
    "u": "υս", "v": "ѵν", "w": "ԝωѡ", "x": "хχ", "y": "уγү",
}  # fmt: skip
"""By the Latin letter those of Cyrillic, Greek, Armenian, Cherokee and Lisu that look like it."""
_LATIN: Final = {"a": "ɑ", "e": "ɛ", "g": "ɡ", "i": "ıɩ", "l": "ɭ", "o": "ɵ", "v": "ʋ", "y": "ʏ"}
"""Other Latin letters that do: they stand in ordinary words, too."""
_SMALL_CAPITALS: Final = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))


def _each(table: dict[str, str]) -> dict[str, str]:
    return {other: plain for plain, others in table.items() for other in others}


_PLAIN_SIGNS: Final = str.maketrans({**_each(_SIGNS), **_SMALL_CAPITALS})
_PLAIN_LETTERS: Final = _each(_OF_OTHER_SCRIPTS)
_SQUARED: Final = {chr(start + n): chr(65 + n) for start in (0x1F150, 0x1F170, 0x1F1E6) for n in range(26)}
_ALL: Final = str.maketrans({**_PLAIN_LETTERS, **_each(_LATIN), **_each(_SIGNS), **_SMALL_CAPITALS, **_SQUARED})
_FANCY = re.compile("[\u2100-\u214f\u24b6-\u24e9\U0001d400-\U0001d7ff\U0001f130-\U0001f149]+")
"""Letters in bold, in script, in a circle or a square."""
_BEHIND_LATIN: Final = 0x250
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = re.compile(
    "(?P<latin>[A-Za-z\u00c0-\u024f])|(?P<greek>[\u0370-\u03ff])|(?P<cyrillic>[\u0400-\u052f])"
    "|(?P<armenian>[\u0530-\u058f])|(?P<cherokee>[\u13a0-\u13ff])|(?P<lisu>[\ua4d0-\ua4ff])"
)
MARKS: Final = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
"""Marks and variation selectors that belong to no writing in particular, for a class of a pattern."""
_MARKS = re.compile(f"[{MARKS}]+")


def unmixed(text: str) -> str:
    """The text as it may be shown: signs that pass for others are those, and a word of several scripts has one."""
    if text.isascii():
        return text
    text = _FANCY.sub(lambda fancy: unicodedata.normalize("NFKC", fancy[0]), text.translate(_PLAIN_SIGNS))
    return _WORD.sub(_of_one_script, text)


def _of_one_script(word: re.Match[str]) -> str:
    letters = word[0]
    if letters.isascii() or len({found.lastgroup for found in _SCRIPTS.finditer(letters)}) < 2:
        return letters
    plain = "".join(_PLAIN_LETTERS.get(letter, letter) for letter in letters)
    return plain if ord(max(plain)) < _BEHIND_LATIN else letters  # or it was no attempt to pass for Latin


def unaccented(text: str) -> str:
    """The text without marks on its letters, and with plain ones for those in bold, in circles or as wide as two."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))


def latinised(text: str) -> str:
    """An unaccented text with the Latin letter for all that look like one, in words of every language: to compare."""
    return text if text.isascii() else text.translate(_ALL)
