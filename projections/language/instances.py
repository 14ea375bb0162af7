"""Instances: what a phrase tells of one single case, set apart from the need that comes again.

"Send invoice INV-2231 to Harbeck by 12.03.2025" is asked once; "send invoice INV to by" is the need. What shows by its
shape what it is (numbers, dates, amounts, codes, files, links, quoted titles, names) is replaced by that, or dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from ..naming.english import is_word

LONGEST: Final = 2_000
"""Characters of the longest text that is looked at; a longer one is no phrase, and stays as it is."""
MOST_CAPITALS: Final = 1 / 2
"""Share of words with a capital letter above which that says nothing: a headline."""

_ENDINGS: Final = (
    "pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|txt|md|csv|tsv|json|ya?ml|toml|xml|html?|log|ini|conf|sqlite|"
    "png|jpe?g|gif|svg|tiff?|webp|heic|raw|mp[34]|wav|flac|ogg|m4a|mov|avi|mkv|zip|tar|gz|zst|7z|dmg|iso|"
    "py|ipynb|sh|sql|tex|bib|stl|step|dxf|gcode|eml|ics|vcf|epub|psd|blend"
)
_CURRENCIES: Final = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR"}
_MONTHS: Final = (
    "jan(?:uary|uar|vier)?|jänner|feb(?:ruary|ruar)?|février|mar(?:ch|s)|märz|apr(?:il)?|avril|may|mai|june?|juni|juin|"
    "july?|juli|juillet|aug(?:ust)?|août|sept?(?:ember|embre)?|o[ck]t(?:ober|obre)?|nov(?:ember|embre)?|"
    "de[cz](?:ember|embre)?|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|"
    "diciembre"
)
_NUMBER: Final = r"\d+(?:[.,'\u00a0\u202f]\d+)*"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|\.)?"

_TELLING = re.compile(r"[\d@/\\\"\u00ab\u201c\u201e\u300a\u300c\u300e]|(?<!\w)'|\.\w|(?<!^)(?<!\w)(?=[^\W\d_])[^a-z]")
"""Without any of these a text has no instance in it; most have none, and cost nothing."""
_NOUNS_HAVE_CAPITALS = re.compile(r"\b(?:der|das|ein|eine[mnrs]?|für|vom|zum|zur|nicht|ist|ich|bitte|und)\b")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_STARTS = re.compile(r"(?:^|[.!?:\u2026\n]|[-*\u2022] )[\s\"'(\u00ab\u201c\u201e\u2018]*$")
_NEED = re.compile(r"[^\W\d_]{2,}|[\u3040-\u30ff\u3400-\u9fff]")
_EMPTY = re.compile(r"\(\s*[,;:]*\s*\)|\[\s*\]|\{\s*\}|([\"'`])\s*\1|[\u201c\u201e]\s*[\u201c\u201d]|\u00ab\s*\u00bb")
_LOOSE = re.compile(r"\s+([,;:.!?)\]])|(?<=[(\[])\s+")
_ENDS = re.compile(r"^[\s,;:/#-]+|[\s,;:/#-]+$")


def need_of(text: str, known: Callable[[str], bool] = is_word) -> str:
    """The text without what belongs to one case only; the text as it is when nothing else would be left.

    Args:
        text: a use key, or a request.
        known: whether a word in lower case is more than somebody's name: an ordinary word, or the name of an item. Such
            a word stays, capital letter or not.
    """
    if len(text) > LONGEST or not _TELLING.search(text):
        return text
    need = text
    for pattern, instead in _shapes():
        need = pattern.sub(instead, need)
    need = _without_names(need, known)
    if need == text:
        return text
    need = _tidy(need)
    return need if _NEED.search(need) else text


@cache
def _shapes() -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
    """What shows by its shape what it is, and what stands for it; earlier ones first."""
    ending = rf"\.(?P<ending>{_ENDINGS})\b(?!\.?\w)"
    money = "|".join(map(re.escape, _CURRENCIES))
    shapes: list[tuple[str, Callable[[re.Match[str]], str]]] = [
        (r"\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]", lambda _: " url "),
        (r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b", lambda _: " email "),
        (rf"(?<![\w/])(?:~|\.{{1,2}}|[A-Za-z]:)?[\w./\\@+-]*[\w)]{ending}", lambda found: f" {found['ending']} "),
        (r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|(?<!\w)(?:~|\.{1,2})/[\w.@+-]+/?", lambda _: " path "),
        (r"(?<!\w)[A-Za-z]:\\[^\s\"']+", lambda _: " path "),
        (r"(?<!\w)[\u201c\u201e][^\u201c-\u201e\n]{2,80}[\u201c\u201d]|\u00ab[^\u00ab\u00bb\n]{2,80}\u00bb", _title),
        (r"(?<!\w)\"[^\"\n]{2,80}\"(?!\w)|(?<!\w)'[^'\n]{2,80}'(?!\w)", _title),
        (r"[\u300a\u300c\u300e][^\u300a-\u300f\n]{1,80}[\u300b\u300d\u300f]", lambda _: " "),
        (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b", lambda _: " "),
        (r"\b\d{4}-\d{1,2}(?:-\d{1,2})?(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?\b", lambda _: " "),
        (r"\d{4}\u5e74(?:\d{1,2}\u6708)?(?:\d{1,2}\u65e5)?|(?<!\d)\d{1,2}\u6708\d{1,2}\u65e5", lambda _: " "),
        (r"\b\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})\b|(?<!\w)\d{1,2}\.\d{1,2}\.(?!\w)", lambda _: " "),
        (rf"\b{_DAY} (?:of |de )?(?:{_MONTHS})\b\.?,?(?: (?:de )?\d{{4}}\b)?", lambda _: " "),
        (rf"\b(?:{_MONTHS})\b\.? {_DAY}(?!\w),?(?: \d{{4}}\b)?|\b(?:{_MONTHS})\b\.? (?:de )?\d{{4}}\b", lambda _: " "),
        (r"\b[qQ][1-4](?:[ /-](?:20)?\d{2}\b)?|\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?", lambda _: " "),
        (rf"(?P<sign>{money}) ?{_NUMBER}(?: ?(?:k|m|bn)\b)?", _currency),
        (rf"\b{_NUMBER}(?: ?(?:k|m|bn))? ?(?P<sign>{money})", _currency),
        (r"\b(?P<letters>[^\W\d_]{1,10})[-_/#]{1,2}\d{2,}(?:[-_/.]?\w+)*", lambda found: f" {found['letters']} "),
        (r"\b(?P<letters>[^\W\d_]{2,5})\d{3,}\w*\b", lambda found: f" {found['letters']} "),
        (r"(?<!\w)\+?\d[\d ()/-]{6,}\d\b|\b\d+(?:\.\d+){2,}\b|\bv\d+(?:\.\d+)*\b", lambda _: " "),
        (r"\b\d+ ?[x\u00d7] ?\d+\b|(?<!\w)#\d+\b|\b\d+(?:st|nd|rd|th)\b", lambda _: " "),
        (r"\b\d{2,}(?:[.,]\d+)?(?P<unit>[a-z\u00b5\u00b0]{1,4})\b", lambda found: f" {found['unit']} "),
        (rf"(?<![\w/-]){_NUMBER}(?![\w/-])", lambda _: " "),
    ]  # fmt: skip
    return [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in shapes]


def _currency(found: re.Match[str]) -> str:
    return f" {_CURRENCIES[found['sign']]} "


def _title(found: re.Match[str]) -> str:
    """Nothing for what is quoted as a title; a lower-case word in quotation marks ("the 'unsafe' flag") is none."""
    first = found[0][1:].lstrip()[:1]
    return found[0] if first.islower() else " "


def _without_names(text: str, known: Callable[[str], bool]) -> str:
    """The text without words in the middle of a sentence that a capital letter marks as somebody's name."""
    words = list(_WORD.finditer(text))
    named = [word for word in words if _is_name(word, text, known)]
    capitals = sum(word[0][0].isupper() for word in words)
    if not named or capitals > MOST_CAPITALS * len(words) or _NOUNS_HAVE_CAPITALS.search(text):
        return text
    pieces, at = [], 0
    for word in named:
        pieces.append(text[at : word.start()])
        at = word.end()
    return " ".join([*pieces, text[at:]])


def _is_name(word: re.Match[str], text: str, known: Callable[[str], bool]) -> bool:
    """I'm, PDF and GitHub are no names of somebody, nor is what begins a sentence."""
    plain = re.sub(r"['\u2019]s?$", "", word[0])
    parts = re.split(r"['\u2019-]", plain)
    if not plain[0].isupper() or not all(part.istitle() or part.islower() for part in parts):
        return False
    spelled = any(part.istitle() and len(part) > 1 for part in parts)
    return spelled and not known(plain.lower()) and not _STARTS.search(text[: word.start()])


def _tidy(text: str) -> str:
    text = " ".join(_EMPTY.sub(" ", text).split())
    return _ENDS.sub("", _LOOSE.sub(r"\1", text))
