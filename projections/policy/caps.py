"""What an event may do, by who says so. Pure: it stands before the fold, so that old logs and every writer are covered.

Only the owner's own words become a rule. What a web page or a tool says stays a quotation for ever: text that can be
found by its words, with a title and without a name, a key or a say in what becomes of anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from msgspec.structs import replace

from ...events import types as ev
from ...events.envelope import Actor, ActorKind, RecordedEvent, UnreadableEvent
from ..items import Item
from . import policies

if TYPE_CHECKING:
    from ..state import State

Cap = Literal["all", "text", "own", "kept", "never"]
"""`all`: whatever the event says. `text`: only what it has to tell, as a quotation. `own`: only of what the same kind
of actor recorded. `kept`: it stays in the log, and moves nothing. `never`: nothing, and it is refused where it is
written.
"""

ACTORS: Final[tuple[ActorKind, ...]] = get_args(ActorKind)
FOREIGN: Final[frozenset[ActorKind]] = frozenset({"tool", "web"})
"""Whose words are somebody else's."""

_TABLE: Final = """
                      owner   agent   tool    web     import  system
asset_recorded        all     all     text    text    all     never
note_recorded         all     all     text    text    all     never
turn_recorded         all     all     text    text    text    never
session_closed        all     all     never   never   text    never
key_added             all     all     never   never   never   never
key_removed           all     all     never   never   never   never
key_weighed           all     never   never   never   never   all
ownership_corrected   all     all     never   never   never   never
item_superseded       all     all     own     own     own     never
item_closed           all     all     own     own     own     never
item_muted            all     all     never   never   never   never
item_unmuted          all     never   never   never   never   never
topic_muted           all     all     never   never   never   never
topic_unmuted         all     never   never   never   never   never
audience_changed      all     never   never   never   never   never
item_quarantined      all     all     never   never   never   all
item_released         all     never   never   never   never   never
reader_granted        all     all     all     never   never   all
reader_revoked        all     all     all     never   never   all
pointer_rejected      all     all     kept    never   never   never
bar_set               all     never   never   never   never   never
ranker_refitted       all     never   never   never   never   all
ranker_reverted       all     never   never   never   never   never
push_served           all     all     kept    never   never   all
search_served         all     all     kept    never   never   all
why_served            all     all     kept    never   never   all
item_opened           all     all     kept    never   never   all
item_helped           all     all     kept    never   never   all
context_reset         all     all     never   never   never   all
item_forgotten        all     never   never   never   never   never
erasure_completed     all     never   never   never   never   all
snapshot_published    all     never   never   never   never   all
log_archived          all     never   never   never   never   all
"""
"""`agent` is the owner's assistant: it records, files and corrects, may hold back and mute, and makes no other rule.
`import` are the owner's own files; of sessions that come from elsewhere only the turns. `system` is what the product
itself writes. An agent or a tool grants only out of a grant of its own: see `readers.py`. What is missing here is the
owner's alone.
"""


def _read(table: str) -> dict[tuple[str, str], Cap]:
    actors, *rows = (line.split() for line in table.split("\n") if line.strip())
    return {(row[0], actor): cap for row in rows for actor, cap in zip(actors, row[1:], strict=True)}  # type: ignore[misc]


CAPS: Final = _read(_TABLE)
"""The table, by type and actor."""
_BY_CLASS: Final[dict[type[ev.Event], dict[str, Cap]]] = {
    cls: {actor: CAPS.get((name, actor), "all" if actor == "owner" else "never") for actor in ACTORS}
    for name, cls in ev.EVENT_TYPES.items()
}


def cap_of(event: ev.Event, actor: ActorKind) -> Cap:
    """What an event of an actor may do."""
    caps = _BY_CLASS.get(type(event))
    return caps[actor] if caps else "never"


def counts(event: ev.Event, actor: ActorKind) -> bool:
    """Whether anything may come of an event of an actor; for whoever reads the log without folding it."""
    return cap_of(event, actor) not in {"kept", "never"}


def counted(state: State, recorded: RecordedEvent) -> RecordedEvent | None:
    """What counts of an event when the log stands as `state` does; None: nothing of it."""
    if recorded.actor.kind == "owner" or isinstance(recorded.event, UnreadableEvent):
        return recorded
    cap = cap_of(recorded.event, recorded.actor.kind)
    if cap == "all":
        return _without_others(state, recorded) if recorded.actor.kind == "import" else recorded
    if cap == "own":
        return recorded if is_own(state.get(getattr(recorded.event, "item", "")), recorded.actor.kind) else None
    return _quoted(state, recorded) if cap == "text" else None


def is_own(item: Item | None, actor: ActorKind) -> bool:
    """Whether an item was recorded by this kind of actor."""
    return item is not None and item.recorded_at != 0 and item.by == actor


def is_taken(item: Item | None, actor: Actor) -> bool:
    """Whether an id stands for something that this actor may not record anew: another's item, or its keys.

    Ids with a reader's name in front are that reader's, whatever stands there: else it could find out what does.
    """
    if item is None or actor.kind not in FOREIGN or has_own_id(item.id, actor):
        return False
    return item.by not in FOREIGN and (item.recorded_at != 0 or bool(item.keys))


def has_own_id(item: str, actor: Actor) -> bool:
    """Whether an id is one of those that a reader with a token records under."""
    return bool(actor.name) and item.partition(":")[2].startswith(f"{actor.name}~")


def _without_others(state: State, recorded: RecordedEvent) -> RecordedEvent:
    """A record from a file, which takes the place of nothing but what came from files."""
    event = recorded.event
    replaced = getattr(event, "supersedes", None)
    if replaced is None or is_own(state.get(replaced), recorded.actor.kind):
        return recorded
    return replace(recorded, event=replace(event, supersedes=None))


def _quoted(state: State, recorded: RecordedEvent) -> RecordedEvent | None:
    event, actor = recorded.event, recorded.actor.kind
    if isinstance(event, ev.AssetRecorded | ev.NoteRecorded):
        known = state.get(event.item)
        if is_taken(known, recorded.actor):
            return None
        audience = recorded.audience
        if known and known.recorded_at and not has_own_id(event.item, recorded.actor):
            audience = policies.shared(known.audience, audience)
        return replace(recorded, event=as_text(event), audience=audience)
    known = state.get(f"session:{getattr(event, 'session', '')}")
    if isinstance(event, ev.TurnRecorded):
        before = next((part for part in known.parts if part.anchor == f"t{event.turn}"), None) if known else None
        if before is not None and not before.quoted:
            return None
        role: ev.Role = event.role if actor == "import" else "tool"
        return replace(recorded, event=replace(event, role=role, project="" if actor in FOREIGN else event.project))
    if isinstance(event, ev.SessionClosed) and is_own(known, actor):
        return replace(recorded, event=replace(event, used=(), helped=()))
    return None


def as_text(event: ev.AssetRecorded | ev.NoteRecorded) -> ev.NoteRecorded:
    """What a record says, as a note: without names but its title, without keys, and in nobody's place."""
    said = [event.text]
    if isinstance(event, ev.AssetRecorded):
        said = list(dict.fromkeys(filter(None, (event.purpose, event.description, event.text))))
    return ev.NoteRecorded(
        item=event.item,
        name=event.name,
        text="\n\n".join(said),
        valid_from=event.valid_from,
        valid_until=event.valid_until,
        digest=event.digest,
    )
