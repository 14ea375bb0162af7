"""What an actor may not write is refused here, where its writer can still be told; `caps.py` has the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..events.envelope import Actor, ActorKind, EventDraft
from ..events.errors import Refused
from ..events.types import AssetRecorded, Event, NoteRecorded, TurnRecorded
from ..projections.items import Item
from ..projections.policy.caps import cap_of, is_own, is_taken

Known = Callable[[str], "Item | None"]
"""The item of an id as it stands now."""

_WHO: Final[dict[ActorKind, str]] = {
    "agent": "an agent",
    "tool": "a tool",
    "web": "a web page",
    "import": "an imported text",
    "system": "the system",
}
_KEYS: Final = ("use_when", "request", "supersedes")
"""What a record may say beyond its text, and a quotation may not."""


def check_caps(write: EventDraft, known: Known) -> None:
    """Let a write pass, if its actor may do that.

    Raises:
        Refused: the message says what the actor may do instead.
    """
    event, actor = write.event, write.actor.kind
    if actor == "owner":
        return
    who, cap = _WHO[actor], cap_of(event, actor)
    if cap == "never":
        raise Refused(
            f"{event.type_name()} is not for {who} to say: only the owner's own words become a rule, a name or a key. "
            "If the owner said it, publish it as the owner's."
        )
    if cap == "own" and not is_own(known(_subject(event)), actor):
        raise Refused(
            f"Only what {who} recorded itself may {who} end. If the owner ends it, publish it as the owner's."
        )
    if cap == "text":
        _check_text(event, write.actor, known)


def _check_text(event: Event, actor: Actor, known: Known) -> None:
    who = _WHO[actor.kind]
    if isinstance(event, AssetRecorded):
        raise Refused(f"What {who} says is kept as a note, not as a {event.kind}. Publish it as note_recorded.")
    if isinstance(event, NoteRecorded):
        given = [field for field in _KEYS if getattr(event, field)]
        if given:
            raise Refused(f"What {who} says gets no {' and no '.join(given)}. Leave that out.")
        if is_taken(known(event.item), actor):
            raise Refused(f"Something else has this id, and {who} may not record it anew. Give the note another id.")
    if isinstance(event, TurnRecorded):
        if actor.kind != "import" and event.role != "tool":
            raise Refused(f"What {who} says is no turn of the {event.role}'s. Publish it with the role `tool`.")
        session = known(_subject(event))
        if any(part.anchor == f"t{event.turn}" and not part.quoted for part in (session.parts if session else ())):
            raise Refused(
                f"Turn {event.turn} of this session was said already, and not by {who}. Give it another number."
            )
    elif not isinstance(event, AssetRecorded | NoteRecorded) and not is_own(known(_subject(event)), actor.kind):
        raise Refused(f"How a session ended is not for {who} to say, unless all of it is. Publish it as the owner's.")


def _subject(event: Event) -> str:
    return (*event.subjects(), "")[0]
