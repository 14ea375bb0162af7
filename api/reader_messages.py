"""Requests and answers about readers, shared by server and client. Imports only msgspec and event types."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ..events.types import Millis, ReaderKind
from .messages import Message, Request

_Seconds = Annotated[int, msgspec.Meta(ge=1)]


class GrantRequest(Request, frozen=True, kw_only=True):
    """Let a reader in, or let one in anew: an earlier grant of that name ends, and all that were made out of it."""

    name: str
    """1 to 64 letters, digits and `-_.:/`."""
    scopes: tuple[str, ...] = ()
    """Labels, written as names are; at most 32. It sees what carries one of them."""
    kind: ReaderKind = "sub_agent"
    """`owner` may see and do all that the owner may, and has no scopes."""
    expires_s: _Seconds | None = None
    """Seconds from now until it ends; null: when it is revoked."""
    expires_at: Millis | None = None
    """The same as a moment. Not both."""
    token: bool = True
    """Whether to make a token. Without one only the owner's own software can be this reader, by naming it."""
    reason: str = ""
    parent: str = ""
    """The reader out of whose grant this one is made; empty: the owner makes it."""


class NarrowRequest(Request, frozen=True, kw_only=True):
    """Hand on less than one has: a reader makes a grant out of its own, never wider, never longer."""

    name: str
    """The new reader is called so, behind the name of the one that makes it: `scout/NAME`."""
    scopes: tuple[str, ...]
    expires_s: _Seconds | None = None
    """Seconds from now until it ends; null: with the grant out of which it is made."""
    kind: Literal["", "sub_agent", "tool"] = ""
    """Empty: as the one that makes it (a sub-agent, when the owner does)."""
    reader: str = "owner"
    """Out of whose grant. With a token it is the reader whose token it is."""


class GrantResponse(Message, frozen=True, kw_only=True):
    """What was granted. The token is told here and nowhere else: only its hash is kept."""

    reader: str
    kind: ReaderKind
    scopes: tuple[str, ...]
    expires_at: Millis | None = None
    parent: str = ""
    token: str = ""
    unused: tuple[str, ...] = ()
    """Told to the owner: scopes that nothing carries as yet."""
    event_id: str
    position: str


class RevokeRequest(Request, frozen=True, kw_only=True):
    """End a reader's grant, and all that were made out of it."""

    name: str
    reader: str = "owner"
    """Who asks. The owner may end any; a reader those that were made out of its own."""


class RevokeResponse(Message, frozen=True, kw_only=True):
    """Whose grants ended, from the next request on."""

    ended: tuple[str, ...]
    event_id: str
    position: str


class ReadersRequest(Request, frozen=True, kw_only=True):
    """Ask who may ask."""

    ended: bool = False
    """Those whose grant has ended as well."""


class KnownReader(Message, frozen=True, kw_only=True):
    """One reader. What a token is can be told by nobody any more."""

    name: str
    kind: ReaderKind
    scopes: tuple[str, ...]
    sees: tuple[str, ...]
    """What is left of the scopes by what those above it have now."""
    expires_at: Millis | None = None
    parent: str = ""
    has_token: bool = False
    state: str
    """`active`, `expired` or `revoked`: of itself, or because one above it is."""


class ReadersResponse(Message, frozen=True, kw_only=True):
    """Every reader that the owner let in, by name; those that were made out of another follow it."""

    readers: tuple[KnownReader, ...]
    ended: int = 0
    """How many there are whose grant has ended."""
    position: str = ""
