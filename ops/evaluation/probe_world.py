"""What a world's rows say about who may see what and when, and how each thing is called: the judge of the probes.

This reads the rows themselves. It shares no code with the eligibility that it judges.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal

from .worlds import Asset, Policy, World

Kind = Literal["owner", "sub_agent", "tool"]
_READERS: Final[dict[Literal["sub_agent", "tool"], str]] = {"sub_agent": "probe-", "tool": "probe-tool-"}
_HIDES: Final = {"mute": True, "unmute": False, "quarantine": True, "release": False}
_ENDS: Final = ("retire", "supersede")
_WORDS_ASKED: Final = 12


def with_a_reader_of_every_scope(world: World) -> World:
    """The world with more readers: a sub-agent and a tool for each label of an audience, granted it from the start."""
    audiences = [row.audience for row in world.assets]
    audiences += [row.audience for row in world.notes] + [row.audience for row in world.sessions]
    labels = {label for audience in audiences for label in audience} - {"owner"}
    times = [row.stored_at for row in world.assets] + [row.written_at for row in world.notes]
    times += [row.started_at for row in world.sessions] + [row.at for row in world.policy]
    start = min(times, default=None)
    if start is None:
        return world
    grants = [
        Policy(id=f"{name}{label}", at=start, action="grant", reader=f"{name}{label}", kind=kind, scope=(label,))
        for kind, name in _READERS.items()
        for label in sorted(labels)
    ]
    return replace(world, policy=(*grants, *world.policy))


class Things:
    """The things of a world, as its rows tell of them."""

    def __init__(self, world: World) -> None:
        self.assets = world.assets
        self._audience: dict[str, tuple[str, ...]] = {}
        self._born: dict[str, datetime] = {}
        self._wordings: dict[str, list[str]] = {}
        self._addresses: dict[str, list[str]] = {}
        self._read(world)
        self._policy = sorted(world.policy, key=lambda row: row.at)
        self._ends: dict[str, list[datetime]] = {}
        self._replaced = {asset.supersedes: asset for asset in world.assets if asset.supersedes}
        for row in self._policy:
            if row.item and row.action in _ENDS:
                self._ends.setdefault(row.item, []).append(row.at)
        granted = {f"sub:{row.reader}": row.kind for row in world.policy if row.action == "grant"}
        self.readers = ("owner", *sorted(granted), "sub:nobody-granted-anything")
        self._kinds: dict[str, Kind] = {"owner": "owner", **granted}
        self._end = max([*self._born.values(), *(row.at for row in world.policy)], default=None)
        self._own_names = {asset.id: _names(asset) for asset in world.assets}
        self._names = {form for asset in world.assets for name in _names(asset) if (form := squeezed(name))}

    @property
    def items(self) -> list[str]:
        """Every asset, note and session."""
        return list(self._born)

    def kind(self, reader: str) -> Kind:
        """What a reader is."""
        return self._kinds.get(reader, "sub_agent")

    def sees(self, reader: str, item: str, at: datetime) -> bool:
        """Whether this reader may be told of an item at a moment."""
        if at < self._born[item] or self._is_held_back(item, at) or self._is_replaced(reader, item, at):
            return False
        return self._meets(reader, item, at)

    def tells(self, reader: str, item: str, at: datetime, asked: str) -> bool:
        """Whether this reader may be told of an item when asking this: an old version when all of its name is said."""
        if self.sees(reader, item, at):
            return True
        said = set(_words(asked))
        by_name = any(set(_words(name)) <= said for name in self._own_names.get(item, ()))
        return (by_name or asked in self._addresses[item]) and self._is_old(reader, item, at)

    def hidden_from_owner(self, item: str) -> bool:
        """Whether there is a time at which even the owner is not told of it."""
        mentioned = any(row.item == item and _HIDES.get(row.action) for row in self._policy)
        return mentioned or item in self._replaced or any(end >= self._born[item] for end in self._ends.get(item, ()))

    def moment(self, rng: random.Random, item: str) -> datetime:
        """A moment in the life of an item; often just after something was decided about it."""
        start = self._born[item]
        turns = [row.at for row in self._policy if row.item == item] + self._ends.get(item, [])
        turns += [self._replaced[item].stored_at] if item in self._replaced else []
        if turns and rng.random() < 0.5:
            return max(start, rng.choice(turns) + timedelta(seconds=rng.choice((-1, 0, 1, 3_600))))
        assert self._end is not None, "an item without a time"  # noqa: S101 - it has one itself
        seconds = max(0, int((self._end - start).total_seconds()))
        return start + timedelta(seconds=rng.randint(0, seconds + 86_400))

    def called(self, name: str, reader: str, at: datetime) -> frozenset[str]:
        """The assets of this name or alias that the reader may see."""
        wanted = squeezed(name)
        return frozenset(
            asset.id
            for asset in self.assets
            if self.sees(reader, asset.id, at) and any(squeezed(each) == wanted for each in _names(asset))
        )

    def names_something(self, text: str) -> bool:
        """Whether words of a text are, or might be taken for, the name of an asset."""
        words = _words(text)
        runs = {"".join(words[at : at + n]) for n in range(1, 5) for at in range(len(words))}
        return any(_alike(run, name) for run in runs for name in self._names)

    def wordings(self, item: str) -> list[str]:
        """Texts that lead to an item if anything does."""
        return self._wordings[item]

    def addresses(self, item: str) -> list[str]:
        """What opens it: its id and its address."""
        return self._addresses[item]

    def _read(self, world: World) -> None:
        for asset in world.assets:
            said = [*(f"use {name}" for name in _names(asset)), asset.name, asset.stored_during, *asset.use_when]
            self._add(asset.id, asset.stored_at, asset.audience, [*said, asset.description], [asset.location])
        for note in world.notes:
            anchor = note.heading.rpartition(">")[2].strip().lower().replace(" ", "-")
            self._add(note.id, note.written_at, note.audience, [note.heading, note.text], [f"{note.path}#{anchor}"])
        for session in world.sessions:
            said = [turn.text for turn in session.turns]
            first = min(turn.at for turn in session.turns)
            address = f"session:{session.id}"
            self._add(session.id, first, session.audience, [*said, session.outcome], [address, f"{address}#t1"])
            self._addresses[session.id].remove(session.id)
        for correction in world.corrections:
            self._wordings[correction.item].append(correction.request)

    def _add(
        self, item: str, born: datetime, audience: tuple[str, ...], said: list[str | None], addresses: list[str]
    ) -> None:
        self._born[item] = born
        self._audience[item] = audience
        short = [" ".join(text.split()[:_WORDS_ASKED]) for text in said if text]
        self._wordings[item] = list(dict.fromkeys(filter(None, short))) or [item]
        self._addresses[item] = list(dict.fromkeys(filter(None, (item, *addresses))))

    def _is_held_back(self, item: str, at: datetime) -> bool:
        ended = any(self._born[item] <= end <= at for end in self._ends.get(item, ()))
        return ended or self._is_held(item, at)

    def _is_held(self, item: str, at: datetime) -> bool:
        held = {"mute": False, "quarantine": False}
        for row in self._policy:
            if row.item == item and row.at <= at and row.action in _HIDES:
                held["mute" if "mute" in row.action else "quarantine"] = _HIDES[row.action]
        return any(held.values())

    def _is_old(self, reader: str, item: str, at: datetime) -> bool:
        """Whether nothing keeps it from the reader but that a newer version took its place."""
        if not self._is_replaced(reader, item, at) or self._is_held(item, at):
            return False
        since = self._replaced[item].stored_at
        retired = any(row.item == item and row.action == "retire" and since < row.at <= at for row in self._policy)
        return not retired and self._meets(reader, item, at)

    def _is_replaced(self, reader: str, item: str, at: datetime) -> bool:
        """Whether a newer version took its place, of which the reader may know: one that is hidden did not."""
        newer = self._replaced.get(item)
        if newer is None or newer.stored_at > at:
            return False
        return reader == "owner" or (self._meets(reader, newer.id, at) and not self._is_held(newer.id, at))

    def _meets(self, reader: str, item: str, at: datetime) -> bool:
        return reader == "owner" or not set(self._scopes(reader, at)).isdisjoint(self._audience[item])

    def _scopes(self, reader: str, at: datetime) -> tuple[str, ...]:
        grants = [
            row for row in self._policy if row.action == "grant" and f"sub:{row.reader}" == reader and row.at <= at
        ]
        return grants[-1].scope if grants else ()


def squeezed(name: str) -> str:
    """A name by its letters and digits."""
    return "".join(_words(name))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _names(asset: Asset) -> tuple[str, ...]:
    return (asset.name, *asset.aliases)


def _alike(word: str, name: str) -> bool:
    """The same but for an ending."""
    short, long = sorted((word, name), key=len)
    return long.startswith(short) and len(short) > 2 and len(long) - len(short) <= 3
