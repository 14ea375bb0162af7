"""Requests and answers about audiences and mutes. Imports only msgspec and event types, like `messages.py`."""

from __future__ import annotations

from typing import Literal

from ..events.types import Millis
from .messages import Message, Request


class AudienceRequest(Request, frozen=True, kw_only=True):
    """Ask who may see an item. Only for the owner."""

    item: str
    """Its id, address or name."""
    reader: str = "owner"


class AudienceResponse(Message, frozen=True, kw_only=True):
    """Who may see an item: the owner, and readers with one of these labels among their scopes."""

    item: str
    kind: str
    name: str
    audience: tuple[str, ...]
    """`owner` alone: nobody else."""
    by_hand: bool
    """The owner set it by hand, so that no later record of the item changes it."""
    keys: int = 0
    """How many use keys it has."""
    keys_for_fewer: int = 0
    """How many of those are not for everybody who may see the item: they were said where fewer listen."""
    position: str = ""


class ChangeAudienceRequest(Request, frozen=True, kw_only=True):
    """Say who may see an item, from the very next push on. Only for the owner."""

    item: str
    """Its id, address or name."""
    labels: tuple[str, ...]
    """1 to 64 letters, digits and `-_.:/` each; at most 32."""
    change: Literal["set", "add", "remove"] = "set"
    """`set` them in place of those it has, or `add` them to those, or `remove` them from those. With the last one gone
    it is for the owner alone."""
    reader: str = "owner"
    event_id: str = ""


class ChangeAudienceResponse(Message, frozen=True, kw_only=True):
    """Who may see an item now, and who could before."""

    item: str
    name: str
    audience: tuple[str, ...]
    before: tuple[str, ...]
    event_id: str
    position: str
    duplicate: bool = False


class LabelsRequest(Request, frozen=True, kw_only=True):
    """Ask which labels there are. Only for the owner."""

    reader: str = "owner"


class LabelCount(Message, frozen=True, kw_only=True):
    """One label."""

    label: str
    items: int
    """How many items carry it; those that are muted, held back or over are among them, forgotten ones are not."""
    readers: tuple[str, ...] = ()
    """Names of the readers that have it among the scopes that count now."""


class LabelsResponse(Message, frozen=True, kw_only=True):
    """Every label that an item carries or a reader has, by the number of items."""

    labels: tuple[LabelCount, ...] = ()
    position: str = ""


class MuteRequest(Request, frozen=True, kw_only=True):
    """Ask not to be told of an item, or of anything about a topic. Only for the owner; it counts for every reader."""

    item: str = ""
    """Its id, address or name. Give this or a topic."""
    topic: str = ""
    """A few words: what has all of them, in any form, in its name and description, in a use key, or in one piece of its
    text is not told of."""
    session: str = ""
    """Only in this session; empty: for good."""
    reason: str = ""
    reader: str = "owner"
    event_id: str = ""


class MuteResponse(Message, frozen=True, kw_only=True):
    """What is muted."""

    mute: str
    """Id of the mute."""
    item: str = ""
    topic: str = ""
    session: str = ""
    items: int = 0
    """How many items are held back by it at present that could be told of without it."""
    position: str = ""
    duplicate: bool = False
    """It was muted already; nothing was stored."""


class UnmuteRequest(Request, frozen=True, kw_only=True):
    """Take a mute back. Only for the owner."""

    item: str = ""
    """Its id, address or name. Give this or a topic."""
    topic: str = ""
    """The phrase, or the id of its mute."""
    session: str = ""
    """Only the mute for this session; empty: all of them."""
    reader: str = "owner"
    event_id: str = ""


class UnmuteResponse(Message, frozen=True, kw_only=True):
    """What was taken back."""

    item: str = ""
    topics: tuple[str, ...] = ()
    still: str = ""
    """What the same item or phrase is muted by still: `for good`, or `in a session`; empty: nothing."""
    position: str = ""


class MutesRequest(Request, frozen=True, kw_only=True):
    """Ask what is muted. Only for the owner."""

    reader: str = "owner"


class MutedItem(Message, frozen=True, kw_only=True):
    """An item that is not told of."""

    item: str
    kind: str
    name: str
    session: str = ""
    """Only there; empty: nowhere."""


class MutedTopic(Message, frozen=True, kw_only=True):
    """A topic that is not told of."""

    mute: str
    """Id of the mute, by which it can be taken back."""
    phrase: str
    """Empty: it cannot be read any more, and nothing at all is told until it is taken back."""
    since: Millis
    session: str = ""
    items: int = 0
    """As in MuteResponse."""


class MutesResponse(Message, frozen=True, kw_only=True):
    """Everything that is muted: for good first, then by session."""

    items: tuple[MutedItem, ...] = ()
    topics: tuple[MutedTopic, ...] = ()
    position: str = ""
