"""The part of the service with which the owner says who may be told of what: audiences and mutes."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from ..events.envelope import OWNER_ONLY, draft, new_event_id
from ..events.errors import InvalidEvent, NotFound, Refused
from ..events.log import EventLog
from ..events.types import AudienceChanged, Event, ItemMuted, ItemUnmuted, Millis, TopicMuted, TopicUnmuted
from ..projections.items import Item
from ..projections.meaning.encoders import Encoders
from ..projections.naming import resolving
from ..projections.overlay import Overlay
from ..projections.policy.eligibility import OWNER_NAME, Reader, refusals
from ..projections.policy.mutes import TopicMute
from ..projections.policy.topics import has_words
from ..projections.searcher import Searcher
from .follower import Follower
from .messages import PublishEvent
from .policy_messages import (
    AudienceRequest,
    AudienceResponse,
    ChangeAudienceRequest,
    ChangeAudienceResponse,
    LabelCount,
    LabelsRequest,
    LabelsResponse,
    MutedItem,
    MutedTopic,
    MuteRequest,
    MuteResponse,
    MutesRequest,
    MutesResponse,
    UnmuteRequest,
    UnmuteResponse,
)

PATIENCE_S: Final = 2.0
"""Time that such a question may spend on catching up."""
MOST_TOPICS: Final = 100
"""Topics muted at a time. Each is looked up for every request."""


class PolicyService:
    """The questions and changes about audiences and mutes. The service is one of these; see there for the fields."""

    _log: EventLog
    _encoders: Encoders
    _clock: Callable[[], Millis]
    _follower: Follower
    _one_change: ClassVar[threading.Lock] = threading.Lock()
    """Held from reading to writing: of two changes at a time none may undo the other."""

    def audience(self, request: AudienceRequest) -> AudienceResponse:
        """Who may see an item.

        Raises:
            Refused: somebody else than the owner asks. So do all others here.
            NotFound: there is no such item.
            RecallError: several items have this name; the message lists their ids.
        """
        _for_the_owner(request.reader)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            item, position = self._known(overlay, request.item), str(overlay.position)
        keys = [key for key in item.keys if key.phrase.strip()]
        return AudienceResponse(
            item=item.id,
            kind=item.kind,
            name=item.name,
            audience=item.audience or OWNER_ONLY,
            by_hand=item.by_hand,
            keys=len(keys),
            keys_for_fewer=sum(not {*item.audience} <= {*key.audience, OWNER_NAME} for key in keys),
            position=position,
        )

    def change_audience(self, request: ChangeAudienceRequest) -> ChangeAudienceResponse:
        """Say who may see an item. It stays so, whatever an importer or an agent records of it, until changed again.

        Raises:
            InvalidEvent: a label is none, there are too many, or one to remove is not there. Nothing was changed.
            NotFound, RecallError: as `audience` does.
        """
        _for_the_owner(request.reader)
        with self._one_change:
            with self._follower.at_tail(PATIENCE_S) as (overlay, _):
                item = self._known(overlay, request.item)
            labels = _changed(item, request)
            event = AudienceChanged(item=item.id, audience=labels)
            event_id, position, duplicate = self._said(event, request.event_id)
        return ChangeAudienceResponse(
            item=item.id,
            name=item.name,
            audience=labels,
            before=item.audience or OWNER_ONLY,
            event_id=event_id,
            position=position,
            duplicate=duplicate,
        )

    def labels(self, request: LabelsRequest) -> LabelsResponse:
        """Which labels there are."""
        _for_the_owner(request.reader)
        now = self._clock()
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            counts = overlay.policies.count_by_audience()
            readers = overlay.state.readers
            seen = {name: readers.reader(name, now).scopes for name in readers.grants}
            position = str(overlay.position)
        items: Counter[str] = Counter()
        for audience, number in counts.items():
            for label in dict.fromkeys(audience or OWNER_ONLY):
                items[label] += number
        known = {*items, *(scope for scopes in seen.values() for scope in scopes)}
        found = [
            LabelCount(
                label=label, items=items[label], readers=tuple(sorted(name for name in seen if label in seen[name]))
            )
            for label in known
        ]
        return LabelsResponse(labels=tuple(sorted(found, key=lambda one: (-one.items, one.label))), position=position)

    def mute(self, request: MuteRequest) -> MuteResponse:
        """Ask not to be told of an item or a topic; the very next push obeys.

        Raises:
            InvalidEvent: neither or both are named, or the topic has no word to go by. Nothing was muted.
            NotFound, RecallError: as `audience` does.
        """
        _for_the_owner(request.reader)
        _one_of(request.item, request.topic)
        return self._mute_topic(request) if request.topic.strip() else self._mute_item(request)

    def unmute(self, request: UnmuteRequest) -> UnmuteResponse:
        """Take mutes of an item or a topic back.

        Raises:
            NotFound: nothing like it is muted.
            InvalidEvent, RecallError: as `mute` does.
        """
        _for_the_owner(request.reader)
        _one_of(request.item, request.topic)
        return self._unmute_topic(request) if request.topic.strip() else self._unmute_item(request)

    def mutes(self, request: MutesRequest) -> MutesResponse:
        """What is muted."""
        _for_the_owner(request.reader)
        now = self._clock()
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            mutes, position = overlay.state.mutes, str(overlay.position)
            here = [(session, item) for session, items in mutes.items.items() for item in items]
            muted = [("", overlay.id_of(ordinal)) for ordinal in overlay.policies.muted().tolist()] + here
            found = [(session, overlay.state.get(item)) for session, item in muted]
            held = _held(overlay, mutes.topics, now)
        items = [
            MutedItem(item=item.id, kind=item.kind, name=item.name, session=session)
            for session, item in found
            if item is not None and not item.forgotten
        ]
        topics = [_told(topic, held[topic.mute]) for topic in mutes.topics]
        return MutesResponse(
            items=tuple(items), topics=tuple(sorted(topics, key=lambda each: each.session)), position=position
        )

    def _check_topics(self, events: Iterable[PublishEvent]) -> None:
        for event in events:
            phrase = event.body.get("phrase")
            if event.type == TopicMuted.type_name() and isinstance(phrase, str):
                _check_topic(phrase)

    def _mute_item(self, request: MuteRequest) -> MuteResponse:
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            item = self._known(overlay, request.item)
        event = ItemMuted(item=item.id, reason=request.reason, session=request.session)
        event_id, position, duplicate = self._said(event, request.event_id)
        return MuteResponse(
            mute=event_id, item=item.id, session=request.session, items=1, position=position, duplicate=duplicate
        )

    def _mute_topic(self, request: MuteRequest) -> MuteResponse:
        phrase = " ".join(request.topic.split())
        _check_topic(phrase)
        known, event_id, position, duplicate = None, "", "", True
        with self._one_change:
            with self._follower.at_tail(PATIENCE_S) as (overlay, _):
                topics = overlay.state.mutes.topics
            known = next((t for t in topics if t.session == request.session and _same(t.phrase, phrase)), None)
            if known is None and len(topics) >= MOST_TOPICS:
                raise InvalidEvent(f"{MOST_TOPICS} topics are muted, which is the most. Take some back first.")
            if known is None:
                event = TopicMuted(phrase=phrase, session=request.session)
                event_id, position, duplicate = self._said(event, request.event_id)
                known = TopicMute(event_id, phrase, self._clock(), request.session)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            held = _held(overlay, [known], self._clock())
            position = position or str(overlay.position)
        return MuteResponse(
            mute=known.mute,
            topic=phrase,
            session=request.session,
            items=held[known.mute],
            position=position,
            duplicate=duplicate,
        )

    def _unmute_item(self, request: UnmuteRequest) -> UnmuteResponse:
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            item = _muted_called(overlay, request.item) or self._known(overlay, request.item)
            sessions = {name for name, items in overlay.state.mutes.items.items() if item.id in items}
        undone = request.session in sessions if request.session else item.muted or bool(sessions)
        if not undone:
            raise NotFound("That is not muted. `instant-recall mutes` shows what is.")
        _, position, _ = self._said(ItemUnmuted(item=item.id, session=request.session), request.event_id)
        left = bool(request.session and sessions - {request.session})
        still = "for good" if request.session and item.muted else "in a session" if left else ""
        return UnmuteResponse(item=item.id, still=still, position=position)

    def _unmute_topic(self, request: UnmuteRequest) -> UnmuteResponse:
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            topics = overlay.state.mutes.topics
        meant = [topic for topic in topics if topic.mute == request.topic or _same(topic.phrase, request.topic)]
        gone = [topic for topic in meant if not request.session or topic.session == request.session]
        if not gone:
            raise NotFound("No such topic is muted. `instant-recall mutes` shows what is.")
        first = request.event_id or new_event_id()
        ids = [first, *(str(uuid.uuid5(uuid.UUID(first), topic.mute)) for topic in gone[1:])]
        now = self._clock()
        stored = self._log.append(
            [
                draft(TopicUnmuted(mute=topic.mute), occurred_at=now, event_id=event_id)
                for topic, event_id in zip(gone, ids, strict=True)
            ]
        )
        left = [topic for topic in meant if topic not in gone]
        still = "for good" if any(not topic.session for topic in left) else "in a session" if left else ""
        position = str(max(result.position for result in stored))
        return UnmuteResponse(topics=tuple(topic.phrase for topic in gone), still=still, position=position)

    def _known(self, overlay: Overlay, wanted: str) -> Item:
        """The owner's item of this id, address or name, held back or not."""
        now = self._clock()
        searcher = Searcher(overlay, self._encoders, overlay.state.reader(OWNER_NAME, now), now)
        item = overlay.state.get(resolving.subject(overlay, searcher, wanted, owner=True))
        if item is None or item.forgotten:
            item = resolving.meant(overlay, searcher, wanted)[0]
        return item

    def _said(self, event: Event, event_id: str) -> tuple[str, str, bool]:
        write = draft(event, occurred_at=self._clock(), event_id=event_id or None)
        (result,) = self._log.append([write])
        return write.event_id, str(result.position), result.duplicate


def _changed(item: Item, request: ChangeAudienceRequest) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(request.labels))
    if not wanted:
        raise InvalidEvent("No label was given. `owner` stands for the owner alone. Nothing was changed.")
    if request.change == "set":
        return wanted
    if request.change == "add":
        known = () if item.audience == OWNER_ONLY else item.audience
        return tuple(dict.fromkeys((*known, *wanted)))
    if missing := [label for label in wanted if label not in item.audience]:
        has = ", ".join(item.audience) or OWNER_NAME
        raise InvalidEvent(f"{item.id} does not have the label {missing[0]!r:.70}; it has: {has}. Nothing was changed.")
    return tuple(label for label in item.audience if label not in wanted) or OWNER_ONLY


def _muted_called(overlay: Overlay, wanted: str) -> Item | None:
    """The only muted item with this name, which a search for names would not find, since it is muted."""
    ids = {overlay.id_of(ordinal) for ordinal in overlay.policies.muted().tolist()}
    ids |= {item for items in overlay.state.mutes.items.values() for item in items}
    known = [item for each in sorted(ids) if (item := overlay.state.get(each)) is not None and not item.forgotten]
    found = [item for item in known if _same(item.name, wanted)]
    return found[0] if len(found) == 1 else None


def _held(overlay: Overlay, topics: Iterable[TopicMute], now: Millis) -> dict[str, int]:
    """How many items each topic holds back from the owner that nothing else does."""
    free = refusals(overlay.policies, Reader(OWNER_NAME), now) == 0
    return {
        topic.mute: int(free[overlay.about(topic.phrase)].sum()) if topic.phrase else int(free.sum())
        for topic in topics
    }


def _told(topic: TopicMute, items: int) -> MutedTopic:
    return MutedTopic(mute=topic.mute, phrase=topic.phrase, since=topic.since, session=topic.session, items=items)


def _check_topic(phrase: str) -> None:
    if not has_words(phrase):
        raise InvalidEvent("The topic has no word to go by, such as a name or a thing. Nothing was muted.")


def _same(one: str, other: str) -> bool:
    return bool(one) and " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def _one_of(item: str, topic: str) -> None:
    if bool(item.strip()) == bool(topic.strip()):
        raise InvalidEvent("Name an item or a topic, one of the two. Nothing was changed.")


def _for_the_owner(reader: str) -> None:
    if reader != OWNER_NAME:
        raise Refused("Who may be told of what is the owner's to say. Ask as the reader `owner`.")
