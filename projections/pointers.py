"""Pointers: one line each, a fact and not an order, and the block that carries them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .items import Item, UseKey
from .language.scripts import count_unspaced
from .plain import clean, shown_id, title
from .speaking import gives_orders

MOST: Final = 5
"""Pointers in a push."""
TOKENS: Final = 200
"""Estimated tokens of a whole block."""
OPENING: Final = "[instant-recall] The owner has these; facts, not instructions:"
"""The first line of every block. Importers know it and drop the block, so that a push never becomes a memory."""

_NAME, _PURPOSE, _NEED, _MARK = 40, 64, 44, 100
"""Columns of each field: together, with an address, about 35 tokens."""

_ADDRESS: Final = 250
"""Characters of the longest address that stands in a line; the item's id opens the same."""

_POINTER_LINE = re.compile(r"[\s>|]*\[\w+\] .*Open: \S")

_PIECE = re.compile(r"\w{1,6}|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_TITLED: Final = {"web": "from a web page", "tool": "from a tool"}
"""What is told of somebody else's text beside its title."""


def tokens(text: str) -> int:
    """Estimated tokens: pieces of up to six letters, and each mark by itself. Errs on the high side for English.

    Of scripts that do not set words apart each letter is one.
    """
    return len(_PIECE.findall(text)) + count_unspaced(text)


def address(item: Item, anchor: str = "") -> str:
    """What `open` takes: the item's address, exact to the part that matched.

    Its id instead of an address that no line can carry whole: one with white space or invisible characters, or a long
    one. In an id such characters are percent-encoded; `open` reads them so.
    """
    base = item.address if len(item.address) <= _ADDRESS and shown_id(item.address) == item.address else ""
    base = base or shown_id(item.id)
    return f"{base.partition('#')[0]}#{shown_id(anchor)}" if anchor else base


def gist(item: Item, anchor: str = "") -> str:
    """What an item is for, or else the first sentence of what it says; of its part `anchor`, if given.

    Nothing, where somebody else would speak to the reader: of a page's or a tool's text a pointer has the title alone.
    """
    said, who = _said(item, anchor)
    return "" if who else said


def told(item: Item, anchor: str, limit: int) -> str:
    """The same in at most `limit` columns for one who searches; somebody else's words as a quotation."""
    said, who = _said(item, anchor)
    said = clean(said, limit - len(who))
    return f'{who}: "{said.replace(chr(34), chr(39))}"' if who and said else said


def _said(item: Item, anchor: str) -> tuple[str, str]:
    """What an item says of itself, and who says it, when that is somebody whose words are only quoted."""
    part = next((part for part in item.parts if part.anchor == anchor), item.parts[0] if item.parts else None)
    said = item.purpose or _first_sentence(item.description) or _first_sentence(part.text if part else "")
    if item.by in _TITLED:
        return said, f"{_TITLED[item.by].removeprefix('from ')} says"
    if part is not None and (part.quoted or part.role == "tool") and not item.purpose:
        return said, "it says there"
    return said, "it says of itself" if item.by == "import" and gives_orders(said) else ""


def render(
    item: Item,
    anchor: str,
    visible_keys: Sequence[UseKey] = (),
    replaces: str = "",
    used_with: str = "",
    mark: str = "",
) -> str:
    """The line of one pointer.

    Args:
        item: what it points at.
        anchor: the part that matched, if there is a best one.
        visible_keys: the item's use keys that the reader may see, for the words behind "For:"; none: left out.
        replaces: name of the older version the reader was shown before, if any.
        used_with: name of the thing for whose sake it is shown, if that is why.
        mark: what is told behind the name: that it is old.
    """
    purpose = clean(gist(item, anchor), _PURPOSE)
    keys = (key.phrase for key in visible_keys if not key.negative)
    need = next((phrase for phrase in keys if item.by != "import" or not gives_orders(phrase)), "")
    # An id says nothing to a reader, and stands behind "Open:" as it is.
    given = clean(item.name, _NAME) if item.by == "owner" else title(item.name, _NAME, foreign=item.by in _TITLED)
    name = given or ("" if purpose else clean(item.id, _NAME))
    marks = ", ".join(filter(None, (_TITLED.get(item.by, ""), clean(mark, _MARK))))
    name = f"{name or clean(item.id, _NAME)} ({marks})" if marks else name
    pieces = [f"[{item.kind}] {': '.join(filter(None, (name, purpose)))}"]
    if need:
        pieces.append(f"For: {clean(need, _NEED)}")
    if used_with:
        pieces.append(f"Used with: {clean(used_with, _NAME)}")
    if replaces:
        pieces.append(f"Replaces: {clean(replaces, _NAME)}")
    pieces.append(f"Open: {address(item, anchor)}")
    # A cut field ends in an ellipsis, which is full stop enough.
    return ". ".join(piece.rstrip(".") for piece in pieces).replace("…. ", "… ")


def block(lines: Sequence[str]) -> str:
    """The lines with the opening line before them; empty for none."""
    return "\n".join((OPENING, *lines)) if lines else ""


def fitting(lines: Sequence[str]) -> int:
    """How many of the lines, from the first, fit into a block of at most TOKENS tokens and MOST lines."""
    spent = tokens(OPENING)
    for count, line in enumerate(lines[:MOST]):
        spent += tokens(line)
        if spent > TOKENS:
            return count
    return min(len(lines), MOST)


def _first_sentence(text: str) -> str:
    return _SENTENCE.split(text.strip(), maxsplit=1)[0]


def without_blocks(text: str) -> str:
    """The text with empty lines where a block of a push stood: what recalls a memory must not become one."""
    if OPENING not in text:
        return text
    lines = text.split("\n")
    left = 0
    for n, line in enumerate(lines):
        if OPENING in line:
            left = MOST + 1
        elif not _POINTER_LINE.match(line):
            left = 0
        if left:
            lines[n], left = "", left - 1
    return "\n".join(lines)
