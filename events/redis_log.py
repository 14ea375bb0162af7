"""The event log on a Redis or Valkey server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

import redis
import structlog
from redis.cluster import RedisCluster
from redis.exceptions import AuthenticationError, OutOfMemoryError, RedisClusterException, ResponseError

from .archive import Archive
from .codec import Stored, decode, encode_batch
from .envelope import EventDraft, RecordedEvent
from .errors import LogFull, LogGap, LogUnavailable
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
_Page = tuple[int, bytes | None, list[bytes], list[bytes], list[bytes], list[bytes | None]]
_log = structlog.get_logger()


class RedisEventLog:
    """An EventLog on a server, in three keys: the stream, the ids and the payloads. Safe to use from several threads.

    Durable as far as the server is: the embedded one syncs its append-only file before it answers.

    The older part of the stream may have been moved to an archive, and a fourth key says up to where. It is read as one
    with the stream; whoever reads behind that position (everybody who starts from a snapshot) touches no file.

    Args:
        client: a client as `connect` makes it; it is not closed here.
        owner: whose log; part of the keys, between braces so that a cluster keeps them together.
        recover: called once when the connection fails, before the call is tried once more.
        archive: where the older events are; without it, reading them raises LogGap.
    """

    def __init__(
        self,
        client: redis.Redis,
        owner: str,
        *,
        recover: Callable[[], object] | None = None,
        archive: Archive | None = None,
    ) -> None:
        self._client = client
        self._owner = owner
        self._recover = recover
        self._archive = archive
        self._known_trimmed = START
        self._stream = f"ir:{{{owner}}}:log"
        self._ids = f"ir:{{{owner}}}:ids"
        self._payloads = f"ir:{{{owner}}}:payloads"
        self._trimmed = f"ir:{{{owner}}}:trimmed"

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
        """See EventLog.

        Raises:
            LogGap: some of these events are neither in the archive nor in the stream.
            CorruptArchive: some of these events are in a file that cannot be used.
        """
        return [
            decode(self._owner, one.position, one.event_id.decode("utf-8", "replace"), one.envelope, one.payload)
            for one in self.stored(after, limit)
        ]

    def stored(self, after: Position, limit: int = 1_000) -> list[Stored]:
        """What `read` gives, as the bytes that are kept."""
        found: list[Stored] = []
        more = after < _END
        while more and len(found) < limit:
            wanted = min(limit - len(found), PAGE_EVENTS)
            if after < self._known_trimmed:
                page = self._archived(after, wanted)
            else:
                page, more = self._page(after, wanted)
            found += page
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
        """See EventLog. The bytes leave the server's files only when these are rewritten.

        Raises:
            LogGap: the event was archived, and this log was made without its archive. Nothing was erased.
            CorruptArchive, ArchiveFailed: the event was archived, and its text could not be erased there.
        """
        return bool(self.erase_payloads([event_id]))

    def erase_payloads(self, event_ids: Sequence[str]) -> int:
        """`erase_payload` for many, with one rewrite of each file of the archive; how many went.

        A payload that was just being archived counts twice.
        """
        # The server first: an archiver that moves a payload at this very moment either did so before, and its file is
        # found below, or finds in TRIM that the payload is gone.
        gone, events = 0, {}
        for start in range(0, len(event_ids), PAGE_EVENTS):
            removed, positions = self._erase_in_server(event_ids[start : start + PAGE_EVENTS])
            gone += removed
            events.update(positions)
        trimmed = self.trimmed()
        archived = {event_id: at for event_id, at in events.items() if at <= trimmed}
        if self._archive is not None:
            gone += self._archive.erase(events)
            archived = {event_id: at for event_id, at in archived.items() if not self._archive.has(at)}
        if archived:
            raise LogGap(self._out_of_reach(min(archived.values())))
        return gone

    def _erase_in_server(self, event_ids: Sequence[str]) -> tuple[int, dict[bytes, Position]]:
        gone = self._call(lambda: self._client.hdel(self._payloads, *event_ids))
        places = self._call(lambda: self._client.hmget(self._ids, event_ids))
        return gone, {
            one.encode(): _position(cast("bytes", at)) for one, at in zip(event_ids, places, strict=True) if at
        }

    def trimmed(self) -> Position:
        """The position up to which events are in the archive alone; START when none is."""
        at = self._call(lambda: self._client.get(self._trimmed))
        self._known_trimmed = _position(cast("bytes", at)) if at else START
        return self._known_trimmed

    def _archived(self, after: Position, wanted: int) -> list[Stored]:
        page = self._archive.read(after, wanted) if self._archive else []
        if not page:
            raise LogGap(self._out_of_reach(after))
        return page

    def _out_of_reach(self, at: Position) -> str:
        if self._archive is None:
            return f"The events up to {self._known_trimmed} were archived, and no archive is at hand. Use open_log."
        return (
            f"The events behind {max(at, self._archive.last())} and up to {self._known_trimmed} left the server, but "
            f"are not in {self._archive.root}. Put the missing segments back (from a backup, or from the machine whose "
            "worker archives), or start from a snapshot."
        )

    def _page(self, after: Position, wanted: int) -> tuple[list[Stored], bool]:
        """Events of the stream, and whether to read on."""
        keys = [self._stream, self._payloads, self._trimmed]
        arguments: list[str | int] = [str(after), wanted, PAGE_BYTES]
        answer = self._call(lambda: run(self._client, READ, keys, arguments))
        stopped, trimmed, positions, ids, envelopes, payloads = cast("_Page", answer)
        if trimmed is not None and (known := _position(trimmed)) > after:
            self._known_trimmed = known
            return [], True
        page = [
            Stored(_position(at), event_id, envelope, payload)
            for at, event_id, envelope, payload in zip(positions, ids, envelopes, payloads, strict=False)
        ]
        return page, bool(stopped) or len(page) == wanted

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
    if message.startswith("unknown command"):
        return LogUnavailable(
            f"The server at {where} is too old; Redis 7.0 or later, or Valkey, is needed. It says: {message}"
        )
    return LogUnavailable(f"The server at {where} refused a command. It says: {message}")


def _position(stored: bytes) -> Position:
    ms, _, seq = stored.partition(b"-")
    return Position(int(ms), int(seq))
