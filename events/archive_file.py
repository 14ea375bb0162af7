"""The form of one archive file: a header that can be read without unpacking, and a body packed by Zstandard.

    4 bytes   184D2A50, little-endian: a Zstandard frame that every unpacker skips
    4 bytes   length of the header
    4 bytes   CRC32 of the header
    header    JSON (`head -c 600 FILE` shows it)
    the rest  one Zstandard frame: the body, whose SHA-256 is in the header

So `zstd -d FILE` gives the body. Both files of a segment have this form, see `archive.py` for what is in them.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Final, Literal
from zlib import crc32

import msgspec
import zstandard

from .errors import CorruptArchive
from .files import sync, write_synced
from .position import Position

FORMAT: Final = 1
"""Version of the file's form. It goes up when an older reader could misread a newer file, or the reverse."""

LEVEL: Final = 6
"""Of Zstandard's 22: above it, files get hardly smaller and take twice as long."""

MAX_BODY_BYTES: Final = 1 << 30
"""A body that claims to be larger is not unpacked; ours are about 16 MB."""

_START: Final = struct.Struct("<III")
_SKIPPED_FRAME: Final = 0x184D2A50

Holds = Literal["events", "payloads"]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of the archive says of itself."""

    format: int = FORMAT
    holds: Holds
    owner: str
    previous: Position
    """The last event of the segment before; START in the first. What makes a missing segment show."""
    first: Position
    last: Position
    count: int
    """Events, or payloads that are still there."""
    bytes: int
    """Of the unpacked body."""
    sha256: str
    """Of the unpacked body."""


def describe(
    body: bytes, *, holds: Holds, owner: str, previous: Position, first: Position, last: Position, count: int
) -> Header:
    """The header of a body."""
    digest = hashlib.sha256(body).hexdigest()
    return Header(
        holds=holds,
        owner=owner,
        previous=previous,
        first=first,
        last=last,
        count=count,
        bytes=len(body),
        sha256=digest,
    )


def write(path: Path, header: Header, body: bytes) -> None:
    """Put a file in place: whoever reads finds the one before or this one, whatever happens.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    told = msgspec.json.encode(header)
    start = _START.pack(_SKIPPED_FRAME, 4 + len(told), crc32(told))
    temporary = path.with_name(path.name + ".tmp")
    write_synced(temporary, start + told + zstandard.ZstdCompressor(level=LEVEL).compress(body))
    temporary.replace(path)
    sync(path.parent)


def read(path: Path, *, owner: str, holds: Holds) -> tuple[Header, bytes]:
    """The header and the unpacked body of a file, every checksum verified.

    Raises:
        CorruptArchive: it is missing or damaged, is another owner's, or was written by a later version.
    """
    try:
        stored = path.read_bytes()
    except FileNotFoundError as error:
        raise damaged(path, "is missing") from error
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})") from error
    header, packed = _split(path, stored)
    if header.owner != owner:
        raise damaged(path, f"belongs to the log of {header.owner!r:.80}, not of {owner!r:.80}")
    if header.holds != holds:
        raise damaged(path, f"holds {header.holds}, not {holds}")
    return header, _unpack(path, header, packed)


def damaged(path: Path, what: str) -> CorruptArchive:
    """The error for a file of the archive that cannot be used; says how to go on."""
    return CorruptArchive(
        f"{path} {what}. Put a good copy of this file back from a backup. What a snapshot holds needs no archive: "
        "pushes go on, only a replay or a rebuild from zero has to wait."
    )


def _split(path: Path, stored: bytes) -> tuple[Header, bytes]:
    try:
        mark, length, checksum = _START.unpack_from(stored)
        told = stored[_START.size : 8 + length]
        if mark != _SKIPPED_FRAME or length != 4 + len(told) or crc32(told) != checksum:
            raise damaged(path, "is damaged at its start")
        if (version := msgspec.json.decode(told, type=_Format).format) != FORMAT:
            raise damaged(path, f"is of format {version}, which this version does not know; update Instant Recall")
        return msgspec.json.decode(told, type=Header), stored[8 + length :]
    except (struct.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(path, "is damaged at its start") from error


def _unpack(path: Path, header: Header, packed: bytes) -> bytes:
    try:
        # A frame may claim any size, so the claim is compared with the header's before anything is unpacked.
        claimed = zstandard.frame_content_size(packed)
        if not claimed == header.bytes <= MAX_BODY_BYTES:
            raise damaged(path, "is damaged or cut off")
        body = zstandard.ZstdDecompressor().decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise damaged(path, "is damaged or cut off") from error
    if hashlib.sha256(body).hexdigest() != header.sha256:
        raise damaged(path, "fails its checksum")
    return body


class _Format(msgspec.Struct):
    format: int
