"""The log within reach of a command that works on it directly, whether or not an Instant Recall is running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..events.connect import open_log
from ..events.log import EventLog
from ..events.settings import Settings
from . import embedded
from .running_lock import running_pid


@contextmanager
def log_at_hand(settings: Settings) -> Iterator[EventLog]:
    """The event log, for the owner on this machine.

    Starts the embedded server when it is not running, and stops it afterwards unless an `up` has come to need it.

    Raises:
        LogUnavailable: the server cannot be reached or started.
    """
    if settings.redis_url:
        yield open_log(settings)
        return
    started = embedded.ensure_running(settings)
    try:
        yield open_log(settings, recover=lambda: embedded.ensure_running(settings))
    finally:
        if started and running_pid(settings) is None:
            embedded.stop(settings)
