"""The overlay: everything after the snapshot, in memory, over an immutable base.

It is a projection: apply events in order, and it can be asked at once. An item that an event touches keeps those of its
rows that still hold where they are; the others are marked dead, and new ones are added here. The base is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import structlog
from numpy.typing import NDArray

from ..events.envelope import RecordedEvent, UnreadableEvent
from ..events.position import Position
from ..events.types import Millis
from .base import Base
from .graph import HalfArray
from .items import Item
from .meaning.encoders import Encoders
from .naming.addresses import Addresses
from .naming.names import NameIndex
from .policy.eligibility import OWNER_NAME, BoolArray, Muted, Policies, Reader, Refusals, refusals
from .policy.topics import TopicIndex, muted
from .replacing import Otherwise, chained_to, otherwise
from .rows import GROUP_OF, GROUPS, Row, rows_of, terms_of
from .segment import GrowingSegment, Segment
from .state import State

log = structlog.get_logger()

READERS_KEPT: Final = 64
"""Different grants for which is kept what they let see otherwise than the owner."""


class _Added(NamedTuple):
    """A row that is new here."""

    ordinal: int
    row: Row
    before: tuple[bool, int] | None
    """Where the same row with another weight or audience stood: whether in the base, and its number."""


class Overlay:
    """The state after a base, and the indexes over what changed."""

    def __init__(self, base: Base, encoders: Encoders) -> None:
        self.base = base
        self.state = State(base.state)
        self.policies: Policies = base.policies.copy()
        self.segment = GrowingSegment(encoders.dims)
        self.alive_in_base: BoolArray = np.ones(len(base.segment), dtype=np.bool_)
        self.names = NameIndex()
        self._encoders = encoders
        self._version = 0
        """Counts how often items changed that replaced something or were replaced."""
        self._chained = dict.fromkeys(base.chained)
        self._otherwise: dict[frozenset[str] | None, Otherwise] = {}
        self._topics = TopicIndex()
        self._addresses = Addresses()
        self._ids: list[str] = []
        self._ordinals: dict[str, int] = {}
        self._rows: dict[int, dict[Row, tuple[bool, int]]] = {}
        """Living rows of touched items: (whether in the base, number)."""

    @property
    def position(self) -> Position:
        """Everything up to here is in."""
        return self.state.position

    def __len__(self) -> int:
        """Items touched since the base."""
        return len(self.state.items)

    def apply(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events in the order of the log. Those at or before `position` are passed over."""
        touched: dict[str, None] = {}
        for event in events:
            if isinstance(event.event, UnreadableEvent) and event.position > self.position:
                log.warning(
                    "event.skipped",
                    event_id=event.event_id,
                    position=str(event.position),
                    type=event.event.stored_type,
                    why=event.event.why,
                )
            touched |= dict.fromkeys(self.state.apply(event))
        self._index([item for key in touched if (item := self.state.get(key))])

    def refusals(self, reader: Reader, now: Millis, session: str = "") -> Refusals:
        """For each ordinal what keeps the item from a reader who asks in a session; see eligibility.refusals."""
        found = refusals(self.policies, reader, now, self.muted(reader, session))
        self.otherwise(reader).correct(found, now)
        return found

    def otherwise(self, reader: Reader) -> Otherwise:
        """What a reader sees otherwise than the owner does; kept until another item changes."""
        scopes = None if reader.is_owner else reader.scopes
        known = self._otherwise.pop(scopes, None)
        if known is None or known.version != self._version:
            known = otherwise(self._version, reader, self._chained, self._item_at, self.state.get)
        self._otherwise[scopes] = known
        if len(self._otherwise) > READERS_KEPT:
            del self._otherwise[next(iter(self._otherwise))]
        return known

    def muted(self, reader: Reader, session: str = "") -> Muted:
        """What is muted for a reader who asks in a session, beside what is muted for good."""
        mutes = self.state.mutes
        if not mutes.topics and session not in mutes.items:
            return Muted()
        items = [o for item in mutes.items.get(session, ()) if (o := self.ordinal(item)) is not None]
        return muted(mutes, self._topics, session, items, self._alive, self.policies.audiences.met_by(reader))

    def about(self, phrase: str) -> NDArray[np.int32]:
        """Ordinals of the items that are about a phrase, as the owner sees them; `topics.py` says what that means."""
        met = self.policies.audiences.met_by(Reader(OWNER_NAME))
        return np.unique(self._topics.ordinals([phrase], self._alive, met))

    @property
    def _alive(self) -> list[tuple[Segment, BoolArray]]:
        return [(self.base.segment, self.alive_in_base), (self.segment, self.segment.alive)]

    def forgotten(self) -> list[str]:
        """Ids of the items that were forgotten."""
        return [self.id_of(ordinal) for ordinal in self.policies.forgotten()]

    def forget(self, items: Iterable[str]) -> None:
        """Take items out that are forgotten behind `position`: they are to be shown as of no time, not even before."""
        known = [item for item in items if (found := self.state.get(item)) is not None and not found.forgotten]
        self._index([self.state.items[key] for item in known for key in self.state.forget(item)])

    def ordinal(self, item: str) -> int | None:
        """The number of an item, in the base or here; None when it is not known."""
        found = self.base.ordinals.get(item)
        return self._ordinals.get(item) if found is None else found

    def id_of(self, ordinal: int) -> str:
        """The id of the item with that number."""
        known = len(self.base.ids)
        return self.base.ids[ordinal] if ordinal < known else self._ids[ordinal - known]

    def at(self, address: str, allowed: Callable[[str], bool] = lambda _item: True) -> Item | None:
        """The item whose id or address this is, if it is allowed; of several at one address, the newest record."""
        if (known := self.state.get(address)) is not None and allowed(address):
            return known
        ids = {*self._addresses.items(address), *self.base.addresses.items(address)}
        there = [item for key in ids if allowed(key) and (item := self.state.get(key)) and item.address == address]
        return max(there, key=lambda item: (item.recorded_at, item.id), default=None)

    def rows(self, ordinal: int) -> tuple[Sequence[int], Sequence[int]]:
        """Living rows of an item: numbers in the base's segment, and numbers in this one's."""
        touched = self._rows.get(ordinal)
        if touched is None:
            first = self.base.segment.first_row
            return range(int(first[ordinal]), int(first[ordinal + 1])), ()
        return (
            [number for in_base, number in touched.values() if in_base],
            [number for in_base, number in touched.values() if not in_base],
        )

    def numbered(self, item: Item) -> dict[Row, tuple[bool, int]]:
        """Living rows of an item, each with whether the base's segment has it, and its number there or here."""
        ordinal = self.ordinal(item.id)
        touched = None if ordinal is None else self._rows.get(ordinal)
        if touched is not None:
            return touched
        return {row: (True, number) for row, number in self.base.rows_of(item).items()}

    def _item_at(self, ordinal: int) -> Item:
        item = self.state.get(self.id_of(ordinal))
        assert item is not None, "an ordinal without an item"  # noqa: S101 - ordinals are made together with their items
        return item

    def _index(self, items: list[Item]) -> None:
        added: list[_Added] = []
        for item in items:
            ordinal = self._place(item)
            chain = [o for one in chained_to(item) if (o := self.ordinal(one)) is not None]
            if chain or ordinal in self._chained:
                self._chained |= dict.fromkeys((ordinal, *chain))
                self._version += 1
            self.names.add(item)
            self._addresses.add(item.address, item.id)
            living = self._rows.setdefault(ordinal, {})
            wanted = dict.fromkeys(rows_of(item))
            gone = {row: living.pop(row) for row in list(living) if row not in wanted}
            for place in gone.values():
                self._kill(*place)
            same = {_unlabelled(row): place for row, place in gone.items()}
            added += [
                _Added(ordinal, row, same.get(_unlabelled(row)) if same else None)
                for row in wanted
                if row not in living
            ]
        if added:
            self._add(added)

    def _place(self, item: Item) -> int:
        """The item's ordinal, with its policy brought up to date; its living rows are looked up at the first touch."""
        ordinal = self.ordinal(item.id)
        if ordinal is None:
            ordinal = len(self.policies)
            self.policies.append(item)
            self._ids.append(item.id)
            self._ordinals[item.id] = ordinal
            return ordinal
        self.policies.set(ordinal, item)
        if ordinal not in self._rows:
            self._rows[ordinal] = {row: (True, number) for row, number in self.base.rows_of(item).items()}
        return ordinal

    def _kill(self, in_base: bool, number: int) -> None:
        if in_base:
            self.alive_in_base[number] = False
        else:
            self.segment.kill(number)

    def _add(self, added: list[_Added]) -> None:
        numbers: list[list[int]] = [[] for _ in GROUPS]
        grouped: list[list[_Added]] = [[] for _ in GROUPS]
        for one, words in zip(added, terms_of([one.row for one in added]), strict=True):
            number = self.segment.append(one.ordinal, one.row, words, self.policies.audiences)
            self._rows[one.ordinal][one.row] = (False, number)
            numbers[GROUP_OF[one.row.kind]].append(number)
            grouped[GROUP_OF[one.row.kind]].append(one)
        for group, rows in enumerate(numbers):
            if rows:
                self.segment.vectors.extend(group, rows, self._vectors(group, grouped[group]))

    def _vectors(self, group: int, added: list[_Added]) -> HalfArray:
        """A vector for each row. One that says the same as before has it already: encoding takes two ms a key."""
        vectors = np.zeros((len(added), self._encoders.dims[group]), dtype=np.float16)
        new = [n for n, one in enumerate(added) if one.before is None]
        if new:
            vectors[new] = self._encoders.encode_rows(group, [added[n].row.text for n in new])
        for n, one in enumerate(added):
            if one.before is not None:
                in_base, number = one.before
                segment: Segment = self.base.segment if in_base else self.segment
                vectors[n] = segment.vectors.vector(group, number)
        return vectors


def _unlabelled(row: Row) -> Row:
    """What a row says, apart from its weight and from who may see it."""
    return row._replace(weight=1.0, audience=())
