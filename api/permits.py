"""What a reader with a token may publish: for itself, in its own name, for eyes that it has itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from ..events.envelope import OWNER_ONLY, Actor, new_event_id
from ..events.errors import NotFound, Refused
from ..events.types import Millis
from ..projections.naming.resolving import NOTHING
from ..projections.naming.slugs import slug
from ..projections.policy.eligibility import Reader
from .callers import Caller
from .messages import PublishEvent, RememberRequest

_ACCESSES: Final = frozenset({"item_opened", "item_helped", "pointer_rejected"})
_WRITES: Final = frozenset({"note_recorded", "asset_recorded"})
_BELOW: Final[dict[str, frozenset[str]]] = {"sub_agent": frozenset({"web"}), "tool": frozenset({"web"})}
"""Kinds of actor that are trusted less than a reader of some kind: its words may be passed on as theirs."""
_ACTOR: Final[dict[str, Any]] = {"sub_agent": "tool", "tool": "tool", "owner": "owner"}
"""A sub-agent reads what others wrote, and hands it on. What comes with its token is a quotation, like a tool's."""


def actor_of(caller: Caller) -> Actor:
    """As whom a caller stands in the log."""
    return Actor(kind=_ACTOR[caller.kind], name="" if caller.on_the_spot else caller.name)


def own_event_id(reader: str, said: str) -> str:
    """The event id under which something is stored that a reader gave an id: its own, and the same for every try.

    Under the very id that it said it would be told whether somebody else's event has that id, and where; or would keep
    an event out that somebody else is going to store under it.
    """
    try:
        return str(uuid.uuid5(uuid.UUID(said), reader)) if said else ""
    except ValueError:
        return said  # refused where it is written


class Permit:
    """What one reader may publish at one moment.

    Whatever is refused is refused by what the request says alone, or just as a thing that does not exist: a refusal
    tells nothing of what the reader may not see.

    Args:
        caller: whose token came along.
        reader: what its grant lets it see at this moment.
        sees: whether it may see an item.
        now: milliseconds UTC by the server's clock.
    """

    def __init__(self, caller: Caller, reader: Reader, sees: Callable[[str], bool], now: Millis) -> None:
        self._caller = caller
        self._reader = reader
        self._sees = sees
        self._now = now

    def event(self, event: PublishEvent) -> PublishEvent:
        """The event as it may be stored.

        Raises:
            Refused: the reader may not publish this.
            NotFound: it is about an item that the reader does not see.
        """
        if event.type not in _ACCESSES | _WRITES:
            raise Refused(f"A reader may not publish {event.type}. It may tell of accesses, and record things.")
        body = self._access(event) if event.type in _ACCESSES else self._write(event)
        return replace(
            event,
            event_id=own_event_id(self._caller.name, event.event_id),
            body=body,
            actor=self._actor(event.actor),
            audience=self._audience(event.audience),
            # A clock that is fast would make it the newest for a long time.
            occurred_at=min(self._now, self._now if event.occurred_at is None else event.occurred_at),
        )

    def remembered(self, request: RememberRequest) -> RememberRequest:
        """The request as it may be carried out. Raises as `event` does."""
        event_id = own_event_id(self._caller.name, request.event_id) or new_event_id()
        own = self._own(request.kind or "note")
        item = request.item or own + (slug(request.name) or event_id)
        self._check_ids(item, own, request.supersedes)
        audience = self._audience(request.audience)
        return replace(request, event_id=event_id, item=item, actor=self._actor(request.actor), audience=audience)

    def _access(self, event: PublishEvent) -> dict[str, Any]:
        body = dict(event.body)
        if event.type == "item_opened":
            named = body.get("reader", "")
            if named not in ("", self._caller.name):
                raise Refused("The token says who opened it, and that is not this reader. Leave `reader` empty.")
            body["reader"] = self._caller.name
        if not (isinstance(item := body.get("item"), str) and self._sees(item)):
            raise NotFound(NOTHING)
        return body

    def _write(self, event: PublishEvent) -> dict[str, Any]:
        kind = "note" if event.type == "note_recorded" else event.body.get("kind")
        self._check_ids(event.body.get("item"), self._own(kind), event.body.get("supersedes"))
        return event.body

    def _own(self, kind: object) -> str:
        return f"{kind}:{self._caller.name}~"

    def _check_ids(self, item: object, own: str, replaced: object) -> None:
        """Only what a reader has recorded itself may it record anew, or replace: anything else is somebody else's."""
        if not (isinstance(item, str) and item.startswith(own)):
            raise Refused(f"The id of what this reader records begins with {own}. Give one that does, or none.")
        mine = isinstance(replaced, str) and replaced.partition(":")[2].startswith(own.partition(":")[2])
        if replaced and not mine:
            raise Refused("A reader may replace only what it has recorded itself. Record it beside the other.")

    def _actor(self, said: Actor) -> Actor:
        own = actor_of(self._caller)
        return replace(own, kind=said.kind) if said.kind in _BELOW[self._caller.kind] else own

    def _audience(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        if not self._reader.scopes.issuperset(set(labels) - set(OWNER_ONLY)):
            raise Refused("The audience has labels that are not among this reader's scopes. Take those away.")
        return labels
