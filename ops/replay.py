"""Replay: fold the whole log from zero, and hold the result against what the newest snapshot leads to.

State is the fold of the log. A snapshot only saves time, so the snapshot's state with the events behind it folded in
must be the state of a replay from zero, to the last field; the two digests say whether it is, and `compare.py` where
not.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..events.envelope import UnreadableEvent
from ..events.errors import CorruptSnapshot, IncompatibleSnapshot, NotFound, RecallError
from ..events.log import EventLog
from ..events.position import START, Position
from ..projections.state import State
from .compare import Difference, differences

if TYPE_CHECKING:
    from ..events.settings import Settings
    from ..projections.base import Base
    from ..projections.snapshot_store import Opened, SnapshotStore

BATCH = 1_000
"""Events read in one go; feasibility tests found replay fastest at this size."""


@dataclass(frozen=True)
class Folded:
    """What one replay found."""

    state: State
    events: int
    unreadable: int
    """Events that this version cannot read; they stay in the log and were skipped."""
    took_s: float


def fold(
    log: EventLog,
    state: State | None = None,
    *,
    until: Position | None = None,
    on_batch: Callable[[int], None] = lambda _: None,
) -> Folded:
    """Fold the events behind a state's position into it, up to `until` or the tail; behind nothing, without a state.

    `on_batch` is told the number of events in each batch.
    """
    state = state or State()
    began, events, unreadable = time.perf_counter(), 0, 0
    while batch := log.read(state.position, BATCH):
        if until is not None and batch[-1].position > until:
            batch = [recorded for recorded in batch if recorded.position <= until]
        for recorded in batch:
            state.apply(recorded)
            unreadable += isinstance(recorded.event, UnreadableEvent)
        events += len(batch)
        on_batch(len(batch))
        if until is not None and (not batch or state.position >= until):
            break
    return Folded(state, events, unreadable, time.perf_counter() - began)


def digest(state: State) -> str:
    """A hash over every item and reader, what sessions were shown and used and came of it, and the ranker's tuning."""
    uses = sorted(found for found in state.uses.all() if found[1])
    apart = (sorted(state.readers.grants.items()), state.shown, uses, state.tuning, state.feedback)
    policies = (state.mutes, state.held, state.corrected)
    hashed = hashlib.sha256(msgspec.msgpack.encode((*apart, *policies)))
    for item in sorted(state.all(), key=lambda item: item.id):
        hashed.update(msgspec.msgpack.encode(item))
    return hashed.hexdigest()[:16]


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `replay` prints."""

    events: int
    unreadable: int
    items: dict[str, int]
    """Items that the log has ever named, by kind; closed and forgotten ones are among them."""
    readers: int
    position: str
    took_s: float
    per_s: int
    digest: str
    generation: int
    """The snapshot that the result was compared with; 0: there is none."""
    generation_position: str
    generation_digest: str
    """Of the snapshot's state with the events behind it folded in; equal to `digest`, or something is wrong."""
    same: bool
    differing: int = 0
    """Fields that differ; counted only when asked to compare."""
    differences: list[Difference] = []
    """The first MOST_DIFFERENCES of them."""
    into: str = ""
    """The folder that a snapshot of the result was written to."""


MOST_DIFFERENCES = 1_000
"""Differences that are told one by one; more say no more, and all are counted."""


def replay(
    log: EventLog,
    store: SnapshotStore,
    *,
    after: Position = START,
    until: Position | None = None,
    compare: bool = False,
    verbose: bool = False,
    into: Path | None = None,
    encoder: str = "",
    on_batch: Callable[[int], None] = lambda _: None,
) -> ReplayReport:
    """Fold the log and compare; the log is never written. It may grow meanwhile.

    Args:
        log: read from its beginning, or behind `after`.
        store: where the snapshot to compare with is looked for.
        after: begin behind this position. What comes out is then only what those events say, and is compared with
            nothing.
        until: stop at this position, and compare with the state as it was there.
        compare: name each difference.
        verbose: with the values that differ, which may be the owner's text.
        into: a folder, empty or not there, to write a snapshot of the result into, with every vector made anew.
        encoder: the one to do that with, as in Settings.
        on_batch: told the number of events in each batch.

    Raises:
        LogUnavailable: the server cannot be reached.
        RecallError: `into` is not an empty folder.
        SnapshotFailed: it cannot be written.
    """
    if into is not None and into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise RecallError(f"{into} is not an empty folder. Name one that does not exist yet.")
    state = State()
    state.position = after
    found = fold(log, state, until=until, on_batch=on_batch)
    base, other = (None, None) if after > START else _by_snapshot(log, store, until)
    # What was written since the replay ended is in the second fold: bring the first up to it before comparing.
    if until is None and after == START:
        fold(log, state)
    own, its = digest(state), digest(other) if other else ""
    told = list(differences(state, other, verbose=verbose)) if other and compare else []
    if into is not None:
        _write_into(into, state, encoder)
    return ReplayReport(
        events=found.events,
        unreadable=found.unreadable,
        items=_kinds(state),
        readers=len(state.readers.grants),
        position=str(state.position),
        took_s=round(found.took_s, 3),
        per_s=round(found.events / found.took_s) if found.events else 0,
        digest=own,
        generation=base.generation if base else 0,
        generation_position=str(base.position) if base else "",
        generation_digest=its,
        same=other is None or its == own,
        differing=len(told),
        differences=told[:MOST_DIFFERENCES],
        into=str(into or ""),
    )


def _write_into(folder: Path, state: State, encoder_name: str) -> None:
    from ..projections.base import empty_base  # noqa: PLC0415 - loads numpy and usearch
    from ..projections.building import write  # noqa: PLC0415
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415
    from ..projections.snapshot_store import SnapshotStore  # noqa: PLC0415

    encoders = load_encoders(encoder_name)
    SnapshotStore(folder).publish(
        lambda directory: write(state, empty_base(encoders.dims), encoders, directory),
        position=state.position,
        encoder=encoders.fingerprint,
        started_from=None,
    )


def present_state(log: EventLog, settings: Settings) -> State:
    """The state as it is now, from the newest good snapshot and the events behind it."""
    from ..projections.snapshot_store import SnapshotStore  # noqa: PLC0415

    _, state = _by_snapshot(log, SnapshotStore(settings.snapshots_dir), None)
    return state or fold(log).state


def _kinds(state: State) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for item in state.all():
        kinds[item.kind] = kinds.get(item.kind, 0) + 1
    return dict(sorted(kinds.items(), key=lambda kind: -kind[1]))


def _by_snapshot(log: EventLog, store: SnapshotStore, until: Position | None) -> tuple[Base | None, State | None]:
    from ..projections.snapshot import open_base  # noqa: PLC0415 - loads numpy and usearch

    opened = store.latest() if until is None else _newest_up_to(store, until)
    if opened is None:
        return None, None
    base = open_base(opened)
    return base, fold(log, State(base.state), until=until).state


def _newest_up_to(store: SnapshotStore, until: Position) -> Opened | None:
    for generation in reversed(store.generations()):
        try:
            opened = store.open(generation)
        except (CorruptSnapshot, IncompatibleSnapshot, NotFound):
            continue
        if opened.manifest.position <= until:
            return opened
    return None
