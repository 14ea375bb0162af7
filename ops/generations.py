"""The generations on the disk, as an operator looks at them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..events.errors import CorruptSnapshot, IncompatibleSnapshot, NotFound
from ..events.settings import Settings
from ..events.types import Millis
from ..projections.manifest import Manifest
from ..projections.snapshot_store import SnapshotStore


@dataclass(frozen=True)
class Generation:
    """One generation, whether it is good or not."""

    generation: int
    current: bool
    """CURRENT names it."""
    position: str = ""
    created_at: Millis = 0
    items: int = 0
    bytes: int = 0
    encoder: str = ""
    problem: str = ""
    """What is wrong with it, as far as was looked."""

    def as_facts(self) -> dict[str, Any]:
        """As it is printed with --json."""
        return asdict(self)


def list_generations(settings: Settings) -> list[Generation]:
    """All of them, oldest first; only their manifests are read."""
    store = SnapshotStore(settings.snapshots_dir)
    return [_look(store, number, whole=False) for number in _numbers(store)]


def verify_generations(settings: Settings, only: int | None = None) -> list[Generation]:
    """All of them, or one, with every byte verified (about a second for each GB)."""
    store = SnapshotStore(settings.snapshots_dir)
    return [_look(store, number, whole=True) for number in ([only] if only else _numbers(store))]


def roll_back(settings: Settings, generation: int) -> tuple[int | None, Manifest]:
    """Make an older generation current; returns the number of the one that was, and the manifest of this one.

    Raises:
        NotFound, CorruptSnapshot, IncompatibleSnapshot: it cannot be used; nothing was changed.
    """
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415 - slow to load

    store = SnapshotStore(settings.snapshots_dir)
    before = store.current()
    return before, store.rollback(generation, encoder=load_encoders(settings.encoder).fingerprint)


def _numbers(store: SnapshotStore) -> list[int]:
    """Those that are there, and the one that CURRENT names even when it is not."""
    current = store.current()
    return sorted({*store.generations(), *([current] if current else [])})


def _look(store: SnapshotStore, number: int, *, whole: bool) -> Generation:
    current = store.current() == number
    try:
        found = store.open(number).manifest if whole else store.manifest(number)
    except (CorruptSnapshot, IncompatibleSnapshot, NotFound) as error:
        return Generation(number, current, problem=str(error))
    return Generation(
        number,
        current,
        position=str(found.position),
        created_at=found.created_at,
        items=found.counts.get("items", 0),
        bytes=found.total_bytes,
        encoder=found.encoder,
    )
