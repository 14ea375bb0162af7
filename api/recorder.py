"""Writes accesses (what was pushed, found, opened) to the log behind the requests' backs.

An access must never make a request late, so it is queued and appended in batches by a thread of its own, within
milliseconds of the answer. A stop waits until they are written. When the process is killed, or the machine loses its
power, the accesses of the last few milliseconds are not in the log, nor are those that waited for a log that was away;
writes never take this way. What could not be written is told in the process' own log (`access.dropped`,
`access.lost`), with the readers' names.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Final

import structlog

from ..events.envelope import EventDraft
from ..events.errors import InvalidEvent, LogFull, LogUnavailable
from ..events.log import EventLog
from ..events.types import PushServed
from ..projections.policy.eligibility import OWNER_NAME

log = structlog.get_logger()

_AGAIN_S: Final = 1.0
"""Between two tries while the log cannot be reached, in seconds."""
_BATCH: Final = 200
_SETTLED_S: Final = 0.5
_POLL_S: Final = 0.002
_WAITING: Final = 10_000
"""Accesses kept while the log cannot be reached; further ones are dropped and counted."""

_FULL: Final = (
    "The log has been away for so long that no more accesses can be kept, and nobody but the owner is answered without "
    "one. See `instant-recall status`, then try again."
)


class Recorder:
    """Appends drafts in the background, in order."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._waiting: queue.Queue[EventDraft | None] = queue.Queue(_WAITING)
        self._closing = threading.Event()
        self._pending: dict[str, EventDraft] = {}
        """Accesses that are not in the log yet, by event id."""
        self._thread = threading.Thread(target=self._run, name="accesses", daemon=True)
        self._thread.start()

    def __call__(self, draft: EventDraft) -> None:
        """Queue one access; never waits.

        Raises:
            LogUnavailable: too many are waiting, and another reader than the owner asks: what others see must be found
                in an audit. The owner is answered all the same.
        """
        self._pending[draft.event_id] = draft
        try:
            self._waiting.put_nowait(draft)
        except queue.Full:
            del self._pending[draft.event_id]
            reader = getattr(draft.event, "reader", "")
            log.warning("access.dropped", event_id=draft.event_id, readers=[reader])
            if reader != OWNER_NAME:
                raise LogUnavailable(_FULL) from None

    def shown(self, session: str, reader: str = OWNER_NAME) -> dict[str, str]:
        """What a reader was shown in a session of which the log does not know yet: item ids, with their `changed` then.

        Ask before reading the log: what is not told here any more is there.
        """
        shown: dict[str, str] = {}
        for waiting in list(self._pending.values()) if session else ():
            if isinstance(waiting.event, PushServed) and (waiting.event.session, waiting.event.reader) == (
                session,
                reader,
            ):
                shown |= zip(waiting.event.items, waiting.event.seen, strict=True)
        return shown

    def settle(self, within_s: float = _SETTLED_S) -> bool:
        """Wait until every access so far is in the log; False when it takes longer. Pushes must never wait for this."""
        waiting, end = set(self._pending), time.monotonic() + within_s
        while not waiting.isdisjoint(list(self._pending)):
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_S)
        return True

    def close(self) -> None:
        """Write what is queued and end the thread; gives up after five seconds, or when the log cannot be reached."""
        self._closing.set()
        self._waiting.put(None)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._next_batch()
            try:
                self._write(batch)
            except Exception as error:  # noqa: BLE001 - the accesses after these must still be written
                # Without a traceback: it may quote a request.
                readers = sorted({getattr(access.event, "reader", "") for access in batch})
                log.error("access.lost", count=len(batch), readers=readers, error=type(error).__name__)  # noqa: TRY400
            for access in batch:
                del self._pending[access.event_id]

    def _write(self, batch: list[EventDraft]) -> None:
        """Append a batch, for as long as it takes; one access that cannot be stored takes no other with it."""
        try:
            while not self._tried(batch):
                self._closing.wait(_AGAIN_S)
        except InvalidEvent as error:
            if len(batch) == 1:
                reader = getattr(batch[0].event, "reader", "")
                log.warning("access.lost", count=1, readers=[reader], error=type(error).__name__)
                return
            for access in batch:
                self._write([access])

    def _tried(self, batch: list[EventDraft]) -> bool:
        """Whether the batch is stored. At the end of the process there is no further try."""
        try:
            self._events.append(batch)
        except (LogUnavailable, LogFull):
            if self._closing.is_set():
                raise
            return False
        return True

    def _next_batch(self) -> tuple[list[EventDraft], bool]:
        """What is queued, waiting for the first; and whether the end was reached."""
        batch: list[EventDraft] = []
        entry = self._waiting.get()
        while entry is not None:
            batch.append(entry)
            if len(batch) >= _BATCH or self._waiting.empty():
                return batch, False
            entry = self._waiting.get()
        return batch, True
