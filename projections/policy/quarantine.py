"""Quarantine: what is held back until the owner has looked at it, an item or one turn of a session. Pure.

What a page or a tool says is looked through in the fold, so that nothing of it is seen in between. What the owner
imports is looked through where it comes in, since looking takes long: that leaves an event, as the owner's hand does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from ...events import types as ev
from ...events.envelope import Actor, ActorKind, EventDraft, RecordedEvent, draft
from ..items import Item, Part
from . import hidden
from .caps import FOREIGN
from .hidden import Sign

if TYPE_CHECKING:
    from ..state import State

ACTOR: Final = "quarantine of "
"""How the product's own name for the actor begins; behind it is whose text is held back."""


class Held(msgspec.Struct, frozen=True):
    """Why something is held back, and since when."""

    since: ev.Millis
    reason: str = ""
    of: str = ""
    """Whose text it was that made it suspect, as a kind of actor; empty: it was held back by hand."""


Quarantine = dict[str, Held]
"""By `address_of` what is held back."""


def address_of(item: str, anchor: str = "") -> str:
    """By what something held back is named: its id, with the part behind # when it is only that."""
    return f"{item}#{anchor}" if anchor else item


def sign_in(event: ev.Event, actor: Actor) -> Sign | None:
    """What makes the text of an event suspect, as far as its actor's texts are looked through."""
    foreign = actor.kind in FOREIGN or (isinstance(event, ev.TurnRecorded) and event.role == "tool")
    if not foreign and actor.kind != "import":
        return None
    looked = hidden.foreign if foreign else hidden.concealed
    return next((sign for text in _texts(event) if (sign := looked(text)) is not None), None)


def with_quarantine(drafts: Iterable[EventDraft]) -> Iterator[EventDraft]:
    """The drafts, and with each whose text is suspect the event that holds it back; to be appended together.

    An imported item is held back before it comes in, so that it does not matter where a reader stops reading.
    """
    for each in drafts:
        sign = sign_in(each.event, each.actor)
        held = () if sign is None else (holding(each, sign),)
        ahead = each.actor.kind == "import" and isinstance(each.event, ev.AssetRecorded | ev.NoteRecorded)
        yield from (*held, each) if ahead else (each, *held)


def holding(suspect: EventDraft, sign: Sign) -> EventDraft:
    """The event that holds back what a draft says; the same draft gives the same, so that writing may be retried."""
    event = suspect.event
    anchor = f"t{event.turn}" if isinstance(event, ev.TurnRecorded) else ""
    held = ev.ItemQuarantined(item=(*event.subjects(), "")[0], anchor=anchor, reason=sign.reason)
    return draft(
        held,
        occurred_at=suspect.occurred_at,
        actor=Actor(kind="system", name=f"{ACTOR}{suspect.actor.kind}"),
        source=suspect.source,
        audience=suspect.audience,
        event_id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{suspect.event_id} quarantined")),
    )


def looked_through(state: State, recorded: RecordedEvent, changed: tuple[str, ...]) -> tuple[str, ...]:
    """Hold back what an event has just brought in, when it is somebody else's and suspect; the ids it changed."""
    event = recorded.event
    if not changed or not isinstance(event, ev.NoteRecorded | ev.TurnRecorded):
        return changed
    sign = sign_in(event, recorded.actor)
    if sign is not None:
        anchor = f"t{event.turn}" if isinstance(event, ev.TurnRecorded) else ""
        _hold(state, changed[0], anchor, Held(recorded.recorded_at, sign.reason, recorded.actor.kind))
    return changed


def quarantined(state: State, recorded: RecordedEvent, event: ev.ItemQuarantined) -> tuple[str, ...]:
    """Fold of ItemQuarantined."""
    of = recorded.actor.name.removeprefix(ACTOR) if recorded.actor.kind == "system" else ""
    return _hold(state, event.item, event.anchor, Held(recorded.recorded_at, event.reason, of))


def released(state: State, _recorded: RecordedEvent, event: ev.ItemReleased) -> tuple[str, ...]:
    """Fold of ItemReleased."""
    state.held.pop(address_of(event.item, event.anchor), None)
    if not event.anchor:
        return state.edit(event.item, quarantined=False)
    known = state.get(event.item)
    part = _part(known, event.anchor)
    if known is None or part is None or not part.held:
        return ()
    return _with_part(state, known, replace(part, text=part.held, held=""))


def lapsed(state: State, known: Item, actor: ActorKind) -> bool:
    """Whether an item is held back no more since another than who made it suspect records it anew.

    A page must not hold back what the owner has by saying something under its id first.
    """
    held = state.held.get(known.id)
    if held is None or held.of not in FOREIGN or actor in FOREIGN:
        return False
    del state.held[known.id]
    return True


def _hold(state: State, item: str, anchor: str, held: Held) -> tuple[str, ...]:
    known = state.get(item)
    if known is not None and known.forgotten:
        return ()
    address = address_of(item, anchor)
    before = state.held.get(address)
    if before is None or (before.of in FOREIGN and held.of not in FOREIGN):
        state.held[address] = held
    if not anchor:
        return state.edit(item, quarantined=True)
    part = _part(known, anchor)
    if known is None or part is None or not part.text:
        return ()
    return _with_part(state, known, replace(part, text="", held=part.text))


def _with_part(state: State, known: Item, part: Part) -> tuple[str, ...]:
    return state.edit(known.id, parts=tuple(part if each.anchor == part.anchor else each for each in known.parts))


def _part(item: Item | None, anchor: str) -> Part | None:
    return next((part for part in item.parts if part.anchor == anchor), None) if item else None


def _texts(event: ev.Event) -> Iterator[str]:
    for field in ("name", "purpose", "description", "text", "outcome"):
        text = getattr(event, field, "")
        if text:
            yield text
    for field in ("aliases", "use_when"):
        yield from getattr(event, field, ())
