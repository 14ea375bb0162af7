"""A history with everything taken out of it that one reader may not see: what an owner without those things had lived.

What is hidden is read off the items and events themselves; the product's own check is on trial here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from instant_recall.events import types as ev
from instant_recall.events.envelope import RecordedEvent
from instant_recall.projections.items import Item
from instant_recall.projections.state import State

Labels = tuple[str, ...]

ABOUT_ONE = (ev.KeyAdded, ev.OwnershipCorrected, ev.PointerRejected, ev.ItemOpened, ev.ItemHelped)
"""Events that add something to an item, for those who meet their labels."""
RULES = (
    *(ev.ItemClosed, ev.ItemMuted, ev.ItemUnmuted, ev.ItemQuarantined, ev.ItemReleased, ev.KeyRemoved),
    ev.AudienceChanged,
)
"""Events that say of an item what holds for everybody."""
LEARNED = (ev.KeyWeighed, ev.RankerRefitted, ev.RankerReverted)
"""What is learned from all that happened, and so for the owner alone."""


def redact(events: Sequence[RecordedEvent], reader: str, scopes: frozenset[str]) -> list[RecordedEvent]:
    """The events that a reader with these scopes may know of, each without what it says of hidden things."""
    return list(_Redaction(events, reader, scopes).events())


class _Redaction:
    """Judges by how things stand after the last event."""

    def __init__(self, events: Sequence[RecordedEvent], reader: str, scopes: frozenset[str]) -> None:
        self._all = events
        self._reader = reader
        self._scopes = scopes
        state = State()
        for event in events:
            state.apply(event)
        self._items: dict[str, Item] = {item.id: item for item in state.all()}

    def meets(self, labels: Labels) -> bool:
        return not self._scopes.isdisjoint(labels)

    def hidden(self, item: str) -> bool:
        """Whether the reader may not know of an item that there is."""
        found = self._items.get(item)
        if found is None or found.recorded_at == 0:
            return True
        return found.forgotten or found.muted or found.quarantined or not self.meets(found.audience)

    def events(self) -> Iterator[RecordedEvent]:
        for recorded in self._all:
            event = self._redacted(recorded.event, recorded)
            if event is not None:
                yield msgspec.structs.replace(recorded, event=event)

    def _redacted(self, event: ev.Event, recorded: RecordedEvent) -> ev.Event | None:
        keep: Callable[[str], bool] = lambda item: not self.hidden(item)  # noqa: E731
        match event:
            case ev.AssetRecorded() | ev.NoteRecorded():
                # The labels that an item has now are those of all that was ever recorded of it.
                over = event.supersedes if event.supersedes and keep(event.supersedes) else None
                return msgspec.structs.replace(event, supersedes=over) if keep(event.item) else None
            case ev.TurnRecorded():
                return event if self._tells(event.session, recorded) else None
            case ev.SessionClosed():
                if not self._tells(event.session, recorded):
                    return None
                used, helped = (tuple(filter(keep, items)) for items in (event.used, event.helped))
                return msgspec.structs.replace(event, used=used, helped=helped)
            case ev.ItemSuperseded():
                by = event.by if event.by and keep(event.by) else None
                return msgspec.structs.replace(event, by=by) if keep(event.item) else None
            case ev.PushServed():
                if event.reader != self._reader:
                    return None
                shown = [(item, seen) for item, seen in zip(event.items, event.seen, strict=True) if keep(item)]
                return msgspec.structs.replace(event, items=tuple(i for i, _ in shown), seen=tuple(s for _, s in shown))
            case ev.ReaderGranted() | ev.ReaderRevoked():
                return event if event.reader == self._reader else None
            case ev.ItemForgotten():
                return None
        return event if self._stays(event, recorded) else None

    def _tells(self, session: str, recorded: RecordedEvent) -> bool:
        """Whether a part of a session is for the reader. What was narrower at first, the owner has opened by hand."""
        found = self._items.get(f"session:{session}")
        if found is None or self.hidden(found.id):
            return False
        return found.by_hand or self.meets(recorded.audience)

    def _stays(self, event: ev.Event, recorded: RecordedEvent) -> bool:
        if isinstance(event, LEARNED):
            return False
        if isinstance(event, RULES):
            return not self.hidden(event.item)
        if isinstance(event, ABOUT_ONE):
            session = f"session:{getattr(event, 'session', '')}"
            secret = session in self._items and self.hidden(session)
            in_secret = secret and not isinstance(event, ev.PointerRejected)
            return not self.hidden(event.item) and self.meets(recorded.audience) and not in_secret
        return True
