"""What the ranker is trained on: requests with the product's own candidates for them, and which of these are right.

Two kinds of folder are read: worlds (see `worlds.py`) and sets in uniform rows (see `public_sets.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...api.messages import PushRequest
from ...api.service import Service
from ...events.envelope import draft
from ...events.errors import RecallError
from ...events.log import MAX_BATCH
from ...events.memory_log import MemoryEventLog
from ...events.types import AssetRecorded, Millis
from ...projections.evidence import Evidence
from ...projections.language.scripts import count_words
from ...projections.meaning.encoders import Encoders
from ...projections.ranker import FEATURES, features_of
from .playback import Playback, request_of
from .public_sets import KEYS_OF_A_THING, Query, Thing, read_rows
from .worlds import millis, read_world

QUERIES_OF_A_SET = 400
"""More of one set would make the model its own; a world has about as many cases."""
_NOW: Millis = 1_767_225_600_000


@dataclass(frozen=True)
class Asked:
    """One request with its candidates: a row of features each, and which rows are right."""

    source: str
    """The folder's name."""
    world: bool
    """The folder is a world; False: a set."""
    kind: str
    about: str
    """The item that is right, or the request's own id when nothing is: what cross-validation keeps together."""
    expecting: bool
    """Something is right, whether or not it is among the candidates."""
    named: bool
    """The request names something, so there is a push whatever the model says."""
    rows: tuple[tuple[float, ...], ...]
    """In the order of `FEATURES`; things that the request names are left out."""
    right: tuple[bool, ...]
    words: int = 1
    """Of the request."""


def read_all(
    folders: Sequence[Path],
    encoders: Encoders,
    *,
    seed: int = 0,
    tell: Callable[[str, int], None] = lambda _source, _asked: None,
) -> list[Asked]:
    """Every request of every world and set in or below the folders, asked. `tell` hears each one's name and count.

    Raises:
        RecallError: there is neither a world nor a set, or one of them cannot be read.
    """
    found: list[Asked] = []
    for place in sorted({path.parent for folder in folders for path in folder.rglob("*.jsonl")}):
        if (place / "cases.jsonl").exists():
            asked = list(_ask_world(place, encoders))
        elif (place / "corpus.jsonl").exists() and (place / "queries.jsonl").exists():
            asked = list(_ask_set(place, encoders, seed))
        else:
            continue
        tell(place.name, len(asked))
        found += asked
    if not found:
        named = ", ".join(str(folder) for folder in folders)
        raise RecallError(f"There is neither a world nor a set in {named}. Name folders that hold some.")
    return found


def _ask_world(folder: Path, encoders: Encoders) -> Iterator[Asked]:
    world = read_world(folder)
    playback = Playback(world, encoders)
    try:
        for case in sorted(world.cases, key=lambda case: case.at):
            playback.feed_until(millis(case.at))
            found = playback.service.candidates(request_of(case), now=millis(case.at))
            about = case.expect[0] if case.expect else case.id
            yield _asked(folder.name, True, case.kind, about, case.expect, found, playback.world_id, case.request)
    finally:
        playback.close()


def _ask_set(folder: Path, encoders: Encoders, seed: int) -> Iterator[Asked]:
    """The English queries of a set, each asked where only its own group's things are."""
    all_things, all_queries = read_rows(folder)
    queries = [query for query in all_queries if query.lang == "en"]
    if len(queries) > QUERIES_OF_A_SET:
        chosen = np.random.default_rng(seed).choice(len(queries), QUERIES_OF_A_SET, replace=False)
        queries = [queries[int(number)] for number in sorted(chosen)]
    things = defaultdict(list)
    for thing in all_things:
        things[thing.group].append(thing)
    by_group = defaultdict(list)
    for query in queries:
        by_group[query.group].append(query)
    for group, asked in by_group.items():
        yield from _ask_group(folder.name, things[group], asked, encoders)


def _ask_group(source: str, things: Sequence[Thing], queries: Sequence[Query], encoders: Encoders) -> Iterator[Asked]:
    log = MemoryEventLog(clock=lambda: _NOW)
    drafts = [
        draft(
            AssetRecorded(
                item=thing.id,
                kind="skill",
                name=thing.name,
                description=thing.description or thing.text[:1_000],
                use_when=thing.use_when[:KEYS_OF_A_THING],
            ),
            occurred_at=_NOW,
        )
        for thing in things
    ]
    for first in range(0, len(drafts), MAX_BATCH):
        log.append(drafts[first : first + MAX_BATCH])
    service = Service(log, encoders, clock=lambda: _NOW)
    try:
        for query in queries:
            found = service.candidates(PushRequest(request=query.text), now=_NOW)
            about = f"{source}/{query.relevant[0] if query.relevant else query.id}"
            yield _asked(source, False, query.category, about, query.relevant, found, str, query.text)
    finally:
        service.close()


def _asked(
    source: str,
    world: bool,
    kind: str,
    about: str,
    expect: Sequence[str],
    found: Sequence[Evidence],
    own_id: Callable[[str], str],
    request: str,
) -> Asked:
    # What a request names is pushed whatever the model says, so the model learns nothing from it.
    weighed = [evidence for evidence in found if evidence.named < 0]
    return Asked(
        source=source,
        world=world,
        kind=kind,
        about=about,
        expecting=bool(expect),
        named=len(weighed) < len(found),
        rows=tuple(_row(evidence) for evidence in weighed),
        right=tuple(own_id(evidence.item.id) in expect for evidence in weighed),
        words=count_words(request),
    )


def _row(evidence: Evidence) -> tuple[float, ...]:
    features = features_of(evidence)
    return tuple(features.get(name, 0.0) for name in FEATURES)
