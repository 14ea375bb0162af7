"""One root for every error of the package; a message always says what to do next."""

from __future__ import annotations


class RecallError(Exception):
    """Something in Instant Recall failed; see the subclass for what and for the remedy."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__ or type(self).__name__)


class LogUnavailable(RecallError):
    """The event log cannot be reached, so nothing was stored. Start it with `instant-recall up`, then try again."""


class LogFull(RecallError):
    """The log refused the write (disk full or out of memory), so nothing was stored. Free some space, try again."""


class InvalidEvent(RecallError):
    """The event cannot be stored as it is; nothing was stored. The message names the field to mend."""


class CorruptEvent(RecallError):
    """A stored event fails its checksum. Restore the log from a backup, or set the event aside by its id."""


class CorruptArchive(RecallError):
    """A file of the log's archive is damaged or missing. Restore that file from a backup; snapshots work without it."""


class LogGap(CorruptArchive):
    """Events are neither in the archive nor in the server. Restore the missing segment, or start from a snapshot."""


class ArchiveFailed(RecallError):
    """The archive could not be written, so nothing left the server. Free some space, then try again."""


class LogRewound(RecallError):
    """The log ends before what was handled of it: an older backup was restored. Let the reader of it start over."""


class StaleWriter(RecallError):
    """Another process has taken this work over, so nothing was written. Start again; it waits for the other to end."""


class CorruptBackup(RecallError):
    """A file is no backup, or a damaged one, so nothing was changed. Use another copy of it."""


class CorruptSnapshot(RecallError):
    """A snapshot file is damaged. It is derived data: `instant-recall snapshot` rebuilds it from the log."""


class IncompatibleSnapshot(RecallError):
    """A snapshot was made by another format or encoder. `instant-recall snapshot` rebuilds it from the log."""


class StaleBuild(RecallError):
    """Another builder published first, so this snapshot was dropped. Nothing is lost; use the one that is current."""


class SnapshotFailed(RecallError):
    """The snapshot could not be written; the one before it stays in use. Free some space, then try again."""


class EncoderMissing(RecallError):
    """The configured encoder is not there. Name a folder that exists, or unset INSTANT_RECALL_ENCODER."""


class NotRunning(RecallError):
    """No Instant Recall is running for this data folder. Start it with `instant-recall up`."""


class AlreadyRunning(RecallError):
    """An Instant Recall is already running for this data folder. Stop it with `instant-recall down` first."""


class NotFound(RecallError):
    """There is no such thing, or this reader may not see it."""


class Refused(RecallError):
    """The request was refused: the token or reader is not known here. Check the token, or grant the reader first."""
