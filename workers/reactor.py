"""The reactor: the one process that turns events into jobs. Each event leads to its jobs exactly once.

A batch of events is handled (reactions.py), and then committed in one step: what it leads to is noted in the server,
together with the checkpoint (events/subscription.py). What was noted is put into the queue after that, under an id that
follows from the event, and then struck out. Killed anywhere, it goes on from what was committed: events that were not
are handled again, jobs that were noted are asked for again, and the queue knows those that it has.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

import msgspec
import redis
import structlog

from ..events.connect import connect, log_on
from ..events.envelope import RecordedEvent
from ..events.errors import LogUnavailable
from ..events.position import Position
from ..events.redis_log import driver_errors
from ..events.settings import Settings
from ..events.subscription import STATE, Changes, Delivery, Subscription
from .dead_letters import DEAD, NAME, RELEASED, DeadLetter
from .lease import Lease
from .queue import enqueue_erasure, enqueue_snapshot, tag
from .reactions import Derived, Effect, Reaction, erasures, react

TOUCHED: Final = "touched"
NOTED: Final = "noted"
"""Jobs that are to be put into the queue."""
HASHES: Final = (TOUCHED, NOTED, DEAD, RELEASED)

BATCH: Final = 500
BLOCK_MS: Final = 1_000
"""Waiting for new events; shorter than a client waits for an answer, and how late a signal is noticed at most."""
GATHER_S: Final = 0.2
"""Pause behind a batch: events come one by one, and each batch costs the server a few synced writes."""
MAX_DELIVERIES: Final = 5
"""An event that cannot be handled when it was delivered this often is set aside."""
LEASE_MS: Final = 5_000
"""How long a killed reactor keeps the next one waiting."""
PATIENCE_S: Final = 15.0
"""How long the server may be away before the reactor ends; whoever keeps it running starts it again."""
WORKED_S: Final = 10.0
"""What lasted longer than this before it failed was no attempt to reach a server that is away."""

log = structlog.get_logger()


def _nothing(_step: str) -> None:
    """What happens after a step: nothing. Crash tests end the process here instead."""


class Reactor:
    """Handles one owner's events, as the only one that does; to be used while holding the lease.

    Args:
        settings: whose events, and the data folder that jobs are for.
        client: of the server with the log.
        handle: what an event means; what it raises counts against the event.
        after_step: called after each step: `handled`, `committed`, `asked` (for each job), `struck_out`.
    """

    def __init__(
        self,
        settings: Settings,
        client: redis.Redis,
        *,
        handle: Callable[[RecordedEvent], Reaction] = react,
        after_step: Callable[[str], None] = _nothing,
    ) -> None:
        self._settings = settings
        self._mark = tag(settings)
        self._events = Subscription(client, log_on(client, settings), NAME, HASHES)
        self._handle = handle
        self._after_step = after_step
        self._derived = Derived()
        self._noted: dict[str, Effect] = {}
        self._one_at_a_time = False
        """The next event could not be handled; those behind it are not to be delivered again and again with it."""

    def open(self) -> None:
        """Begin, or begin again, with what was committed last.

        Raises:
            LogRewound: the log ends before what was handled.
        """
        fields = self._events.open()
        self._derived = Derived.load(fields, self._events.load(TOUCHED))
        noted = self._events.load(NOTED).items()
        self._noted = {job_id: msgspec.json.decode(stored, type=Effect) for job_id, stored in noted}
        log.info("reactor.opened", checkpoint=str(self._events.checkpoint), noted=len(self._noted))

    def run(self, stop: threading.Event) -> None:
        """Handle events until `stop` is set.

        Raises:
            LogRewound: see `open`.
            StaleWriter: another reactor took over.
        """
        self.open()
        while not stop.is_set():
            if self.turn():
                stop.wait(GATHER_S)

    def turn(self, block_ms: int = BLOCK_MS) -> int:
        """Handle the next events, waiting for some; returns how many were handled or failed."""
        self._put_into_queue()
        self._retry_released()
        limit = 1 if self._one_at_a_time else BATCH
        batch = self._events.next_batch(limit, block_ms)
        done, failed = self._try_each(batch)
        dead: list[DeadLetter] = []
        if failed is not None:
            dead = self._set_aside(*failed)
            self._one_at_a_time = not dead
        elif batch:
            self._one_at_a_time = False
        at_the_tail = failed is None and len(batch) < limit
        if batch:
            self._after_step("handled")
        self._commit(batch[: len(done) + len(dead)], done, dead, at_the_tail=at_the_tail)
        if failed is not None:
            self._events.again()
        return len(batch)

    def _try_each(self, batch: Sequence[Delivery]) -> tuple[list[Reaction], tuple[Delivery, Exception] | None]:
        """What the events mean, up to the first that cannot be handled."""
        done: list[Reaction] = []
        for delivery in batch:
            if delivery.event is None:
                log.warning("reactor.entry_gone", position=str(delivery.position))
                done.append(Reaction())
                continue
            try:
                done.append(self._handle(delivery.event))
            except Exception as error:  # noqa: BLE001 - handling asks nobody else, so whatever it is lies in the event
                return done, (delivery, error)
        return done, None

    def _set_aside(self, delivery: Delivery, error: Exception) -> list[DeadLetter]:
        """The event as a dead letter when it was tried often enough; at once when it comes from the archive."""
        assert delivery.event is not None  # noqa: S101 - one that is gone does not fail
        tried = self._events.deliveries(delivery.position)
        letter = DeadLetter.of(delivery.event, error, tried)
        log.warning("reactor.event_failed", **msgspec.to_builtins(letter), of=MAX_DELIVERIES)
        return [letter] if tried >= MAX_DELIVERIES or not tried else []

    def _commit(
        self,
        handled: Sequence[Delivery],
        reactions: Sequence[Reaction],
        dead: Sequence[DeadLetter] = (),
        *,
        at_the_tail: bool = False,
        revived: str = "",
    ) -> None:
        """Store what was handled, and what it leads to, if there is anything."""
        events = [(one.event, reaction) for one, reaction in zip(handled, reactions, strict=False) if one.event]
        for recorded, reaction in events:
            self._derived.apply(recorded.position, reaction)
        effects = erasures(events, self._mark)
        # Not on the way to the tail: a snapshot that is known already may come up there.
        if at_the_tail and (rebuild := self._derived.rebuild_wanted(self._settings.rebuild_after, self._mark)):
            effects.append(rebuild)
        if not (handled or effects or revived):
            return
        touched = {item: self._derived.touched.get(item) for _, reaction in events for item in reaction.touched}
        changes = Changes(
            put={
                STATE: self._derived.fields(),
                TOUCHED: {item: str(at) for item, at in touched.items() if at},
                NOTED: {one.job_id: msgspec.json.encode(one).decode() for one in effects},
                DEAD: {one.event_id: msgspec.json.encode(one).decode() for one in dead},
            },
            drop={TOUCHED: self._derived.take_outdated()},
        )
        if revived:
            changes.drop |= {DEAD: [revived], RELEASED: [revived]}
        moved_over: list[Position] = [] if revived else [one.position for one in handled]
        if not self._events.commit(moved_over, changes):
            self.open()
            return
        self._after_step("committed")
        self._noted |= {one.job_id: one for one in effects}
        self._put_into_queue()

    def _put_into_queue(self) -> None:
        """Ask for the jobs that were noted, in the order of their events, and strike them out."""
        if not self._noted:
            return
        asked: list[str] = []
        try:
            for effect in sorted(self._noted.values(), key=lambda one: (one.position, one.job_id)):
                if effect.job == "rebuild":
                    enqueue_snapshot(self._settings, job_id=effect.job_id)
                else:
                    enqueue_erasure(self._settings, effect.item, job_id=effect.job_id)
                asked.append(effect.job_id)
                self._after_step("asked")
        except LogUnavailable as error:  # jobs may be kept elsewhere; they stay noted
            log.warning("reactor.queue_unavailable", waiting=len(self._noted) - len(asked), reason=str(error))
        if asked:
            for job_id in asked:
                del self._noted[job_id]
            self._events.commit([], Changes(drop={NOTED: asked}))
            self._after_step("struck_out")

    def _retry_released(self) -> None:
        """Handle once more the events that somebody took back from those set aside."""
        released = self._events.load(RELEASED)
        if not released:
            return
        letters = self._events.load(DEAD)
        for event_id in released:
            stored = letters.get(event_id)
            letter = msgspec.json.decode(stored, type=DeadLetter) if stored else None
            event = self._events.event_at(letter.position) if letter else None
            if letter is None or event is None:
                log.warning("reactor.released_event_is_gone", event_id=event_id)
                self._events.commit([], Changes(drop={RELEASED: [event_id]}))
                continue
            delivery = Delivery(letter.position, event)
            done, failed = self._try_each([delivery])
            if failed is None:
                self._commit([delivery], done, revived=event_id)
                log.info("reactor.revived", event_id=event_id)
            else:
                again = DeadLetter.of(event, failed[1], letter.deliveries + 1)
                put = {DEAD: {event_id: msgspec.json.encode(again).decode()}}
                self._events.commit([], Changes(put=put, drop={RELEASED: [event_id]}))


def run_reactor(settings: Settings, *, lease_ms: int = LEASE_MS) -> None:
    """Turn events into jobs until SIGTERM or SIGINT; to be called from the main thread.

    While another reactor of this owner is at work, it waits.

    Raises:
        LogRewound: the log ends before what was handled of it.
        StaleWriter: it was paused for so long that another one took over.
        LogUnavailable: the server is away, and did not come back within about 15 seconds.
        LogFull: the server takes no writes.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    away_since: float | None = None
    with closing(connect(settings)) as client:
        while not stop.is_set():
            began = time.monotonic()
            try:
                with driver_errors(client), Lease(client, settings.owner, NAME, ttl_ms=lease_ms) as held:
                    if held:
                        log.info("reactor.started", owner=settings.owner)
                        Reactor(settings, client).run(stop)
                away_since = None
                stop.wait(lease_ms / 10_000)
            except LogUnavailable as error:
                now = time.monotonic()
                if away_since is None or now - began > WORKED_S:
                    away_since = now
                if now - away_since > PATIENCE_S:
                    raise
                log.warning("reactor.server_away", reason=str(error))
                stop.wait(GATHER_S)
    log.info("reactor.stopped")
