"""How long, and how many: what a connection may cost whoever serves it.

uvicorn waits for ever for a request that was begun, and takes as many connections as it is offered, until the process
has no file left to open and nobody is answered any more. Here who is overdue is cut off, and of too many connections
those that are waited for the longest go, the ones over TCP first: whoever sits on the Unix socket is the owner.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Collection, Iterable
from heapq import nsmallest
from typing import Any, Final

HEAD_S: Final = 10.0
"""Seconds from the first byte of a request to the end of its headers."""
BODY_S: Final = 60.0
"""Seconds from there to the end of its body; and those for which an answer may lie unread."""
SILENT_S: Final = 75.0
"""Seconds without a first byte."""
MOST: Final = 1_000
"""Open connections."""
FILES: Final = 16_384
"""Files that the process may open where the system allows it: connections of some tenths of a second."""


class Tended(asyncio.Protocol):
    """What uvicorn's protocols lack: a connection that knows since when it has kept the server waiting.

    To be put in front of one of them: `class Mine(Tended, H11Protocol)`.
    """

    # Of uvicorn's protocols.
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    server: tuple[str, int | None] | None
    cycle: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._silent_since = self.loop.time()
        self._head_since: float | None = None
        self._body_since: float | None = None
        self._unread_since: float | None = None

    def data_received(self, data: bytes) -> None:
        """Note whether a request has begun or come to the end of its headers, and serve it."""
        now = self.loop.time()
        if self.is_waiting and self._head_since is None:
            self._head_since = now
        super().data_received(data)
        if not self.is_waiting:
            self._head_since = None
        self._body_since = (self._body_since or now) if self._body_lacks else None

    def on_response_complete(self) -> None:
        """After an answer the waiting begins anew."""
        self._silent_since = self.loop.time()
        self._head_since = self._body_since = None
        super().on_response_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. An answer under way ends there: uvicorn would go on with it, and fail."""
        if self.is_waiting:
            super().send_400_response(msg)  # type: ignore[misc]
            return
        if self.cycle.response_started:
            self.transport.abort()
        else:
            super().send_400_response(msg)  # type: ignore[misc]
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    @property
    def is_waiting(self) -> bool:
        """No request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    @property
    def rank(self) -> tuple[bool, float]:
        """The lowest goes first when there are too many."""
        return (self.server is not None and self.server[1] is None, self._silent_since)

    def overdue(self, now: float) -> bool:
        """Whether it has kept the server waiting for too long, in one way or another."""
        if not self.transport.get_write_buffer_size():
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = now
        limits = [(self._head_since, HEAD_S), (self._body_since, BODY_S), (self._unread_since, BODY_S)]
        if self.is_waiting:
            limits.append((self._silent_since, SILENT_S))
        return any(since is not None and now - since > limit for since, limit in limits)

    def cut(self) -> None:
        """Close it at once; what the other side has not read is dropped."""
        self.transport.abort()

    @property
    def _body_lacks(self) -> bool:
        return not self.is_waiting and bool(self.cycle.more_body)


def cut_overdue(connections: Iterable[Any], now: float) -> int:
    """Close the connections that are overdue; how many they were. `now` is the event loop's time."""
    overdue = [one for one in connections if isinstance(one, Tended) and one.overdue(now)]
    for one in overdue:
        one.cut()
    return len(overdue)


def cut_surplus(connections: Collection[Any]) -> int:
    """Close the connections that are too many; how many they were. None of which a request is being answered goes."""
    surplus = len(connections) - MOST
    if surplus <= 0:
        return 0
    waiting = [one for one in connections if isinstance(one, Tended) and one.is_waiting]
    cut = nsmallest(surplus, waiting, key=lambda one: one.rank)
    for one in cut:
        one.cut()
    return len(cut)


def allow_files() -> None:
    """Let this process open as many files as it may, so that a burst of connections finds room before it is cut."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
