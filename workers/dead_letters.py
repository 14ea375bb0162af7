"""Events that the reactor could not handle and has set aside, and how the reactor stands. For `doctor` and the CLI."""

from __future__ import annotations

from typing import Final, cast

import msgspec
import redis

from ..events.envelope import RecordedEvent, UnreadableEvent
from ..events.errors import NotFound
from ..events.position import START, Position
from ..events.subscription import CHECKPOINT, start_over

NAME: Final = "reactor"
"""Of the reactor's subscription and its lease."""
DEAD: Final = "dead"
RELEASED: Final = "released"


class DeadLetter(msgspec.Struct, frozen=True):
    """An event that was set aside. Never its text, nor the error's: that may quote it."""

    event_id: str
    position: Position
    type: str
    error: str
    """The kind of error, as in `KeyError`."""
    deliveries: int
    """How often it was tried."""

    @classmethod
    def of(cls, recorded: RecordedEvent, error: Exception, deliveries: int) -> DeadLetter:
        """For an event whose handling raised."""
        event = recorded.event
        return cls(
            event_id=recorded.event_id,
            position=recorded.position,
            type=event.stored_type if isinstance(event, UnreadableEvent) else event.type_name(),
            error=type(error).__name__,
            deliveries=deliveries,
        )


class ReactorStatus(msgspec.Struct, frozen=True):
    """How the reactor stands, as committed last. Whether one runs: `running`."""

    running: bool
    """A reactor holds the lease. One that was killed seems to run for a few seconds."""
    checkpoint: Position
    """Up to here, events were handled."""
    last: Position
    """The end of the log."""
    touched: int
    """Items that readers keep in memory beside the newest snapshot, more or less."""
    snapshot: Position
    """Up to here, events are in the newest snapshot that the reactor has heard of."""
    noted: int
    """Jobs that wait for the queue's server."""
    dead: int
    """Events that were set aside."""
    sessions_closed: int
    session_closed_at: int
    """When the last session was closed, in milliseconds UTC; 0: none was."""


def dead_letters(client: redis.Redis, owner: str) -> list[DeadLetter]:
    """The events that were set aside, in the order of the log.

    Raises:
        redis.RedisError: the server cannot be reached.
    """
    stored = cast("list[bytes]", client.hvals(_key(owner, DEAD)))
    return sorted((msgspec.json.decode(one, type=DeadLetter) for one in stored), key=lambda one: one.position)


def release(client: redis.Redis, owner: str, event_id: str) -> DeadLetter:
    """Have the reactor handle an event again that was set aside; it does so within a second or two of running.

    If it fails once more, it is set aside once more.

    Raises:
        NotFound: no event of this id was set aside.
        redis.RedisError: the server cannot be reached.
    """
    stored = cast("bytes | None", client.hget(_key(owner, DEAD), event_id))
    if stored is None:
        raise NotFound(
            f"No event {event_id!r:.60} was set aside. `instant-recall dead-letters list` names those that were."
        )
    client.hset(_key(owner, RELEASED), event_id, "1")
    return msgspec.json.decode(stored, type=DeadLetter)


def reactor_status(client: redis.Redis, owner: str, last: Position) -> ReactorStatus:
    """How the reactor stands. `last` is the end of the log, which the log knows.

    Raises:
        redis.RedisError: the server cannot be reached.
    """
    stored = cast("dict[bytes, bytes]", client.hgetall(_key(owner)))
    fields = {field.decode(): value.decode() for field, value in stored.items()}
    return ReactorStatus(
        running=bool(client.exists(f"ir:{{{owner}}}:lease:{NAME}")),
        checkpoint=Position.parse(fields.get(CHECKPOINT, str(START))),
        last=last,
        touched=client.hlen(_key(owner, "touched")),
        snapshot=Position.parse(fields.get("snapshot", str(START))),
        noted=client.hlen(_key(owner, "noted")),
        dead=client.hlen(_key(owner, DEAD)),
        sessions_closed=int(fields.get("sessions_closed", 0)),
        session_closed_at=int(fields.get("session_closed_at", 0)),
    )


def let_it_start_over(client: redis.Redis, owner: str) -> None:
    """Have the reactor handle the log from its beginning; what was set aside is tried again with the rest.

    Jobs that were done within the last two days are not asked for again; the others change nothing when done twice.

    Raises:
        redis.RedisError: the server cannot be reached.
    """
    start_over(client, owner, NAME, ("touched", DEAD, RELEASED))


def _key(owner: str, part: str = "") -> str:
    return f"ir:{{{owner}}}:{NAME}" + (f":{part}" if part else "")
