"""Mutes: what the owner asked not to be told of, for a session or for good. A part of the state, and as pure as it.

An item that is muted for good says so itself (`Item.muted`); here are those muted for a session, and the topics.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ...events.envelope import RecordedEvent, UnreadableEvent
from ...events.types import ItemMuted, ItemUnmuted, Millis, TopicMuted, TopicUnmuted

TRUSTED: Final = frozenset({"owner", "agent"})
"""Whose mutes count; see `caps.py`."""


class TopicMute(msgspec.Struct, frozen=True, gc=False):
    """Nothing about a phrase is told."""

    mute: str
    """Id of the event that muted it, by which it is undone."""
    phrase: str
    """Empty: it cannot be read, and so might be anything."""
    since: Millis
    session: str = ""
    """Only there; empty: everywhere."""


class Mutes(msgspec.Struct, frozen=True):
    """The mutes in force after some event."""

    topics: tuple[TopicMute, ...] = ()
    items: dict[str, tuple[str, ...]] = {}
    """By session, ids of the items that are muted in it."""

    def after(self, recorded: RecordedEvent) -> Mutes:
        """With one more event; unchanged by one that is not about mutes for a session or of a topic."""
        match recorded.event:
            case TopicMuted(phrase=phrase, session=session):
                return self._with(TopicMute(recorded.event_id, phrase.strip(), recorded.occurred_at, session))
            case UnreadableEvent(stored_type="topic_muted") if recorded.actor.kind in TRUSTED:
                return self._with(TopicMute(recorded.event_id, "", recorded.occurred_at))
            case TopicUnmuted(mute=mute):
                return msgspec.structs.replace(self, topics=tuple(t for t in self.topics if t.mute != mute))
            case ItemMuted(item=item, session=session) if session:
                return self._muting(session, (*self.items.get(session, ()), item))
            case ItemUnmuted(item=item, session=session):
                return self._unmuting(item, (session,) if session else tuple(self.items))
        return self

    def topics_in(self, session: str) -> list[TopicMute]:
        """The topics that are muted in a session, those muted everywhere among them."""
        return [topic for topic in self.topics if topic.session in {"", session}]

    def _with(self, topic: TopicMute) -> Mutes:
        return msgspec.structs.replace(self, topics=(*self.topics, topic))

    def _muting(self, session: str, items: tuple[str, ...]) -> Mutes:
        rest = {name: muted for name, muted in self.items.items() if name != session}
        now = {session: tuple(dict.fromkeys(items))} if items else {}
        return msgspec.structs.replace(self, items=rest | now)

    def _unmuting(self, item: str, sessions: tuple[str, ...]) -> Mutes:
        mutes = self
        for session in sessions:
            muted = mutes.items.get(session, ())
            if item in muted:
                mutes = mutes._muting(session, tuple(one for one in muted if one != item))
        return mutes
