"""Snapshots: a base written to a folder and read back.

A folder holds `items.bin` (frames of items), `state.msgpack` (position, readers, what was shown), `rows/` (columns by
row), `text/` (the text index) and `assets/` (the asset index). The store adds the manifest and publishes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..events.errors import CorruptSnapshot
from ..events.log import EventLog
from ..events.position import Position
from .asset_index import EXACT_UP_TO, Group, HalfArray, Vectors, build_graph, halve, open_graph
from .base import Base, empty_base
from .eligibility import Audiences, Policies
from .encoder import Encoder
from .items import Item
from .manifest import Manifest
from .names import NameIndex
from .overlay import Overlay
from .rows import TOPIC, Row, rows_of
from .segment import FrozenRows, FrozenSegment
from .snapshot_store import Opened, SnapshotStore
from .state import State
from .text_index import FrozenPostings, freeze
from .words import tokenize

FRAME: Final = 500
"""Items decoded in one go: about 2 ms, so that a reader which warms a snapshot in a thread lets requests through."""
BATCH: Final = 1_000
"""Events read and applied in one go when catching up."""
_LENGTH: Final = struct.Struct("<I")
_ROW_COLUMNS: Final = ("item", "kind", "audience", "weight")
_POSTING_ARRAYS: Final = ("starts", "rows", "counts", "lengths")


class _Rest(msgspec.Struct, frozen=True):
    """Everything of the state that is not an item."""

    position: Position
    readers: dict[str, tuple[str, ...]]
    shown: dict[str, dict[str, str]]


def catch_up(overlay: Overlay, events: EventLog, *, between: Callable[[], None] = lambda: None) -> None:
    """Apply everything up to the tail of the log; `between` is called after each batch."""
    while batch := events.read(overlay.position, BATCH):
        overlay.apply(batch)
        between()


def latest_base(store: SnapshotStore, encoder: Encoder, *, between: Callable[[], None] = lambda: None) -> Base:
    """The newest good snapshot made with this encoder; the empty base when there is none."""
    opened = store.latest(encoder=encoder.fingerprint)
    return open_base(opened, between=between) if opened else empty_base(encoder.dim)


def build(events: EventLog, store: SnapshotStore, encoder: Encoder, *, full: bool = False) -> Manifest:
    """Bring the newest snapshot up to the tail of the log and publish the result.

    Args:
        events: the log; read, never written.
        store: where the snapshot is published.
        encoder: makes the vectors of rows that the older snapshot does not have.
        full: start from zero and use nothing of an older snapshot.
    """
    started_from = store.current()
    base = empty_base(encoder.dim) if full else latest_base(store, encoder)
    state = State(base.state)
    while batch := events.read(state.position, BATCH):
        for event in batch:
            state.apply(event)
    return store.publish(
        lambda folder: write(state, base, encoder, folder),
        position=state.position,
        encoder=encoder.fingerprint,
        started_from=started_from,
    )


def write(state: State, base: Base, encoder: Encoder, folder: Path) -> dict[str, int]:
    """Write a state over a base as a new base; returns what the manifest counts. Vectors of the base are used again."""
    items = list(state.all())
    rows_per_item = [rows_of(item) for item in items]
    rows = [row for found in rows_per_item for row in found]
    _write_items(folder / "items.bin", items)
    rest = _Rest(state.position, state.readers, state.shown)
    (folder / "state.msgpack").write_bytes(msgspec.msgpack.encode(rest))
    _write_rows(folder / "rows", rows, [len(found) for found in rows_per_item])
    _write_text(folder / "text", rows)
    _write_assets(folder / "assets", rows, _vectors(items, rows_per_item, base, encoder))
    return {"items": len(items), "rows": len(rows)}


def _vectors(items: list[Item], rows_per_item: list[list[Row]], base: Base, encoder: Encoder) -> HalfArray:
    """One vector a row: the base's where it has that row, else encoded, in batches."""
    texts: list[str] = []
    known: list[int] = []
    for item, rows in zip(items, rows_per_item, strict=True):
        numbers = base.rows_of(item)
        known += [numbers.get(row, -1) for row in rows]
        texts += [row.text for row in rows]
    numbers_of = np.array(known, dtype=np.int64)
    matrix = np.zeros((len(texts), encoder.dim), dtype=np.float16)
    held = np.flatnonzero(numbers_of >= 0)
    matrix[held] = base.segment.vectors.at(numbers_of[held])
    missing = np.flatnonzero(numbers_of < 0)
    for batch in np.array_split(missing, range(BATCH, len(missing), BATCH)):
        matrix[batch] = halve(encoder.encode([texts[place] for place in batch]))
    return matrix


def _write_items(path: Path, items: list[Item]) -> None:
    with path.open("wb") as out:
        for start in range(0, len(items), FRAME):
            frame = msgspec.msgpack.encode(items[start : start + FRAME])
            out.write(_LENGTH.pack(len(frame)))
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
    arrays, vocabulary = freeze(tokenize([row.text for row in rows]))
    for name in _POSTING_ARRAYS:
        np.save(folder / f"{name}.npy", arrays[name])
    (folder / "vocabulary.msgpack").write_bytes(msgspec.msgpack.encode(vocabulary))


def _write_assets(folder: Path, rows: list[Row], matrix: HalfArray) -> None:
    folder.mkdir()
    topics = np.fromiter((row.kind == TOPIC for row in rows), np.bool_, len(rows))
    for name, chosen in (("topics", topics), ("keys", ~topics)):
        vectors = matrix[chosen]
        np.save(folder / f"{name}.npy", vectors)
        np.save(folder / f"{name}_rows.npy", np.flatnonzero(chosen))
        if len(vectors) > EXACT_UP_TO:
            build_graph(vectors, folder / f"{name}.usearch")


def open_base(opened: Opened, *, between: Callable[[], None] = lambda: None) -> Base:
    """Read a snapshot whose checksums have been verified; `between` is called after each frame of items.

    Raises:
        CorruptSnapshot: the files do not fit together in spite of their checksums.
    """
    folder = opened.path
    try:
        rest = msgspec.msgpack.decode((folder / "state.msgpack").read_bytes(), type=_Rest)
        state = State()
        state.position, state.readers, state.shown = rest.position, rest.readers, rest.shown
        audiences = Audiences()
        labels = msgspec.msgpack.decode((folder / "rows/audiences.msgpack").read_bytes(), type=list[tuple[str, ...]])
        for label in labels:
            audiences.number(label)
        policies, names, ids = Policies(audiences), NameIndex(), []
        for frame in _read_items(folder / "items.bin"):
            for item in frame:
                state.items[item.id] = item
                ids.append(item.id)
                policies.append(item)
                names.add(item)
            between()
        segment = _open_segment(folder)
    except (OSError, ValueError, msgspec.MsgspecError, struct.error) as error:
        raise CorruptSnapshot(
            f"Generation {opened.manifest.generation} cannot be read ({type(error).__name__}). "
            "Build a new one with `instant-recall snapshot --full`."
        ) from error
    ordinals = {item: ordinal for ordinal, item in enumerate(ids)}
    addresses = {item.address: item.id for item in state.items.values() if item.address}
    return Base(opened.manifest.generation, state, ids, policies, segment, names, ordinals, addresses)


def _read_items(path: Path) -> Iterator[list[Item]]:
    decoder = msgspec.msgpack.Decoder(list[Item])
    with path.open("rb") as file:
        while header := file.read(_LENGTH.size):
            yield decoder.decode(file.read(_LENGTH.unpack(header)[0]))


def _open_segment(folder: Path) -> FrozenSegment:
    columns = {name: _mapped(folder / f"rows/{name}.npy") for name in (*_ROW_COLUMNS, "first")}
    arrays = {name: _mapped(folder / f"text/{name}.npy") for name in _POSTING_ARRAYS}
    vocabulary = msgspec.msgpack.decode((folder / "text/vocabulary.msgpack").read_bytes(), type=dict[str, int])
    vectors = Vectors(_open_group(folder / "assets", "topics"), _open_group(folder / "assets", "keys"))
    anchors = msgspec.msgpack.decode((folder / "rows/anchors.msgpack").read_bytes(), type=list[str])
    return FrozenSegment(FrozenRows(columns), FrozenPostings(arrays, vocabulary), vectors, columns["first"], anchors)


def _open_group(folder: Path, name: str) -> Group:
    matrix, graph = _mapped(folder / f"{name}.npy"), folder / f"{name}.usearch"
    return Group(
        _mapped(folder / f"{name}_rows.npy"), matrix, open_graph(graph, matrix.shape[1]) if graph.exists() else None
    )


def _mapped(path: Path) -> NDArray[Any]:
    """An array over the mapped file; as a plain array, because every slice of numpy's memmap class costs 20 µs more."""
    return np.asarray(np.load(path, mmap_mode="r"))
