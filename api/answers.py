"""From what the ranker found to the messages and accesses that tell of it."""

from __future__ import annotations

from ..events.codec import encode
from ..events.envelope import Actor, ActorKind, EventDraft, draft
from ..events.position import Position
from ..events.types import ItemOpened, Millis, PushServed, SearchServed, WhyServed
from ..projections.language.words import heard
from ..projections.plain import clean
from ..projections.pointers import address, told
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.push import Push
from ..projections.ranker import Ranked, model
from ..projections.why import Verdict
from .history import View
from .messages import Found, Pointer, PushRequest, SearchRequest, WhyResponse

GIST = 160
"""Characters that a search tells of what something says, where nothing tells what it is for."""


def pushed(request: PushRequest, push: Push) -> PushServed:
    """The event that a push leaves in the log."""
    items = [ranked.evidence.item for ranked, _ in push.pointers]
    return PushServed(
        reader=request.reader,
        session=request.session,
        turn=request.turn,
        items=tuple(item.id for item in items),
        seen=tuple(item.changed for item in items),
        tokens=push.tokens,
        request=heard(request.request),
    )


def searched(request: SearchRequest, found: tuple[Found, ...]) -> SearchServed:
    """The event that a search leaves in the log."""
    items = tuple(one.item for one in found)
    return SearchServed(reader=request.reader, session=request.session, items=items, request=heard(request.query))


def access(
    event: PushServed | SearchServed | ItemOpened | WhyServed, asked_at: Millis, *, token: bool = False
) -> EventDraft:
    """An access as it goes into the log; made before the answer goes out.

    Args:
        event: what was answered.
        asked_at: when it was asked.
        token: the reader has a token of its own. What it opens is in the audit, and teaches nothing: it may open what
            it likes in the name of any session.

    Raises:
        InvalidEvent: the log could not take it (a control character in the session, an id of a thousand letters).
            Then there is no answer either: what nobody could ever find in an audit must not be told.
    """
    kind: ActorKind = "tool" if token and isinstance(event, ItemOpened) else "agent"
    actor = Actor() if event.reader == OWNER_NAME else Actor(kind=kind, name=event.reader)
    made = draft(event, occurred_at=asked_at, actor=actor)
    encode(made)
    return made


def pointer(ranked: Ranked, line: str) -> Pointer:
    """A pointer with its line."""
    item = ranked.evidence.item
    return Pointer(
        item=item.id,
        kind=item.kind,
        name=clean(item.name, GIST),
        address=address(item, ranked.evidence.anchor),
        line=line,
        score=round(ranked.probability, 6),
        route=ranked.route,
    )


def found(ranked: Ranked, mark: str = "") -> Found:
    """One line of a search; `mark` tells of an old version that it is one."""
    item = ranked.evidence.item
    return Found(
        item=item.id,
        kind=item.kind,
        name=clean(item.name, GIST),
        purpose=told(item, ranked.evidence.anchor, GIST),
        mark=clean(mark, GIST),
        address=address(item, ranked.evidence.anchor),
        score=round(ranked.probability, 6),
        route=ranked.route,
    )


def verdict(told: Verdict, view: View, position: Position) -> WhyResponse:
    """Why an item was pushed or not, as it stood in a view at this position."""
    return WhyResponse(
        item=told.item,
        gate=told.gate,
        rule=told.rule,
        cut=told.cut,
        ranks=dict(told.ranks.items()),
        rank=told.rank,
        probability=told.probability,
        bar=told.bar,
        bar_default=model().bar,
        words=told.words,
        position=str(position),
        generation=view.overlay.base.generation,
        stale=not view.complete,
        as_of=view.as_of,
    )
