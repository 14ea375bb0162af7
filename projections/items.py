"""Items: what the owner has, as the fold of the log sees it."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..events.envelope import OWNER_ONLY
from ..events.types import ItemKind, Millis

KeySource = Literal["use_when", "stored", "correction", "session", "owner"]


class UseKey(msgspec.Struct, frozen=True, gc=False):
    """A short phrase for a situation in which an item helps (or, negative, does not)."""

    key: str
    """Id of the key: the id of the event it came from, with `/n` behind it when that event gave several."""
    phrase: str
    source: KeySource
    recorded_at: Millis
    weight: float = 1.0
    negative: bool = False
    audience: tuple[str, ...] = OWNER_ONLY


class Part(msgspec.Struct, frozen=True, gc=False):
    """A piece of an item's text that has an address of its own: a section of a document, a turn of a session."""

    text: str
    anchor: str = ""
    """What stands behind # in the address; empty for the whole item."""
    role: str = ""
    """Who said it, for a turn of a session."""


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
    project: str = ""
    recorded_at: Millis = 0
    changed: str = ""
    """Position of the event that last changed what the item says; a pointer is shown again only when this moves."""
    digest: str = ""
    source_uri: str = ""
    supersedes: str | None = None
    superseded_by: str | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    reason: str = ""
    """Why it was closed or replaced, in the owner's words."""
    muted: bool = False
    quarantined: bool = False
    forgotten: bool = False
