"""Plain text for one line: what a field of an item may look like where a model, or a terminal, reads it. Pure.

Whatever was stored, a field stays one line, shows all that it says, is no longer than it may be (in columns: wide
letters take two), holds no markup and no link, and cannot pass for another part of a pointer.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import quote

from .language.lookalikes import MARKS as _ACCENTS
from .language.lookalikes import unaccented, unmixed

_SPARE: Final = 8
"""How many times the wanted length is looked at: the rest would be cut off anyway."""
_MARKS: Final = 2
"""Combining marks on one letter that are kept; no writing in use needs more, and a pile of them covers other lines."""

UNSEEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Ranges, for a pattern, of characters that cannot be seen, whatever Python says of them, or that only move others."""
_UNSEEN = re.compile(f"[{UNSEEN}]")
_JOINING = re.compile("[\u00ad\u034f\u200b-\u200f\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
"""Of these, those that take no room: a word that they stand in is one word."""
_WIDE_ASCII: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""Letters and marks as wide as Chinese ones, which would pass for the plain ones."""

_MARKUP = re.compile(r"[`*_<>\[\]{}|#\\]+")
_TOP = (
    r"(?:com|net|org|io|dev|app|ai|co|me|info|biz|xyz|ru|cn|de|uk|eu|fr|top|site|online|link|click|ly|gg"
    r"|example|onion)"
)
_LINK = re.compile(
    rf"\w[\w+.-]*:/\S*|//\S*|\bwww\.\S+|\b(?:mailto|javascript|data|vbscript|file):\S*"
    rf"|\b(?:[\w-]+[.。｡])+{_TOP}[/?:]\S*"
    # a number behind the slash tells how large a network is
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?[/?](?!\d{1,2}(?![\w/?]))\S*",
    re.I,
)
_COLONS: Final = ":\u0589\u05c3\u0903\u1361\u17d6"
"""The colon, and what stands for something else in its own script, and looks like one."""
_LABEL = re.compile(
    rf"(Open|For|Used\s+with|Replaces|instant[-\u2010-\u2015\u2212]recall)\s*[{_COLONS}][\s{_COLONS}]*", re.I
)
"""What begins a part of a pointer."""
_COLON = re.compile(rf"[{_ACCENTS}]*[{_COLONS}]")
_PROVENANCE = re.compile(
    r"\((?:\s*|[^()]*\b(?:from an? (?:\w+ )?(?:web|page|tool)"
    r"|from (?:the|your|its) (?:owner|user|web|tool)|by the (?:owner|user)"
    r"|owner['’]s|trusted|verified|approved|authori[sz]ed|instant-recall|old, replaced|replaced by)\b[^()]*)(?:\)|$)",
    re.I,
)
"""A parenthesis like those that a pointer puts behind a name, or that vouches for it; or an empty one."""
_ROUND: Final = str.maketrans("()", "  ")


def clean(text: str, limit: int) -> str:
    """One line of plain text of at most `limit` columns, cut at a word with an ellipsis; empty when nothing is left."""
    piece = text[: limit * _SPARE]
    if not piece.isascii():
        piece = unmixed(_UNSEEN.sub(" ", _JOINING.sub("", piece)).translate(_WIDE_ASCII))
    line = "".join(letter if letter.isprintable() else " " for letter in piece) if not piece.isprintable() else piece
    line = _LINK.sub(" ", _MARKUP.sub(" ", line))
    line = _LABEL.sub(r"\1 ", line)
    if not line.isascii() and _LABEL.search(unaccented(line)):  # with marks on its letters
        line = _COLON.sub(" ", line)
    line = " ".join(line.split())
    return _cut(_without_piles(line), limit)


def title(text: str, limit: int, *, foreign: bool) -> str:
    """A name that somebody else than the owner gave, like `clean`, without a parenthesis like those we put behind one.

    Args:
        text: the name.
        limit: columns that it may take.
        foreign: a page's or a tool's: it has no parentheses at all, since one with our own words follows.
    """
    line = unmixed(_JOINING.sub("", text[: limit * _SPARE]).translate(_WIDE_ASCII))
    line = _PROVENANCE.sub(" ", _PROVENANCE.sub(" ", line))
    return clean(line.translate(_ROUND) if foreign else line, limit)


def shown_id(text: str) -> str:
    """An id or an address as it may stand in a line: what is no plain letter is percent-encoded; `open` reads it so."""
    return text if _is_plain(text) else "".join(letter if _is_plain(letter) else quote(letter) for letter in text)


def width(text: str) -> int:
    """Columns that a text takes: wide letters and emoji take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _is_plain(text: str) -> bool:
    return text.isprintable() and " " not in text and (text.isascii() or not _UNSEEN.search(text))


def _width(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _without_piles(line: str) -> str:
    if line.isascii():
        return line
    kept: list[str] = []
    marks = 0
    for letter in line:
        marks = 0 if _width(letter) else marks + 1
        if marks <= _MARKS:
            kept.append(letter)
    return "".join(kept)


def _cut(line: str, limit: int) -> str:
    if width(line) <= limit:
        return line
    end = columns = 0
    for end, letter in enumerate(line):  # noqa: B007 - where it stops is what is wanted
        columns += _width(letter)
        if columns >= limit:
            break
    cut = line[:end]
    return (cut.rsplit(" ", 1)[0] if " " in cut[end // 2 :] else cut).rstrip(" ,;:.-") + "…"
