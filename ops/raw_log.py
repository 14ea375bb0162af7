"""One owner's log as it stands in the server, byte for byte: what a backup takes, and what a restore puts back.

An event is taken whether or not this version can read it, and keeps its position, so that checkpoints, snapshots and
questions about the past stay true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, cast

import redis

from ..events.position import START, Position
from ..events.redis_log import driver_errors
from ..events.scripts import run

PAGE: Final = 500
"""Events read or written in one round trip: a few milliseconds, during which the server answers nobody else."""

SCAN: Final = 2_000
"""Fields of a hash in one round trip."""

KEYS: Final = ("log", "ids", "payloads", "trimmed")
"""The keys of a log; see `redis_log.py`."""

SWITCH: Final = """
if ARGV[1] == '0' and (redis.call('EXISTS', KEYS[1]) == 1 or redis.call('EXISTS', KEYS[2]) == 1) then
  return 0
end
local half = #KEYS / 2
for i = 1, half do
  redis.call('UNLINK', KEYS[i])
  if redis.call('EXISTS', KEYS[i + half]) == 1 then
    redis.call('RENAME', KEYS[i + half], KEYS[i])
  end
end
return 1
"""
"""Put a log that was written beside the living one in its place, in one step.

KEYS: the living keys, then as many that take their places.
ARGV: 1 to replace what is there; 0 to refuse.
Returns: 1, or 0 when it was refused.
"""


class RawEvent(NamedTuple):
    """One event of a log, or what the server keeps of one that was archived: its id alone."""

    position: Position
    event_id: bytes
    envelope: bytes | None
    """None: the archive has it."""
    payload: bytes | None


class RawLog:
    """Reads and replaces the keys of one owner's log.

    Every method raises LogUnavailable when the server cannot be reached, LogFull when it has no room.
    """

    def __init__(self, client: redis.Redis, owner: str) -> None:
        self._client = client
        self._prefix = f"ir:{{{owner}}}:"
        self._live = [self._prefix + name for name in KEYS]
        self._beside = [self._prefix + "restoring:" + name for name in KEYS]

    def is_empty(self) -> bool:
        """Whether no event was ever stored."""
        with driver_errors(self._client):
            return not self._client.exists(*self._live[:2])

    def trimmed(self) -> str:
        """The position up to which the archive has the log's place; empty when all of it is in the server."""
        with driver_errors(self._client):
            return cast("bytes", self._client.get(self._live[3]) or b"").decode()

    def read(self, until: Position) -> Iterator[RawEvent]:
        """The events of the stream up to a position, in order; then the ids of archived ones, in no order."""
        read, after = 0, START
        with driver_errors(self._client):
            while page := self._page(after, until):
                yield from page
                read, after = read + len(page), page[-1].position
            if self._client.hlen(self._live[1]) > read:
                yield from self._archived(until)

    def write(self, events: Iterable[RawEvent], *, last: Position, trimmed: str) -> None:
        """Write a whole log beside the living one; `switch` puts it in place. What an earlier try left is removed.

        Args:
            events: as `read` gives them: those of the stream in order.
            last: of the last event ever appended, which need not be among them.
            trimmed: as `trimmed` gave it.
        """
        stream, ids, payloads, mark = self._beside
        newest, rest = START, iter(events)
        with driver_errors(self._client):
            self._client.unlink(*self._beside)
            while batch := list(islice(rest, PAGE)):
                pipe = self._client.pipeline(transaction=False)
                pipe.hset(ids, mapping={event.event_id: str(event.position) for event in batch})
                free: dict[Any, Any] = {event.event_id: event.payload for event in batch if event.payload is not None}
                if free:
                    pipe.hset(payloads, mapping=free)
                for event in batch:
                    if event.envelope is not None:
                        pipe.xadd(stream, {b"id": event.event_id, b"e": event.envelope}, id=str(event.position))
                        newest = event.position
                pipe.execute()
            if last > newest:
                self._client.xadd(stream, {b"id": b""}, id=str(last))
                self._client.xdel(stream, str(last))
            if trimmed:
                self._client.set(mark, trimmed)

    def switch(self, *, replace: bool) -> bool:
        """Make what `write` wrote the living log, in one step; False (nothing is changed) when there is one already.

        With `replace`, what else is kept under the owner's name goes as well: all of it follows from the log.
        """
        with driver_errors(self._client):
            if not run(self._client, SWITCH, [*self._live, *self._beside], [int(replace)]):
                return False
            kept = {key.encode() for key in self._live}
            pattern = "".join(f"\\{c}" if c in "*?[]\\" else c for c in self._prefix) + "*"
            for key in cast("Iterator[bytes]", self._client.scan_iter(match=pattern, count=SCAN)) if replace else ():
                if key not in kept:
                    self._client.unlink(key)
            return True

    def drop(self) -> None:
        """Remove what `write` wrote."""
        with driver_errors(self._client):
            self._client.unlink(*self._beside)

    def erase(self) -> None:
        """Remove the whole log. Only for one that nobody else has heard of."""
        with driver_errors(self._client):
            self._client.unlink(*self._live)

    def _page(self, after: Position, until: Position) -> list[RawEvent]:
        if after >= until:
            return []
        rows = cast(
            "list[tuple[bytes, dict[bytes, bytes]]]",
            self._client.xrange(self._live[0], f"({after}", str(until), count=PAGE),
        )
        ids = [fields.get(b"id", b"") for _, fields in rows]
        payloads = cast("list[bytes | None]", self._client.hmget(self._live[2], ids)) if ids else []
        return [
            RawEvent(Position.parse(at.decode()), event_id, fields.get(b"e", b""), payload)
            for (at, fields), event_id, payload in zip(rows, ids, payloads, strict=True)
        ]

    def _archived(self, until: Position) -> Iterator[RawEvent]:
        """Ids at or before the mark up to which the stream was trimmed; a hash may tell of one twice, which is one."""
        mark = self.trimmed()
        through = min(Position.parse(mark), until) if mark else START
        for event_id, at in cast("Iterator[tuple[bytes, bytes]]", self._client.hscan_iter(self._live[1], count=SCAN)):
            position = Position.parse(at.decode())
            if position <= through:
                payload = cast("bytes | None", self._client.hget(self._live[2], event_id.decode("utf-8", "replace")))
                yield RawEvent(position, event_id, None, payload)
