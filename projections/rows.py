"""Rows: the pieces of an item under which it can be found. The unit of both indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from .items import Item, UseKey
from .language.instances import need_of
from .language.scripts import count_words
from .language.words import index_terms

TOPIC: Final = 0
"""What the item is: its name, purpose and description."""
USE: Final = 1
"""What the item is for: one use key."""
NOT_FOR: Final = 2
"""What the item is not for: a negative use key."""
TEXT: Final = 3
"""A piece of what the item says: a section of a note or document, a turn of a session."""
OPENING: Final = 4
"""How a turn of the owner's begins: a key to the session by meaning alone, since its words are the text's already."""

GROUPS: Final = ("topics", "keys", "texts")
"""Rows whose vectors stand together: topics (and openings) and keys are short and precious, texts are long."""
KEYS: Final = 1
"""The place in GROUPS of use keys."""
BULK: Final = 2
"""The place in GROUPS of those that are long."""
GROUP_OF: Final = (0, 1, 1, BULK, 0)
"""For each kind of row its place in GROUPS."""

OPENING_LENGTH: Final = 40
"""Characters of an opening. Its first words find as much as three times as many do, and are read in one or two ms."""
WORDS_OF_A_TURN: Final = 4
"""A shorter turn of a session ("tapped", "yes do that") says nothing about what anything is about or for."""


class Row(NamedTuple):
    """One findable piece of an item. Two rows are the same piece when all fields are equal."""

    kind: int
    text: str
    anchor: str
    audience: tuple[str, ...]
    weight: float = 1.0


def rows_of(item: Item) -> list[Row]:
    """All rows of an item, in an order that depends on the item alone. None for one that is gone or unrecorded."""
    if item.forgotten or item.recorded_at == 0:
        return []
    head = " ".join(filter(None, (_title(item), item.purpose, item.description)))
    rows = [Row(TOPIC, head, "", item.audience)] if head.strip() else []
    # One section: it says together with its heading what it is about. Several: each stands for itself.
    if len(item.parts) == 1 and item.kind != "session" and not item.description:
        rows = [Row(TEXT, f"{head} {item.parts[0].text}", item.parts[0].anchor, item.audience)]
    else:
        least = WORDS_OF_A_TURN if item.kind == "session" else 1
        for part in item.parts:
            if count_words(part.text) >= least:
                # What the owner asks says what it was about; what is answered is long, and says it less well.
                if part.role == "owner":
                    rows.append(Row(OPENING, _opening(part.text), part.anchor, item.audience))
                rows.append(Row(TEXT, part.text, part.anchor, item.audience))
    return list(dict.fromkeys([*rows, *_rows_of_keys(item)]))


def _rows_of_keys(item: Item) -> Iterable[Row]:
    """One row for what several keys say alike, with the weight of the best.

    How many rows there are must not depend on weights: they are learned from what not everybody may know of.
    """
    best: dict[Row, Row] = {}
    for key in item.keys:
        if key.phrase.strip():
            row = row_of_key(key)
            known = best.setdefault(row._replace(weight=1.0), row)
            if row.weight > known.weight:
                best[row._replace(weight=1.0)] = row
    return best.values()


def row_of_key(key: UseKey) -> Row:
    """The row of a use key: it is found by its need, and not by what belongs to the one case in which it was said."""
    return Row(NOT_FOR if key.negative else USE, need_of(key.phrase), "", key.audience, key.weight)


def _opening(text: str) -> str:
    """The first words of a text, at most OPENING_LENGTH characters."""
    start = " ".join(text[: 4 * OPENING_LENGTH].split())
    if len(start) <= OPENING_LENGTH:
        return start
    cut = start.rfind(" ", 0, OPENING_LENGTH + 1)
    return start[: cut if cut > 0 else OPENING_LENGTH]


def terms_of(rows: Sequence[Row]) -> list[list[str]]:
    """The words of each row for the text index; an opening has none."""
    return index_terms(["" if row.kind == OPENING else row.text for row in rows])


def _title(item: Item) -> str:
    names = [item.project if item.kind == "session" else item.name, *item.aliases]
    return ", ".join(filter(None, names))
