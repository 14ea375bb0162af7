"""A request cut into words that still know how they were written and what stands between them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from ..language.scripts import PAIRS, THREES, fold, marks

_WORD: Final = re.compile(r"([^\W_]+)(['\u2019][sS]\b)?")
_END: Final = re.compile(r"[.;!?\u2026]\S*\s|\n")
_BREAK: Final = re.compile(r"[.,:]\S*\s|[;!?()\n\u2026\u2013\u2014]|\s-\s")
"""A full stop, comma or colon within a word ("1.5", "lab.local") breaks nothing."""
_QUOTES: Final = frozenset("\"'`\u00ab\u00bb\u2018\u2019\u201c\u201d\u201e\u300c\u300d")


class Token(NamedTuple):
    """One word of a text."""

    word: str
    """In lower case, without accents and its 's; one letter where words are not set apart by spaces."""
    written: str
    """As it was typed, without its 's."""
    owns: bool
    """Whether it stands in the possessive."""
    gap: str
    """What stands between it and the word before."""
    behind: str
    """What stands between it and the next word."""

    @property
    def begins(self) -> bool:
        """Whether a new part of the sentence begins with it."""
        return _BREAK.search(self.gap) is not None

    @property
    def starts(self) -> bool:
        """Whether a new sentence starts with it."""
        return _END.search(self.gap) is not None

    @property
    def opens_quote(self) -> bool:
        """Whether it stands right behind a quotation mark."""
        return self.gap[-1:] in _QUOTES

    @property
    def closes_quote(self) -> bool:
        """Whether it stands right before one."""
        return self.behind[:1] in _QUOTES


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"([{PAIRS}{THREES}]|(?:(?![{PAIRS}{THREES}])(?:[^\W_]|[{marks()}]))+)(['\u2019][sS]\b)?")


def tokens(text: str) -> list[Token]:
    """The words of a text, in order."""
    ascii_only = text.isascii()
    text = text if ascii_only else unicodedata.normalize("NFKC", text)
    spelled = ((match, _folded(match[1])) for match in (_WORD if ascii_only else _word()).finditer(text))
    found = [(match, word) for match, word in spelled if word]  # accents without a letter below them are no word
    edges = [0, *(edge for match, _ in found for edge in match.span()), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    return [
        Token(word, match[1], match[2] is not None, before, behind)
        for (match, word), before, behind in zip(found, gaps, gaps[1:], strict=False)
    ]


def _folded(written: str) -> str:
    return fold(written.casefold().replace("\u0307", ""))
