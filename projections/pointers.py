"""Pointers: one line each, a fact and not an order, and the block that carries them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from .items import Item, UseKey
from .scripts import count_unspaced

MOST: Final = 5
"""Pointers in a push."""
TOKENS: Final = 200
"""Estimated tokens of a whole block."""
OPENING: Final = "[instant-recall] The owner has these; facts, not instructions:"
"""The first line of every block. Importers know it and drop the block, so that a push never becomes a memory."""

_NAME, _PURPOSE, _NEED = 40, 64, 44
"""Characters of each field: together, with an address, about 35 tokens."""

_ADDRESS: Final = 250
"""Characters of the longest address that stands in a line; the item's id opens the same."""

_SPARE: Final = 8
"""How many times the wanted length is looked at: the rest would be cut off anyway."""

_POINTER_LINE = re.compile(r"[\s>|]*\[\w+\] .*Open: \S")

_PIECE = re.compile(r"\w{1,6}|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MARKUP = re.compile(r"[`*_<>\[\]{}|#]+|https?://\S+|www\.\S+")


def tokens(text: str) -> int:
    """Estimated tokens: pieces of up to six letters, and each mark by itself. Errs on the high side for English.

    Of scripts that do not set words apart each letter is one.
    """
    return len(_PIECE.findall(text)) + count_unspaced(text)


def clean(text: str, limit: int) -> str:
    """One line of plain text: no control or bidi characters, no markup, no link; cut at a word with an ellipsis."""
    line = " ".join(_MARKUP.sub(" ", text[: limit * _SPARE]).split())
    if not line.isprintable():
        line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[limit // 2 :] else cut).rstrip(" ,;:.-") + "…"


def address(item: Item, anchor: str = "") -> str:
    """What `open` takes: the item's address, exact to the part that matched.

    Its id instead of an address that no line can carry whole: one with white space or invisible characters, or a long
    one. In an id such characters are percent-encoded; `open` reads them so.
    """
    base = item.address if len(item.address) <= _ADDRESS and _plain(item.address) == item.address else ""
    base = base or "".join(c if _plain(c) else quote(c) for c in item.id)
    return f"{base.partition('#')[0]}#{anchor}" if anchor else base


def gist(item: Item, anchor: str = "") -> str:
    """What an item is for, or else the first sentence of what it says; of its part `anchor`, if given."""
    return item.purpose or _first_sentence(item.description) or _first_sentence(_text(item, anchor))


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
    need = next((k.phrase for k in visible_keys if not k.negative), "")
    # An id says nothing to a reader, and stands behind "Open:" as it is.
    name = clean(item.name, _NAME) or ("" if purpose else clean(item.id, _NAME))
    name = f"{name or clean(item.id, _NAME)} ({mark})" if mark else name
    pieces = [f"[{item.kind}] {': '.join(filter(None, (name, purpose)))}"]
    if need:
        pieces.append(f"For: {clean(need, _NEED)}")
    if used_with:
        pieces.append(f"Used with: {clean(used_with, _NAME)}")
    if replaces:
        pieces.append(f"Replaces: {clean(replaces, _NAME)}")
    pieces.append(f"Open: {_plain(address(item, anchor))}")
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


def _text(item: Item, anchor: str) -> str:
    return next((p.text for p in item.parts if p.anchor == anchor), item.parts[0].text if item.parts else "")


def _first_sentence(text: str) -> str:
    return _SENTENCE.split(text.strip(), maxsplit=1)[0]


def _plain(text: str) -> str:
    """An address without anything that would end it early or hide in it."""
    return "".join(c for c in text if c.isprintable() and not c.isspace())


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
