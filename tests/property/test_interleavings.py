"""Whatever happens in whatever order: snapshot + overlay answers as a replay from zero does, and as a naive model.

A machine of hypothesis writes, corrects, imports, rebuilds, swaps, rolls back and restarts at random. After each step
every reader's complete answers are compared.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from instant_recall.api.follower import Follower
from instant_recall.events import types as ev
from instant_recall.events.envelope import EventDraft, draft, new_event_id
from instant_recall.events.errors import CorruptSnapshot
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.ops.replay import digest
from instant_recall.projections import searcher as searching
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.meaning.encoders import Encoders, load_encoders
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.push import compose
from instant_recall.projections.ranker import rank
from instant_recall.projections.searcher import Searcher
from instant_recall.projections.shown import shown_to
from instant_recall.projections.snapshot import catch_up
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.helpers import FixedClock
from instant_recall.tests.property import histories as h
from instant_recall.tests.property.naive import Naive
from instant_recall.workers.importing import known_items, plan
from instant_recall.workers.notes import scan_notes

IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of random name is made in it
"""A file system that syncs at once, where there is one: nothing here is about what a power cut leaves."""


class Interleavings(RuleBasedStateMachine):
    """One owner, one log, one reader process that comes and goes, one folder of snapshots, one folder of notes."""

    encoder: Encoders

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="ir-property-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
        self.notes = self.folder / "notes"
        self.notes.mkdir()
        self.clock = FixedClock(h.START_OF_TIME)
        self.log = MemoryEventLog(clock=self.clock)
        self.store = SnapshotStore(self.folder / "snapshots", clock=self.clock)
        self.naive = Naive()
        self.written: list[EventDraft] = []
        self.damaged: set[int] = set()
        self.follower = Follower(self.log, self.encoder, self.store)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # --- what is written -----------------------------------------------------------------------------------------

    @initialize(drafts=h.writes())
    def begins_with(self, drafts: list[EventDraft]) -> None:
        self.publish(drafts)

    @rule(drafts=h.writes())
    def publish(self, drafts: list[EventDraft]) -> None:
        for made, result in zip(drafts, self.log.append(drafts), strict=True):
            assert not result.duplicate
            self.naive.take(made.event, made.event_id, made.occurred_at, result.position.ms, made.audience)
        self.written += drafts

    @rule(data=st.data())
    def publish_again_what_was_published(self, data: st.DataObject) -> None:
        again = data.draw(st.lists(st.sampled_from(self.written), min_size=1, max_size=3))
        assert all(result.duplicate for result in self.log.append(again))

    @rule(data=st.data())
    def remove_a_key(self, data: st.DataObject) -> None:
        known = [(item, key.id) for item, thing in self.naive.things.items() for key in thing.keys]
        item, key = data.draw(st.sampled_from(known or [("skill:one", "none")]))
        self.publish([draft(ev.KeyRemoved(item=item, key=key))])

    @rule(data=st.data())
    def unmute_a_topic(self, data: st.DataObject) -> None:
        mute = data.draw(st.sampled_from([*self.naive.topics] or [new_event_id()]))
        self.publish([draft(ev.TopicUnmuted(mute=mute))])

    @rule(item=h.items)
    def forget(self, item: str) -> None:
        self.publish([draft(ev.ItemForgotten(item=item))])

    @rule(request=st.sampled_from(h.REQUESTS), session=st.sampled_from(h.SESSIONS), reader=st.sampled_from(h.READERS))
    def push_in_a_session(self, request: str, session: str, reader: str) -> None:
        with self.follower.at_tail(60) as (overlay, _):
            shown = shown_to(overlay.state.shown, session, reader)
            pushed = compose(self.searcher(overlay, reader), request, shown=shown, bar=0.0)
        pointed = [ranked.evidence.item for ranked, _ in pushed.pointers]
        assert {item.id for item in pointed} <= self.naive.fresh(session, reader)
        served = ev.PushServed(
            reader=reader,
            session=session,
            items=tuple(item.id for item in pointed),
            seen=tuple(item.changed for item in pointed),
        )
        self.publish([draft(served)])

    @rule(file=st.sampled_from(("a.md", "b.md")), text=st.none() | h.texts)
    def edit_the_notes_and_import_them(self, file: str, text: str | None) -> None:
        path = self.notes / file
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(f"{text}\n", encoding="utf-8")
        with self.follower.at_tail(60) as (overlay, _):
            wanted = plan(scan_notes(self.notes, now=self.clock.now), known_items(overlay.state.all()))
        if wanted.drafts:
            self.publish(wanted.drafts)

    @rule(hours=st.sampled_from((1, 2)))
    def time_passes(self, hours: int) -> None:
        self.clock.advance(hours * h.HOUR)

    # --- what the machinery does ---------------------------------------------------------------------------------

    @rule(full=st.booleans())
    def build_a_snapshot(self, full: bool) -> None:
        build(self.log, self.store, self.encoder, full=full)

    @rule()
    def swap(self) -> None:
        self.follower.refresh()

    @precondition(lambda self: len(self.store.generations()) > 1)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self.store.generations()))
        if chosen in self.damaged:
            with pytest.raises(CorruptSnapshot):
                self.store.rollback(chosen)
        else:
            self.store.rollback(chosen)

    @rule(keep=st.integers(1, 3))
    def collect(self, keep: int) -> None:
        self.store.collect(keep)

    @precondition(lambda self: self.store.current())
    @rule()
    def lose_all_snapshots(self) -> None:
        shutil.rmtree(self.store.root)
        self.damaged.clear()

    @precondition(lambda self: self.store.current())
    @rule()
    def damage_the_current_snapshot(self) -> None:
        current = self.store.current() or 0
        file = self.store.root / f"gen-{current:06d}" / "state.msgpack"
        if file.exists():
            file.write_bytes(file.read_bytes()[:-1])
            self.damaged.add(current)

    @rule()
    def restart(self) -> None:
        self.follower = Follower(self.log, self.encoder, self.store)

    @rule(back=st.integers(1, 30))
    def redeliver(self, back: int) -> None:
        everything = self.log.read(START)
        with self.follower.at_tail(60) as (overlay, _):
            overlay.apply(everything[-back:])

    # --- what must hold ------------------------------------------------------------------------------------------

    @invariant()
    def resumed_is_replayed_is_naive(self) -> None:
        replayed = Overlay(empty_base(self.encoder.dims), self.encoder)
        catch_up(replayed, self.log)
        with self.follower.at_tail(60) as (resumed, complete):
            assert complete
            assert digest(resumed.state) == digest(replayed.state)
            for reader in h.READERS:
                self._same_answers(resumed, replayed, reader)
                self._as_the_naive_model_says(resumed, reader)

    def _same_answers(self, resumed: Overlay, replayed: Overlay, reader: str) -> None:
        for request in h.REQUESTS:
            assert self.answer(resumed, reader, request) == self.answer(replayed, reader, request)
        for address in h.ADDRESSES:
            there, there_too = (o.at(address, self.searcher(o, reader).sees) for o in (resumed, replayed))
            assert there == there_too
            assert there is None or there.id in self.naive.visible(reader, self.clock.now)

    def _as_the_naive_model_says(self, overlay: Overlay, reader: str) -> None:
        searcher = self.searcher(overlay, reader)
        visible = self.naive.visible(reader, self.clock.now)
        assert {item.id for item in searcher.visible_items()} == visible
        in_session = {item.id for item in self.searcher(overlay, reader, h.SESSIONS[0]).visible_items()}
        assert in_session == self.naive.visible(reader, self.clock.now, h.SESSIONS[0])
        for item in searcher.visible_items():
            keys = {(key.phrase, key.negative) for key in searcher.visible_keys(item)}
            assert keys == self.naive.keys(item.id, reader)
        for request in h.REQUESTS:
            ranked = rank(searcher.find(request))
            old = {r.evidence.item.id for r in ranked} - visible
            assert old <= self.naive.old_named(request, reader, self.clock.now)
            assert bool(old) == bool(self.naive.old_named(request, reader, self.clock.now))
            found = {r.evidence.item.id for r in ranked} - old
            if len(h.ITEMS) < searching.WIDTH:
                assert self.naive.find(request, reader, self.clock.now) <= found
            named = {r.evidence.item.id for r in ranked if r.route == "name"}
            assert named - old == self.naive.named(request, reader, self.clock.now)
            assert {r.evidence.item.id for r in ranked[: len(named)]} == named

    def searcher(self, overlay: Overlay, reader: str, session: str = "") -> Searcher:
        now = self.clock.now
        return Searcher(overlay, self.encoder, overlay.state.reader(reader, now), now, session=session)

    def answer(self, overlay: Overlay, reader: str, request: str) -> tuple[object, ...]:
        """All that a reader gets to know: every candidate with its probability, and the lines of the push."""
        searcher = self.searcher(overlay, reader)
        ranked = [(r.evidence.item.id, r.probability, r.evidence.anchor) for r in rank(searcher.find(request))]
        return ranked, [
            compose(searcher, request, shown=shown_to(overlay.state.shown, s, reader), bar=0.0) for s in ("", "seven")
        ]


@pytest.fixture(scope="module")
def machine() -> type[Interleavings]:
    Interleavings.encoder = load_encoders()
    return Interleavings


def run(machine: type[Interleavings], examples: int, steps: int, *, shrink: bool = True) -> None:
    # Nothing is kept between runs, and each run tries the same examples: a test that fails today failed yesterday.
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_interleaving_answers_as_a_replay_does(machine: type[Interleavings]) -> None:
    run(machine, examples=12, steps=20, shrink=False)  # which takes minutes; `make property` does it


@pytest.mark.property
@pytest.mark.timeout(7_200)
def test_any_of_many_interleavings_answers_as_a_replay_does(machine: type[Interleavings]) -> None:
    run(machine, examples=500, steps=30)


@pytest.mark.property
@pytest.mark.timeout(7_200)
def test_any_of_many_interleavings_answers_alike_when_more_fits_than_a_route_brings_in(
    machine: type[Interleavings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "WIDTH", 1)
    run(machine, examples=500, steps=30)
