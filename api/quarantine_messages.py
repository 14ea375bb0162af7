"""Requests and answers about what is held back. Imports only msgspec and event types, like `messages.py`."""

from __future__ import annotations

from ..events.types import Millis
from .messages import Message, Request


class QuarantineRequest(Request, frozen=True, kw_only=True):
    """Ask what is held back until the owner has looked at it."""

    item: str = ""
    """Only this one (its id, address or name; a turn of a session as it is listed), with all of its text."""
    reader: str = "owner"
    """Who asks; nobody else may."""


class HeldBack(Message, frozen=True, kw_only=True):
    """One thing that is held back. No field holds a character that cannot be seen: such are named, like <U+200B>."""

    item: str
    """By what it is released: its id, with the turn behind # when only a turn of a session is held back."""
    kind: str
    name: str
    since: Millis
    reason: str
    passage: str = ""
    """What looks suspect in it, or else how it begins."""
    said_by: str = ""
    """What kind of actor recorded it: `web`, `tool`, `import`, `agent` or `owner`."""
    source_uri: str = ""
    text: str = ""
    """All of it, line by line; only when it was asked for by itself."""


class QuarantineResponse(Message, frozen=True, kw_only=True):
    """What is held back, the latest first."""

    held: tuple[HeldBack, ...] = ()
    position: str = ""


class HoldRequest(Request, frozen=True, kw_only=True):
    """Hold an item back until it is released: it is in no answer to anybody."""

    item: str
    """Its id, address or name."""
    reason: str = ""
    reader: str = "owner"
    """Who asks; nobody else may."""
    event_id: str = ""


class ReleaseRequest(Request, frozen=True, kw_only=True):
    """Let something go that is held back; the very next push may show it."""

    item: str
    """As it is listed: its id, with the turn behind # when only a turn is held back; or its address or name."""
    reader: str = "owner"
    """Who asks; nobody else may."""
    event_id: str = ""
