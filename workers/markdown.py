"""Markdown cut into sections, each with the exact lines it stands on."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import Final

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

WORDS_OF_A_PIECE: Final = 400
"""A section with more words is cut on paragraph borders, so that an address leads to about a page."""
LONGEST_HEADING: Final = 500
"""Characters of a heading that are read."""
MOST_HEADINGS: Final = 20_000
"""Of one file; far above what anybody writes. Each takes some 25 microseconds, and a kilobyte or two of memory."""

_HEADING: Final = re.compile(r"^ {0,3}(?:#{1,6}(?:[ \t].*)?|=+[ \t]*|-+[ \t]*)$", re.MULTILINE)
"""A line that makes a heading, or looks as if it did."""
_VARIATION_SELECTORS: Final = range(0xFE00, 0xFE10)
"""Marks by their class, but invisible: they choose how an emoji looks."""


class Section(msgspec.Struct, frozen=True):
    """A stretch of lines below one heading, or a piece of it when there are many."""

    headings: tuple[str, ...]
    """Plain text of the headings above, outermost first; empty before the first one."""
    anchor: str
    """What stands behind `#` in a link to the heading; unique in the file, empty before the first heading."""
    path: str
    """Slugs of the headings, outermost first, joined by `/`; unique in the file. The file's title is left out, so that
    a new title changes no path: it is the first heading, when that is the only one of level 1."""
    piece: int
    """1, or counted on from there when the section was cut."""
    first: int
    last: int
    """Lines of the file, counted from 1, both included; the heading's own lines are not among them."""
    text: str
    """Exactly those lines, parted by LF."""


class _Slugs:
    """Makes slugs unique as GitHub does: the second `setup` is `setup-1`."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def unique(self, wanted: str) -> str:
        found = wanted
        while found in self._seen:
            self._seen[wanted] += 1
            found = f"{wanted}-{self._seen[wanted]}"
        self._seen[found] = 0
        return found


class _Block(msgspec.Struct, frozen=True):
    """The lines of one block: `first` is its first line, counted from 0, `end` the line after it."""

    first: int
    end: int
    level: int = 0
    """Of a heading, 1 to 6; 0 for all else."""
    heading: str = ""
    speaks: bool = True
    """Whether a reader sees text here: a rule or a comment says nothing."""


def has_too_many_headings(text: str) -> bool:
    """Whether cutting this (lines end in LF) would take seconds: no text that somebody wrote by hand."""
    return sum(1 for _ in islice(_HEADING.finditer(text), MOST_HEADINGS + 1)) > MOST_HEADINGS


def heading_anchor(text: str) -> str:
    """Text as the anchor GitHub would give it: lower case, letters and digits of any script, hyphens for spaces."""
    return "".join(c for c in text.strip().lower() if _in_slug(c)).replace(" ", "-")


def _in_slug(c: str) -> bool:
    return c in "-_ " or (unicodedata.category(c)[0] in "LMN" and ord(c) not in _VARIATION_SELECTORS)


def markdown_sections(text: str, first_line: int = 1) -> list[Section]:
    """The sections of Markdown (lines end in LF) that have text of their own, in order.

    `first_line` is the line of the file on which the text begins. A `#` inside fenced code, a quotation or a list
    starts no section.
    """
    lines = text.split("\n")
    blocks = list(_blocks(text))
    headings = [block for block in blocks if block.level]
    anchors, paths = _Slugs(), _Slugs()
    above: list[tuple[_Block, str]] = []
    sections = _cut(lines, blocks, (0, headings[0].first if headings else len(lines)), Section((), "", "", 1, 0, 0, ""))
    titled = [heading.level for heading in headings].count(1) == 1 and headings[0].level == 1
    # Text before the title has the empty path; only then the title's own text needs another.
    title = (heading_anchor(headings[0].heading) or "section") if titled and sections else ""
    for n, heading in enumerate(headings):
        own = heading_anchor(heading.heading) or "section"
        above = [entry for entry in above if entry[0].level < heading.level] + [(heading, own)]
        end = headings[n + 1].first if n + 1 < len(headings) else len(lines)
        like = Section(
            headings=tuple(block.heading for block, _ in above if block.heading),
            anchor=anchors.unique(own),
            path=paths.unique("/".join([own for _, own in above][1 if titled else 0 :]) or title),
            piece=1,
            first=0,
            last=0,
            text="",
        )
        sections += _cut(lines, blocks, (heading.end, end), like)
    return [_moved(section, first_line) for section in sections]


def text_pieces(text: str, first_line: int = 1) -> list[Section]:
    """Plain text (lines end in LF) as one section, cut where an empty line stands when it is long."""
    lines = text.split("\n")
    filled = [n for n, line in enumerate(lines) if line.strip()]
    starts = [n for n in filled if n == 0 or not lines[n - 1].strip()]
    blocks = [_Block(first, end) for first, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    like = Section((), "", "", 1, 0, 0, "")
    return [_moved(section, first_line) for section in _cut(lines, blocks, (0, len(lines)), like)]


def whole_text(text: str, first_line: int = 1) -> Section | None:
    """All lines (parted by LF) from the first to the last that is not empty, as one section; None when all are."""
    lines = text.split("\n")
    filled = [n for n, line in enumerate(lines) if line.strip()]
    if not filled:
        return None
    first, last = filled[0], filled[-1]
    return Section((), "", "", 1, first + first_line, last + first_line, "\n".join(lines[first : last + 1]))


def first_paragraph(text: str) -> str:
    """Plain text of the first paragraph that has any; empty when there is none."""
    tokens = _block_parser().parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open" and opening.level == 0:
            plain = _plain(inline.content[:4_000])
            if plain:
                return plain
    return ""


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["inline"])


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _blocks(text: str) -> Iterator[_Block]:
    """Top-level blocks, and the entries of top-level lists, in order."""
    tokens: Sequence[Token] = _block_parser().parse(text)
    for n, token in enumerate(tokens):
        if token.map is None or not (token.level == 0 or (token.level == 1 and token.type == "list_item_open")):
            continue
        first, end = token.map
        if token.type == "heading_open":
            yield _Block(first, end, int(token.tag[1:]), _plain(tokens[n + 1].content[:LONGEST_HEADING]))
        else:
            silent = token.type == "hr" or (token.type == "html_block" and token.content.lstrip().startswith("<!--"))
            yield _Block(first, end, speaks=not silent)


def _plain(inline: str) -> str:
    """Inline Markdown as plain text on one line."""
    parsed = _inline_parser().parseInline(inline)
    found: list[str] = []
    for token in parsed[0].children or () if parsed else ():
        if token.type in {"text", "code_inline", "image"}:
            found.append(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            found.append(" ")
    return " ".join("".join(found).split())


def _cut(lines: list[str], blocks: list[_Block], span: tuple[int, int], like: Section) -> list[Section]:
    """The lines of a span as sections like the given one: none when they say nothing, several when they are many."""
    low, high = (bisect_left(blocks, line, key=lambda block: block.first) for line in span)
    inside = [block for block in blocks[low:high] if not block.level]
    if not any(block.speaks for block in inside):
        return []
    found = []
    for piece, (first, end) in enumerate(_pieces(lines, [b.first for b in inside], span), 1):
        filled = [n for n in range(first, end) if lines[n].strip()]
        text = "\n".join(lines[filled[0] : filled[-1] + 1])
        changes = {"piece": piece, "first": filled[0] + 1, "last": filled[-1] + 1, "text": text}
        found.append(msgspec.structs.replace(like, **changes))
    return found


def _pieces(lines: list[str], borders: list[int], span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Spans of about the same number of words, parted only where a block begins."""
    total = sum(_words(lines[n]) for n in range(*span))
    wanted = total / -(-total // WORDS_OF_A_PIECE) if total else 0.0
    first, words = span[0], 0
    starts = sorted({border for border in borders if border > span[0]})
    for start, end in zip([span[0], *starts], [*starts, span[1]], strict=True):
        block = sum(_words(lines[n]) for n in range(start, end))
        if words and words + block / 2 > wanted:
            yield first, start
            first, words = start, 0
        words += block
    yield first, span[1]


def _words(line: str) -> int:
    """Words of a line; in scripts that set no spaces, ten characters count as one."""
    return max(len(line.split()), len(line.strip()) // 10)


def _moved(section: Section, first_line: int) -> Section:
    by = first_line - 1
    return msgspec.structs.replace(section, first=section.first + by, last=section.last + by)
