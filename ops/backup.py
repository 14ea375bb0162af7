"""`backup` and `restore`: everything that cannot be rebuilt, in one file, and back again.

Taken are the events of the server with their positions, ids and texts, the files of the archive, and the hash of the
API's token. Snapshots are not: they follow from the log. A backup depends on no server's file format.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import structlog

from .. import __version__
from ..api.auth import token_file
from ..events.archive import Archive
from ..events.connect import connect
from ..events.envelope import now_ms
from ..events.errors import AlreadyRunning, CorruptArchive, LogGap, RecallError
from ..events.files import sync
from ..events.position import START, Position
from ..events.redis_log import RedisEventLog
from ..events.settings import Settings, private_dir
from . import backup_file
from .backup_file import ARCHIVE, FRAMES, Manifest
from .raw_log import RawLog
from .running_lock import running_pid

log = structlog.get_logger()


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `backup` and `restore` print."""

    file: str
    owner: str
    position: str
    events: int
    """In the server."""
    archive_files: int
    damaged: tuple[str, ...]
    """Files of the archive that were damaged already; they were taken as they are."""
    bytes: int
    """Of the file."""
    took_s: float
    kept_before: str = ""
    """Restore: the backup of what was there before."""


def backup(settings: Settings, path: Path, *, whole: bool = True) -> BackupReport:
    """Write a backup of everything up to the present position to a new file, and read it back. Writers need not stop.

    Args:
        settings: whose log, and where it is.
        path: the file, which must not be there yet.
        whole: refuse when events are missing from the archive; False saves what there is.

    Raises:
        RecallError: there is such a file already, or it cannot be written.
        LogUnavailable: the server cannot be reached.
        LogGap: events are neither in the server nor in the archive, so a backup would not be whole.
    """
    began = time.perf_counter()
    if path.exists():
        raise RecallError(f"{path} is there already. Choose another name: a backup never replaces a file.")
    with _told(path), _folder_beside(path) as folder:
        content = folder / "content"
        content.mkdir()
        manifest, damaged = _collect(settings, content, whole=whole)
        part = folder / path.name
        backup_file.pack(part, content, manifest)
        again = folder / "again"
        again.mkdir()
        backup_file.unpack(part, again)
        part.rename(path)
        sync(path.parent)
    log.info("backup.written", position=manifest.position, events=manifest.events)
    return _report(path, manifest, began, damaged)


def restore(settings: Settings, path: Path, *, replace: bool = False) -> BackupReport:
    """Put a backup's log in place, with every position as it was. It is verified whole before anything is changed.

    Args:
        settings: the owner has to be that of the backup.
        path: the backup.
        replace: when there is a log already: back it up into the data folder, then replace it.

    Raises:
        CorruptBackup: it is damaged or is none. Nothing was changed.
        AlreadyRunning: an Instant Recall is running here.
        RecallError: there is a log already, or the backup is another owner's. Nothing was changed.
        LogUnavailable, LogFull: the server cannot be reached, or has no room. The log is as it was.
    """
    began = time.perf_counter()
    if pid := running_pid(settings):
        raise AlreadyRunning(
            f"An Instant Recall is running for {settings.home} (process {pid}) and would go on with the log of before. "
            "Stop it with `instant-recall down` first."
        )
    private_dir(settings.home)
    with _told(path), _folder_beside(settings.home / "restore") as folder, closing(connect(settings)) as client:
        manifest = backup_file.unpack(path, folder)
        _check(settings, folder, manifest)
        raw = RawLog(client, settings.owner)
        before = None if raw.is_empty() and not _holds_files(settings) else _keep(settings, replace=replace)
        raw.write(
            backup_file.read_frames(folder / FRAMES), last=Position.parse(manifest.position), trimmed=manifest.trimmed
        )
        _put_files(settings, folder)
        if not raw.switch(replace=before is not None):
            raw.drop()
            raise RecallError("Somebody has begun to write to this log. Stop whoever that is, then try again.")
    _check_restored(settings, manifest)
    log.info("backup.restored", position=manifest.position, events=manifest.events)
    return msgspec.structs.replace(_report(path, manifest, began, ()), kept_before=str(before or ""))


def _collect(settings: Settings, content: Path, *, whole: bool) -> tuple[Manifest, tuple[str, ...]]:
    """Fill a folder with what a backup holds, all of it true at one position."""
    archive = Archive(settings.archive_dir, settings.owner)
    with closing(connect(settings)) as client:
        raw = RawLog(client, settings.owner)
        with archive.lock() if settings.archive_dir.exists() else nullcontext():  # nothing is moved there meanwhile
            position = RedisEventLog(client, settings.owner).last_position()
            trimmed = raw.trimmed()
            if whole and trimmed and archive.last() < Position.parse(trimmed):
                raise LogGap(
                    f"The events up to {trimmed} left the server, and {settings.archive_dir} ends at {archive.last()}. "
                    "Put the missing segments back, or make the backup on the machine whose worker archives."
                )
            damaged = _copy_archive(archive, content / ARCHIVE)
            events, ids = backup_file.write_frames(content / FRAMES, raw.read(position))
    with suppress(FileNotFoundError):
        shutil.copyfile(token_file(settings.home), content / token_file(settings.home).name)
    manifest = Manifest(
        package=__version__,
        owner=settings.owner,
        position=str(position),
        trimmed=trimmed,
        created_at=now_ms(),
        events=events,
        ids=ids,
        encoder=settings.encoder,
        files=backup_file.describe(content),
    )
    return manifest, damaged


def _copy_archive(archive: Archive, into: Path) -> tuple[str, ...]:
    """A damaged file is better than none, and the rest of the log must not go without a backup for its sake."""
    damaged = []
    for segment in archive.segments():
        into.mkdir(exist_ok=True)
        try:
            archive.open(segment)
        except CorruptArchive as error:
            log.warning("backup.archive_damaged", segment=segment.number, reason=str(error))
            damaged.append(segment.path.name)
        for path in (segment.path, segment.payloads):
            with suppress(FileNotFoundError):
                shutil.copyfile(path, into / path.name)
    return tuple(damaged)


def _check(settings: Settings, folder: Path, manifest: Manifest) -> None:
    """Everything that can be known to be wrong before anything is changed."""
    if manifest.owner != settings.owner:
        raise RecallError(
            f"This is a backup of the log of {manifest.owner!r:.80}, and the owner here is {settings.owner!r:.80}. "
            "Set INSTANT_RECALL_OWNER to the former, then try again."
        )
    found, last = [0, 0], START
    for event in backup_file.read_frames(folder / FRAMES):
        found = [found[0] + (event.envelope is not None), found[1] + 1]
        last = max(last, event.position)
    if found != [manifest.events, manifest.ids] or last > Position.parse(manifest.position):
        raise backup_file.corrupt("it does not hold the events that its manifest says")
    if manifest.trimmed:
        Position.parse(manifest.trimmed)


def _holds_files(settings: Settings) -> bool:
    """Whether files are here that belong to some log; another log's snapshots would answer for this one."""
    folders = (settings.archive_dir, settings.snapshots_dir)
    return any(folder.is_dir() and any(folder.glob("*[0-9]*")) for folder in folders)


def _keep(settings: Settings, *, replace: bool) -> Path:
    if not replace:
        raise RecallError(
            f"There is a log in {settings.home} already. Choose an empty data folder with --home, or say --replace: "
            "then what is here is backed up first."
        )
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    kept = settings.home / f"before-restore-{stamp}.tar.zst"
    backup(settings, kept, whole=False)
    return kept


def _put_files(settings: Settings, folder: Path) -> None:
    """The archive and the token, in place of those that are here; snapshots go, for they are of another log."""
    for old in (settings.snapshots_dir, settings.archive_dir):
        if old.is_dir():
            shutil.rmtree(old)
    if (folder / ARCHIVE).is_dir():
        private_dir(settings.archive_dir.parent)
        (folder / ARCHIVE).rename(settings.archive_dir)
        sync(settings.archive_dir.parent)
    token = token_file(settings.home)
    if (folder / token.name).exists() and not token.exists():
        (folder / token.name).rename(token)


def _check_restored(settings: Settings, manifest: Manifest) -> None:
    with closing(connect(settings)) as client:
        found = str(RedisEventLog(client, settings.owner).last_position())
    if found != manifest.position:
        raise RecallError(
            f"The log ends at {found} after the restore, not at {manifest.position}. Somebody writes to it already: "
            "stop whoever that is, and restore again with --replace."
        )


def _report(path: Path, manifest: Manifest, began: float, damaged: tuple[str, ...]) -> BackupReport:
    return BackupReport(
        file=str(path),
        owner=manifest.owner,
        position=manifest.position,
        events=manifest.events,
        archive_files=sum(member.name.startswith(ARCHIVE) for member in manifest.files),
        damaged=damaged,
        bytes=path.stat().st_size,
        took_s=round(time.perf_counter() - began, 3),
    )


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    """A private folder on the same disk, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}-", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise RecallError(
            f"{where} cannot be used ({error.strerror or error}). Mend or free its place, or choose another; no backup "
            "was made or changed."
        ) from error
