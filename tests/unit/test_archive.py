"""The files of the archive: whole or refused by name, immutable but for the free text, which can be erased."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from instant_recall.events import archive_file
from instant_recall.events.archive import Archive, Segment
from instant_recall.events.codec import Stored
from instant_recall.events.errors import ArchiveFailed, CorruptArchive, LogGap
from instant_recall.events.position import START, Position
from structlog.testing import capture_logs

OWNER = "owner"


def event(number: int, payload: bytes | None = b"text") -> Stored:
    text = None if payload is None else payload + b" of %d" % number
    return Stored(Position(1_000 + number, 0), b"id-%d" % number, b"envelope of %d" % number, text)


def events(first: int, count: int) -> list[Stored]:
    return [event(number) for number in range(first, first + count)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def archive(root: Path) -> Archive:
    """Three segments of ten events, at 1000-0 to 1029-0."""
    archive = Archive(root, OWNER)
    with archive.lock():
        for first in (0, 10, 20):
            archive.write(events(first, 10))
    return Archive(root, OWNER)


def everything(archive: Archive, page: int = 1_000) -> list[Stored]:
    found: list[Stored] = []
    while more := archive.read(found[-1].position if found else START, page):
        found += more
    return found


def bytes_below(root: Path) -> bytes:
    """All that the files hold, unpacked."""
    bodies = []
    for path in root.glob("*.zst*"):
        holds = "payloads" if ".payloads." in path.name else "events"
        bodies.append(archive_file.read(path, owner=OWNER, holds=holds)[1])  # type: ignore[arg-type]
    return b"".join(bodies)


# --- reading what was written -----------------------------------------------------------------------------------------


def test_an_archive_that_is_not_there_is_empty(root: Path) -> None:
    archive = Archive(root, OWNER)

    assert archive.segments() == []
    assert archive.last() == START
    assert archive.read(START, 10) == []
    assert not root.exists()


def test_events_come_back_byte_for_byte_in_order_and_in_pages_of_any_size(archive: Archive) -> None:
    for page in (1, 3, 10, 11, 1_000):
        assert everything(archive, page) == events(0, 30)
    assert archive.last() == Position(1_029, 0)
    assert archive.read(Position(1_029, 0), 5) == []


def test_reading_begins_behind_any_position_between_events_too(archive: Archive) -> None:
    assert archive.read(Position(1_004, 0), 2) == events(5, 2)
    assert archive.read(Position(1_004, 7), 2) == events(5, 2)
    assert archive.read(Position(1_009, 0), 2) == events(10, 2)
    assert archive.read(Position(1_004, 0), 2) == events(5, 2)


def test_a_page_ends_with_its_segment(archive: Archive) -> None:
    assert archive.read(Position(1_007, 0), 100) == events(8, 2)


def test_bytes_of_no_event_are_kept_as_they_are(root: Path) -> None:
    strange = [Stored(Position(5, (1 << 64) - 1), b"\xff", b"", b"\x00"), Stored(Position(6, 0), b"", b"\x80", None)]
    archive = Archive(root, OWNER)
    with archive.lock():
        archive.write(strange)

    assert everything(archive) == strange


def test_free_text_is_not_in_the_file_that_never_changes(archive: Archive) -> None:
    for segment in archive.segments():
        _, body = archive_file.read(segment.path, owner=OWNER, holds="events")
        assert b"envelope of" in body
        assert b"text of" not in body


def test_any_unpacker_can_read_a_file_and_its_first_bytes_tell_what_it_is(archive: Archive) -> None:
    path = archive.segments()[0].path
    assert b'"owner":"owner"' in path.read_bytes()[:200]
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("zstd is not installed")
    unpacked = subprocess.run([program, "-dc", path], check=True, capture_output=True).stdout
    assert b"envelope of 3" in unpacked


def test_only_the_owner_may_enter_the_folder(archive: Archive) -> None:
    assert archive.root.stat().st_mode & 0o777 == 0o700


# --- erasing ----------------------------------------------------------------------------------------------------------


def test_an_erased_payload_is_in_no_file_and_the_event_stays(archive: Archive) -> None:
    segments = {segment: segment.path.read_bytes() for segment in archive.segments()}
    assert b"text of 13" in bytes_below(archive.root)

    assert archive.erase({b"id-13": Position(1_013, 0)}) == 1
    assert archive.erase({b"id-13": Position(1_013, 0)}) == 0

    assert b"text of 13" not in bytes_below(archive.root)
    assert everything(archive) == [*events(0, 13), event(13, None), *events(14, 16)]
    assert {segment: segment.path.read_bytes() for segment in archive.segments()} == segments


def test_a_reader_in_another_process_sees_at_once_that_a_payload_is_gone(archive: Archive) -> None:
    reader = Archive(archive.root, OWNER)
    assert reader.read(START, 1) == [event(0)]

    archive.erase({b"id-1": Position(1_001, 0)})

    assert reader.read(Position(1_000, 0), 1) == [event(1, None)]


def test_erasing_what_is_not_there_writes_nothing(archive: Archive) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in archive.root.glob("*.zst")}

    assert archive.erase({b"id-12": Position(1_013, 0)}) == 1  # the position only says in which segment
    assert archive.erase({b"unknown": Position(1_013, 0)}) == 0
    assert archive.erase({b"id-13": Position(9_999, 0)}) == 0

    changed = [path.name for path in archive.root.glob("*.zst") if path.stat().st_mtime_ns != before[path.name]]
    assert changed == [archive.segments()[1].payloads.name]


def test_what_a_dead_writer_left_is_gone_before_the_next_one_writes(archive: Archive) -> None:
    left = archive.root / "000001_1000-0_1009-0.payloads.zst.tmp"
    left.write_bytes(b"the secret")

    archive.erase({b"id-13": Position(1_013, 0)})

    assert not left.exists()


def test_many_payloads_of_one_segment_are_erased_with_one_rewrite(archive: Archive) -> None:
    steps: list[str] = []
    eraser = Archive(archive.root, OWNER, after_step=steps.append)

    assert eraser.erase({b"id-%d" % n: Position(1_000 + n, 0) for n in range(5, 15)}) == 10

    assert steps == ["payload_erased", "payload_erased"]
    assert everything(archive) == [*events(0, 5), *(event(n, None) for n in range(5, 15)), *events(15, 15)]


# --- bad input --------------------------------------------------------------------------------------------------------


def damage_file(path: Path, how: str) -> None:
    data = path.read_bytes()
    flips = {"mark": 0, "length": 4, "checksum": 9, "header": 30, "frame": data.rindex(b"}") + 8, "end": len(data) - 1}
    if how == "missing":
        path.unlink()
    elif how == "a folder":
        path.unlink()
        path.mkdir()
    else:
        changed = {
            "empty": b"",
            "short": data[:7],
            "half": data[: len(data) // 2],
            "one byte short": data[:-1],
            "one byte long": data + b"x",
            "another file": b"x" * 1_000,
        }
        at = flips.get(how)
        path.write_bytes(changed[how] if at is None else data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])


DAMAGE = (
    *("mark", "length", "checksum", "header", "frame", "end", "a folder", "empty", "short", "half"),
    *("one byte short", "one byte long", "another file", "missing"),
)


@pytest.mark.parametrize(
    ("part", "how"),  # a segment that is missing as a whole is a gap, see below
    [(part, how) for part in ("path", "payloads") for how in DAMAGE if (part, how) != ("path", "missing")],
)
def test_a_damaged_file_is_refused_by_name_and_hurts_no_other_segment(archive: Archive, part: str, how: str) -> None:
    first, second, _ = archive.segments()
    broken: Path = getattr(second, part)
    damage_file(broken, how)

    with pytest.raises(CorruptArchive, match="Put a good copy of this file back") as told:
        archive.read(first.last, 10)

    assert str(broken) in str(told.value)
    assert archive.read(START, 10) == events(0, 10)
    assert archive.read(second.last, 10) == events(20, 10)
    assert archive.segments() != []


def test_a_missing_segment_is_a_gap_and_not_read_over(archive: Archive) -> None:
    first, second, _ = archive.segments()
    second.path.unlink()

    with pytest.raises(LogGap, match=r"behind 1009-0 and up to 1019-0.*000002_.*start from a snapshot"):
        archive.read(first.last, 10)

    assert archive.read(START, 10) == events(0, 10)
    assert archive.read(second.last, 10) == events(20, 10)


def test_a_missing_first_segment_is_a_gap(archive: Archive) -> None:
    archive.segments()[0].path.unlink()

    with pytest.raises(LogGap, match=r"behind 0-0 and up to 1009-0"):
        archive.read(START, 10)


def test_a_segment_of_another_owner_is_refused(archive: Archive) -> None:
    with pytest.raises(CorruptArchive, match=r"belongs to the log of 'owner', not of 'somebody'"):
        Archive(archive.root, "somebody").read(START, 10)


def test_a_segment_of_a_later_version_is_refused_with_what_to_do(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "FORMAT", 2)

    with pytest.raises(CorruptArchive, match=r"is of format 1.*update Instant Recall"):
        archive.read(START, 10)


def test_a_segment_under_another_ones_name_is_refused(archive: Archive) -> None:
    first, second, _ = archive.segments()
    shutil.copy(first.path, second.path)

    with pytest.raises(CorruptArchive, match="wrong name"):
        archive.read(first.last, 10)


def test_payloads_of_another_segment_are_refused(archive: Archive) -> None:
    first, second, _ = archive.segments()
    shutil.copy(first.payloads, second.payloads)

    with pytest.raises(CorruptArchive, match="belongs to another segment"):
        archive.read(first.last, 10)


def test_a_header_that_promises_too_much_is_not_unpacked(archive: Archive) -> None:
    path = archive.segments()[0].path
    header, body = archive_file.read(path, owner=OWNER, holds="events")
    archive_file.write(path, header, body + bytes(1_000_000))

    with pytest.raises(CorruptArchive, match="damaged or cut off"):
        archive.read(START, 10)


def test_other_files_in_the_folder_do_not_matter(archive: Archive) -> None:
    for name in ("notes.txt", "000001_1000-0_1009-0.zst.bak", "1_1-1_2-2.zst", "x.payloads.zst"):
        (archive.root / name).write_bytes(b"x")

    assert everything(archive) == events(0, 30)


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_full_disk_is_told_and_what_was_there_stays(
    archive: Archive, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ArchiveFailed, match=r"No space left.*Free some space"), archive.lock():
            archive.write(events(30, 10))

    assert everything(archive)[:30] == events(0, 30)
    with archive.lock():
        if archive.last() == Position(1_029, 0):  # the last sync is that of the folder: the file is there by then
            archive.write(events(30, 10))
    assert everything(archive) == events(0, 40)
    assert not list(archive.root.glob("*.tmp"))


def test_nothing_is_said_when_nothing_is_wrong(archive: Archive) -> None:
    with capture_logs() as logs:
        everything(archive)

    assert logs == []
    assert archive.segments()[0] == Segment(
        1, Position(1_000, 0), Position(1_009, 0), archive.root / "000001_1000-0_1009-0.zst"
    )
