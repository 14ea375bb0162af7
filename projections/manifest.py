"""The manifest: the file that makes a generation complete.

It is hostile input: it may come from a restored backup, a shared folder or a half-written disk. What it names is read
only after its form and every name in it have been checked, and believed only after the checksums have.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from importlib import metadata
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec

from ..events.errors import CorruptSnapshot, IncompatibleSnapshot
from ..events.position import Position
from ..events.types import Millis

FORMAT = 6
"""Version of the directory format. It goes up when an older reader could misread a newer directory, or the reverse."""

MANIFEST = "manifest.json"
"""Name of the manifest inside a generation directory."""

MAX_BYTES = 4 << 20
"""A larger manifest is not read: a generation has some dozens of files, and each takes about 150 bytes."""

_Size = Annotated[int, msgspec.Meta(ge=0)]
_Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class File(msgspec.Struct, frozen=True):
    """One file of a generation: its name relative to the directory with `/` between folders, its bytes, its SHA-256."""

    name: str
    size: _Size
    sha256: _Sha256


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a generation holds and how it was made. Written once, last of all its files."""

    format: int
    generation: Annotated[int, msgspec.Meta(ge=1)]
    position: Position
    """Every event up to and including this one is in the generation; an overlay continues right behind it."""
    encoder: str
    """Fingerprint of the encoder that made the vectors. Comparing it with the present one is up to the reader."""
    package: str
    usearch: str
    counts: dict[str, int]
    files: tuple[File, ...]
    created_at: Millis

    @property
    def total_bytes(self) -> int:
        """Bytes of all files together, the manifest left out."""
        return sum(file.size for file in self.files)


class _Format(msgspec.Struct):
    format: int


def describe(
    directory: Path, *, generation: int, position: Position, encoder: str, counts: Mapping[str, int], created_at: Millis
) -> Manifest:
    """Make the manifest of a filled directory: hashes every file in it.

    Raises:
        CorruptSnapshot: the directory holds something that is neither a folder nor a plain file, or a name that
            `verify` would refuse.
        OSError: a file cannot be read.
    """
    return Manifest(
        format=FORMAT,
        generation=generation,
        position=position,
        encoder=encoder,
        package=_version("instant-recall"),
        usearch=_version("usearch"),
        counts=dict(counts),
        files=tuple(_file(directory, name) for name in _names(directory)),
        created_at=created_at,
    )


def to_json(manifest: Manifest) -> bytes:
    """The manifest as it stands on disk: JSON a person can read."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read(directory: Path) -> Manifest:
    """Read a generation's manifest and check its form, its format version and its names; no file is opened yet.

    Raises:
        CorruptSnapshot: there is none, or it is damaged, or a name in it leads out of the directory.
        IncompatibleSnapshot: another format version wrote it.
    """
    raw = _manifest_bytes(directory)
    try:
        found = msgspec.json.decode(raw, type=_Format).format
        if found != FORMAT:
            raise IncompatibleSnapshot(
                f"{directory.name} has format {found} and this version reads format {FORMAT}. "
                "`instant-recall snapshot` makes a new one from the log."
            )
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _corrupt(directory, f"its manifest cannot be read ({error})") from error
    if min(manifest.position) < 0:
        raise _corrupt(directory, "its manifest names no possible position")
    _check_names(directory, [file.name for file in manifest.files])
    return manifest


def verify(directory: Path, manifest: Manifest) -> None:
    """Check that every listed file is a plain file inside the directory with the listed size and checksum.

    Files that are not listed are not looked at: a reader must open listed ones only.

    Raises:
        CorruptSnapshot: one is missing, differs, or is reached through a link; the message names it.
    """
    inside = os.path.realpath(directory)
    for file in manifest.files:
        path = directory / file.name
        try:
            if os.path.realpath(path) != f"{inside}/{file.name}":
                raise _corrupt(directory, f"{file.name} is reached through a link")
            with _open_plain(path) as stream:
                if os.fstat(stream.fileno()).st_size != file.size:
                    raise _corrupt(directory, f"{file.name} does not have its {file.size} bytes")
                if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
                    raise _corrupt(directory, f"{file.name} fails its checksum")
        except OSError as error:
            raise _corrupt(directory, f"{file.name} cannot be read ({error.strerror})") from error


def _manifest_bytes(directory: Path) -> bytes:
    try:
        with _open_plain(directory / MANIFEST) as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _corrupt(directory, f"its manifest cannot be read ({error.strerror})") from error
    if len(raw) > MAX_BYTES:
        raise _corrupt(directory, f"its manifest is over {MAX_BYTES} bytes")
    return raw


def _check_names(directory: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        parts = name.split("/")
        if any(part in {"", ".", ".."} for part in parts) or "\0" in name or "\\" in name or name == MANIFEST:
            raise _corrupt(directory, f"its manifest names {name!r:.80}, which is not a file inside it")
        if name in seen:
            raise _corrupt(directory, f"its manifest names {name!r:.80} twice")
        seen.add(name)


def _names(directory: Path) -> list[str]:
    found = []
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        name = PurePosixPath(path.relative_to(directory)).as_posix()
        if stat.S_ISREG(mode):
            found.append(name)
        elif not stat.S_ISDIR(mode):
            raise _corrupt(directory, f"{name} is neither a folder nor a plain file")
    _check_names(directory, found)
    return found


def _file(directory: Path, name: str) -> File:
    with (directory / name).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return File(name=name, size=os.fstat(stream.fileno()).st_size, sha256=digest)


def _open_plain(path: Path) -> BufferedReader:
    """Open a plain file only: never through a link, and without hanging on a pipe that lies there instead."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file")
    return os.fdopen(descriptor, "rb")


def _corrupt(directory: Path, what: str) -> CorruptSnapshot:
    return CorruptSnapshot(f"{directory.name} is damaged: {what}. `instant-recall snapshot` makes a new one.")


def _version(distribution: str) -> str:
    """The installed version, for a person who wonders what made a generation; empty when it cannot be told."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
