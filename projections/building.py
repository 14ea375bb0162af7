"""Building snapshots: the events behind the newest one are folded in, and the whole is written as a new one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..events.log import EventLog
from . import graph
from .asset_index import EXACT_UP_TO, Group, Vectors
from .base import Base, empty_base
from .graph import HalfArray
from .items import Item
from .manifest import Manifest
from .meaning.encoders import Encoders
from .policy.eligibility import Audiences
from .rows import GROUP_OF, GROUPS, Row, rows_of, terms_of
from .snapshot import BATCH, FRAME, LENGTH, POSTING_ARRAYS, Rest, latest_base
from .snapshot_store import SnapshotStore
from .state import State
from .text_index import freeze

ENCODING_AT_ONCE: Final = 2
"""Batches of texts that are encoded side by side: nearly all of the time of a build from zero goes into them."""


def build(events: EventLog, store: SnapshotStore, encoders: Encoders, *, full: bool = False) -> Manifest:
    """Bring the newest snapshot up to the tail of the log and publish the result.

    Args:
        events: the log; read, never written.
        store: where the snapshot is published.
        encoders: make the vectors of rows that the older snapshot does not have.
        full: start from zero and use nothing of an older snapshot.
    """
    started_from = store.current()
    base = empty_base(encoders.dims) if full else latest_base(store, encoders)
    state = State(base.state)
    while batch := events.read(state.position, BATCH):
        for event in batch:
            state.apply(event)
    return store.publish(
        lambda folder: write(state, base, encoders, folder),
        position=state.position,
        encoder=encoders.fingerprint,
        started_from=started_from,
    )


def write(state: State, base: Base, encoders: Encoders, folder: Path) -> dict[str, int]:
    """Write a state over a base as a new base; returns what the manifest counts. Vectors of the base are used again."""
    items = list(state.all())
    rows_per_item = [rows_of(item) for item in items]
    rows = [row for found in rows_per_item for row in found]
    _write_frames(folder / "items.bin", items)
    _write_frames(folder / "uses.bin", [found for found in state.uses.all() if found[1]])
    apart = (state.tuning, state.feedback, state.mutes, state.held, state.corrected)
    rest = Rest(state.position, state.readers.grants, state.shown, *apart)
    (folder / "state.msgpack").write_bytes(msgspec.msgpack.encode(rest))
    _write_rows(folder / "rows", rows, [len(found) for found in rows_per_item])
    _write_text(folder / "text", rows)
    base_rows = _base_rows(items, rows_per_item, base)
    # An updated graph keeps the bytes of vectors that went: not those of a forgotten item.
    forgot = any(item.forgotten for item in state.items.values())
    _write_assets(folder / "assets", rows, base_rows, base.segment.vectors, encoders, update=not forgot)
    return {"items": len(items), "rows": len(rows)}


def _base_rows(items: list[Item], rows_per_item: list[list[Row]], base: Base) -> NDArray[np.int64]:
    """For each row its number in the base, or -1."""
    numbers: list[int] = []
    for item, rows in zip(items, rows_per_item, strict=True):
        known = base.rows_of(item)
        numbers += [known.get(row, -1) for row in rows]
    return np.array(numbers, dtype=np.int64)


def _vectors(
    texts: Sequence[str], places: NDArray[np.int64], older: Group, group: int, encoders: Encoders
) -> HalfArray:
    """One vector a row: that of its place in the older group where it has one, else encoded, in batches."""
    matrix = np.zeros((len(texts), encoders.dims[group]), dtype=np.float16)
    held = places >= 0
    matrix[held] = older.matrix[places[held]]
    missing = np.flatnonzero(~held)
    batches = np.array_split(missing, range(BATCH, len(missing), BATCH))

    def encode(batch: NDArray[np.int64]) -> HalfArray:
        return encoders.encode_rows(group, [texts[row] for row in batch])

    with ThreadPoolExecutor(ENCODING_AT_ONCE) as pool:
        for batch, vectors in zip(batches, pool.map(encode, batches), strict=True):
            matrix[batch] = vectors
    return matrix


def _write_frames(path: Path, records: Sequence[object]) -> None:
    with path.open("wb") as out:
        for start in range(0, len(records), FRAME):
            frame = msgspec.msgpack.encode(records[start : start + FRAME])
            out.write(LENGTH.pack(len(frame)))
            out.write(frame)


def _write_rows(folder: Path, rows: list[Row], rows_per_item: list[int]) -> None:
    folder.mkdir()
    audiences = Audiences()
    columns: dict[str, NDArray[Any]] = {
        "item": np.repeat(np.arange(len(rows_per_item), dtype=np.int32), rows_per_item),
        "kind": np.fromiter((row.kind for row in rows), np.uint8, len(rows)),
        "audience": np.fromiter((audiences.number(row.audience) for row in rows), np.int32, len(rows)),
        "weight": np.fromiter((row.weight for row in rows), np.float32, len(rows)),
        "first": np.concatenate(([0], np.cumsum(rows_per_item, dtype=np.int64))),
    }
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
    (folder / "audiences.msgpack").write_bytes(msgspec.msgpack.encode(audiences.labels()))
    (folder / "anchors.msgpack").write_bytes(msgspec.msgpack.encode([row.anchor for row in rows]))


def _write_text(folder: Path, rows: list[Row]) -> None:
    folder.mkdir()
    arrays, vocabulary = freeze(terms_of(rows))
    for name in POSTING_ARRAYS:
        np.save(folder / f"{name}.npy", arrays[name])
    (folder / "vocabulary.msgpack").write_bytes(msgspec.msgpack.encode(vocabulary))


def _write_assets(
    folder: Path, rows: list[Row], base_rows: NDArray[np.int64], older: Vectors, encoders: Encoders, *, update: bool
) -> None:
    """Write the vectors by group, with a graph where there are many: brought up to date from the older one's."""
    folder.mkdir()
    group_of = np.fromiter((GROUP_OF[row.kind] for row in rows), np.int64, len(rows))
    for number, (name, old) in enumerate(zip(GROUPS, older.groups, strict=True)):
        chosen = np.flatnonzero(group_of == number)
        places = old.places(base_rows[chosen])
        vectors = _vectors([rows[row].text for row in chosen], places, old, number, encoders)
        np.save(folder / f"{name}.npy", vectors)
        np.save(folder / f"{name}_rows.npy", chosen)
        if len(vectors) > EXACT_UP_TO:
            path = folder / f"{name}.usearch"
            if update and old.graph is not None:
                keys = graph.update(old.graph, vectors, places, path)
            else:
                keys = graph.build(vectors, path)
            np.save(folder / f"{name}_keys.npy", keys)
