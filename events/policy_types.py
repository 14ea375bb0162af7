"""Kinds of event about who may be told of what; offered by `types.py` with all others."""

from __future__ import annotations

from typing import ClassVar

from .event import Event


class AudienceChanged(Event, frozen=True, tag="audience_changed"):
    """The owner said by hand who may see an item. It stays so, whatever later records of the item say, until changed.

    For a session there is one exception: a turn that is recorded later for fewer still narrows it.
    """

    item: str
    audience: tuple[str, ...] = ()
    """Labels; none: the owner alone."""


class TopicMuted(Event, frozen=True, tag="topic_muted"):
    """The owner asked not to be told of anything about a phrase; `topics.py` in projections says what that means."""

    forgettable: ClassVar[tuple[str, ...]] = ("phrase",)

    phrase: str = ""
    session: str = ""
    """Only in this session; empty: for good."""


class TopicUnmuted(Event, frozen=True, tag="topic_unmuted"):
    """The owner took a topic mute back."""

    mute: str
    """Id of the event that muted the topic."""
