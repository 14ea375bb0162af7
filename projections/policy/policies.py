"""Who may be told of an item, as events change it: audiences and mutes. Pure, as the fold is.

What is derived carries the labels that all of what it was derived from have. An event that this version cannot read
counts as the strictest that it may say, so that nothing is told because of it that was not told before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ...events.envelope import OWNER_ONLY, RecordedEvent, UnreadableEvent
from ...events.types import AudienceChanged, Event, ItemMuted, ItemUnmuted
from ..items import Part, UseKey
from .mutes import TRUSTED

if TYPE_CHECKING:
    from ..state import State

Audience = tuple[str, ...]
Changed = tuple[str, ...]


def shared(first: Audience, *others: Audience) -> Audience:
    """The labels that all have, in the order of the first; the owner alone when there are none."""
    if all(other == first for other in others):
        return first
    return tuple(label for label in first if all(label in other for other in others)) or OWNER_ONLY


def said_in(state: State, session: str, audience: Audience, item: str) -> Audience:
    """Who may know of what was said of an item in a session, for an audience: those who may know of both.

    The session may be recorded later; so it is kept of which items something was said.
    """
    if session:
        state.corrected[session] = tuple(dict.fromkeys((*state.corrected.get(session, ()), item)))
    known = state.get(f"session:{session}") if session else None
    return shared(audience, known.audience) if known is not None and known.recorded_at else audience


def after_turn(state: State, item: str, audience: Audience, part: Part | None = None) -> Audience:
    """Who may see a session after one more turn of it, or after its end: never more than may see all of it.

    What the owner said by hand of a turn that was there already holds for it still.
    """
    known = state.get(item)
    if known is None or (known.recorded_at == 0 and not known.by_hand):
        return audience
    if known.by_hand and part in known.parts:
        return known.audience
    return shared(known.audience, audience)


def keys_follow(state: State, session: str) -> Changed:
    """Use keys that come from what was said in a session are for nobody who may not see it (any more)."""
    known = state.get(f"session:{session}")
    if known is None:
        return ()
    audience = known.audience
    return _said_keys(state, session, lambda key: replace(key, audience=shared(key.audience, audience)))


def unlearned(state: State, session: str) -> Changed:
    """Take away the use keys that were learned from what was said in a session; what was corrected there stays."""
    return _said_keys(state, session, lambda key: None if key.source == "session" else key)


def _said_keys(state: State, session: str, change: Callable[[UseKey], UseKey | None]) -> Changed:
    """Replace the use keys that come from what was said in a session, or take them away."""
    changed: Changed = ()
    used = (use.item for use in state.uses.of_session(session))
    for item in dict.fromkeys((*used, *state.corrected.get(session, ()))):
        found = state.get(item)
        before = found.keys if found else ()
        keys = tuple(new for key in before if (new := change(key) if key.said_in == session else key) is not None)
        if keys != before:
            changed += state.edit(item, keys=keys)
    return changed


def audience_changed(state: State, _recorded: RecordedEvent, event: AudienceChanged) -> Changed:
    """Fold of AudienceChanged. What the item itself says when it helps goes with it; other keys keep their labels."""
    return _by_hand(state, event.item, event.audience or OWNER_ONLY)


def _by_hand(state: State, item: str, audience: Audience) -> Changed:
    known = state.get(item)
    keys = tuple(
        replace(key, audience=audience) if key.source == "use_when" else key for key in (known.keys if known else ())
    )
    changed = state.edit(item, audience=audience, by_hand=True, keys=keys)
    kind, _, session = item.partition(":")
    return (*changed, *keys_follow(state, session)) if kind == "session" else changed


def muted(state: State, recorded: RecordedEvent, event: ItemMuted | ItemUnmuted) -> Changed:
    """Fold of ItemMuted and ItemUnmuted: for a session, or for good."""
    state.mutes = state.mutes.after(recorded)
    return () if event.session else state.edit(event.item, muted=isinstance(event, ItemMuted))


def topics(state: State, recorded: RecordedEvent, _event: Event) -> Changed:
    """Fold of TopicMuted and TopicUnmuted."""
    state.mutes = state.mutes.after(recorded)
    return ()


def unreadable(state: State, recorded: RecordedEvent, event: UnreadableEvent) -> Changed:
    """Fold of an event that cannot be read: as much of it as keeps things back."""
    state.mutes = state.mutes.after(recorded)
    if event.reader and event.stored_type in {"reader_granted", "reader_revoked"}:
        state.readers.revoke(event.reader)
    item = f"session:{event.session}" if event.stored_type in _OF_A_SESSION and event.session else event.item
    return _strictest(state, recorded, event.stored_type, item) if item else ()


_OF_A_SESSION: Final = frozenset({"turn_recorded", "session_closed"})
_OF_ITS_CONTENT: Final = _OF_A_SESSION | {"asset_recorded", "note_recorded"}


def _strictest(state: State, recorded: RecordedEvent, stored_type: str, item: str) -> Changed:
    known = state.get(item)
    match stored_type:
        case "item_muted" if recorded.actor.kind in TRUSTED:
            return state.edit(item, muted=True)
        case "item_quarantined":
            return state.edit(item, quarantined=True)
        case "audience_changed" if recorded.actor.kind == "owner":
            return _by_hand(state, item, OWNER_ONLY)
        case "item_forgotten":
            return state.forget(item)
        case "item_closed" | "item_superseded":
            until = min(recorded.occurred_at, recorded.recorded_at)
            return state.edit(item, valid_until=until, superseded_by=None, reason="closed")
    if stored_type in _OF_ITS_CONTENT and known is not None and known.recorded_at:
        return state.edit(item, audience=shared(known.audience, recorded.audience))
    return ()
