"""`restore --archive`: files of the archive that are damaged or missing here, put back from a backup."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec
import structlog

from ..events.archive import Archive, Segment
from ..events.codec import decode
from ..events.errors import CorruptArchive, RecallError
from ..events.files import sync, write_synced
from ..events.log import EventLog
from ..events.position import Position
from ..events.settings import Settings
from ..events.types import SessionClosed
from . import backup_file
from .backup_file import ARCHIVE
from .replay import present_state

log = structlog.get_logger()


class MendReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was put back."""

    file: str
    segments: tuple[str, ...]
    """Names of the segments that were damaged or missing, and are good now."""
    erased: int
    """Texts of forgotten items that came back with them, and were erased again."""


def mend_archive(events: EventLog, settings: Settings, path: Path) -> MendReport:
    """Put back what the backup has and the archive here has not, or not in good order. Nothing else is changed.

    Raises:
        CorruptBackup: it is damaged or is none. Nothing was changed.
        RecallError: the backup is another owner's, or a file cannot be written.
    """
    here = Archive(settings.archive_dir, settings.owner)
    with tempfile.TemporaryDirectory(prefix=".mend-", dir=settings.home) as name:
        try:
            manifest = backup_file.unpack(path, Path(name))
            if manifest.owner != settings.owner:
                raise RecallError(
                    f"This is a backup of the log of {manifest.owner!r:.80}, not of {settings.owner!r:.80}. "
                    "Choose another backup."
                )
            saved = Archive(Path(name) / ARCHIVE, settings.owner)
            with here.lock():
                mended = [segment for segment in saved.segments() if _is_good(saved, segment)]
                mended = [segment for segment in mended if not _is_good(here, _in(here, segment))]
                for segment in mended:
                    _put(segment, _in(here, segment))
        except OSError as error:
            where = error.filename or path
            raise RecallError(f"{where} cannot be used ({error.strerror or error}). Mend its place.") from error
    put = [_in(here, segment) for segment in mended]
    erased = _forget_again(events, settings, here, put) if put else 0
    log.info("archive.mended", segments=[segment.number for segment in put], erased=erased)
    return MendReport(file=str(path), segments=tuple(segment.path.name for segment in put), erased=erased)


def _in(archive: Archive, segment: Segment) -> Segment:
    return segment._replace(path=archive.root / segment.path.name)


def _is_good(archive: Archive, segment: Segment) -> bool:
    try:
        archive.open(segment)
    except CorruptArchive:
        return False
    return True


def _put(saved: Segment, here: Segment) -> None:
    """The payloads first: a segment counts once its own file is there."""
    for source, target in ((saved.payloads, here.payloads), (saved.path, here.path)):
        part = target.with_name(target.name + ".tmp")
        write_synced(part, source.read_bytes())
        part.replace(target)
    sync(here.path.parent)


def _forget_again(events: EventLog, settings: Settings, archive: Archive, segments: Iterable[Segment]) -> int:
    """A text that was erased since the backup is in it still, and must not come back."""
    forgotten = {item.id for item in present_state(events, settings).all() if item.forgotten}
    texts: dict[bytes, Position] = {}
    for segment in segments:
        for one in archive.open(segment).events:
            event = decode(settings.owner, one.position, "", one.envelope, one.payload).event
            # As the erasure job does: how a session came out is the session's text alone.
            subjects = event.subjects()[:1] if isinstance(event, SessionClosed) else event.subjects()
            if one.payload is not None and not forgotten.isdisjoint(subjects):
                texts[one.event_id] = one.position
    return archive.erase(texts) if texts else 0
