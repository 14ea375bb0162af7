"""Who runs a data folder: a lock that one `up` holds for as long as it lives, with its process id inside."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..events.errors import AlreadyRunning
from ..events.settings import Settings, private_dir


def lock_path(settings: Settings) -> Path:
    """The lock's file. It stays when nothing runs; only the lock on it says that something does."""
    return settings.home / "run" / "up.lock"


@contextmanager
def sole_runner(settings: Settings) -> Iterator[None]:
    """Hold the lock, or refuse. The system lets go of it when this process ends, however it ends.

    Raises:
        AlreadyRunning: another process holds it; the message names that process.
    """
    private_dir(settings.home)
    private_dir(settings.home / "run")
    with lock_path(settings).open("a+") as held:
        # A `down` or `status` holds it for a moment when it looks whether somebody does: try more than once.
        if not _take_soon(held.fileno()):
            pid = _read_pid(held.fileno())
            raise AlreadyRunning(
                f"An Instant Recall is already running for {settings.home} (process {pid or 'unknown'}). "
                "Use it, stop it with `instant-recall down`, or name another data folder with --home."
            )
        os.ftruncate(held.fileno(), 0)
        os.write(held.fileno(), f"{os.getpid()}\n".encode())
        yield
        os.ftruncate(held.fileno(), 0)


def running_pid(settings: Settings) -> int | None:
    """The process that holds the lock now; None when nobody does."""
    path = lock_path(settings)
    if not path.exists():
        return None
    end = time.monotonic() + 1.0
    with path.open("a+") as tried:
        while not _take(tried.fileno()):
            pid = _read_pid(tried.fileno())
            if pid or time.monotonic() > end:
                return pid
            time.sleep(0.02)  # taken just now, and its id not yet written
        return None


def _take_soon(descriptor: int) -> bool:
    for _ in range(5):
        if _take(descriptor):
            return True
        time.sleep(0.05)
    return False


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
