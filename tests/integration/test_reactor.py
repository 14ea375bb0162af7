"""The reactor on a real server: each event leads to its jobs once, in order, whatever becomes of group and stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import redis
from instant_recall.events import types as ev
from instant_recall.events.envelope import RecordedEvent, draft
from instant_recall.events.errors import LogRewound, NotFound, StaleWriter
from instant_recall.events.position import START, Position
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.workers.dead_letters import ReactorStatus, dead_letters, let_it_start_over, reactor_status, release
from instant_recall.workers.queue import queue
from instant_recall.workers.reactions import Reaction, react
from instant_recall.workers.reactor import MAX_DELIVERIES, Reactor
from rq.job import Job

GROUP = "reactor.v1"
POISON = ev.SnapshotPublished(generation=1, through="yesterday")


class World:
    """An owner's log on the session's server, a reactor, and the jobs that it asked for."""

    def __init__(self, settings: Settings, client: redis.Redis) -> None:
        self.settings = settings
        self.client = client
        self.owner = settings.owner
        self.stream = f"ir:{{{self.owner}}}:log"
        self.log = RedisEventLog(client, self.owner)
        self.queue = queue(client, self.owner)

    def reactor(self, **changes: Any) -> Reactor:
        made = Reactor(self.settings, self.client, **changes)
        made.open()
        return made

    def happens(self, *events: ev.Event) -> list[Position]:
        return [one.position for one in self.log.append([draft(event) for event in events])]

    def forget(self, *names: str) -> list[Position]:
        return self.happens(*(ev.ItemForgotten(item=f"note:{name}") for name in names))

    def erased(self) -> list[str]:
        """Names of the items whose erasure is in the queue, in its order."""
        jobs: list[Job] = self.queue.jobs
        return [str(job.args[1]).removeprefix("note:") for job in jobs if str(job.func_name).endswith(".erase")]

    @property
    def status(self) -> ReactorStatus:
        return reactor_status(self.client, self.owner, self.log.last_position())

    def pending(self) -> int:
        return int(self.client.xpending(self.stream, GROUP)["pending"])


@pytest.fixture
def world(embedded_settings: Settings, embedded_client: redis.Redis, owner: str) -> World:
    return World(dataclasses.replace(embedded_settings, owner=owner, rebuild_after=3), embedded_client)


def turns(reactor: Reactor, wanted: int = 10) -> None:
    """Let a reactor work until there is nothing to do."""
    for _ in range(wanted):
        if not reactor.turn(block_ms=1):
            return
    pytest.fail("it did not come to an end")


def test_a_forgotten_item_leads_to_one_erasure_in_the_order_of_the_log(world: World) -> None:
    positions = world.forget("b", "a", "c")
    turns(world.reactor())
    assert world.erased() == ["b", "a", "c"]
    assert world.status.checkpoint == positions[-1]
    assert world.pending() == 0
    turns(world.reactor())
    assert world.erased() == ["b", "a", "c"]


def test_an_empty_log_is_no_trouble_and_stays_empty(world: World) -> None:
    turns(world.reactor())
    assert world.log.last_position() == START
    world.forget("a")
    turns(world.reactor())
    assert world.erased() == ["a"]


def test_past_the_threshold_one_rebuild_is_asked_for_until_a_snapshot_is_published(world: World) -> None:
    reactor = world.reactor()
    world.happens(*(ev.NoteRecorded(item=f"note:{n}") for n in (1, 2, 3, 1)))
    turns(reactor)
    assert world.queue.job_ids == []
    last = world.happens(ev.NoteRecorded(item="note:4"))[0]
    turns(reactor)
    world.happens(*(ev.NoteRecorded(item=f"note:{n}") for n in range(20)))
    turns(world.reactor())
    assert len(world.queue.job_ids) == 1
    world.happens(ev.SnapshotPublished(generation=1, through=str(last)))
    turns(reactor_again := world.reactor())
    assert len(world.queue.job_ids) == 2, "the items behind it are over the threshold too"
    end = world.log.last_position()
    world.happens(ev.SnapshotPublished(generation=2, through=str(end)))
    turns(reactor_again)
    assert world.status.touched == 0
    assert len(world.queue.job_ids) == 2


def test_on_the_way_through_a_long_history_no_rebuild_is_asked_for_that_a_later_snapshot_made_needless(
    world: World,
) -> None:
    for _ in range(3):
        positions = world.happens(*(ev.NoteRecorded(item=f"note:{n}") for n in range(600)))
        world.happens(ev.SnapshotPublished(generation=1, through=str(positions[-1])))
    turns(world.reactor())
    assert world.queue.job_ids == []


def test_closed_sessions_are_counted(world: World) -> None:
    at = world.happens(ev.SessionClosed(session="a"), ev.SessionClosed(session="b"))[-1]
    turns(world.reactor())
    assert (world.status.sessions_closed, world.status.session_closed_at) == (2, at.ms)


# --- poison -----------------------------------------------------------------------------------------------------------


def test_an_event_that_cannot_be_handled_is_tried_five_times_and_then_set_aside_and_the_rest_goes_on(
    world: World,
) -> None:
    before, poison, after = world.happens(
        ev.ItemForgotten(item="note:before"), POISON, ev.ItemForgotten(item="note:after")
    )
    tried: list[Position] = []

    def counting(recorded: RecordedEvent) -> Reaction:
        tried.append(recorded.position)
        return react(recorded)

    turns(world.reactor(handle=counting))

    assert tried.count(poison) == MAX_DELIVERIES
    assert (tried.count(before), tried.count(after)) == (1, 1)
    assert world.erased() == ["before", "after"]
    [letter] = dead_letters(world.client, world.owner)
    assert (letter.position, letter.type, letter.error) == (poison, "snapshot_published", "RecallError")
    assert letter.deliveries == MAX_DELIVERIES
    assert world.status.dead == 1
    assert world.pending() == 0


def test_tries_are_counted_across_restarts(world: World) -> None:
    world.happens(POISON)
    for _ in range(MAX_DELIVERIES):
        assert dead_letters(world.client, world.owner) == []
        world.reactor().turn(block_ms=1)
    assert len(dead_letters(world.client, world.owner)) == 1


def test_no_text_of_the_owner_is_kept_with_an_event_that_was_set_aside(world: World) -> None:
    def talkative(_: RecordedEvent) -> Reaction:
        raise ValueError("the key hangs behind the desk")

    world.happens(ev.NoteRecorded(item="note:key", text="the key hangs behind the desk"))
    turns(world.reactor(handle=talkative))
    stored = str(world.client.hgetall(f"ir:{{{world.owner}}}:reactor:dead"))
    assert "ValueError" in stored
    assert "desk" not in stored


def test_an_event_that_was_set_aside_is_handled_once_when_it_is_taken_back(world: World) -> None:
    def picky(recorded: RecordedEvent) -> Reaction:
        if getattr(recorded.event, "item", "") == "note:b":
            raise KeyError
        return react(recorded)

    world.forget("a", "b", "c")
    turns(world.reactor(handle=picky))
    assert world.erased() == ["a", "c"]
    [letter] = dead_letters(world.client, world.owner)
    assert release(world.client, world.owner, letter.event_id) == letter
    turns(world.reactor())
    assert world.erased() == ["a", "c", "b"]
    assert dead_letters(world.client, world.owner) == []
    turns(world.reactor())
    assert world.erased() == ["a", "c", "b"]


def test_an_event_that_fails_again_is_set_aside_again(world: World) -> None:
    world.happens(POISON)
    turns(world.reactor())
    [letter] = dead_letters(world.client, world.owner)
    release(world.client, world.owner, letter.event_id)
    turns(world.reactor())
    [again] = dead_letters(world.client, world.owner)
    assert again.deliveries == letter.deliveries + 1
    turns(world.reactor())
    assert dead_letters(world.client, world.owner) == [again]


def test_an_event_that_was_never_set_aside_cannot_be_taken_back(world: World) -> None:
    with pytest.raises(NotFound, match="dead-letters list"):
        release(world.client, world.owner, "nothing")


# --- group and stream -------------------------------------------------------------------------------------------------


def test_when_its_group_is_removed_it_goes_on_where_it_was(world: World) -> None:
    reactor = world.reactor()
    world.forget("a", "b")
    turns(reactor)
    world.client.xgroup_destroy(world.stream, GROUP)
    world.forget("c", "d")
    assert reactor.turn(block_ms=1) == 0
    turns(reactor)
    assert world.erased() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("at", ["0", "$"])
def test_a_group_that_somebody_made_anew_at_another_place_repeats_and_skips_nothing(world: World, at: str) -> None:
    turns(reactor := world.reactor())
    world.forget("a")
    turns(reactor)
    world.forget("b")
    world.client.xgroup_destroy(world.stream, GROUP)
    world.client.xgroup_create(world.stream, GROUP, at)
    world.forget("c")
    turns(reactor)
    assert world.erased() == ["a", "b", "c"]


@pytest.mark.parametrize("consumer", ["reactor", "somebody"])
def test_events_that_another_reader_took_from_the_group_are_not_passed_over(world: World, consumer: str) -> None:
    reactor = world.reactor()
    turns(reactor)
    world.forget("a", "b", "c")
    world.client.xreadgroup(GROUP, consumer, {world.stream: ">"}, count=2)
    turns(reactor)
    assert world.erased() == ["a", "b", "c"]


def test_events_that_somebody_acknowledged_without_handling_them_are_handled(world: World) -> None:
    turns(world.reactor())
    world.forget("a", "b")
    world.client.xreadgroup(GROUP, "reactor", {world.stream: ">"}, count=2)
    world.client.xack(world.stream, GROUP, *(str(one.position) for one in world.log.read(START)))
    turns(world.reactor())
    assert world.erased() == ["a", "b"]


def test_entries_trimmed_while_they_were_pending_do_not_hold_up_the_rest(world: World) -> None:
    turns(world.reactor())
    positions = world.forget("a", "b", "c")
    world.client.xreadgroup(GROUP, "reactor", {world.stream: ">"}, count=3)
    world.client.xtrim(world.stream, minid=str(positions[2]), approximate=False)
    turns(world.reactor())
    assert world.erased() == ["c"]
    assert world.status.checkpoint == positions[2]
    assert world.pending() == 0


def test_entries_trimmed_while_in_hand_are_committed_as_they_were_read(world: World) -> None:
    positions = world.forget("a", "b", "c")

    def trim(step: str) -> None:
        if step == "handled":
            world.client.xtrim(world.stream, minid=str(positions[2]), approximate=False)

    turns(world.reactor(after_step=trim))
    assert world.erased() == ["a", "b", "c"]


def test_a_stream_trimmed_behind_the_checkpoint_is_no_trouble(world: World) -> None:
    positions = world.forget("a", "b")
    turns(world.reactor())
    world.client.xtrim(world.stream, minid=f"{positions[1].ms + 1}-0", approximate=False)
    world.forget("c")
    turns(world.reactor())
    assert world.erased() == ["a", "b", "c"]


def test_a_log_that_ends_before_the_checkpoint_is_refused_with_what_to_type(world: World) -> None:
    world.forget("a", "b")
    turns(reactor := world.reactor())
    world.client.delete(world.stream)
    with pytest.raises(LogRewound, match="reactor --start-over"):
        reactor.turn(block_ms=1)
    world.happens(ev.ItemForgotten(item="note:c"))
    world.client.hset(f"ir:{{{world.owner}}}:reactor", "checkpoint", "9999999999999-0")
    with pytest.raises(LogRewound, match="9999999999999-0"):
        world.reactor()
    let_it_start_over(world.client, world.owner)
    turns(world.reactor())
    assert world.erased() == ["a", "b", "c"]


# --- two at once ------------------------------------------------------------------------------------------------------


def test_a_reactor_that_was_overtaken_is_refused_and_has_changed_nothing(world: World) -> None:
    world.forget("a", "b")
    first = world.reactor(after_step=once("handled", lambda: turns(world.reactor())))
    with pytest.raises(StaleWriter):
        first.turn(block_ms=1)
    assert world.erased() == ["a", "b"]
    world.forget("c")
    turns(world.reactor())
    assert world.erased() == ["a", "b", "c"]


def test_one_that_starts_over_is_not_disturbed_by_one_that_is_still_at_work(world: World) -> None:
    world.forget("a")
    turns(running := world.reactor())
    let_it_start_over(world.client, world.owner)
    world.forget("b")
    running.turn(block_ms=1)  # finds its group gone
    with pytest.raises(StaleWriter):
        running.turn(block_ms=1)
    turns(world.reactor())
    assert world.erased() == ["a", "b"]


def test_two_that_read_alternately_from_one_group_pass_over_nothing(world: World) -> None:
    """As when one was paused for longer than its lease."""
    reactors = [world.reactor(), world.reactor()]
    for n in range(20):
        world.forget(str(n))
        turn_or_replace(world, reactors, n % 2)
    for n in (0, 1):
        turn_or_replace(world, reactors, n)
        turns(reactors[n] if n else world.reactor())
    assert world.erased() == [str(n) for n in range(20)]


def turn_or_replace(world: World, reactors: list[Reactor], n: int) -> None:
    try:
        reactors[n].turn(block_ms=1)
    except StaleWriter:
        reactors[n] = world.reactor()


def once(step: str, action: Callable[[], None]) -> Callable[[str], None]:
    waiting = [action]

    def after_step(done: str) -> None:
        if done == step and waiting:
            waiting.pop()()

    return after_step
