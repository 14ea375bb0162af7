"""The archive: the older part of a log, in files. A log reads archive and stream as one; see `redis_log.py`.

    archive/<owner>/
      000001_<first>_<last>.zst             a segment: positions, event ids and envelopes, as they were in the stream
      000001_<first>_<last>.payloads.zst    the free text of its events
      archive.lock                          held while a file is written

A segment never changes. Free text has to stay forgettable, so it stands in a file of its own, which is written anew
without a payload when that is erased. A segment counts once its own file is there; its payloads are put there first.

Each segment says where the one before it ended, so that a missing one is noticed and never read over.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from . import archive_file
from .codec import Stored
from .errors import ArchiveFailed, CorruptArchive, LogGap
from .files import locked
from .position import START, Position

SEGMENT_EVENTS: Final = 20_000
"""Events in one segment at the most, so that reading one takes tenths of a second and little memory."""

SEGMENT_BYTES: Final = 16 << 20
"""Bytes of envelopes and payloads after which a segment is full, for the same reason."""

_SEGMENT: Final = re.compile(r"(\d{6,12})_(\d{1,20}-\d{1,20})_(\d{1,20}-\d{1,20})\.zst")

_Frames = list[tuple[int, int, bytes, bytes]]
"""Milliseconds, sequence, event id, envelope: the body of a segment."""


class Segment(NamedTuple):
    """One segment, as its name tells it."""

    number: int
    first: Position
    last: Position
    path: Path

    @property
    def payloads(self) -> Path:
        """The file with the free text."""
        return self.path.with_name(f"{self.path.stem}.payloads.zst")


class Opened(NamedTuple):
    """A segment whose files were read and verified. `events` go together with `positions`."""

    segment: Segment
    previous: Position
    events: list[Stored]
    positions: list[Position]
    stamp: tuple[int, int, int]
    """Of the payloads' file when it was read: it differs once one of them was erased since."""


def nothing(_step: str) -> None:
    """What happens after a step: nothing. Crash tests end the process here instead."""


class Archive:
    """The archive of one owner's log in one folder. Any number of objects, threads and processes may use a folder.

    Promised: a file that was written is complete, or is not there; what is read was verified by checksum.

    Args:
        root: the folder; made when the first segment is written.
        owner: whose log; a segment of another owner is refused.
        after_step: called after each step of `write` and `erase`.
    """

    def __init__(self, root: Path, owner: str, *, after_step: Callable[[str], None] = nothing) -> None:
        self.root = root
        self.owner = owner
        self._after_step = after_step
        self._opened: Opened | None = None

    def segments(self) -> list[Segment]:
        """The segments that are there, oldest first; they may be damaged, and one between them may be missing."""
        try:
            names = os.listdir(self.root)  # noqa: PTH208 - only names are wanted
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CorruptArchive(f"{self.root} cannot be read ({error.strerror}). Check who may read it.") from error
        found = filter(None, map(_SEGMENT.fullmatch, names))
        return sorted(
            Segment(int(one[1]), Position.parse(one[2]), Position.parse(one[3]), self.root / one[0]) for one in found
        )

    def last(self) -> Position:
        """The last position that the archive has; START when it is empty."""
        segments = self.segments()
        return segments[-1].last if segments else START

    def has(self, position: Position) -> bool:
        """Whether a segment reaches over this position."""
        return any(one.first <= position <= one.last for one in self.segments())

    def read(self, after: Position, limit: int) -> list[Stored]:
        """Up to `limit` events behind `after`, in order; those of one segment at the most. None behind the last.

        Raises:
            LogGap: a segment is missing in front of the next events.
            CorruptArchive: the segment cannot be used.
        """
        opened = self._opened
        if opened is None or not opened.previous <= after < opened.segment.last or opened.stamp != _stamp(opened):
            opened = self._open_behind(after)
            if opened is None:
                return []
        place = bisect_right(opened.positions, after)
        found = opened.events[place : place + limit]
        # Whoever reads on needs the next segment; whoever has what it wants needs none.
        self._opened = opened if place + limit < len(opened.events) else None
        return found

    def open(self, segment: Segment) -> Opened:
        """Read and verify both files of a segment.

        Raises:
            CorruptArchive: the message names the file and what to do.
        """
        header, body = archive_file.read(segment.path, owner=self.owner, holds="events")
        stamp = _stamp_of(segment.payloads)
        payloads = self._payloads(segment)
        try:
            frames = msgspec.msgpack.decode(body, type=_Frames)
        except msgspec.MsgspecError as error:
            raise archive_file.damaged(segment.path, "does not hold events") from error
        events = [
            Stored(Position(ms, seq), event_id, envelope, payloads.get(event_id))
            for ms, seq, event_id, envelope in frames
        ]
        positions = [one.position for one in events]
        told = [header.first, header.last, header.count]
        if not events or told != [positions[0], positions[-1], len(events)]:
            raise archive_file.damaged(segment.path, "does not hold what it says")
        if (segment.first, segment.last) != (header.first, header.last):
            raise archive_file.damaged(segment.path, f"has a wrong name: it holds {header.first} to {header.last}")
        return Opened(segment, header.previous, events, positions, stamp)

    def write(self, events: Sequence[Stored]) -> Segment:
        """Add a segment behind the last one; call it under `lock`.

        1. The payloads are written under a temporary name, synced, and renamed.
        2. The segment is written in the same way. From here on it counts.

        Raises:
            ArchiveFailed: the disk is full, or the folder cannot be written.
        """
        segments = self.segments()
        number, previous = (segments[-1].number + 1, segments[-1].last) if segments else (1, START)
        first, last = events[0].position, events[-1].position
        segment = Segment(number, first, last, self.root / f"{number:06d}_{first}_{last}.zst")
        with self._failing_well():
            self._write_payloads(
                segment, previous, {one.event_id: one.payload for one in events if one.payload is not None}
            )
            self._after_step("payloads_written")  # 1
            body = msgspec.msgpack.encode([(*one.position, one.event_id, one.envelope) for one in events])
            header = archive_file.describe(
                body,
                holds="events",
                owner=self.owner,
                previous=previous,
                first=first,
                last=last,
                count=len(events),
            )
            archive_file.write(segment.path, header, body)
            self._after_step("segment_written")  # 2
        return segment

    def erase(self, events: Mapping[bytes, Position]) -> int:
        """Write the payloads around these positions anew, without those of these event ids; how many went.

        Each file is written once, however many of its payloads go. The old file's blocks are free then; what had been
        on them is the disk's business.

        Raises:
            CorruptArchive: the payloads of a segment cannot be read. Nothing was erased from that one.
            ArchiveFailed: the disk is full, or the folder cannot be written. The payloads of a segment are still there.
        """
        if not any(self.has(at) for at in events.values()):
            return 0
        with self.lock():
            return sum(
                self.erase_locked(segment, gone)
                for segment in self.segments()
                if (gone := [one for one, at in events.items() if segment.first <= at <= segment.last])
            )

    def erase_locked(self, segment: Segment, event_ids: Collection[bytes]) -> int:
        """`erase` in one segment, for whoever holds the lock already."""
        payloads, unwanted = self._payloads(segment), set(event_ids)
        kept = {event_id: payload for event_id, payload in payloads.items() if event_id not in unwanted}
        if len(kept) < len(payloads):
            with self._failing_well():
                self._write_payloads(segment, START, kept)
            self._after_step("payload_erased")
        return len(payloads) - len(kept)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held by whoever writes here. What a dead writer left behind, free text perhaps, is removed first."""
        with self._failing_well(), locked(self.root, "archive.lock"):
            for left in self.root.glob("*.tmp"):
                left.unlink()
            yield

    def _open_behind(self, after: Position) -> Opened | None:
        """The segment with the first event behind `after`."""
        segment = next((one for one in self.segments() if one.last > after), None)
        if segment is None:
            return None
        opened = self.open(segment)
        if opened.previous > after:
            missing = self.root / f"{segment.number - 1:06d}_*_{opened.previous}.zst"
            raise LogGap(
                f"The events behind {after} and up to {opened.previous} are in no file of the archive: {missing} is "
                f"missing. Put it back from a backup, or start from a snapshot at or behind {opened.previous}."
            )
        return opened

    def _payloads(self, segment: Segment) -> dict[bytes, bytes]:
        header, body = archive_file.read(segment.payloads, owner=self.owner, holds="payloads")
        if (header.first, header.last) != (segment.first, segment.last):
            raise archive_file.damaged(segment.payloads, "belongs to another segment")
        try:
            return msgspec.msgpack.decode(body, type=dict[bytes, bytes])
        except msgspec.MsgspecError as error:
            raise archive_file.damaged(segment.payloads, "does not hold payloads") from error

    def _write_payloads(self, segment: Segment, previous: Position, payloads: dict[bytes, bytes]) -> None:
        body = msgspec.msgpack.encode(payloads)
        header = archive_file.describe(
            body,
            holds="payloads",
            owner=self.owner,
            previous=previous,
            first=segment.first,
            last=segment.last,
            count=len(payloads),
        )
        archive_file.write(segment.payloads, header, body)

    @contextmanager
    def _failing_well(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ArchiveFailed(
                f"The archive in {self.root} could not be written ({error.strerror or error}); nothing left the log. "
                "Free some space or mend the folder, then run `instant-recall archive`."
            ) from error


def _stamp(opened: Opened) -> tuple[int, int, int]:
    return _stamp_of(opened.segment.payloads)


def _stamp_of(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)
