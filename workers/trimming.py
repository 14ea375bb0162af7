"""What archiving asks of the server besides reading the log: who still needs what, how full it is, and the trim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import redis
from redis.exceptions import ResponseError

from ..events.codec import Stored
from ..events.errors import ArchiveFailed
from ..events.position import LARGEST, START, Position
from ..events.redis_log import driver_errors
from ..events.scripts import TRIM, run

SUBSCRIPTIONS: Final = ("reactor",)
"""Those whose checkpoint is kept in the server. They read the stream itself, and so need what is behind it."""


class Stream:
    """The stream of one owner's log, as archiving sees it. Every method raises LogUnavailable when it is out of reach.

    Args:
        client: a client as `connect` makes it; it is not closed here.
        owner: whose log.
    """

    def __init__(self, client: redis.Redis, owner: str) -> None:
        self._client = client
        self._key = f"ir:{{{owner}}}:log"
        self._payloads = f"ir:{{{owner}}}:payloads"
        self._trimmed = f"ir:{{{owner}}}:trimmed"
        self._checkpoints = {name: f"ir:{{{owner}}}:{name}" for name in SUBSCRIPTIONS}

    def trim(self, events: Sequence[Stored], before: Position) -> list[bytes]:
        """Let go of the oldest events of the stream, which an archive verifiably holds; all or nothing.

        Args:
            events: every event from the first one of the stream, without a gap.
            before: up to where the stream was trimmed when they were read.

        Returns:
            Ids of those events whose payload was erased since: take it out of the archive, then try again. Nothing was
            trimmed when there are any.

        Raises:
            ArchiveFailed: somebody else trimmed the stream meanwhile. Nothing was done.
        """
        last = events[-1].position
        behind = Position(last.ms, last.seq + 1) if last.seq < LARGEST else Position(last.ms + 1, 0)
        arguments: list[str | bytes | int] = ["" if before == START else str(before), str(last), str(behind)]
        arguments += [one.event_id for one in events if one.payload is not None]
        with driver_errors(self._client):
            answer = run(self._client, TRIM, [self._key, self._payloads, self._trimmed], arguments)
        done, gone = cast("tuple[int, list[bytes]]", answer)
        if not done:
            raise ArchiveFailed("Another process archives this log at the same time. Try again when it is through.")
        return gone

    def readers(self) -> dict[str, Position]:
        """Up to where each consumer group and each subscription is done; events behind that have to stay."""
        found: dict[str, Position] = {}
        with driver_errors(self._client):
            for name, key in self._checkpoints.items():
                if stored := self._client.hget(key, "checkpoint"):
                    found[f"the checkpoint of {name}"] = _position(stored)
            for group in self._groups():
                name, at = group["name"].decode(), _position(group["last-delivered-id"])
                if group["pending"]:
                    at = min(at, _before(_position(self._client.xpending(self._key, name)["min"])))
                found[f"the group {name}"] = at
        return found

    def bytes_used(self) -> int:
        """Bytes of the server's memory that the stream and its payloads take; an estimate from a hundred of each."""
        with driver_errors(self._client):
            sizes = [self._client.memory_usage(key, samples=100) for key in (self._key, self._payloads)]
        return sum(size or 0 for size in sizes)

    def _groups(self) -> list[dict[str, Any]]:
        try:
            return self._client.xinfo_groups(self._key)
        except ResponseError as error:
            if "no such key" in str(error):
                return []
            raise


def _position(stored: Any) -> Position:
    return Position.parse(stored.decode())


def _before(position: Position) -> Position:
    return Position(position.ms, position.seq - 1) if position.seq else Position(position.ms - 1, LARGEST)
