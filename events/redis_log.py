"""The event log on a Redis or Valkey server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

import redis
import structlog
from redis.cluster import RedisCluster
from redis.exceptions import AuthenticationError, OutOfMemoryError, RedisClusterException, ResponseError

from .codec import decode, encode_batch
from .envelope import EventDraft, RecordedEvent
from .errors import LogFull, LogUnavailable
from .log import Appended
from .position import LARGEST, START, Position
from .scripts import APPEND, READ, run
from .settings import SERVER_SOCKET

PAGE_EVENTS = 5_000
"""Events read in one round trip; more in one would keep the server from answering others."""

PAGE_BYTES = 16 << 20
"""Bytes after which a page ends, for the same reason."""

_END = Position(LARGEST, LARGEST)
"""The server takes no range that starts behind this."""

_T = TypeVar("_T")
_log = structlog.get_logger()


class RedisEventLog:
    """An EventLog on a server, in three keys: the stream, the ids and the payloads. Safe to use from several threads.

    Durable as far as the server is: the embedded one syncs its append-only file before it answers.

    Args:
        client: a client as `connect` makes it; it is not closed here.
        owner: whose log; part of the keys, between braces so that a cluster keeps them together.
        recover: called once when the connection fails, before the call is tried once more.
    """

    def __init__(self, client: redis.Redis, owner: str, *, recover: Callable[[], object] | None = None) -> None:
        self._client = client
        self._owner = owner
        self._recover = recover
        self._stream = f"ir:{{{owner}}}:log"
        self._ids = f"ir:{{{owner}}}:ids"
        self._payloads = f"ir:{{{owner}}}:payloads"

    @property
    def owner(self) -> str:
        """Whose log this is."""
        return self._owner

    def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
        """See EventLog."""
        arguments: list[str | bytes] = []
        for draft, encoded in zip(drafts, encode_batch(drafts), strict=True):
            arguments += (draft.event_id, encoded.envelope, encoded.payload)
        if not arguments:
            return []
        keys = [self._stream, self._ids, self._payloads]
        results = self._call(lambda: run(self._client, APPEND, keys, arguments))
        return [
            Appended(_position(at), duplicate=bool(known)) for at, known in cast("list[tuple[bytes, int]]", results)
        ]

    def read(self, after: Position, limit: int = 1_000) -> list[RecordedEvent]:
        """See EventLog."""
        found: list[RecordedEvent] = []
        more = after < _END
        while more and len(found) < limit:
            wanted = min(limit - len(found), PAGE_EVENTS)
            page, stopped = self._page(after, wanted)
            found += page
            more = bool(stopped) or len(page) == wanted
            after = page[-1].position if page else after
        return found

    def last_position(self) -> Position:
        """See EventLog."""
        try:
            about = self._call(lambda: self._client.xinfo_stream(self._stream))
        except _NoSuchKey:
            return START
        return _position(about["last-generated-id"])

    def erase_payload(self, event_id: str) -> bool:
        """See EventLog. The bytes leave the server's files only when these are rewritten."""
        return bool(self._call(lambda: self._client.hdel(self._payloads, event_id)))

    def _page(self, after: Position, wanted: int) -> tuple[list[RecordedEvent], int]:
        keys = [self._stream, self._payloads]
        arguments: list[str | int] = [str(after), wanted, PAGE_BYTES]
        answer = self._call(lambda: run(self._client, READ, keys, arguments))
        rows, stopped = cast("tuple[list[tuple[bytes, bytes, bytes, bytes | None]], int]", answer)
        page = [
            decode(self._owner, _position(at), event_id.decode("utf-8", "replace"), envelope, payload)
            for at, event_id, envelope, payload in rows
        ]
        return page, stopped

    def _call(self, action: Callable[[], _T]) -> _T:
        """Ask the server; when the connection fails, recover and ask once more (every call here may be repeated)."""
        with driver_errors(self._client):
            try:
                return action()
            except (redis.ConnectionError, redis.TimeoutError) as error:
                _log.warning("log.retry", owner=self._owner, error=type(error).__name__)
                if self._recover is not None:
                    self._recover()
                return action()


class _NoSuchKey(LogUnavailable):
    """The key is not there: for a log, that it has no event yet."""


@contextmanager
def driver_errors(client: redis.Redis) -> Iterator[None]:
    """The border at which the driver's errors become ours.

    Raises:
        LogFull: the server has no memory or no disk left for a write.
        LogUnavailable: anything else.
    """
    try:
        yield
    except OutOfMemoryError as error:
        raise LogFull(
            f"The server at {place(client)} is at its memory limit; nothing was stored. Raise maxmemory."
        ) from error
    except ResponseError as error:
        raise _from_response(str(error), place(client)) from error
    except AuthenticationError as error:
        raise LogUnavailable(
            f"The server at {place(client)} does not let us in ({error}). Put the right user and password into its "
            "URL: redis://USER:PASSWORD@HOST:PORT/0."
        ) from error
    except (redis.RedisError, RedisClusterException) as error:
        raise LogUnavailable(
            f"The event log at {place(client)} cannot be reached ({error}). {_remedy(client)}"
        ) from error


def place(client: redis.Redis) -> str:
    """Where a client connects to, without its password."""
    if isinstance(client, RedisCluster):
        return f"{client.get_default_node().name} (cluster)"
    settings = client.get_connection_kwargs()
    return str(settings.get("path") or f"{settings.get('host', '?')}:{settings.get('port', '?')}")


def _remedy(client: redis.Redis) -> str:
    if place(client).endswith(f"/{SERVER_SOCKET}"):
        return (
            "Start it with `instant-recall up`; if it stops again at once, look for a full disk and at the last line "
            "of its server.log."
        )
    return "It is not ours to start: start that server, mend REDIS_URL, or unset it to use the embedded server."


def _from_response(message: str, where: str) -> LogFull | LogUnavailable:
    if message.startswith("MISCONF"):
        return LogFull(
            f"The server at {where} cannot write to its disk; nothing was stored. Free some space. It says: {message}"
        )
    if "no such key" in message:
        return _NoSuchKey(message)
    if message.startswith("WRONGTYPE"):
        return LogUnavailable(
            f"The server at {where} keeps something else under this owner's keys. Choose another owner or server."
        )
    return LogUnavailable(f"The server at {where} refused a command. It says: {message}")


def _position(stored: bytes) -> Position:
    ms, _, seq = stored.partition(b"-")
    return Position(int(ms), int(seq))
