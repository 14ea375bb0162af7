"""Archiving: moving the older part of a log from the server into files, without losing any of it on the way."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import redis
import structlog

from ..events.archive import SEGMENT_BYTES, SEGMENT_EVENTS, Archive, Segment, nothing
from ..events.archive_file import damaged
from ..events.codec import Stored
from ..events.connect import log_on
from ..events.envelope import Actor, EventDraft, now_ms
from ..events.errors import CorruptArchive, CorruptSnapshot, IncompatibleSnapshot, LogGap, NotFound
from ..events.position import START, Position
from ..events.redis_log import RedisEventLog, driver_errors
from ..events.settings import Settings
from ..events.types import LogArchived, Millis
from ..projections.snapshot_store import SnapshotStore
from .jobs import job_client
from .trimming import Stream

log = structlog.get_logger()

NIGHTLY_AT_LEAST: Final = 1_000
"""Events that make it worth a segment of their own at night, when they are old but take little room."""

_PAGE: Final = 2_000
_DAY_MS: Final = 86_400_000
_ROOM: Final = 1 << 20
"""Bytes that are moved at the least when the server is too full: a segment for each few bytes would be silly."""


class Limit(NamedTuple):
    """The last position that may leave the server, and what needs the events behind it."""

    position: Position
    held_by: str


class Archiver:
    """Moves the oldest events of one log into its archive, a segment at a time.

    1. The oldest events are read from the stream, up to the given position and to what a segment may hold.
    2. They are written: first their payloads, then the segment itself (see `Archive.write`).
    3. Both files are read back from disk, verified, and compared with what the stream still holds.
    4. They leave the stream, with their payloads, in one step. That step is refused when somebody else trimmed, and
       when a payload was erased meanwhile: that one is then taken out of the archive, and step 3 begins again.
    5. The log is told (LogArchived), under an event id that follows from the segment's name.

    Whatever dies after any of these steps, every event is in the stream or in the archive, and read once: after 2 and 3
    it is in both, and the stream's is read. `finish` brings such a segment to its end. After 4, `finish` does 5.

    Args:
        events: the log, read as one with `archive`.
        stream: the same log's stream.
        archive: where the events go.
        after_step: called after each step, with its name.
    """

    def __init__(
        self,
        events: RedisEventLog,
        stream: Stream,
        archive: Archive,
        *,
        after_step: Callable[[str], None] = nothing,
    ) -> None:
        self._events = events
        self._stream = stream
        self._archive = archive
        self._after_step = after_step

    def finish(self) -> list[Segment]:
        """End what somebody who died has begun; returns the segments that were still in the stream.

        Raises:
            LogGap: the archive ends before the position up to which the stream was trimmed: it is not all here.
            CorruptArchive: a segment is damaged, or holds what the stream does not. Nothing left the stream.
        """
        before = self._events.trimmed()
        segments = self._archive.segments()
        if not segments and before == START:
            return []
        if self._archive.last() < before:
            raise LogGap(
                f"The log was archived up to {before}, but {self._archive.root} ends at {self._archive.last()}. Put "
                "the missing segments back, or archive on the machine that has them. Nothing was moved."
            )
        left = [segment for segment in segments if segment.last > before]
        for segment in left:
            with self._archive.lock():
                self._let_go(segment, before)
            before = segment.last
        self._tell(segments[-1])
        return left

    def move(self, through: Position, *, most_bytes: int = SEGMENT_BYTES, at_least: int = 1) -> Segment | None:
        """Move one segment of events, none of them behind `through`; None when they are fewer than `at_least`.

        Raises:
            ArchiveFailed: the files cannot be written, or another process archives. Nothing left the stream.
            CorruptArchive: what was written reads back differently. Nothing left the stream.
        """
        with self._archive.lock():
            before = self._events.trimmed()
            oldest = self._oldest(before, through, most_bytes)
            if len(oldest) < max(at_least, 1):
                return None
            self._after_step("read")  # 1
            segment = self._archive.write(oldest)
            self._after_step("written")  # 2
            try:
                self._let_go(segment, before)
            except CorruptArchive:
                if self._events.trimmed() == before:  # the stream has these events; they are written anew next time
                    segment.path.unlink(missing_ok=True)
                raise
        self._tell(segment)
        return segment

    def _oldest(self, before: Position, through: Position, most_bytes: int) -> list[Stored]:
        found: list[Stored] = []
        size, after = 0, before
        while page := self._events.stored(after, _PAGE):
            for one in page:
                if one.position > through or len(found) == SEGMENT_EVENTS or size >= most_bytes:
                    return found
                found.append(one)
                size += len(one.envelope) + len(one.payload or b"")
            after = page[-1].position
        return found

    def _let_go(self, segment: Segment, before: Position) -> None:
        """Steps 3 and 4, under the archive's lock."""
        while True:
            held = self._archive.open(segment).events
            erased = self._compare(segment, held, before)
            if not erased:
                self._after_step("verified")  # 3
                erased = self._stream.trim(held, before)
            if not erased:
                break
            self._archive.erase_locked(segment, erased)
        self._after_step("trimmed")  # 4
        log.info("log.archived", segment=segment.path.name, events=len(held))

    def _compare(self, segment: Segment, held: list[Stored], before: Position) -> list[bytes]:
        """Ids of the payloads that were erased since the segment was written.

        Raises:
            CorruptArchive: anything else differs.
        """
        kept: list[Stored] = []
        while len(kept) < len(held):
            page = self._events.stored(kept[-1].position if kept else before, min(_PAGE, len(held) - len(kept)))
            if not page:
                break
            kept += page
        erased = [
            ours.event_id
            for ours, theirs in zip(held, kept, strict=False)
            if ours.payload is not None and theirs.payload is None
        ]
        gone = set(erased)
        if kept != [one._replace(payload=None) if one.event_id in gone else one for one in held]:
            raise damaged(
                segment.path, "does not hold what the server has there (was an older backup of one of them restored?)"
            )
        return erased

    def _tell(self, segment: Segment) -> None:
        """Step 5. Told again, it is the same event."""
        event = LogArchived(segment=segment.path.name, first=str(segment.first), last=str(segment.last))
        event_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"instant-recall:{self._archive.owner}:{segment.path.name}"))
        actor = Actor(kind="system", name="archive")
        self._events.append([EventDraft(event=event, event_id=event_id, occurred_at=now_ms(), actor=actor)])
        self._after_step("told")  # 5


def limit(store: SnapshotStore, stream: Stream) -> Limit:
    """How far the log may be archived: everything that is kept on disk or reads the stream has to be past it."""
    positions: dict[str, Position] = stream.readers()
    generations = 0
    for generation in store.generations():
        try:
            positions[f"snapshot {generation}"] = store.manifest(generation).position
            generations += 1
        except (CorruptSnapshot, IncompatibleSnapshot, NotFound) as error:  # nobody can start from it
            log.warning("archive.snapshot_passed_over", generation=generation, reason=str(error))
    if not generations:
        return Limit(START, "there is no snapshot yet")
    held_by = min(positions, key=positions.__getitem__)
    return Limit(positions[held_by], held_by)


def archive_log(
    home: str,
    redis_url: str | None = "",
    owner: str = "owner",
    older_than: int = Settings.older_than,
    keep_bytes: int = Settings.keep_bytes,
    at_least: int = NIGHTLY_AT_LEAST,
) -> dict[str, Any]:
    """Move the events that are old, and the oldest of those that take too much memory, into the archive.

    Args:
        home: the data folder.
        redis_url: as for `build_snapshot`.
        owner: whose log.
        older_than: days; events of at least this age go.
        keep_bytes: when the stream and its payloads take more of the server's memory than this, the oldest events go.
        at_least: fewer old events than this are left for another day.

    Returns:
        `{"segments": [names], "through", "limit", "held_by", "log_bytes", "archive_bytes", "seconds"}`: the segments
        made or finished; up to where the log is archived now; how far it could be and what needs the events behind
        that; bytes in the server's memory (an estimate) and in the archive's files.

    Raises:
        LogUnavailable: the server cannot be reached.
        ArchiveFailed, CorruptArchive, LogGap: see `Archiver`. Nothing is lost; what was moved before stays moved.
    """
    settings = Settings(home=Path(home), redis_url=redis_url or "", owner=owner)
    with job_client(settings, of_job=redis_url is None) as client, driver_errors(client):
        return _archive(settings, client, now_ms() - older_than * _DAY_MS, keep_bytes, at_least)


def _archive(settings: Settings, client: redis.Redis, until: Millis, keep_bytes: int, at_least: int) -> dict[str, Any]:
    began = time.monotonic()
    events, stream = log_on(client, settings), Stream(client, settings.owner)
    archive = Archive(settings.archive_dir, settings.owner)
    archiver = Archiver(events, stream, archive)
    moved = archiver.finish()
    most = limit(SnapshotStore(settings.snapshots_dir), stream)
    old = min(most.position, Position(max(until, 0), 0))
    while segment := archiver.move(old, at_least=at_least):
        moved.append(segment)
    while (over := stream.bytes_used() - keep_bytes) > 0:
        segment = archiver.move(most.position, most_bytes=min(max(over, _ROOM), SEGMENT_BYTES))
        if segment is None:
            break
        moved.append(segment)
    facts = {
        "segments": [segment.path.name for segment in moved],
        "through": str(events.trimmed()),
        "limit": str(most.position),
        "held_by": most.held_by,
        "log_bytes": stream.bytes_used(),
        "archive_bytes": sum(file.stat().st_size for file in archive.root.glob("*.zst")),
        "seconds": round(time.monotonic() - began, 3),
    }
    log.info("archive.done", **{**facts, "segments": len(moved)})
    return facts
