"""Requests and answers about use keys. Imports only msgspec and event types, like `messages.py`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..events.types import Millis
from .messages import Message, Request


class KeysRequest(Request, frozen=True, kw_only=True):
    """Ask for the use keys of an item, and how well each fits a request."""

    item: str
    """Its id, address or name."""
    request: str = ""
    """What each key is compared with; empty: nothing."""
    reader: str = "owner"
    """Who asks: only keys that this reader may see are told, of an item that this reader may see."""


class Key(Message, frozen=True, kw_only=True):
    """One use key."""

    key: str
    """Its id, which `remove` takes."""
    phrase: str
    """As it was said."""
    need: str
    """What requests are compared with: the phrase without what belongs to one case only, such as numbers and names."""
    source: str
    """`use_when` and `stored` (from the item's record), `correction`, `session` (it helped there), `owner` (added), or
    `rejected` (a pointer was of no use)."""
    event: str
    """Id of the event that it came from."""
    since: Millis
    weight: float
    not_for: bool
    """It says what the item does not help with."""
    audience: tuple[str, ...] = ()
    """Who may see it; told to the owner alone."""
    support: int = 1
    """In how many sessions something alike was asked and the item helped, for a key that came from sessions."""
    shown: int = 0
    """Pointers that it brought in, when it was last weighed by what became of them; told to the owner alone, as are the
    next three. What was neither opened, nor helped, nor rejected was ignored."""
    opened: int = 0
    """Opened and not more."""
    helped: int = 0
    rejected: int = 0
    words: float | None = None
    """How well it fits the request by its words, 0 to 1; null without a request."""
    meaning: float | None = None
    """The same by its meaning, -1 to 1."""


class KeysResponse(Message, frozen=True, kw_only=True):
    """The use keys of an item: those from its record first, then in the order in which they were learned."""

    item: str
    kind: str
    name: str
    keys: tuple[Key, ...] = ()
    best: str = ""
    """Id of the key that fits the request best, words and meaning together; empty when none does."""
    position: str = ""


class KeyEntry(Request, frozen=True, kw_only=True):
    """Phrases for one item."""

    item: str
    """Its id, address or name."""
    use_when: tuple[str, ...] = ()
    """Situations in which it helps, each in the words in which the owner would ask."""
    not_for: tuple[str, ...] = ()
    """Situations that sound like it, in which it does not help."""
    where: str = ""
    """What an error about it is to name, such as `line 7`; empty: its item."""


class AddKeysRequest(Request, frozen=True, kw_only=True):
    """Add use keys to one item or many, all or none. A phrase that an item has already is not added again."""

    entries: tuple[KeyEntry, ...]
    reader: str = "owner"
    """Who asks; nobody else may."""


class KeysAdded(Message, frozen=True, kw_only=True):
    """What became of the phrases for one item."""

    item: str
    name: str
    added: int
    known: int
    """Phrases that it had already."""


class AddKeysResponse(Message, frozen=True, kw_only=True):
    """What was added, by item. When this arrives the keys are durable, and the next push knows them."""

    items: tuple[KeysAdded, ...] = ()
    position: str = ""


class RemoveKeyRequest(Request, frozen=True, kw_only=True):
    """Take a use key away."""

    item: str
    """Its id, address or name."""
    key: str
    """The key's id, or its phrase."""
    reader: str = "owner"
    """Who asks; nobody else may."""
    event_id: str = ""


class KeysTodoRequest(Request, frozen=True, kw_only=True):
    """Ask for items that no use key leads to."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50
    reader: str = "owner"
    """Who asks; nobody else may."""


class Unkeyed(Message, frozen=True, kw_only=True):
    """An item that no use key leads to."""

    item: str
    kind: str
    name: str
    purpose: str
    """What it is for, or else how its text begins."""


class KeysTodoResponse(Message, frozen=True, kw_only=True):
    """Items without a use key: skills, tools and machines first, notes last; of a kind the newest first."""

    items: tuple[Unkeyed, ...] = ()
    total: int = 0
    """How many there are, beyond the limit too."""
    position: str = ""
