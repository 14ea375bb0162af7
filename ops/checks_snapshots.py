"""Checks of what was derived from the log: generations, their positions, the encoder, the overlay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..events.envelope import now_ms
from ..events.errors import EncoderMissing
from ..events.position import Position
from ..events.redis_log import driver_errors
from ..projections.meaning.encoders import load_encoders
from ..projections.snapshot_store import SnapshotStore
from .checks import Finding, Patient
from .generations import Generation, verify_generations
from .output import count

OVERDUE_MS: Final = 26 * 3_600_000
"""After this long without a new snapshot, a night was missed."""


def snapshots(patient: Patient) -> Iterator[Finding]:
    """Whether CURRENT names a generation that is good, byte for byte, and the others are good to fall back to."""
    store = SnapshotStore(patient.settings.snapshots_dir)
    found = verify_generations(patient.settings)
    current = store.current()
    if current is None and (store.root / "CURRENT").exists():
        says = "CURRENT is garbage; readers use the newest good generation"
        yield Finding("snapshot", "BAD", says, patient.type("snapshot"))
    elif current is None and found:
        says = "CURRENT is missing; readers use the newest good generation"
        yield Finding("snapshot", "BAD", says, patient.type("snapshot"))
    elif not found:
        says = "there is none yet: every start replays the whole log"
        yield Finding("snapshot", "warn", says, patient.type("snapshot"))
    for one in found:
        yield from _one(patient, one)


def _one(patient: Patient, one: Generation) -> Iterator[Finding]:
    if one.problem and one.current:
        says = f"the current one: {one.problem} Readers use an older one or the log meanwhile"
        yield Finding("snapshot", "BAD", says, patient.type("snapshot"))
    elif one.problem:
        says = f"generation {one.generation}, which is not in use: {one.problem}"
        yield Finding("snapshot", "warn", says, patient.type("snapshot"))
    elif why := _not_of_this_log(patient, Position.parse(one.position)):
        says = f"generation {one.generation} {why}: it was made before an older log was restored"
        yield Finding("snapshot", "BAD" if one.current else "warn", says, patient.type("snapshot --full"))
    elif one.current:
        behind = now_ms() - one.created_at
        late = behind > OVERDUE_MS and patient.status is not None and patient.status.overlay_items > 0
        says = f"generation {one.generation} is good: {count(one.items, 'item')}, up to {one.position}"
        if late:
            says += ", but over a day old: the nightly job did not run"
        yield Finding("snapshot", "warn" if late else "ok", says, patient.type("snapshot") if late else "")


def _not_of_this_log(patient: Patient, position: Position) -> str:
    """Why a generation cannot have been made from the log that is there; empty when it may have been."""
    if patient.server is None:
        return ""
    client, log = patient.server
    if position > (last := log.last_position()):
        return f"holds the log up to {position}, and the log ends at {last}"
    if position > log.trimmed():
        key = f"ir:{{{patient.settings.owner}}}:log"
        with driver_errors(client):
            if position.ms and not client.xrange(key, str(position), str(position), count=1):
                return f"ends at {position}, where this log has no event"
    return ""


def encoder(patient: Patient) -> Iterator[Finding]:
    """Whether the newest snapshot was made by the encoder that is set."""
    try:
        present = load_encoders(patient.settings.encoder).fingerprint
    except EncoderMissing as error:
        yield Finding("encoder", "BAD", str(error), "unset INSTANT_RECALL_ENCODER")
        return
    store = SnapshotStore(patient.settings.snapshots_dir)
    opened = store.latest()
    if opened and opened.manifest.encoder != present:
        says = (
            f"generation {opened.manifest.generation} was made by {opened.manifest.encoder}, and {present} is set: no "
            "reader uses it, and every start replays the whole log"
        )
        yield Finding("encoder", "BAD", says, patient.type("snapshot"))
    else:
        yield Finding("encoder", "ok", present)


def overlay(patient: Patient) -> Iterator[Finding]:
    """Whether what readers keep in memory beside the snapshot stays small."""
    if patient.status is None:
        return
    items, most = patient.status.overlay_items, patient.settings.rebuild_after
    says = f"{count(items, 'item')} newer than the snapshot; past {most:,} a new one is built"
    if items > most:
        yield Finding("overlay", "warn", says, patient.type("snapshot"))
    else:
        yield Finding("overlay", "ok", says)
