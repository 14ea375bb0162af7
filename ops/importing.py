"""`import`: a folder of the owner's, brought up to date in the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ..events.envelope import EventDraft
from ..events.errors import InvalidEvent
from ..events.log import EventLog
from ..workers.folders import Skipped
from ..workers.importing import known_items, plan
from ..workers.notes import scan_notes
from ..workers.skills import scan_skills
from .replay import fold

What = Literal["skills", "notes"]
Progress = Callable[[str, int, int], None]
"""Told (the step, how much is done, how much there is)."""

SCANS = {"skills": scan_skills, "notes": scan_notes}
BATCH = 500
"""Events in one append: a few milliseconds, during which the server answers nobody else."""
BATCH_BYTES = 2_000_000
"""Bytes of text in one append, about, for the same reason."""


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did, or with `dry_run` would do."""

    what: str
    path: str
    new: int
    changed: int
    unchanged: int
    closed: int
    held: int
    """Of the new and the changed, those that are held back until their owner has looked at them."""
    skipped: list[Skipped]
    dry_run: bool
    position: str
    """Of the last event written; empty when nothing was."""
    took_s: float


def import_folder(
    log: EventLog, what: What, path: Path, *, on_progress: Progress, dry_run: bool = False
) -> ImportReport:
    """Read a folder, compare it with what the log knows, and append only what differs.

    Each item is one event: stopped half way, the import has brought in what it told of, and the next one does the rest.

    Raises:
        NotFound: there is nothing at `path`.
        LogFull, LogUnavailable: the log does not take it; what was appended before stays.
    """
    began = time.perf_counter()
    files = 0

    def on_file(_path: Path) -> None:
        nonlocal files
        files += 1
        on_progress("reading", files, files)

    scanned = SCANS[what](path, on_file=on_file)
    planned = plan(scanned, known_items(fold(log).state.all()))
    skipped = list(planned.skipped)
    position, done, drafts = "", 0, planned.drafts
    for batch in () if dry_run else batches(drafts):
        stored, refused = _append(log, batch)
        skipped += refused
        position = stored or position
        done += len(batch)
        on_progress("storing", done, len(drafts))
    return ImportReport(
        what=what,
        path=str(path),
        new=len(planned.new),
        changed=len(planned.changed),
        unchanged=len(planned.unchanged),
        closed=len(planned.closed),
        held=len(planned.held),
        skipped=skipped,
        dry_run=dry_run,
        position=position,
        took_s=round(time.perf_counter() - began, 3),
    )


def batches(drafts: Sequence[EventDraft]) -> Iterator[list[EventDraft]]:
    """The drafts in order, in pieces that the log takes in one short step."""
    batch: list[EventDraft] = []
    size = 0
    for draft in drafts:
        length = len(msgspec.msgpack.encode(draft.event))
        if batch and (len(batch) >= BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(draft)
        size += length
    if batch:
        yield batch


def _append(log: EventLog, batch: list[EventDraft]) -> tuple[str, list[Skipped]]:
    """Append a batch; where one of its events is refused, the others are appended one by one."""
    try:
        return str(log.append(batch)[-1].position), []
    except InvalidEvent as refusal:
        if len(batch) == 1:
            return "", [Skipped(str(batch[0].event.subjects()[0])[:200], str(refusal), batch[0].source.uri)]
    position, skipped = "", []
    for draft in batch:
        stored, refused = _append(log, [draft])
        position = stored or position
        skipped += refused
    return position, skipped
