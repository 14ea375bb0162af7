"""Rows: the pieces of an item under which it can be found. The unit of both indexes."""

from __future__ import annotations

from typing import Final, NamedTuple

from .items import Item

TOPIC: Final = 0
"""What the item is: its name, purpose and description."""
USE: Final = 1
"""What the item is for: one use key."""
NOT_FOR: Final = 2
"""What the item is not for: a negative use key."""
TEXT: Final = 3
"""A piece of what the item says: a section of a note or document, a turn of a session."""

GROUPS: Final = ("topics", "keys", "texts")
"""Rows whose vectors stand together: topics and keys are few and precious, texts are many and long."""
BULK: Final = 2
"""The place in GROUPS of those that are many."""
GROUP_OF: Final = (0, 1, 1, BULK)
"""For each kind of row its place in GROUPS."""

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
        rows += [
            Row(TEXT, part.text, part.anchor, item.audience) for part in item.parts if len(part.text.split()) >= least
        ]
    rows += [
        Row(NOT_FOR if key.negative else USE, key.phrase, "", key.audience, key.weight)
        for key in item.keys
        if key.phrase.strip()
    ]
    return list(dict.fromkeys(rows))


def _title(item: Item) -> str:
    names = [item.project if item.kind == "session" else item.name, *item.aliases]
    return ", ".join(filter(None, names))
