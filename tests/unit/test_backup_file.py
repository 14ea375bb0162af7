"""A backup is read back only when it is whole, and is treated as hostile: whatever is odd in it is refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from instant_recall.events.errors import CorruptBackup
from instant_recall.events.position import Position
from instant_recall.ops import backup_file
from instant_recall.ops.backup_file import FRAMES, MANIFEST, Manifest, Member, pack, read_frames, unpack, write_frames
from instant_recall.ops.raw_log import RawEvent

EVENTS = [
    RawEvent(Position(5, 0), b"id-0", b"envelope", b"text"),
    RawEvent(Position(5, 1), b"id-1", b"envelope", None),
    RawEvent(Position(2, 0), b"id-archived", None, None),
]


@pytest.fixture
def content(tmp_path: Path) -> Path:
    folder = tmp_path / "content"
    (folder / "archive").mkdir(parents=True)
    (folder / "archive" / "000001_1-0_4-0.zst").write_bytes(b"segment")
    write_frames(folder / FRAMES, EVENTS)
    return folder


def manifest_of(content: Path, **fields: Any) -> Manifest:
    told: dict[str, Any] = {
        "package": "1",
        "owner": "owner",
        "position": "5-1",
        "trimmed": "4-0",
        "created_at": 0,
        "events": 2,
        "ids": 3,
        "encoder": "",
        "files": backup_file.describe(content),
    }
    return Manifest(**told | fields)


def forged(
    path: Path, manifest: bytes, members: list[tarfile.TarInfo], body: Callable[[str], bytes] = lambda _: b""
) -> Path:
    """A backup as no version of ours writes it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(manifest)
        tar.addfile(first, io.BytesIO(manifest))
        for member in members:
            data = body(member.name)
            member.size = len(data) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(data))
    path.write_bytes(zstandard.ZstdCompressor().compress(raw.getvalue()))
    return path


def test_what_is_packed_comes_back_byte_for_byte(tmp_path: Path, content: Path) -> None:
    manifest = manifest_of(content)
    pack(tmp_path / "b.tar.zst", content, manifest)
    again = tmp_path / "again"
    again.mkdir()
    assert unpack(tmp_path / "b.tar.zst", again) == manifest
    assert list(read_frames(again / FRAMES)) == EVENTS
    assert (again / "archive" / "000001_1-0_4-0.zst").read_bytes() == b"segment"
    assert (tmp_path / "b.tar.zst").stat().st_mode & 0o777 == 0o600


def test_other_tools_can_list_it(tmp_path: Path, content: Path) -> None:
    pack(tmp_path / "b.tar.zst", content, manifest_of(content))
    with zstandard.open(tmp_path / "b.tar.zst") as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
        assert [entry.name for entry in tar] == [MANIFEST, "archive/000001_1-0_4-0.zst", FRAMES]


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.99])
def test_a_backup_that_is_cut_off_is_refused(tmp_path: Path, content: Path, kept: float) -> None:
    path = tmp_path / "b.tar.zst"
    pack(path, content, manifest_of(content))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    (tmp_path / "again").mkdir()
    with pytest.raises(CorruptBackup, match="another copy"):
        unpack(path, tmp_path / "again")


def test_a_changed_bit_anywhere_is_noticed_or_changes_nothing(tmp_path: Path, content: Path) -> None:
    path, manifest, noticed = tmp_path / "b.tar.zst", manifest_of(content), 0
    pack(path, content, manifest)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        again = tmp_path / f"again-{place}"
        again.mkdir()
        try:
            assert unpack(path, again) == manifest
            assert list(read_frames(again / FRAMES)) == EVENTS
        except CorruptBackup:
            noticed += 1
    assert noticed > len(whole) / 3 * 0.9  # the others are bits that the packed form does not use


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.tar.zst"
    for data in (b"", b"not a backup", zstandard.ZstdCompressor().compress(b"neither")):
        path.write_bytes(data)
        with pytest.raises(CorruptBackup):
            unpack(path, tmp_path)


LINKED = tarfile.TarInfo(FRAMES)
LINKED.type, LINKED.linkname = tarfile.SYMTYPE, "/etc/passwd"
HARD = tarfile.TarInfo(FRAMES)
HARD.type, HARD.linkname = tarfile.LNKTYPE, "/etc/passwd"
PIPE = tarfile.TarInfo(FRAMES)
PIPE.type = tarfile.FIFOTYPE


@pytest.mark.parametrize(
    "member",
    [LINKED, HARD, PIPE, tarfile.TarInfo("../outside"), tarfile.TarInfo("/outside"), tarfile.TarInfo("unnamed")],
    ids=["symbolic link", "hard link", "pipe", "upwards", "absolute", "not in the manifest"],
)
def test_a_member_that_is_no_plain_file_of_the_manifest_is_refused(
    tmp_path: Path, content: Path, member: tarfile.TarInfo
) -> None:
    told = msgspec.json.encode(manifest_of(content))
    folder = tmp_path / "in" / "again"
    folder.mkdir(parents=True)
    with pytest.raises(CorruptBackup):
        unpack(forged(tmp_path / "b.tar.zst", told, [member], lambda _: b"x"), folder)
    assert not list(tmp_path.rglob("outside*"))
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "name", ["../x", "/x", "archive/../x", "archive/a/b", "archive/", "archive/.hidden", "x", "archive/\0", ""]
)
def test_a_manifest_that_names_what_no_backup_holds_is_refused(tmp_path: Path, content: Path, name: str) -> None:
    files = (*backup_file.describe(content), Member(name, 1, "0" * 64))
    told = msgspec.json.encode(manifest_of(content, files=files))
    with pytest.raises(CorruptBackup, match="names files"):
        unpack(forged(tmp_path / "b.tar.zst", told, []), tmp_path)


def test_a_member_of_another_size_is_not_even_read(tmp_path: Path, content: Path) -> None:
    told = msgspec.json.encode(manifest_of(content, files=(Member(FRAMES, 3, "0" * 64),)))
    with pytest.raises(CorruptBackup, match="not what the manifest says"):
        unpack(forged(tmp_path / "b.tar.zst", told, [tarfile.TarInfo(FRAMES)], lambda _: b"x" * 1_000_000), tmp_path)
    assert not (tmp_path / FRAMES).exists()


def test_a_backup_that_claims_more_than_the_disk_holds_is_refused_before_it_is_unpacked(
    tmp_path: Path, content: Path
) -> None:
    told = msgspec.json.encode(manifest_of(content, files=(Member(FRAMES, 1 << 60, "0" * 64),)))
    with pytest.raises(CorruptBackup, match="Free some space"):
        unpack(forged(tmp_path / "b.tar.zst", told, []), tmp_path)


@pytest.mark.parametrize(
    "manifest", [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": 99}', b"\xff", b"[" * 100_000], ids=lambda m: m[:14]
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, manifest: bytes) -> None:
    with pytest.raises(CorruptBackup):
        unpack(forged(tmp_path / "b.tar.zst", manifest, []), tmp_path)


def test_a_backup_of_a_later_version_is_told_from_damage(tmp_path: Path, content: Path) -> None:
    told = msgspec.json.encode(manifest_of(content, format=2))
    with pytest.raises(CorruptBackup, match="format 2"):
        unpack(forged(tmp_path / "b.tar.zst", told, []), tmp_path)


@pytest.mark.parametrize(
    "frames",
    [
        b"\xff\xff\xff\xff",
        b"\x04\x00",
        b"\x03\x00\x00\x00abc",
        msgspec.msgpack.encode((5, 0, b"id", b"e", None)),
    ],
    ids=["too large", "cut off", "no event", "no length"],
)
def test_frames_that_are_none_are_refused(tmp_path: Path, frames: bytes) -> None:
    (tmp_path / FRAMES).write_bytes(frames)
    with pytest.raises(CorruptBackup):
        list(read_frames(tmp_path / FRAMES))


@pytest.mark.parametrize(
    "events",
    [
        [RawEvent(Position(0, 0), b"a", b"e", None)],
        [RawEvent(Position(-1, 0), b"a", b"e", None)],
        [RawEvent(Position(2, 0), b"a", b"e", None), RawEvent(Position(2, 0), b"b", b"e", None)],
        [RawEvent(Position(3, 0), b"a", b"e", None), RawEvent(Position(2, 9), b"b", b"e", None)],
        [RawEvent(Position(3, 0), b"a" * 600, b"e", None)],
    ],
    ids=["start", "negative", "twice", "backwards", "huge id"],
)
def test_events_that_can_be_no_log_are_refused(tmp_path: Path, events: list[RawEvent]) -> None:
    write_frames(tmp_path / FRAMES, events)
    with pytest.raises(CorruptBackup):
        list(read_frames(tmp_path / FRAMES))
