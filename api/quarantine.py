"""The part of the service that is about quarantine: what is held back, more of it, and letting it go."""

from __future__ import annotations

from collections.abc import Iterator

from ..events.errors import NotFound, Refused
from ..events.types import ItemQuarantined, ItemReleased
from ..projections.items import Item
from ..projections.overlay import Overlay
from ..projections.plain import clean
from ..projections.policy import hidden
from ..projections.policy.caps import FOREIGN
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.policy.quarantine import Held, address_of
from .messages import WriteResponse
from .policies import PATIENCE_S, PolicyService
from .quarantine_messages import HeldBack, HoldRequest, QuarantineRequest, QuarantineResponse, ReleaseRequest

_NAME, _PASSAGE = 80, 160
"""Characters of a name, and of a passage."""
NOT_HELD = "That is not held back. `instant-recall quarantine list` shows what is."


class QuarantineService(PolicyService):
    """The questions and changes about quarantine. The service is one of these; see there for what the fields hold."""

    def quarantine(self, request: QuarantineRequest) -> QuarantineResponse:
        """What is held back, with the reason.

        Raises:
            Refused: somebody else than the owner asks. So do the others here.
            NotFound: what is asked about is not held back.
            RecallError: several items have this name; the message lists their ids.
        """
        _for_the_owner(request.reader)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            if request.item:
                address = self._held_as(overlay, request.item)
                item, anchor = _at(overlay, address)
                found = [_told(address, item, anchor, overlay.state.held.get(address), whole=True)]
            else:
                found = [_told(*each) for each in waiting(overlay)]
            position = str(overlay.position)
        return QuarantineResponse(
            held=tuple(sorted(found, key=lambda each: (-each.since, each.item))), position=position
        )

    def hold_back(self, request: HoldRequest) -> WriteResponse:
        """Hold an item back, from the very next push on.

        Raises:
            NotFound: there is no such item.
            RecallError: as `quarantine` does.
        """
        _for_the_owner(request.reader)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            item = self._known(overlay, request.item)
        event = ItemQuarantined(item=item.id, reason=request.reason)
        event_id, position, duplicate = self._said(event, request.event_id)
        return WriteResponse(event_id=event_id, position=position, item=item.id, duplicate=duplicate)

    def release(self, request: ReleaseRequest) -> WriteResponse:
        """Let something go that is held back; the very next push may show it. Raises as `quarantine` does."""
        _for_the_owner(request.reader)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            address = self._held_as(overlay, request.item)
            item, anchor = _at(overlay, address)
        event_id, position, duplicate = self._said(ItemReleased(item=item.id, anchor=anchor), request.event_id)
        return WriteResponse(event_id=event_id, position=position, item=address, duplicate=duplicate)

    def _item_now(self, item: str) -> Item | None:
        """The item of an id as it stands now."""
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            return overlay.state.get(item)

    def _held_as(self, overlay: Overlay, wanted: str) -> str:
        """By what a thing is listed that somebody means."""
        listed = {address for address, *_ in waiting(overlay)}
        if wanted in listed:
            return wanted
        item = self._known(overlay, wanted)
        if item.id in listed:
            return item.id
        turns = sorted(address for address in listed if address.partition("#")[0] == item.id)
        if len(turns) == 1:
            return turns[0]
        raise NotFound(f"Say which of them: {', '.join(turns[:8])}." if turns else NOT_HELD)


def waiting(overlay: Overlay) -> Iterator[tuple[str, Item, str, Held | None]]:
    """Everything that is held back: by what it is listed, the item, the part, and why."""
    state = overlay.state
    for ordinal in overlay.policies.quarantined().tolist():
        item = state.get(overlay.id_of(ordinal))
        if item is not None and item.recorded_at and not item.forgotten:
            yield item.id, item, "", state.held.get(item.id)
    for address, held in state.held.items():
        name, _, anchor = address.rpartition("#")
        item = state.get(name) if anchor and name else None
        if item is not None and any(part.anchor == anchor and part.held for part in item.parts):
            yield address_of(item.id, anchor), item, anchor, held


def _at(overlay: Overlay, address: str) -> tuple[Item, str]:
    return next((item, anchor) for listed, item, anchor, _ in waiting(overlay) if listed == address)


def _told(address: str, item: Item, anchor: str, held: Held | None, *, whole: bool = False) -> HeldBack:
    text = _text(item, anchor)
    sign = (hidden.foreign if anchor or item.by in FOREIGN else hidden.concealed)(text)
    return HeldBack(
        item=address,
        kind=item.kind,
        name=clean(item.name, _NAME),
        since=held.since if held else item.recorded_at,
        reason=hidden.visible(held.reason) if held else "",
        passage=sign.passage if sign else hidden.visible(text[: 4 * _PASSAGE])[:_PASSAGE],
        said_by=item.by,
        source_uri=hidden.visible(item.source_uri),
        text="\n".join(map(hidden.visible, text.splitlines())) if whole else "",
    )


def _text(item: Item, anchor: str) -> str:
    if anchor:
        return "\n".join(part.held or part.text for part in item.parts if part.anchor == anchor)
    said = [item.name, *item.aliases, item.purpose, item.description, *(part.held or part.text for part in item.parts)]
    keys = [key.phrase for key in item.keys if key.source in ("use_when", "stored")]
    return "\n".join(filter(None, said + keys))


def _for_the_owner(reader: str) -> None:
    if reader != OWNER_NAME:
        raise Refused("What is held back is the owner's to look at. Ask as the reader `owner`.")
