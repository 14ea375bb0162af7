"""Orders to an assistant in somebody else's text, and what such a text hides. Pure; the rules stand below.

A page or a tool's answer has no business telling an assistant what to do: `foreign` finds that, plain or hidden. A
skill or a note in the owner's folders is full of such orders by its nature, so there `concealed` finds only what is
hidden from whoever reads the file, and what would carry the conversation away. A text that is clean by these rules may
still be a trap: rules find what is known.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

import msgspec

from . import disguises, orders, tongues
from .orders import Order

READ: Final = 1_000_000
"""Characters of a text that are looked at from either end."""
_PASSAGE: Final = 160
"""Characters of a passage that is shown."""
_BEFORE: Final = 30
"""Characters that are shown before what was found."""


class Sign(msgspec.Struct, frozen=True):
    """What makes a text suspect."""

    reason: str
    """In a few words of ours: never a word of the text."""
    passage: str
    """Where, with everything invisible made visible: see `visible`."""


def foreign(text: str) -> Sign | None:
    """The first sign that a page's or a tool's text gives orders to an assistant, openly or hidden; None: none."""
    text = _ends(text)
    return _first(text, (*_ANYWHERE, _open_order))


def concealed(text: str) -> Sign | None:
    """The first sign that a file of the owner's hides something, or carries data away; None: none."""
    return _first(_ends(text), _ANYWHERE)


def visible(text: str) -> str:
    """The text on one line, with a name like <U+200B> for whatever cannot be seen or moves what stands around it."""
    shown: list[str] = []
    last, times = "", 0
    for letter in [*text, ""]:
        if letter == last:
            times += 1
            continue
        if last:
            shown.append(_shown(last, times))
        last, times = letter, 1
    return " ".join("".join(shown).split())


def _shown(letter: str, times: int) -> str:
    if letter in "\n\t\r ":
        return " " if times < _LONG_GAP else f" <{times} white spaces> "
    if letter.isprintable() and not _UNSEEN.fullmatch(letter):
        return letter * times
    many = f" x{times}" if times > 1 else ""
    tag = chr(ord(letter) - _TAGS) if 0xE0020 <= ord(letter) < 0xE007F else ""
    return f"<tag {tag}{many}>" if tag else f"<U+{ord(letter):04X}{many}>"


def _ends(text: str) -> str:
    return text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"


def _first(text: str, rules: tuple[Callable[[str], Sign | None], ...]) -> Sign | None:
    return next((sign for rule in rules if (sign := rule(text)) is not None), None)


def _sign(reason: str, text: str, at: int) -> Sign:
    start = max(at - _BEFORE, 0)
    return Sign(reason, visible(text[start : start + 4 * _PASSAGE])[:_PASSAGE])


# --- what cannot be seen ----------------------------------------------------------------------------------------------

_TAGS: Final = 0xE0000
_TAG_RUN = re.compile("[\U000e0001\U000e0020-\U000e007f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""England, Scotland, Wales: the one use of tag characters that people see."""
_UNSEEN = re.compile(f"[{disguises.UNSEEN}]")
_ZERO_WIDTH_RUN = re.compile(
    "[\u200b-\u200f\u2060-\u2064\u180e\ufeff\u034f]{6,}|[\U000e0100-\U000e01ef\ufe00-\ufe0f]{4,}"
)
"""Six in a row spell something to a machine; writing uses one or two."""
_OVERRIDE = re.compile("[\u202d\u202e]")
"""What makes letters stand in another order than they are read in. Right-to-left writing needs neither."""
_LONG_GAP: Final = 40
_GAP = re.compile(r"\s{80,}")
"""White space that fills the better part of a screen, or of a line."""


def _tags(text: str) -> Sign | None:
    if text.isascii():
        return None
    for run in _TAG_RUN.finditer(_FLAG.sub(lambda flag: "\U0001f3f4" * len(flag[0]), text)):
        return _sign("invisible tag characters spell a text that nobody sees", text, run.start())
    return None


def _zero_width(text: str) -> Sign | None:
    run = None if text.isascii() else _ZERO_WIDTH_RUN.search(text)
    reason = "a run of characters without width can hold a message that nobody sees"
    return _sign(reason, text, run.start()) if run else None


def _overridden(text: str) -> Sign | None:
    found = None if text.isascii() else _OVERRIDE.search(text)
    reason = "direction marks make it read otherwise than it is written"
    return _sign(reason, text, found.start()) if found else None


def _broken_up(text: str) -> Sign | None:
    """An order that comes together only when the invisible characters in its words are left out."""
    if text.isascii() or (whole := disguises.unbroken(text)) == text:
        return None
    found = _order_read(whole.lower())
    if found is None or _order_read(text.lower()) is not None:
        return None
    place = _UNSEEN.search(text)
    return _sign(f"invisible characters hide that it {found.what}", text, place.start() if place else 0)


def _behind_a_gap(text: str) -> Sign | None:
    for gap in _GAP.finditer(text):
        found = _order_in(text[gap.end() : gap.end() + 2_000])
        if found:
            return _sign(f"behind a long gap it {found.what}", text, gap.end() + found.start)
    return None


# --- markup that is not shown -----------------------------------------------------------------------------------------

_LONGEST_COMMENT: Final = 4_000
_COMMENT: Final = ("<!--", "-->")
_DEFINED = re.compile(r"^\[[^\]\n]{0,40}\]:\s*(?:#|<>)\s*[\"'(]([^\n]{1,1000})", re.M)
"""A definition of Markdown that leads nowhere: a way to write a comment."""
_UNSEEN_STYLE = (
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em|rem|%)?\s*[;\"']"
    r"|opacity\s*:\s*0?\.?0*\s*[;\"']|color\s*:\s*(?:#f{3}(?:f{3})?\b|white\b|transparent\b|rgba?\(\s*255\s*,\s*255\s*,\s*255)"
    r"|(?:left|top|text-indent)\s*:\s*-\d{3,}|(?<=\s)hidden(?=[\s>=]))"
)
_UNSEEN_ELEMENT = re.compile(
    rf"<(\w{{1,20}})\b[^<>]{{0,400}}?{_UNSEEN_STYLE}[^<>]{{0,400}}>(.{{1,4000}}?)</\1", re.S | re.I
)
_WHITE = re.compile(
    r"\\(?:text)?color\{white\}\{?(.{1,2000}?)(?:\}|$)"
    r"|<font[^<>]{0,100}color=[\"']?(?:#f{3,6}|white)[^<>]{0,100}>(.{1,2000}?)</font",
    re.S | re.I,
)
_ATTRIBUTE = re.compile(
    r"<[^<>]{0,400}\b(?:alt|title|aria-label|data-[a-z-]{1,30})\s*=\s*(?:\"([^\"]{12,2000})\"|'([^']{12,2000})')", re.I
)


def _unseen_markup(text: str) -> Sign | None:
    if "<" not in text and "[" not in text and "\\" not in text:
        return None
    for at, inner in _comments(text):
        if found := _order_in(inner):
            return _sign(f"in a comment it {found.what}", text, at + found.start)
    for pattern, where in (
        (_DEFINED, "in a comment"),
        (_UNSEEN_ELEMENT, "in markup that is not shown"),
        (_WHITE, "in white letters"),
        (_ATTRIBUTE, "in an attribute that is not shown"),
    ):
        for match in pattern.finditer(text):
            inner = match[match.lastindex or 0]
            found = _order_in(inner)
            if found:
                return _sign(f"{where} it {found.what}", text, match.start(match.lastindex or 0) + found.start)
    return None


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Each comment, with its place; one that does not end counts for as long as one may be."""
    opening, closing = _COMMENT
    at = text.find(opening)
    while at >= 0:
        start = at + len(opening)
        end = text.find(closing, start, start + _LONGEST_COMMENT)
        end = min(start + _LONGEST_COMMENT, len(text)) if end < 0 else end
        yield start, text[start:end]
        at = text.find(opening, end)


# --- what is written in code ------------------------------------------------------------------------------------------

_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{22,}={0,2}(?![\w+/=-])")
_BASE64_LINES = re.compile(
    r"(?<![\w+/=-])(?:[A-Za-z0-9+/_-]{40,100}[ \t]*\r?\n[ \t>]*){1,60}[A-Za-z0-9+/_-]{2,100}={0,2}(?![\w+/=-])"
)
"""A long piece is written on several lines."""
_HEX = re.compile(
    r"\b[0-9a-fA-F]{2}(?:[ :]?[0-9a-fA-F]{2}){19,}\b|(?:\\x[0-9a-fA-F]{2}){12,}|(?:\\u00[0-9a-fA-F]{2}){12,}"
)
_PERCENT = re.compile(r"(?:[\w.-]{0,40}%[0-9a-fA-F]{2}){2,}[\w.-]{0,40}")
_ROT13: Final = tuple(
    codecs.encode(word, "rot13")
    for word in (
        *("ignore", "disregard", "forget", "instruction", "assistant", "system", "prompt", "password", "the user"),
    )
)
"""Words that give orders away, so coded: only then is all of it decoded."""
_CODED: Final = 4_000
"""Characters of a coded piece that are decoded."""


def _coded(text: str) -> Sign | None:
    for kind, at, plain in _decoded(text):
        found = _order_in(plain)
        if found:
            return _sign(f"in {kind} it {found.what}", text, at)
    return None


def _decoded(text: str) -> Iterator[tuple[str, int, str]]:
    for match in _BASE64.finditer(text):
        yield "base64", match.start(), _from_base64(match[0][:_CODED])
    for match in _BASE64_LINES.finditer(text):
        yield "base64", match.start(), _from_base64(re.sub(r"[\s>]+", "", match[0])[:_CODED])
    for match in _HEX.finditer(text):
        digits = re.sub(r"[^0-9a-fA-F]", "", re.sub(r"\\u00|\\x", "", match[0]))[:_CODED]
        yield "hexadecimal", match.start(), _printable(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    if text.count("%") > 1:
        for match in _PERCENT.finditer(text):
            yield "percent code", match.start(), unquote(match[0])
    low = text.lower()
    if any(word in low for word in _ROT13):
        yield "rot13", 0, codecs.encode(text, "rot13")


def _from_base64(piece: str) -> str:
    bare = piece.rstrip("=").replace("-", "+").replace("_", "/")
    if bare.isalpha() and (bare.islower() or bare.isupper()):
        return ""
    try:
        bare = bare[:-1] if len(bare) % 4 == 1 else bare
        return _printable(base64.b64decode(bare + "=" * (-len(bare) % 4)))
    except (binascii.Error, ValueError):
        return ""


def _printable(raw: bytes) -> str:
    """The text of these bytes; empty when they are no text."""
    text = raw.decode("utf-8", "ignore")
    return text if sum(map(str.isprintable, text)) > 0.9 * max(len(raw), 1) else ""


# --- what carries data away -------------------------------------------------------------------------------------------

_REMOTE = r"\s*<?((?:https?:)?//[^)\n]{1,400})"
_IMAGE = re.compile(
    rf"!\[[^\[\]\n]{{0,200}}\]\({_REMOTE}|<img\b[^>]{{0,200}}?src\s*=\s*[\"']?((?:https?:)?//[^\s\"'>]{{1,400}})", re.I
)
"""An image is fetched without a click: an address with a hole for what was said sends that away."""
_LINK = re.compile(rf"(?<!!)\[[^\[\]\n]{{0,200}}\]\({_REMOTE}", re.I)
_PRIVATE = (
    r"(?:conversation|chat|history|context|message|memor(?:y|ies)|prompt|secret|passw|credential|token|api.?key|"
    r"private|summary|answer|response|user.?(?:data|info|input|name)|personal|session|exfil|stolen|leak|payload|base64|encoded|data)"
)
_HOLE = re.compile(rf"(?:\{{|\[|<|\$|%7b)[^\s)\]]{{0,20}}{_PRIVATE}", re.I)
_HOLE_IN_QUERY = re.compile(rf"[?&][^\s)=]{{0,40}}=(?:\{{|\[|<|\$|%7b)[^\s)\]]{{0,10}}{_PRIVATE}", re.I)
"""A link is only followed by a click, and skills have many with a place in their path."""


def _exfiltration(text: str) -> Sign | None:
    if "//" not in text:
        return None
    for pattern, hole in ((_IMAGE, _HOLE), (_LINK, _HOLE_IN_QUERY)):
        for match in pattern.finditer(text):
            if hole.search(match[match.lastindex or 0]):
                reason = "a link or an image has a place for what was said, and would send it away"
                return _sign(reason, text, match.start())
    return None


# --- all of them ------------------------------------------------------------------------------------------------------


def _open_order(text: str) -> Sign | None:
    found = orders.find(text)
    if found is not None:
        return _sign(f"it {found.what}", text, found.start)
    undressed = disguises.undressed(text)
    at = tongues.find(undressed)
    if at is not None:
        return _sign(f"it {tongues.WHAT}", text if len(text) == len(undressed) else undressed, at)
    return next(
        (
            _sign(f"in disguise it {found.what}", reading, found.start)
            for reading in _readings(text, undressed)
            if (found := _order_read(reading))
        ),
        None,
    )


def _order_in(text: str) -> Order | None:
    """The first order in a piece, plainly written or in disguise; where it begins is told of the piece as it reads."""
    found = orders.find(text)
    if found is not None:
        return found
    undressed = disguises.undressed(text)
    at = tongues.find(undressed)
    if at is not None:
        return Order(tongues.WHAT, at)
    return next(filter(None, map(_order_read, _readings(text, undressed))), None)


def _readings(text: str, undressed: str) -> list[str]:
    """What a text reads as under its disguise, where that is something else."""
    read = disguises.read(undressed)
    return [
        *([undressed] if undressed != text.lower() else []),
        *([read] if read != undressed else []),
    ]


def _order_read(reading: str) -> Order | None:
    found = orders.find(reading)
    if found is not None:
        return found
    at = tongues.find(reading)
    return None if at is None else Order(tongues.WHAT, at)


_ANYWHERE: Final = (
    _tags, _zero_width, _overridden, _broken_up, _behind_a_gap, _unseen_markup, _coded, _exfiltration,
)  # fmt: skip
