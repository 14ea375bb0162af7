"""The form of a backup: a tar archive packed by Zstandard, with a manifest that names every other member.

    manifest.json     whose log, up to which position, and size and SHA-256 of what follows
    log.frames        every event of the server as it is kept there, see `raw_log.py`
    archive/...       the files of the log's archive
    api-token.sha256  the hash of the token, when there is one

`zstd -dc FILE | tar -t` lists it. Whoever opens one treats it as hostile: only members that the manifest names are
read, each of the size that it names, into plain files of a fresh folder; links, devices and paths that lead elsewhere
are refused, and so is whatever fails its checksum.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Annotated, Final

import msgspec
import zstandard

from ..events.checks import MAX_ID_BYTES
from ..events.codec import MAX_ENVELOPE_BYTES, MAX_PAYLOAD_BYTES
from ..events.errors import CorruptBackup
from ..events.position import START, Position
from ..events.types import Millis
from .raw_log import RawEvent

FORMAT: Final = 1
"""Version of the form. It goes up when an older version could misread a newer backup, or the reverse."""

MANIFEST: Final = "manifest.json"
FRAMES: Final = "log.frames"
ARCHIVE: Final = "archive/"
LEVEL: Final = 6
MAX_MANIFEST_BYTES: Final = 16 << 20
"""A manifest takes about 150 bytes a file."""
MAX_FRAME_BYTES: Final = MAX_ENVELOPE_BYTES + MAX_PAYLOAD_BYTES + 4_096
SPARE_BYTES: Final = 64 << 20
"""Left free on the disk when a backup is unpacked."""

_LENGTH: Final = struct.Struct("<I")
_CHUNK: Final = 1 << 20
_Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Member(msgspec.Struct, frozen=True):
    """One file of a backup."""

    name: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: _Sha256


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    format: int = FORMAT
    package: str
    """Version that made it."""
    owner: str
    position: str
    """Every event up to this one is in it, and none behind it."""
    trimmed: str
    """The position up to which events are in the archive alone; empty: none is."""
    created_at: Millis
    events: int
    """In the server: those that the archive alone has are not counted."""
    ids: int
    """Event ids that the server knows, those of archived events among them."""
    encoder: str
    """Setting of the one who made it; what was made with it is not in the backup."""
    files: tuple[Member, ...]


class _Format(msgspec.Struct):
    format: int


def write_frames(path: Path, events: Iterable[RawEvent]) -> tuple[int, int]:
    """Write events one by one; how many have an envelope, and how many there are."""
    encoder, whole, every = msgspec.msgpack.Encoder(), 0, 0
    with path.open("wb") as out:
        for event in events:
            frame = encoder.encode((*event.position, event.event_id, event.envelope, event.payload))
            out.write(_LENGTH.pack(len(frame)) + frame)
            whole += event.envelope is not None
            every += 1
    return whole, every


def read_frames(path: Path) -> Iterator[RawEvent]:
    """Read them back, and check that they can be a log: positions go up, and nothing is larger than an event can be.

    Raises:
        CorruptBackup: they cannot.
    """
    decoder = msgspec.msgpack.Decoder(tuple[int, int, bytes, bytes | None, bytes | None])
    last = START
    with path.open("rb") as file:
        while header := file.read(_LENGTH.size):
            try:
                (size,) = _LENGTH.unpack(header)
                if size > MAX_FRAME_BYTES:
                    raise corrupt("an event in it is larger than an event can be")
                ms, seq, event_id, envelope, payload = decoder.decode(file.read(size))
            except (struct.error, msgspec.MsgspecError) as error:
                raise corrupt("an event in it cannot be read") from error
            position = Position.parse(f"{ms}-{seq}") if min(ms, seq) >= 0 else START
            if position <= START or len(event_id) > MAX_ID_BYTES:
                raise corrupt("an event in it has no possible position or id")
            if envelope is not None:
                if position <= last:
                    raise corrupt("its events are not in order")
                last = position
            yield RawEvent(position, event_id, envelope, payload)


def describe(folder: Path) -> tuple[Member, ...]:
    """Every file below a folder."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.append(Member(path.relative_to(folder).as_posix(), path.stat().st_size, digest))
    return tuple(found)


def pack(path: Path, folder: Path, manifest: Manifest) -> None:
    """Write a backup of a folder to a new file, synced to the disk.

    Raises:
        OSError: the disk is full or the place cannot be written.
    """
    told = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with (
            zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).stream_writer(out, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            _add(tar, MANIFEST, len(told), _Bytes(told))
            for member in manifest.files:
                with (folder / member.name).open("rb") as file:
                    _add(tar, member.name, member.size, file)
        out.flush()
        os.fsync(out.fileno())


def unpack(path: Path, folder: Path) -> Manifest:
    """Read and verify a backup into an empty folder.

    Raises:
        CorruptBackup: it is none, is damaged, or holds what no backup holds; the folder may be half filled.
        OSError: it cannot be read, or the folder cannot be written.
    """
    with path.open("rb") as file:
        try:
            with (
                zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as unpacked,
                tarfile.open(fileobj=unpacked, mode="r|") as tar,
            ):
                manifest, left = None, dict[str, Member]()
                for entry in tar:
                    if manifest is None:
                        manifest = _read_manifest(tar, entry)
                        left = {member.name: member for member in manifest.files}
                        _check_room(folder, manifest)
                    else:
                        _extract(tar, entry, left.pop(entry.name, None), folder)
                # To the end, where Zstandard's own checksum stands; what follows a tar archive is a little padding.
                if len(unpacked.read(_CHUNK)) == _CHUNK:
                    raise corrupt("something is hidden behind its end")
        except (zstandard.ZstdError, tarfile.TarError, EOFError, ValueError, UnicodeError) as error:
            raise corrupt(f"it cannot be unpacked ({type(error).__name__})") from error
    if manifest is None or left:
        raise corrupt(f"{next(iter(left), MANIFEST)} is missing")
    return manifest


def corrupt(what: str) -> CorruptBackup:
    """The error for a backup that cannot be used."""
    return CorruptBackup(f"This backup cannot be used: {what}. Nothing was changed. Use another copy of it.")


class _Bytes:
    """Bytes that are read like a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int) -> bytes:
        part, self._data = self._data[:size], self._data[size:]
        return part


def _add(tar: tarfile.TarFile, name: str, size: int, file: IO[bytes] | _Bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    tar.addfile(entry, file)  # type: ignore[arg-type]


def _read_manifest(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Manifest:
    if entry.name != MANIFEST or not entry.isreg() or entry.size > MAX_MANIFEST_BYTES:
        raise corrupt("it does not begin with a manifest")
    file = tar.extractfile(entry)
    raw = file.read() if file else b""
    try:
        if (version := msgspec.json.decode(raw, type=_Format).format) != FORMAT:
            raise corrupt(f"it has format {version}, and this version reads format {FORMAT}")
        manifest = msgspec.json.decode(raw, type=Manifest)
    except msgspec.DecodeError as error:
        raise corrupt("its manifest cannot be read") from error
    names = [member.name for member in manifest.files]
    if len(set(names)) != len(names) or not all(map(_is_ours, names)) or FRAMES not in names:
        raise corrupt("its manifest names files that no backup holds")
    return manifest


def _is_ours(name: str) -> bool:
    """Whether a backup of ours can hold a file of this name."""
    inside = name.removeprefix(ARCHIVE)
    if inside == name:
        return name in (FRAMES, "api-token.sha256")
    return bool(inside) and not inside.startswith(".") and not set(inside) & set("/\\\0") and len(inside) < 200


def _check_room(folder: Path, manifest: Manifest) -> None:
    needed = sum(member.size for member in manifest.files)
    free = shutil.disk_usage(folder).free
    if needed + SPARE_BYTES > free:
        raise CorruptBackup(
            f"This backup unpacks to {needed / 1e6:,.0f} MB and {folder} has {free / 1e6:,.0f} MB free. Nothing was "
            "changed. Free some space, then try again."
        )


def _extract(tar: tarfile.TarFile, entry: tarfile.TarInfo, member: Member | None, folder: Path) -> None:
    """Tar's own extraction is not used: it would take names, links and modes from the archive."""
    file = tar.extractfile(entry) if member and entry.isreg() and entry.size == member.size else None
    if member is None or file is None:
        raise corrupt(f"{entry.name!r:.80} in it is not what the manifest says")
    path = folder / member.name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as out:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
    if digest.hexdigest() != member.sha256 or path.stat().st_size != member.size:
        raise corrupt(f"{member.name} fails its checksum")
