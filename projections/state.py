"""State: the fold of the log into items and readers. Pure: what it holds depends on the events and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, get_args

import msgspec

from ..events import types as ev
from ..events.envelope import OWNER_ONLY, RecordedEvent, UnreadableEvent
from ..events.position import START, Position
from . import replacing, shown
from .items import Item, KeySource, Part, UseKey
from .language.scripts import count_words
from .language.situations import situations
from .learning import session_keys
from .learning.feedback import Feedback
from .learning.tuning import DEFAULT, Tuning
from .past.uses import Use, Uses
from .policy import caps, policies, quarantine
from .policy.eligibility import Reader
from .policy.mutes import Mutes
from .policy.readers import Readers
from .rows import WORDS_OF_A_TURN


class State:
    """Items and readers after some position, over an optional older state that is never changed.

    `apply` takes events in the order of the log. Applying one that is at or before `position` changes nothing, so
    redelivery does no harm.
    """

    def __init__(self, base: State | None = None) -> None:
        self.base = base
        self.items: dict[str, Item] = {}
        """Items touched since the base."""
        self.position: Position = base.position if base else START
        self.readers: Readers = base.readers.copy() if base else Readers()
        self.shown: shown.Shown = {s: dict(i) for s, i in base.shown.items()} if base else {}
        self.uses: Uses = Uses(base.uses if base else None)
        self.feedback: Feedback = base.feedback.copy() if base else Feedback()
        self.mutes: Mutes = base.mutes if base else Mutes()
        self.corrected: dict[str, tuple[str, ...]] = dict(base.corrected) if base else {}
        """By session: ids of the items that were corrected in it."""
        self.held: quarantine.Quarantine = dict(base.held) if base else {}
        self.tuning: Tuning = base.tuning if base else DEFAULT

    def get(self, item: str) -> Item | None:
        """The item as it is now; None when no event has named it."""
        found = self.items.get(item)
        return found if found is not None or self.base is None else self.base.get(item)

    def all(self) -> Iterator[Item]:
        """Every item, the base's order first, then in order of first mention."""
        seen = self.base.all() if self.base else iter(())
        inherited = set()
        for item in seen:
            inherited.add(item.id)
            yield self.items.get(item.id, item)
        yield from (item for key, item in self.items.items() if key not in inherited)

    def reader(self, name: str, now: ev.Millis) -> Reader:
        """The reader of that name at `now`. One whose grant does not count has no scopes, and so sees nothing."""
        return self.readers.reader(name, now)

    def apply(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """Fold one event in; returns the ids of the items it changed."""
        if recorded.position <= self.position:
            return ()
        self.position = recorded.position
        counted = caps.counted(self, recorded)
        handler = _HANDLERS.get(type(counted.event)) if counted else None
        if counted is None or handler is None:
            return ()
        changed = handler(self, counted, counted.event)
        return quarantine.looked_through(self, counted, changed) if counted.actor.kind in caps.FOREIGN else changed

    def forget(self, item: str) -> tuple[str, ...]:
        """Leave nothing of an item but its id, for good, nor of what was learned from it; returns what it changed."""
        known = self.get(item)
        kind = known.kind if known else _kind_of(item)
        self.items[item] = Item(id=item, kind=kind, audience=OWNER_ONLY, forgotten=True)
        self.feedback.forget(item)
        self.held = {address: held for address, held in self.held.items() if address.partition("#")[0] != item}
        if kind != "session":
            return (item,)
        session = item.partition(":")[2]
        changed = policies.unlearned(self, session)
        self.uses.forget(session)
        return (item, *changed)

    def edit(self, item: str, kind: ev.ItemKind | None = None, **changes: Any) -> tuple[str, ...]:
        """Replace fields of an item (a blank one, unrecorded, when it is new). What was forgotten stays as it is."""
        known = self.get(item)
        if known is None:
            self.items[item] = Item(id=item, kind=kind or _kind_of(item), **changes)
        elif known.forgotten:
            return ()
        else:
            self.items[item] = msgspec.structs.replace(known, kind=kind or known.kind, **changes)
        return (item,)


def _kind_of(item: str) -> ev.ItemKind:
    """The kind that an id promises, for an item that is named before it is recorded."""
    prefix = item.partition(":")[0]
    return prefix if prefix in _KINDS else "note"  # type: ignore[return-value]


_KINDS: Final = frozenset(get_args(ev.ItemKind))


def _ended(recorded: RecordedEvent, said: ev.Millis | None = None) -> ev.Millis:
    """When something stopped: as said, else when it was reported (a writer's fast clock must not postpone it)."""
    return min(recorded.occurred_at, recorded.recorded_at) if said is None else said


def _key(
    recorded: RecordedEvent, n: int, phrase: str, source: KeySource, audience: policies.Audience, session: str = ""
) -> UseKey:
    return UseKey(
        key=f"{recorded.event_id}/{n}",
        phrase=phrase,
        source=source,
        recorded_at=recorded.occurred_at,
        audience=audience,
        session=session,
        said_in=session,
        negative=source == "rejected",
    )


def _record(state: State, recorded: RecordedEvent, event: ev.AssetRecorded | ev.NoteRecorded) -> tuple[str, ...]:
    known = state.get(event.item) or Item(id=event.item, kind="note")
    if known.forgotten:
        return ()
    kind: ev.ItemKind = "note"
    aliases: tuple[str, ...] = ()
    purpose = description = ""
    if isinstance(event, ev.AssetRecorded):
        kind, aliases, purpose, description = event.kind, event.aliases, event.purpose, event.description
    parts = (Part(event.text),) if event.text else ()
    audience = known.audience if known.by_hand else recorded.audience
    # A section that only moved within its file says nothing new.
    same = (known.name, known.aliases, known.purpose, known.description, known.parts) == (
        event.name, aliases, purpose, description, parts,
    )  # fmt: skip
    # Most of what a replay does is this: every field is named once, and nothing is copied twice.
    state.items[event.item] = msgspec.structs.replace(
        known,
        kind=kind,
        name=event.name,
        aliases=aliases,
        purpose=purpose,
        description=description,
        address=event.address,
        parts=parts,
        keys=_keys(recorded, event, known.keys, audience),
        audience=audience,
        recorded_at=recorded.occurred_at,
        changed=(known.said or known.changed) if same and known.changed else str(recorded.position),
        digest=event.digest,
        source_uri=recorded.source.uri,
        by=recorded.actor.kind,
        quarantined=known.quarantined and not quarantine.lapsed(state, known, recorded.actor.kind),
        supersedes=event.supersedes,
        replaces=(),
        **replacing.BACK,
        valid_from=event.valid_from,
        valid_until=event.valid_until,
        reason="",
    )
    if event.supersedes and event.supersedes != event.item:
        # One that is valid only from some day on leaves the older version in force until then.
        until = max(_ended(recorded), event.valid_from or 0)
        # Whoever was shown it as the newest must be told that it is not.
        end = replacing.replaced(state.get(event.supersedes), event.item, until, recorded.position)
        return (event.item, *state.edit(event.supersedes, **end))
    return (event.item,)


_OWN: Final = frozenset({"owner", "import"})
"""Whose descriptions are the owner's own words or files."""


def _keys(
    recorded: RecordedEvent,
    event: ev.AssetRecorded | ev.NoteRecorded,
    known: session_keys.Keys,
    audience: policies.Audience,
) -> tuple[UseKey, ...]:
    """The keys that a record brings: those it names, and those that its description tells of in the owner's words."""
    said: list[tuple[str, KeySource]] = [(phrase, "use_when") for phrase in event.use_when]
    said += [(event.request, "stored")] if event.request else []
    if recorded.actor.kind in _OWN and isinstance(event, ev.AssetRecorded):
        told = situations(event.description, event.text)
        said += [(phrase, "use_when") for phrase in told if phrase not in event.use_when]
    # What the item says of itself is for whom the item is; the request under way was for whom it was told.
    to = {"use_when": audience, "stored": recorded.audience}
    keys = [_key(recorded, n, phrase, source, to[source]) for n, (phrase, source) in enumerate(said)]
    return session_keys.recorded(keys, known)


def _turn(state: State, recorded: RecordedEvent, event: ev.TurnRecorded) -> tuple[str, ...]:
    item = f"session:{event.session}"
    known = state.get(item)
    kept = tuple(p for p in known.parts if p.anchor != f"t{event.turn}") if known else ()
    quoted = caps.cap_of(event, recorded.actor.kind) == "text"
    part = Part(event.text, f"t{event.turn}", event.role, quoted)
    # A turn for more eyes than the session has must not widen who sees the session, nor may it be seen by more.
    audience = policies.after_turn(state, item, recorded.audience, part)
    changed = state.edit(
        item,
        "session",
        name=event.session,
        project=event.project or (known.project if known else ""),
        address=item,
        parts=(*kept, part),
        audience=audience,
        recorded_at=recorded.occurred_at,
        # Not at every turn: a session that goes on is not news to somebody who was pointed at it.
        changed=known.changed if known and known.changed else str(recorded.position),
        source_uri=recorded.source.uri,
        by=known.by if known and known.recorded_at else recorded.actor.kind,
    )
    same = known is not None and known.audience == audience
    return changed if same else (*changed, *policies.keys_follow(state, event.session))


def _session_closed(state: State, recorded: RecordedEvent, event: ev.SessionClosed) -> tuple[str, ...]:
    item = f"session:{event.session}"
    known = state.get(item)
    audience = policies.after_turn(state, item, recorded.audience)
    changed = state.edit(
        item,
        "session",
        name=event.session,
        purpose=event.outcome,
        project=event.project or (known.project if known else ""),
        address=item,
        audience=audience,
        recorded_at=recorded.occurred_at,
        changed=str(recorded.position),
        said="",
    )
    said = [part.text for part in known.parts if part.role == "owner" and not part.quoted] if known else []
    asked = [text for text in said if count_words(text) >= WORDS_OF_A_TURN]
    keys = [_key(recorded, n, phrase, "session", audience, event.session) for n, phrase in enumerate(asked)]
    if known is None or known.audience != audience:
        changed += policies.keys_follow(state, event.session)
    for helped in event.helped:
        changed += _edit_keys(state, helped, lambda known: session_keys.learned(known, keys))
    for used in event.used:
        state.feedback.happened(event.session, used, opened=True)
    for used in dict.fromkeys((*event.used, *event.helped)):
        _use(state, recorded, event.session, used, helped=used in event.helped)
    return tuple(dict.fromkeys(changed))


def _use(state: State, recorded: RecordedEvent, session: str, item: str, *, helped: bool) -> None:
    """Note that an item was used in a session, for those who may know of the event."""
    state.feedback.happened(session, item, opened=not helped, helped=helped)
    known = state.get(f"session:{session}")
    if session and not (known and known.forgotten):
        state.uses.add(session, Use(item, recorded.occurred_at, recorded.audience, helped))


def _opened(state: State, recorded: RecordedEvent, event: ev.ItemOpened) -> tuple[str, ...]:
    _use(state, recorded, event.session, event.item, helped=False)
    return ()


def _helped(state: State, recorded: RecordedEvent, event: ev.ItemHelped) -> tuple[str, ...]:
    _use(state, recorded, event.session, event.item, helped=True)
    return ()


def _asker(recorded: RecordedEvent) -> str | None:
    """Whose requests an event may tell of to those whom it is for; None: anybody's, since it is for the owner alone."""
    return None if recorded.audience == OWNER_ONLY else recorded.actor.name


def _rejected(state: State, recorded: RecordedEvent, event: ev.PointerRejected) -> tuple[str, ...]:
    request = event.request.strip() or state.feedback.request_for(event.session, event.item, _asker(recorded))
    state.feedback.happened(event.session, event.item, rejected=True)
    return _add_key(state, event.item, _key(recorded, 0, request, "rejected", recorded.audience)) if request else ()


def _add_key(state: State, item: str, key: UseKey) -> tuple[str, ...]:
    return _edit_keys(state, item, lambda known: session_keys.added(known, key))


def _edit_keys(state: State, item: str, change: Callable[[session_keys.Keys], session_keys.Keys]) -> tuple[str, ...]:
    """Replace the keys of an item, unless they stay the same."""
    known = state.get(item)
    before = known.keys if known else ()
    after = change(before)
    return () if after == before else state.edit(item, keys=after)


def _key_weighed(state: State, _recorded: RecordedEvent, event: ev.KeyWeighed) -> tuple[str, ...]:
    return _edit_keys(state, event.item, lambda known: session_keys.judged(known, event))


def _key_added(state: State, recorded: RecordedEvent, event: ev.KeyAdded) -> tuple[str, ...]:
    key = _key(recorded, 0, event.phrase, "owner", recorded.audience)
    return _add_key(state, event.item, msgspec.structs.replace(key, negative=event.negative))


def _key_removed(state: State, _recorded: RecordedEvent, event: ev.KeyRemoved) -> tuple[str, ...]:
    known = state.get(event.item)
    if known is None:
        return ()
    return state.edit(event.item, keys=tuple(k for k in known.keys if k.key != event.key))


def _corrected(state: State, recorded: RecordedEvent, event: ev.OwnershipCorrected) -> tuple[str, ...]:
    changed: tuple[str, ...] = ()
    session = recorded.source.session
    audience = policies.said_in(state, session, recorded.audience, event.item)
    for n, phrase in enumerate(filter(None, (event.request, event.said))):
        changed += _add_key(state, event.item, _key(recorded, n, phrase, "correction", audience, session))
    return changed[:1]


def _superseded(state: State, recorded: RecordedEvent, event: ev.ItemSuperseded) -> tuple[str, ...]:
    end = replacing.replaced(state.get(event.item), event.by or "", _ended(recorded))
    changed = state.edit(event.item, reason=event.reason or "replaced", **end)
    if changed and event.by and event.by != event.item:
        changed += state.edit(event.by, **replacing.replacing(state.get(event.by), event.item))
    return changed


def _closed(state: State, recorded: RecordedEvent, event: ev.ItemClosed) -> tuple[str, ...]:
    # No old version of something any more: that may be asked for, what is closed may not.
    end = replacing.BACK | {"valid_until": _ended(recorded, event.closed_at)}
    return state.edit(event.item, reason=event.reason or "closed", **end)


def _readers(state: State, recorded: RecordedEvent, _event: ev.Event) -> tuple[str, ...]:
    state.readers.take(recorded)
    return ()


def _pushed(state: State, recorded: RecordedEvent, event: ev.PushServed) -> tuple[str, ...]:
    state.feedback.pushed(_ended(recorded), event.session, event.items, event.request, event.reader)
    if event.session and event.items:
        seen = dict(zip(event.items, event.seen, strict=False))
        shown.remember(state.shown, event.session, event.reader, seen)
    return ()


def _context_reset(state: State, _recorded: RecordedEvent, event: ev.ContextReset) -> tuple[str, ...]:
    shown.reset(state.shown, event.session)
    return ()


def _tuned(state: State, recorded: RecordedEvent, _event: ev.Event) -> tuple[str, ...]:
    state.tuning = state.tuning.after(recorded)
    return ()


def _forgotten(state: State, _recorded: RecordedEvent, event: ev.ItemForgotten) -> tuple[str, ...]:
    return state.forget(event.item)


_HANDLERS: Final[dict[type[ev.Event], Callable[[State, RecordedEvent, Any], tuple[str, ...]]]] = {
    ev.AssetRecorded: _record,
    ev.NoteRecorded: _record,
    ev.TurnRecorded: _turn,
    ev.SessionClosed: _session_closed,
    ev.KeyAdded: _key_added,
    ev.KeyRemoved: _key_removed,
    ev.KeyWeighed: _key_weighed,
    ev.PointerRejected: _rejected,
    ev.OwnershipCorrected: _corrected,
    ev.ItemSuperseded: _superseded,
    ev.ItemClosed: _closed,
    ev.ItemMuted: policies.muted,
    ev.ItemUnmuted: policies.muted,
    ev.TopicMuted: policies.topics,
    ev.TopicUnmuted: policies.topics,
    ev.AudienceChanged: policies.audience_changed,
    ev.ItemQuarantined: quarantine.quarantined,
    ev.ItemReleased: quarantine.released,
    ev.ReaderGranted: _readers,
    ev.ReaderRevoked: _readers,
    ev.PushServed: _pushed,
    ev.ContextReset: _context_reset,
    ev.ItemOpened: _opened,
    ev.ItemHelped: _helped,
    ev.ItemForgotten: _forgotten,
    ev.BarSet: _tuned,
    ev.RankerRefitted: _tuned,
    ev.RankerReverted: _tuned,
    UnreadableEvent: policies.unreadable,
}
