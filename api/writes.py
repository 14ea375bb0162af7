"""The writing half of the service: from a request to events in the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..events.codec import event_from
from ..events.envelope import EventDraft, Source, draft, new_event_id
from ..events.log import Appended, EventLog
from ..events.types import AssetRecorded, Event, ItemForgotten, ItemOpened, Millis, NoteRecorded, OwnershipCorrected
from ..projections.items import Item
from ..projections.naming.slugs import slug
from ..projections.pointers import without_blocks
from ..projections.policy.caps import FOREIGN, is_taken
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.policy.quarantine import with_quarantine
from .gate import Known, check_caps
from .messages import (
    CorrectRequest,
    ForgetRequest,
    Published,
    PublishRequest,
    PublishResponse,
    RememberRequest,
    WriteResponse,
)
from .readers import check_published


class Writer:
    """Publish, remember and correct over one owner's log. Safe to use from several threads.

    Args:
        log: the owner's log.
        clock: milliseconds UTC, for events that do not say when they happened.
        known: an item as it stands now, by its id.
        resolve: the owner's item of this id, address or name; it raises when there is none, or several.
    """

    def __init__(
        self, log: EventLog, clock: Callable[[], Millis], known: Known, resolve: Callable[[str], Item]
    ) -> None:
        self._log = log
        self._clock = clock
        self._known = known
        self._resolve = resolve

    def publish(self, request: PublishRequest) -> PublishResponse:
        """See Service.publish."""
        drafts = [
            draft(
                _unpushed(event_from(event.type, event.body)),
                occurred_at=self._clock() if event.occurred_at is None else event.occurred_at,
                actor=event.actor,
                source=event.source,
                audience=event.audience,
                event_id=event.event_id or None,
            )
            for event in request.events
        ]
        for each in drafts:
            check_published(each.event, each.actor, each.occurred_at)
        results = self._stored(drafts)
        published = tuple(
            Published(event_id=d.event_id, position=str(r.position), duplicate=r.duplicate)
            for d, r in zip(drafts, results, strict=True)
        )
        last = max((r.position for r in results), default=self._log.last_position())
        return PublishResponse(events=published, position=str(last))

    def remember(self, request: RememberRequest) -> WriteResponse:
        """See Service.remember."""
        event_id = request.event_id or new_event_id()
        kind = request.kind or "note"
        item = request.item or f"{kind}:{slug(request.name) or event_id}"
        if not request.item and request.actor.kind in FOREIGN and is_taken(self._known(item), request.actor):
            item = f"{kind}:{event_id}"  # a page may be called as something of the owner's is
        supersedes = request.supersedes or None
        if supersedes and request.actor.kind not in FOREIGN:  # those may replace nothing: they are told that alone
            supersedes = self._resolve(supersedes).id
            if not request.item and item in self._versions(supersedes):
                item += f"-{event_id[-12:]}"  # it has the name of what it replaces, and must not be recorded over it
        event: Event
        if request.kind is None:
            event = NoteRecorded(
                item=item,
                name=request.name,
                text=request.text,
                address=request.address or item,
                use_when=request.use_when,
                request=request.request,
                supersedes=supersedes,
            )
        else:
            event = AssetRecorded(
                item=item,
                kind=request.kind,
                name=request.name,
                aliases=request.aliases,
                purpose=request.purpose,
                description=request.text,
                address=request.address or item,
                use_when=request.use_when,
                request=request.request,
                supersedes=supersedes,
            )
        return self._write(
            draft(_unpushed(event), occurred_at=self._clock(), actor=request.actor, source=request.source,
                  audience=request.audience, event_id=event_id),
            item,
        )  # fmt: skip

    def _versions(self, item: str) -> list[str]:
        """Ids of an item and of the versions before it; on a second try as on the first."""
        found: list[str] = []
        following: str | None = item
        while following and following not in found:
            found.append(following)
            known = self._known(following)
            following = known.supersedes if known else None
        return found

    def correct(self, request: CorrectRequest, item: Item) -> WriteResponse:
        """See Service.correct; `item` is the one that the request means."""
        event = OwnershipCorrected(item=item.id, request=request.request, said=request.said)
        # The key is for whom the item is for: it says what the item is good at, in the owner's words.
        return self._write(
            draft(event, occurred_at=self._clock(), source=Source(session=request.session),
                  audience=item.audience, event_id=request.event_id or None),
            item.id,
        )  # fmt: skip

    def forget(self, request: ForgetRequest, item: Item) -> WriteResponse:
        """See Service.forget; `item` is the one that the request means."""
        event = ItemForgotten(item=item.id)
        return self._write(
            draft(event, occurred_at=self._clock(), event_id=request.event_id or None), item.id
        )  # fmt: skip

    def _stored(self, drafts: list[EventDraft]) -> list[Appended]:
        """What became of each draft. What has to be held back is so from the same moment on."""
        for each in drafts:
            check_caps(each, self._known)
        every = list(with_quarantine(drafts))
        theirs = {id(each) for each in drafts}
        return [result for each, result in zip(every, self._log.append(every), strict=True) if id(each) in theirs]

    def _write(self, write: EventDraft, item: str) -> WriteResponse:
        (result,) = self._stored([write])
        return WriteResponse(
            event_id=write.event_id, position=str(result.position), item=item, duplicate=result.duplicate
        )


def _unpushed(event: Event) -> Event:
    """The event without what a push had put into its texts: a harness may hand back the message as the model saw it."""
    if isinstance(event, ItemOpened) and not event.reader:
        event = msgspec.structs.replace(event, reader=OWNER_NAME)
    texts = {field: getattr(event, field) for field in event.forgettable}
    cleaned: dict[str, Any] = {
        field: without_blocks(text).strip("\n") for field, text in texts.items()
        if isinstance(text, str) and without_blocks(text) != text
    }  # fmt: skip
    return msgspec.structs.replace(event, **cleaned) if cleaned else event
