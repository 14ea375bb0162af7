"""Items: what the owner has, as the fold of the log sees it."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..events.envelope import OWNER_ONLY, ActorKind
from ..events.types import ItemKind, Millis

KeySource = Literal["use_when", "stored", "correction", "session", "owner", "rejected"]


class UseKey(msgspec.Struct, frozen=True, gc=False):
    """A short phrase for a situation in which an item helps (or, negative, does not)."""

    key: str
    """Id of the key: the id of the event it came from, with `/n` behind it when that event gave several."""
    phrase: str
    source: KeySource
    recorded_at: Millis
    weight: float = 1.0
    """What its likeness to a request is multiplied with; see `learning.py` for how it comes about."""
    negative: bool = False
    audience: tuple[str, ...] = OWNER_ONLY
    support: int = 1
    """In how many sessions something alike was asked and the item helped, for a key that came from sessions."""
    session: str = ""
    """The last of those sessions."""
    said_in: str = ""
    """The session in which the phrase was said, for a key that came from one, or from a correction there."""
    judged: float = 1.0
    """What the accesses say of it (see `key_weighed`); 1: nothing."""
    shown: int = 0
    """Pointers that this key brought in, when it was last weighed. Each was rejected, helped, opened or ignored."""
    opened: int = 0
    helped: int = 0
    rejected: int = 0


class Part(msgspec.Struct, frozen=True, gc=False):
    """A piece of an item's text that has an address of its own: a section of a document, a turn of a session."""

    text: str
    anchor: str = ""
    """What stands behind # in the address; empty for the whole item."""
    role: str = ""
    """Who said it, for a turn of a session."""
    quoted: bool = False
    """It came from elsewhere, and is a quotation: nothing of it becomes a key."""
    held: str = ""
    """What it says, while it is held back; `text` is empty then."""


class Replaced(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something took an item's place; see `replacing.py`."""

    by: str
    """Id of what did; empty when nobody said."""
    until: Millis
    """When the item stopped being in force."""
    at: str
    """Position of the event that says so; empty when that was no news."""
    told: bool = False
    """The owner said it of the item itself; else the newer one's record says it, and it holds for whom that is for."""


class Item(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One thing the owner has. Replaced, never changed; see `state.py` for how events make it."""

    id: str
    kind: ItemKind
    name: str = ""
    aliases: tuple[str, ...] = ()
    purpose: str = ""
    description: str = ""
    address: str = ""
    parts: tuple[Part, ...] = ()
    keys: tuple[UseKey, ...] = ()
    audience: tuple[str, ...] = OWNER_ONLY
    by_hand: bool = False
    """The owner said by hand who may see it: no later record changes that."""
    project: str = ""
    recorded_at: Millis = 0
    changed: str = ""
    """Position of the event that last changed what the item says; a pointer is shown again only when this moves."""
    digest: str = ""
    source_uri: str = ""
    by: ActorKind = "owner"
    """What kind of actor recorded it; see `caps.py`."""
    supersedes: str | None = None
    superseded_by: str | None = None
    """What took its place; empty when something did and nobody said what; None when nothing did."""
    replaced: tuple[Replaced, ...] = ()
    """Each that took its place since it was last recorded or closed, of one the latest word; the latest last."""
    replaces: tuple[str, ...] = ()
    """Ids of all whose place it took, `supersedes` last, when there are several."""
    said: str = ""
    """What `changed` was before something took its place; empty when it said something new itself since."""
    valid_before: Millis | None = None
    """What `valid_until` was before something took its place."""
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    reason: str = ""
    """Why it was closed or replaced, in the owner's words."""
    muted: bool = False
    quarantined: bool = False
    forgotten: bool = False
