"""A subscription: the events of a log in order, handed to one consumer, with effects that take place exactly once.

The server delivers at least once. Once and for all is made of two rules, both kept by the script COMMIT:

* What an event leads to is written together with the checkpoint, and only if nobody else has committed since this
  consumer began. A consumer that was paused and overtaken is refused (StaleWriter) and has changed nothing.
* The checkpoint moves only over events that are in the commit. Whatever happens to the consumer group (it is removed,
  or two consumers read from it), none is passed over.

So the group itself may be lost: it is made anew at the checkpoint. It wakes the consumer, and counts deliveries. Events
behind the checkpoint that have left the stream for the archive are read from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec
import redis
import structlog
from redis.exceptions import ResponseError

from .codec import decode
from .envelope import RecordedEvent
from .errors import LogRewound, StaleWriter
from .position import START, Position
from .redis_log import RedisEventLog
from .scripts import CLAIM, COMMIT, run

STATE = ""
"""The hash that holds the checkpoint; see `Changes`."""
CHECKPOINT, COMMITS = "checkpoint", "commits"
"""Fields of it: the last position that was handled, and a count by which an overtaken consumer is told."""

_Entries = list[tuple[bytes, dict[bytes, bytes]]]
log = structlog.get_logger()


class Delivery(NamedTuple):
    """One entry of the stream. No event: it was taken out of the stream before it could be read."""

    position: Position
    event: RecordedEvent | None


class Changes(msgspec.Struct):
    """What one commit writes besides the checkpoint, by hash: the state (STATE) or another one of the subscription."""

    put: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    drop: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Fields to remove; done before `put`."""


class Subscription:
    """A consumer's place in one owner's log, with the hashes that its commits write.

    Not for several threads. Free text is not delivered: the fields kept as payload may read as their defaults.

    Args:
        client: a client as `connect` makes it; it is not closed here.
        events: the log on that server, with its archive.
        name: of the subscription. Its group is `<name>.v1`, its keys begin with `ir:{owner}:<name>`. Another meaning
            of the state is another name.
        hashes: names of further hashes that commits may write.
    """

    def __init__(self, client: redis.Redis, events: RedisEventLog, name: str, hashes: Sequence[str] = ()) -> None:
        self.checkpoint = START
        self._client = client
        self._events = events
        owner = events.owner
        self._group = f"{name}.v1"
        # One fixed name: with several, a dead one's events would come after newer ones.
        self._consumer = name
        self._stream = f"ir:{{{owner}}}:log"
        base = f"ir:{{{owner}}}:{name}"
        self._keys = {STATE: base, **{suffix: f"{base}:{suffix}" for suffix in hashes}}
        self._commits = 0
        self._trimmed = START
        self._new = False
        """The pending events are done with: what comes next was never delivered."""

    def load(self, hash_name: str = STATE) -> dict[str, str]:
        """All fields of one of the hashes, as stored now."""
        stored = cast("dict[bytes, bytes]", self._client.hgetall(self._keys[hash_name]))
        return {field.decode(): value.decode() for field, value in stored.items()}

    def open(self) -> dict[str, str]:
        """Begin, or begin again, at the stored checkpoint; returns the fields of the state.

        Raises:
            LogRewound: the checkpoint is ahead of the log.
        """
        state = self.load()
        self.checkpoint = Position.parse(state.get(CHECKPOINT, str(START)))
        self._commits = int(state.get(COMMITS, 0))
        self._join()
        return state

    def next_batch(self, limit: int, block_ms: int) -> list[Delivery]:
        """Up to `limit` events behind the checkpoint: those delivered before, then new ones, waited for that long.

        An empty list means that there was nothing yet. Nothing is lost when a batch is not committed: after `open` or
        `again` it is delivered once more.

        Raises:
            LogRewound: the log ends before the checkpoint.
            LogGap, CorruptArchive: events behind the checkpoint were archived, and cannot be read there.
        """
        if self.checkpoint < self._trimmed:
            return [Delivery(one.position, one) for one in self._events.read(self.checkpoint, limit)]
        try:
            if not self._new:
                if pending := self._read(str(self.checkpoint), limit):
                    return pending
                # Whatever the group believes, what comes next is what stands behind the checkpoint.
                self._client.xgroup_setid(self._stream, self._group, str(self.checkpoint))
                self._new = True
            return self._new_ones(limit, block_ms)
        except ResponseError as error:
            if not str(error).startswith(("NOGROUP", "UNBLOCKED")):
                raise
            log.warning("subscription.group_lost", group=self._group, checkpoint=str(self.checkpoint))
            self._join()
            return []

    def _new_ones(self, limit: int, block_ms: int) -> list[Delivery]:
        """Events that were never delivered."""
        found = self._read(">", limit, block_ms)
        if not found:
            # A consumer that was paused may have fetched the last event before it was refused and ended: it is pending
            # though nobody handles it, and no later event may come that would show the gap.
            summary = cast("dict[str, int]", self._client.xpending(self._stream, self._group))
            self._new = not summary["pending"]
        return found

    def again(self) -> None:
        """Have everything behind the checkpoint delivered once more."""
        self._new = False

    def deliveries(self, position: Position) -> int:
        """How often the event at a position was delivered; 0 when it is not pending, as one from the archive."""
        found = self._client.xpending_range(self._stream, self._group, str(position), str(position), 1)
        return int(found[0]["times_delivered"]) if found else 0

    def event_at(self, position: Position) -> RecordedEvent | None:
        """The event at a position, without its free text; None when it is no longer in the stream."""
        found = cast("_Entries", self._client.xrange(self._stream, str(position), str(position)))
        return self._delivery(*found[0]).event if found else None

    def commit(self, handled: Sequence[Position], changes: Changes) -> bool:
        """Write the changes and move the checkpoint to the last of `handled`, in one step. True when it was done.

        False: an event between the checkpoint and there is not among `handled`. Nothing was written, and everything
        behind the checkpoint is delivered again, in order.

        Raises:
            StaleWriter: somebody else has committed since `open`. Nothing was written.
        """
        through = handled[-1] if handled else self.checkpoint
        numbers = {name: number for number, name in enumerate(self._keys)}
        drops = [(numbers[name], fields) for name, fields in changes.drop.items() if fields]
        puts = [(numbers[name], [*fields.items()]) for name, fields in changes.put.items() if fields]
        arguments: list[str | bytes | int] = [
            *(self._group, self._commits, str(self.checkpoint), str(through)),
            *(msgspec.json.encode(part) for part in ([str(position) for position in handled], drops, puts)),
        ]
        outcome = cast("bytes", run(self._client, COMMIT, [self._stream, *self._keys.values()], arguments))
        if outcome == b"stale":
            raise StaleWriter(
                f"Another consumer of {self._group} has committed since this one began; nothing was written. "
                "Start this one again: it waits until the other has ended."
            )
        if outcome != b"done":
            log.warning("subscription.out_of_order", group=self._group, missing=outcome.decode())
            self._client.xgroup_destroy(self._stream, self._group)
            self._join()
            return False
        self.checkpoint = through
        self._commits += 1
        return True

    def _join(self) -> None:
        """Have a group with nothing pending but what is behind the checkpoint, all of it ours."""
        self._check_not_rewound()
        self._trimmed = self._events.trimmed()
        try:
            self._client.xgroup_create(self._stream, self._group, str(self.checkpoint), mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
        arguments = [self._group, self._consumer, str(self.checkpoint)]
        gone = cast("list[bytes]", run(self._client, CLAIM, [self._stream], arguments))
        if gone:
            log.warning("subscription.entries_gone", group=self._group, positions=[one.decode() for one in gone[:20]])
        self._new = False

    def _check_not_rewound(self) -> None:
        try:
            last = Position.parse(self._client.xinfo_stream(self._stream)["last-generated-id"].decode())
        except ResponseError as error:
            if "no such key" not in str(error):
                raise
            last = START
        if self.checkpoint > last:
            raise LogRewound(
                f"{self._group} has handled the log up to {self.checkpoint}, but the log ends at {last}: it was "
                "restored from an older backup, or its server lost its end. Let it start over with "
                "`instant-recall reactor --start-over`."
            )

    def _read(self, after: str, limit: int, block_ms: int | None = None) -> list[Delivery]:
        streams = {self._stream: after}
        answer = self._client.xreadgroup(self._group, self._consumer, cast("Any", streams), limit, block_ms)
        by_stream = cast("list[tuple[bytes, _Entries]]", answer or [])
        return [self._delivery(*entry) for _, entries in by_stream for entry in entries]

    def _delivery(self, entry_id: bytes, fields: Mapping[bytes, bytes]) -> Delivery:
        position = Position.parse(entry_id.decode())
        if not fields:
            return Delivery(position, None)
        event_id = fields.get(b"id", b"").decode("utf-8", "replace")
        return Delivery(position, decode(self._events.owner, position, event_id, fields.get(b"e", b""), None))


def start_over(client: redis.Redis, owner: str, name: str, hashes: Sequence[str]) -> None:
    """Drop a subscription's state, its group and these hashes of it: it then handles the log from its beginning.

    A consumer that is at work is refused at its next commit.
    """
    base = f"ir:{{{owner}}}:{name}"
    client.delete(base, *(f"{base}:{suffix}" for suffix in hashes))
    if client.exists(f"ir:{{{owner}}}:log"):
        client.xgroup_destroy(f"ir:{{{owner}}}:log", f"{name}.v1")
