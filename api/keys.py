"""The part of the service that is about use keys: reading, adding and removing them, and what has none yet."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ..events.envelope import EventDraft, draft
from ..events.errors import InvalidEvent, NotFound, RecallError, Refused
from ..events.log import EventLog
from ..events.types import KeyAdded, KeyRemoved, Millis
from ..projections.items import Item, UseKey
from ..projections.language.instances import need_of
from ..projections.meaning.encoders import Encoders
from ..projections.naming import resolving
from ..projections.overlay import Overlay
from ..projections.plain import clean
from ..projections.pointers import gist, without_blocks
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.rows import row_of_key
from ..projections.searcher import Searcher
from .follower import Follower
from .key_messages import (
    AddKeysRequest,
    AddKeysResponse,
    Key,
    KeyEntry,
    KeysAdded,
    KeysRequest,
    KeysResponse,
    KeysTodoRequest,
    KeysTodoResponse,
    RemoveKeyRequest,
    Unkeyed,
)
from .messages import WriteResponse

PATIENCE_S: Final = 2.0
"""Time that a question about keys may spend on catching up."""
LONGEST_PHRASE: Final = 300
"""Characters of a phrase; a longer one is a text, and says no single need."""
MOST_PHRASES: Final = 20
"""Phrases for one item at once."""
MOST_NAMED: Final = 10
"""Errors that are told at once."""
_GIST: Final = 160
"""Characters of what an item is for, where it is told what has no key."""
_COUNTS: Final = ("shown", "opened", "helped", "rejected")
"""What is told of a key to the owner alone: how often it was of use, other readers are not to learn."""
_ORDER: Final = ("skill", "tool", "machine", "approach", "decision", "document", "note")
"""What is most worth a key first: what is done with notes is mostly found by their own words. A session needs none."""


class KeyService:
    """The questions and changes about use keys. The service is one of these; see there for what the fields hold."""

    _log: EventLog
    _encoders: Encoders
    _clock: Callable[[], Millis]
    _follower: Follower

    def keys(self, request: KeysRequest) -> KeysResponse:
        """The use keys of an item that the reader may see, and how well each fits a request.

        Raises:
            NotFound: there is no such item, or the reader may not see it; the two cannot be told apart.
            RecallError: several items have this name; the message lists their ids.
        """
        owner = request.reader == OWNER_NAME
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            searcher = self._searcher_of(overlay, request.reader)
            item = _meant(overlay, searcher, request.item, owner=owner)
            seen = searcher.visible_keys(item)
            fits = searcher.row_fits(request.request, item) if request.request.strip() else {}
            position = str(overlay.position) if owner else ""
        keys = tuple(_told(key, fits.get(row_of_key(key)._replace(weight=1.0)), owner=owner) for key in seen)
        best = max((key for key in keys if _fit(key) > 0 and not key.not_for), key=_fit, default=None)
        return KeysResponse(
            item=item.id, kind=item.kind, name=item.name, keys=keys, best=best.key if best else "", position=position
        )

    def add_keys(self, request: AddKeysRequest) -> AddKeysResponse:
        """Add use keys, all or none. What an item has already is not added again, so that repeating it does no harm.

        Raises:
            Refused: somebody else than the owner asks.
            InvalidEvent: something cannot be added; the message names each such entry. Nothing was added.
            NotFound: it is one entry that stands in no file, and there is no such item.
        """
        _for_the_owner(request.reader)
        problems: list[str] = []
        missing: NotFound | None = None
        wanted: dict[str, _Wanted] = {}
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            searcher = self._searcher_of(overlay, OWNER_NAME)
            for entry in request.entries:
                try:
                    item = _meant(overlay, searcher, entry.item, owner=True)
                    wanted.setdefault(item.id, _Wanted(item, {})).take(entry)
                except RecallError as error:
                    missing = error if isinstance(error, NotFound) else missing
                    problems.append(f"{_place(entry)}: {error}")
        if problems:
            if missing is not None and len(request.entries) == 1 and not request.entries[0].where:
                raise missing
            raise InvalidEvent(" ".join([*_first(problems), "Nothing was added."]))
        new = [(each, phrase, negative) for each in wanted.values() for phrase, negative in each.new()]
        drafts = [self._added(each.item, phrase, negative=negative) for each, phrase, negative in new]
        stored = self._log.append(drafts) if drafts else []
        last = max((result.position for result in stored), default=self._log.last_position())
        return AddKeysResponse(items=tuple(each.outcome() for each in wanted.values()), position=str(last))

    def remove_key(self, request: RemoveKeyRequest) -> WriteResponse:
        """Take a use key away; the very next push does without it.

        Raises:
            Refused: somebody else than the owner asks.
            NotFound: there is no such item, or it has no such key.
            RecallError: several items have this name, or several keys this phrase; the message lists their ids.
        """
        _for_the_owner(request.reader)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            item = _meant(overlay, self._searcher_of(overlay, OWNER_NAME), request.item, owner=True)
        key = _key_of(item, request.key)
        gone = KeyRemoved(item=item.id, key=key.key)
        write = draft(gone, occurred_at=self._clock(), audience=item.audience, event_id=request.event_id or None)
        (result,) = self._log.append([write])
        return WriteResponse(
            event_id=write.event_id, position=str(result.position), item=item.id, duplicate=result.duplicate
        )

    def keys_todo(self, request: KeysTodoRequest) -> KeysTodoResponse:
        """What the owner has that no use key leads to. Looks at every item: slow where there are very many.

        Raises:
            Refused: somebody else than the owner asks.
        """
        _for_the_owner(request.reader)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            searcher = self._searcher_of(overlay, OWNER_NAME)
            found = [item for item in searcher.visible_items() if item.kind in _ORDER and not _has_a_key(item)]
            position = str(overlay.position)
        found.sort(key=lambda item: (_ORDER.index(item.kind), -item.recorded_at, item.id))
        return KeysTodoResponse(
            items=tuple(
                Unkeyed(item=item.id, kind=item.kind, name=item.name, purpose=clean(gist(item), _GIST))
                for item in found[: request.limit]
            ),
            total=len(found),
            position=position,
        )

    def _searcher_of(self, overlay: Overlay, reader: str) -> Searcher:
        now = self._clock()
        return Searcher(overlay, self._encoders, overlay.state.reader(reader, now), now)

    def _added(self, item: Item, phrase: str, *, negative: bool) -> EventDraft:
        # The key is for whom the item is for, as with a correction.
        event = KeyAdded(item=item.id, phrase=phrase, negative=negative)
        return draft(event, occurred_at=self._clock(), audience=item.audience)


class _Wanted(NamedTuple):
    """Phrases that are to be keys of one item, by whether they say what it is not for."""

    item: Item
    phrases: dict[str, tuple[str, bool]]

    def take(self, entry: KeyEntry) -> None:
        """Take in the phrases of an entry.

        Raises:
            InvalidEvent: a phrase is none, is on both sides, or there are too many.
        """
        if len(entry.use_when) + len(entry.not_for) > MOST_PHRASES:
            raise InvalidEvent(f"There are over {MOST_PHRASES} phrases for one item. Keep the best ones.")
        for negative, phrases in ((False, entry.use_when), (True, entry.not_for)):
            for phrase in map(_checked, phrases):
                _, before = self.phrases.setdefault(_same(phrase), (phrase, negative))
                if before != negative:
                    raise InvalidEvent(f"{phrase!r:.60} stands in use_when and in not_for. Say it in one of them.")

    def new(self) -> Iterable[tuple[str, bool]]:
        """The phrases that the item does not have yet, for all those whom it is for."""
        known = {
            (_same(key.phrase), key.negative) for key in self.item.keys if {*key.audience} >= {*self.item.audience}
        }
        return [
            (phrase, negative) for same, (phrase, negative) in self.phrases.items() if (same, negative) not in known
        ]

    def outcome(self) -> KeysAdded:
        """What became of them."""
        added = len(list(self.new()))
        return KeysAdded(item=self.item.id, name=self.item.name, added=added, known=len(self.phrases) - added)


def _meant(overlay: Overlay, searcher: Searcher, wanted: str, *, owner: bool) -> Item:
    """The item that somebody means; the owner may also mean one that is held back, by its id or address."""
    if owner:
        found = resolving.at(overlay, wanted, lambda _item: True)[0]
        if found is not None and found.recorded_at and not found.forgotten:
            return found
    return resolving.meant(overlay, searcher, wanted)[0]


def _told(key: UseKey, fit: tuple[float, float] | None, *, owner: bool) -> Key:
    words, meaning = fit or (None, None)
    return Key(
        key=key.key,
        phrase=key.phrase,
        need=need_of(key.phrase),
        source=key.source,
        event=key.key.partition("/")[0],
        since=key.recorded_at,
        weight=key.weight if owner else 1.0,
        not_for=key.negative,
        audience=key.audience if owner else (),
        support=key.support if owner else 1,
        **({name: getattr(key, name) for name in _COUNTS} if owner else {}),
        words=words if words is None else round(words, 4),
        meaning=meaning if meaning is None else round(meaning, 4),
    )


def _fit(key: Key) -> float:
    return (key.words or 0.0) + max(key.meaning or 0.0, 0.0)


def _key_of(item: Item, wanted: str) -> UseKey:
    found = [key for key in item.keys if key.key == wanted] or [
        key for key in item.keys if _same(key.phrase) == _same(wanted)
    ]
    if not found:
        raise NotFound(f"{item.id} has no such key. `instant-recall keys list` shows those it has.")
    if len(found) > 1:
        raise RecallError(f"Several keys say that. Say which by its id: {', '.join(key.key for key in found)}.")
    return found[0]


def _has_a_key(item: Item) -> bool:
    return any(not key.negative and key.phrase.strip() for key in item.keys)


def _checked(phrase: str) -> str:
    phrase = " ".join(without_blocks(phrase).split())
    if not any(map(str.isalnum, phrase)):
        raise InvalidEvent("A phrase has no word in it. Say in a few words when the item helps.")
    if len(phrase) > LONGEST_PHRASE:
        raise InvalidEvent(f"A phrase has over {LONGEST_PHRASE} characters. Say one situation in a few words.")
    if any(unicodedata.category(c) in {"Cc", "Cs", "Co", "Cn"} or c in _BIDI for c in phrase):
        raise InvalidEvent(f"The phrase {phrase!r:.60} holds characters that cannot be seen. Remove them.")
    return phrase


_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _same(phrase: str) -> str:
    """What two phrases have in common that are one key: case, marks at the end and white space do not count."""
    return " ".join(phrase.split()).casefold().rstrip(" .!?")


def _place(entry: KeyEntry) -> str:
    item = clean(entry.item, 60) or "an item without a name"
    return f"{entry.where} ({item})" if entry.where else item


def _first(problems: list[str]) -> list[str]:
    more = len(problems) - MOST_NAMED
    return [*problems[:MOST_NAMED], *([f"And {more} more."] if more > 0 else [])]


def _for_the_owner(reader: str) -> None:
    if reader != OWNER_NAME:
        raise Refused("Use keys are the owner's to add, remove and look for. Ask as the reader `owner`.")
