"""Public sets in uniform rows: a folder with `corpus*.jsonl` (what there is) and `queries.jsonl` (what is asked).

Each `group` of a set is one owner with a world of their own, so whatever runs on a world runs on a set. Things become
assets, notes or sessions by their kind; a query without anything relevant is one on which nothing should be pushed.
What is wrong with a set is told all at once, one line each, and then nothing runs; see `worlds.py`.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from ...events.types import AssetKind, Role
from .worlds import Asset, BadWorld, Case, Note, Row, Session, Table, Turn, World, read_table

ThingKind = Literal["asset", "turn", "session", "memory", "device", "runbook", "decision", "guide"]

KEYS_OF_A_THING: Final = 5
"""Public sets give up to a hundred use keys for one thing, which no owner writes."""
UNDATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When things without a time came to be."""

_ASSETS: Final[dict[str, AssetKind]] = {
    "asset": "skill", "device": "machine", "runbook": "approach", "decision": "decision", "guide": "document",
}  # fmt: skip
_SPEAKER: Final = re.compile(r"^(user|assistant): ", re.MULTILINE)
_ROLES: Final[dict[str, Role]] = {"user": "owner", "assistant": "agent"}


class Thing(Row, frozen=True, kw_only=True):
    """Something that an owner has."""

    group: str
    kind: ThingKind = "asset"
    name: str = ""
    description: str = ""
    text: str = ""
    use_when: tuple[str, ...] = ()
    time: str | None = None
    """ISO 8601; without a time zone it is UTC."""
    meta: dict[str, Any] | None = None
    """For a turn `session`, the session that it belongs to, and `speaker`."""


class Query(Row, frozen=True, kw_only=True):
    """A request of an owner, and which of the owner's things are right."""

    group: str
    text: str
    relevant: tuple[str, ...] = ()
    category: str = ""
    lang: str = "en"
    meta: dict[str, Any] | None = None
    """`before`: only what came earlier counts. `answerable` false: what is relevant only looks alike."""


@dataclass(frozen=True)
class Group:
    """One owner of a set: what they have and are asked."""

    world: World
    evidence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By case: addresses of the turns that hold the answer, `SESSION#tNUMBER`; empty where no turns are asked for."""


@dataclass(frozen=True)
class PublicSet:
    """All owners of a set that are asked something."""

    name: str
    groups: tuple[Group, ...]

    @property
    def cases(self) -> int:
        """How many cases there are in all."""
        return sum(len(group.world.cases) for group in self.groups)


def read_set(folder: Path) -> PublicSet:
    """Read and check a folder in uniform rows.

    Raises:
        BadWorld: a file is missing or empty, a line is not a row of its file, an id is there twice, or a query asks for
            what its group does not have or does not have yet.
    """
    things, queries = read_rows(folder)
    in_group: dict[str, list[Thing]] = defaultdict(list)
    for thing in things:
        in_group[thing.group].append(thing)
    asked: dict[str, list[Query]] = defaultdict(list)
    for query in queries:
        asked[query.group].append(query)
    return PublicSet(folder.name, tuple(_group(in_group[name], of_group) for name, of_group in asked.items()))


def read_rows(folder: Path) -> tuple[tuple[Thing, ...], tuple[Query, ...]]:
    """The checked rows of a set. Raises as `read_set` does."""
    problems: list[str] = []
    names = sorted(path.name for path in folder.glob("corpus*.jsonl"))
    if not names:
        problems.append(f"{folder}: there is no corpus.jsonl. Name a folder that holds one, and queries.jsonl.")
    corpora = [read_table(folder, name, Thing, problems) for name in names]
    queries = Table("queries.jsonl")
    if (folder / queries.file).exists():
        queries = read_table(folder, queries.file, Query, problems)
    else:
        problems.append(f"{queries.file}:0: the file is missing: nothing is asked.")
    if not problems:
        problems += _check(corpora, queries)
    if problems:
        raise BadWorld(problems)
    return tuple(thing for table in corpora for thing in table.of(Thing)), queries.of(Query)


def sample(whole: PublicSet, limit: int | None, seed: int = 0) -> PublicSet:
    """At most `limit` of the cases, chosen by the seed; owners who are asked nothing any more are left out."""
    if limit is None or whole.cases <= limit:
        return whole
    places = [(number, case.id) for number, group in enumerate(whole.groups) for case in group.world.cases]
    chosen = set(random.Random(seed).sample(places, limit))  # noqa: S311 - a sample, not a secret
    groups = []
    for number, group in enumerate(whole.groups):
        cases = tuple(case for case in group.world.cases if (number, case.id) in chosen)
        if cases:
            groups.append(replace(group, world=replace(group.world, cases=cases)))
    return replace(whole, groups=tuple(groups))


def together(whole: PublicSet) -> World:
    """All owners' rows as if they were one world: to be counted, never to be asked."""
    worlds = [group.world for group in whole.groups]
    return World(
        assets=tuple(row for world in worlds for row in world.assets),
        notes=tuple(row for world in worlds for row in world.notes),
        sessions=tuple(row for world in worlds for row in world.sessions),
        corrections=(),
        policy=(),
        cases=tuple(row for world in worlds for row in world.cases),
    )


def _check(corpora: Sequence[Table], queries: Table) -> Iterator[str]:
    """What is wrong with rows that could all be read."""
    times: dict[tuple[str, str], datetime] = {}
    for table in corpora:
        for number, thing in table.rows:
            assert isinstance(thing, Thing)  # noqa: S101 - for the type checker: the table was read as such
            where = f"{table.file}:{number}"
            at = _moment(thing.time)
            if at is None:
                yield f"{where}: the time {thing.time!r:.40} is not ISO 8601."
            if (thing.group, thing.id) in times:
                yield f"{where}: the id {thing.id!r} is there twice in the group {thing.group!r}."
            times.setdefault((thing.group, thing.id), at or UNDATED)
    if not times:
        yield f"{corpora[0].file}:1: the file is empty: there is nothing to be found."
    if not queries.rows:
        yield f"{queries.file}:1: the file is empty: nothing is asked."
    seen: set[str] = set()
    for number, query in queries.rows:
        assert isinstance(query, Query)  # noqa: S101 - as above
        where = f"{queries.file}:{number}"
        if query.id in seen:
            yield f"{where}: the id {query.id!r} is there twice."
        seen.add(query.id)
        for what in _check_query(query, times):
            yield f"{where}: {what}"


def _check_query(query: Query, times: Mapping[tuple[str, str], datetime]) -> Iterator[str]:
    before = _moment(_said(query.meta, "before") or None)
    if before is None:
        yield "meta.before is not ISO 8601."
    for item in query.relevant:
        at = times.get((query.group, item))
        if at is None:
            yield f"the group {query.group!r} has nothing with the id {item!r}."
        elif before and _said(query.meta, "before") and at >= before:
            yield f"the query comes before {item!r}, which it asks for."


def _group(things: Sequence[Thing], queries: Sequence[Query]) -> Group:
    """One owner's world."""
    told = defaultdict(list)
    for thing in things:
        if thing.kind == "turn" and (session := _said(thing.meta, "session")):
            told[session].append(thing)
    sessions = [_session_of_turns(session, turns) for session, turns in told.items()]
    # A session whose turns are rows, too, is there already.
    sessions += [_session(thing) for thing in things if thing.kind == "session" and thing.id not in told]
    notes = [
        Note(id=thing.id, path=thing.id, heading=thing.name, text=thing.text, written_at=_at(thing))
        for thing in things
        if thing.kind == "memory" or (thing.kind == "turn" and not _said(thing.meta, "session"))
    ]
    places = {
        turn.id: (session, f"{session}#t{number}")
        for session, turns in told.items()
        for number, turn in enumerate(turns, 1)
    }
    end = max(map(_at, things), default=UNDATED) + timedelta(seconds=1)
    cases, evidence = [], {}
    for query in queries:
        right = query.relevant if (query.meta or {}).get("answerable", True) else ()
        cases.append(_case(query, [places[item][0] if item in places else item for item in right], end))
        evidence[query.id] = tuple(places[item][1] for item in right if item in places)
    world = World(
        assets=tuple(_asset(thing) for thing in things if thing.kind in _ASSETS),
        notes=tuple(notes),
        sessions=tuple(sessions),
        corrections=(),
        policy=(),
        cases=tuple(cases),
    )
    return Group(world, evidence)


def _asset(thing: Thing) -> Asset:
    return Asset(
        id=thing.id,
        kind=_ASSETS[thing.kind],
        name=thing.name,
        description=thing.description,
        text=thing.text,
        use_when=thing.use_when[:KEYS_OF_A_THING],
        stored_at=_at(thing),
    )


def _session_of_turns(session: str, turns: Sequence[Thing]) -> Session:
    first = _said(turns[0].meta, "speaker")
    said = tuple(
        Turn(role="owner" if _said(turn.meta, "speaker") == first else "agent", text=turn.text, at=_at(turn))
        for turn in turns
    )
    return Session(id=session, started_at=said[0].at, turns=said)


def _session(thing: Thing) -> Session:
    """A session told in one text; `user: ` and `assistant: ` at the start of a line begin a turn."""
    pieces = _SPEAKER.split(thing.text)
    said: list[tuple[Role, str]] = [("agent", pieces[0])] if pieces[0].strip() else []
    said += [(_ROLES[who], text) for who, text in zip(pieces[1::2], pieces[2::2], strict=True)]
    turns = tuple(Turn(role=role, text=text.strip(), at=_at(thing)) for role, text in said or [("owner", thing.name)])
    return Session(id=thing.id, started_at=_at(thing), turns=turns)


def _case(query: Query, right: Sequence[str], end: datetime) -> Case:
    before = _said(query.meta, "before")
    return Case(
        id=query.id,
        # What came at that very moment does not count any more: it is the session in which it is asked.
        at=(_moment(before) or end) - timedelta(milliseconds=1) if before else end,
        request=query.text,
        kind="topic" if right else "none",
        expect=tuple(dict.fromkeys(right)),
        why=query.category if query.lang == "en" else f"{query.category}/{query.lang}",
    )


def _at(thing: Thing) -> datetime:
    return _moment(thing.time) or UNDATED


def _moment(text: str | None) -> datetime | None:
    """The time that is written there; UNDATED for none, None for what is no time."""
    if not text:
        return UNDATED
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.utcoffset() is not None else at.replace(tzinfo=UTC)


def _said(meta: Mapping[str, Any] | None, name: str) -> str:
    """A text of a row's `meta`, which may hold anything; empty when there is none."""
    value = (meta or {}).get(name)
    return value if isinstance(value, str) else ""
