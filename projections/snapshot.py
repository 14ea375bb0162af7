"""Snapshots: their form on disk, and reading one back as a base. `building.py` writes them.

A folder holds `items.bin` (frames of items), `uses.bin` (frames of sessions with what was used in them),
`state.msgpack` (position, readers, what was shown), `rows/` (columns by row), `text/` (the text index) and `assets/`
(the asset index). The store adds the manifest and publishes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from ..events.errors import CorruptSnapshot, IncompatibleSnapshot, NotFound
from ..events.log import EventLog
from ..events.position import Position
from .asset_index import Group, Vectors
from .base import Base, empty_base
from .graph import Graph
from .items import Item
from .learning.feedback import Feedback
from .learning.tuning import DEFAULT, Tuning
from .meaning.encoders import Encoders
from .naming.addresses import Addresses
from .naming.names import NameIndex
from .overlay import Overlay
from .past.uses import Use
from .policy.eligibility import Audiences, Policies
from .policy.mutes import Mutes
from .policy.quarantine import Held
from .policy.readers import Grant, Readers
from .rows import GROUPS
from .segment import FrozenRows, FrozenSegment
from .snapshot_store import Opened, SnapshotStore
from .state import State
from .text_index import FrozenPostings

log = structlog.get_logger()

FRAME: Final = 500
"""Items decoded in one go: about 2 ms, so that a reader which warms a snapshot in a thread lets requests through."""
BATCH: Final = 1_000
"""Events read in one go when catching up."""
STEP: Final = 25
"""Events applied in one go when catching up in a thread: encoding more of them would hold up requests for longer."""
LENGTH: Final = struct.Struct("<I")
"""Stands before each frame of `items.bin` and `uses.bin`: its length in bytes."""
ROW_COLUMNS: Final = ("item", "kind", "audience", "weight")
Framed = TypeVar("Framed")
POSTING_ARRAYS: Final = ("starts", "rows", "counts", "lengths")


class Rest(msgspec.Struct, frozen=True):
    """Everything of the state that is neither an item nor a use."""

    position: Position
    readers: dict[str, Grant]
    shown: dict[str, dict[str, str]]
    tuning: Tuning = DEFAULT
    feedback: Feedback = msgspec.field(default_factory=Feedback)
    mutes: Mutes = Mutes()
    held: dict[str, Held] = msgspec.field(default_factory=dict)
    corrected: dict[str, tuple[str, ...]] = {}


def catch_up(
    overlay: Overlay, events: EventLog, *, until: Position | None = None, between: Callable[[], None] = lambda: None
) -> None:
    """Apply everything up to the tail of the log, or up to and with `until`; `between` is called after each STEP."""
    while (until is None or overlay.position < until) and (batch := events.read(overlay.position, BATCH)):
        wanted = batch if until is None else [event for event in batch if event.position <= until]
        for start in range(0, len(wanted), STEP):
            overlay.apply(wanted[start : start + STEP])
            between()
        if len(wanted) < len(batch):
            return


def latest_base(store: SnapshotStore, encoders: Encoders, *, between: Callable[[], None] = lambda: None) -> Base:
    """The newest good snapshot made with these encoders; the empty base when there is none."""
    opened = store.latest(encoder=encoders.fingerprint)
    return open_base(opened, between=between) if opened else empty_base(encoders.dims)


def base_at(
    store: SnapshotStore | None,
    encoders: Encoders,
    until: Position,
    *,
    held: Iterable[Base] = (),
    between: Callable[[], None] = lambda: None,
) -> Base:
    """The base with most of the events up to `until`, and none behind it.

    That is one of `held` (those in memory already), or one of the kept snapshots when that has more; the empty base
    when none goes so far back. A damaged snapshot is passed over with one line in the log.
    """
    early = [base for base in held if base.position <= until]
    best = max(early, key=lambda base: base.position, default=empty_base(encoders.dims))
    if store is None:
        return best
    current = store.current()
    fitting: list[tuple[Position, int]] = []
    for generation in store.generations():
        # Behind CURRENT stand only those that were rolled back from, and those that never became current.
        if current is None or generation <= current:
            with _passing_over(generation):
                found = store.manifest(generation)
                if found.encoder == encoders.fingerprint and best.position < found.position <= until:
                    fitting.append((found.position, generation))
    for _, generation in sorted(fitting, reverse=True):
        with _passing_over(generation):
            return open_base(store.open(generation), between=between)
    return best


@contextmanager
def _passing_over(generation: int) -> Iterator[None]:
    try:
        yield
    except (CorruptSnapshot, IncompatibleSnapshot, NotFound) as error:
        log.warning("snapshot.corrupt", generation=generation, reason=str(error))


def open_base(opened: Opened, *, between: Callable[[], None] = lambda: None) -> Base:
    """Read a snapshot whose checksums have been verified; `between` is called after each frame of items.

    Raises:
        CorruptSnapshot: the files do not fit together in spite of their checksums.
    """
    folder = opened.path
    try:
        rest = msgspec.msgpack.decode((folder / "state.msgpack").read_bytes(), type=Rest)
        state = State()
        state.position, state.readers, state.shown = rest.position, Readers(rest.readers), rest.shown
        state.tuning, state.feedback, state.mutes, state.held = rest.tuning, rest.feedback, rest.mutes, rest.held
        state.corrected = rest.corrected
        audiences = Audiences()
        labels = msgspec.msgpack.decode((folder / "rows/audiences.msgpack").read_bytes(), type=list[tuple[str, ...]])
        for label in labels:
            audiences.number(label)
        policies, names, ids = Policies(audiences), NameIndex(), []
        for frame in _read_frames(folder / "items.bin", list[Item]):
            for item in frame:
                state.items[item.id] = item
                ids.append(item.id)
                policies.append(item)
                names.add(item)
            between()
        for sessions in _read_frames(folder / "uses.bin", list[tuple[str, tuple[Use, ...]]]):
            for session, uses in sessions:
                state.uses.put(session, uses)
            between()
        segment = _open_segment(folder)
        _check_audiences(segment, len(labels))
    except (OSError, ValueError, msgspec.MsgspecError, struct.error) as error:
        raise CorruptSnapshot(
            f"Generation {opened.manifest.generation} cannot be read ({type(error).__name__}). "
            "Build a new one with `instant-recall snapshot --full`."
        ) from error
    ordinals = {item: ordinal for ordinal, item in enumerate(ids)}
    addresses = Addresses()
    for item in state.items.values():
        addresses.add(item.address, item.id)
    return Base(opened.manifest.generation, state, ids, policies, segment, names, ordinals, addresses)


def _check_audiences(segment: FrozenSegment, known: int) -> None:
    """See that each row has an audience that there is: nobody could tell who may see another."""
    numbers = segment.rows.audience
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < known:
        raise ValueError("a row's audience is none")


def _read_frames(path: Path, shape: type[Framed]) -> Iterator[Framed]:
    decoder = msgspec.msgpack.Decoder(shape)
    with path.open("rb") as file:
        while header := file.read(LENGTH.size):
            yield decoder.decode(file.read(LENGTH.unpack(header)[0]))


def _open_segment(folder: Path) -> FrozenSegment:
    columns = {name: _mapped(folder / f"rows/{name}.npy") for name in (*ROW_COLUMNS, "first")}
    arrays = {name: _mapped(folder / f"text/{name}.npy") for name in POSTING_ARRAYS}
    vocabulary = msgspec.msgpack.decode((folder / "text/vocabulary.msgpack").read_bytes(), type=dict[str, int])
    vectors = Vectors([_open_group(folder / "assets", name) for name in GROUPS])
    anchors = msgspec.msgpack.decode((folder / "rows/anchors.msgpack").read_bytes(), type=list[str])
    return FrozenSegment(FrozenRows(columns), FrozenPostings(arrays, vocabulary), vectors, columns["first"], anchors)


def _open_group(folder: Path, name: str) -> Group:
    matrix, path = _mapped(folder / f"{name}.npy"), folder / f"{name}.usearch"
    graph = Graph(path, _mapped(folder / f"{name}_keys.npy"), matrix.shape[1]) if path.exists() else None
    return Group(_mapped(folder / f"{name}_rows.npy"), matrix, graph)


def _mapped(path: Path) -> NDArray[Any]:
    """An array over the mapped file; as a plain array, because every slice of numpy's memmap class costs 20 µs more."""
    return np.asarray(np.load(path, mmap_mode="r"))
