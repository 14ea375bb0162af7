"""Writing so that it survives a power cut, and one writer at a time in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .settings import private_dir


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and sync it. Its name is certain only when the folder has been synced as well.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def sync(path: Path) -> None:
    """Sync a file, or a folder: the names in it.

    Raises:
        OSError: the disk failed.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """One at a time in a folder (made if it is not there); waits for the other. The kernel ends a dead holder's lock.

    Raises:
        OSError: the folder cannot be written.
        RecallError: the folder belongs to somebody else.
    """
    path = private_dir(folder) / name
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, path):
                yield
                return
            # The folder was removed, and perhaps made anew, while we waited: this lock excludes nobody.
        finally:
            os.close(descriptor)
        private_dir(folder)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
