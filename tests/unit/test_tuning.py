"""The bar that the owner sets, and refits: what counts, for whom, and from when."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from instant_recall.api.messages import BarRequest, PushRequest, RefitRequest, StatusRequest, WhyRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, draft
from instant_recall.events.errors import InvalidEvent, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.ops.replay import digest
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.learning.own_model import HIGHEST, LOWEST, fate, model_of, moved, words
from instant_recall.projections.learning.tuning import REFITS_KEPT, Tuning
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.ranker import model
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, World, encoder, note

DEFAULT = model()
REQUEST = "where is the key to the chart room"


def refitted(bias: float = -1.0, base: str = "") -> ev.RankerRefitted:
    return ev.RankerRefitted(
        base=base or DEFAULT.fingerprint, features=DEFAULT.features, weights=DEFAULT.weights, bias=bias
    )


@pytest.fixture
def log() -> MemoryEventLog:
    log = MemoryEventLog(clock=lambda: NOW)
    log.append([draft(note("chart room", "The key to the chart room hangs behind the desk"), occurred_at=NOW)])
    log.append([draft(ev.ReaderGranted(reader="sub:all", scopes=("owner", "lab")))])
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    return log


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    return Service(log, encoder(), clock=lambda: NOW)


def spoke(service: Service, reader: str = "owner") -> bool:
    return bool(service.push(PushRequest(request=REQUEST, reader=reader)).pointers)


def odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_a_step_is_half_a_unit_of_log_odds_and_ends_short_of_silence() -> None:
    assert odds(moved(0.3, "more") or 0) == pytest.approx(odds(0.3) - 0.5, abs=1e-3)
    assert odds(moved(0.3, "less") or 0) == pytest.approx(odds(0.3) + 0.5, abs=1e-3)
    low = high = 0.3
    for _ in range(60):
        low, high = moved(low, "more") or 0, moved(high, "less") or 0
    assert (low, high) == (LOWEST, HIGHEST)
    assert (moved(0.0, "more"), moved(1.0, "less")) == (0.0, 1.0)
    assert 0 < (moved(0.0, "less") or 0) < 0.01
    assert 0.99 < (moved(1.0, "more") or 0) < 1


@pytest.mark.parametrize("change", ["1.5", "-0.1", "nan", "inf", "louder", "0,3"])
def test_what_is_no_bar_is_refused_with_what_to_say(service: Service, change: str) -> None:
    with pytest.raises(RecallError, match="Say more, less, default, or a number from 0 to 1"):
        service.bar(BarRequest(change=change))
    assert service.bar(BarRequest()).is_default


@pytest.mark.parametrize("bar", [math.nan, math.inf, -0.01, 1.01])
def test_a_bar_that_is_no_probability_gets_into_no_log(log: MemoryEventLog, bar: float) -> None:
    with pytest.raises(InvalidEvent, match="bar"):
        log.append([draft(ev.BarSet(bar=bar))])


def test_weights_that_are_not_finite_get_into_no_log(log: MemoryEventLog) -> None:
    with pytest.raises(InvalidEvent, match="weights"):
        log.append([draft(ev.RankerRefitted(base="x", features=("a",), weights=(math.nan,), bias=0.0))])


def test_the_bar_counts_on_the_very_next_push_of_any_process(log: MemoryEventLog, service: Service) -> None:
    other = Service(log, encoder(), clock=lambda: NOW)
    assert spoke(service) and spoke(other)
    answer = service.bar(BarRequest(change="1"))

    assert (answer.bar, answer.before, answer.default) == (1.0, DEFAULT.bar, DEFAULT.bar)
    assert not spoke(service)
    assert not spoke(other)
    assert other.bar(BarRequest(change="default")).is_default
    assert spoke(service)


def test_the_bar_counts_for_every_reader_and_is_set_by_the_owner_only(service: Service) -> None:
    assert spoke(service, "sub:all")
    service.bar(BarRequest(change="1"))
    assert not spoke(service, "sub:all")
    for asked in (BarRequest(reader="sub:all"), BarRequest(reader="sub:all", change="0")):
        with pytest.raises(Refused):
            service.bar(asked)
    for undo in ("", "all"):
        with pytest.raises(Refused):
            service.refit(RefitRequest(reader="sub:all", undo=undo))


def test_the_same_request_sent_twice_is_one_step(log: MemoryEventLog, service: Service) -> None:
    request = BarRequest(change="more", event_id="01900000-0000-7000-8000-000000000001")
    service.bar(request)
    service.bar(request)

    assert service.bar(BarRequest()).bar == moved(DEFAULT.bar, "more")


def test_a_change_that_changes_nothing_is_not_stored(log: MemoryEventLog, service: Service) -> None:
    service.bar(BarRequest(change="0.25"))
    before = log.last_position()
    assert service.bar(BarRequest(change="0.25")).position == ""
    assert log.last_position() == before


def test_status_and_why_tell_the_bar_and_the_default(service: Service) -> None:
    service.bar(BarRequest(change="0.999"))
    status, why = service.status(), service.why(WhyRequest(request=REQUEST, item="note:chart room"))

    assert (status.bar, status.bar_default, status.refit) == (0.999, DEFAULT.bar, "none")
    assert (why.bar, why.bar_default, why.cut) == (0.999, DEFAULT.bar, "bar")


def test_the_bar_of_then_is_told_and_used_as_of_then(service: Service) -> None:
    then = service.bar(BarRequest(change="1")).position
    service.bar(BarRequest(change="default"))

    assert service.status(StatusRequest(as_of=then)).bar == 1.0
    assert not service.push(PushRequest(request=REQUEST, as_of=then)).pointers


@pytest.mark.parametrize(
    ("bar", "said"),
    [
        (None, f"Your bar is {DEFAULT.bar:g}, the default: a push is made when it is at least"),
        (0.5, "a push is made when it is at least 50 % likely to help: less than by default."),
        (0.001, "at least 0.1 % likely to help: more than by default."),
        (0.0, "everything that was found is pushed, as far as there is room: more than by default."),
        (1.0, "nothing is pushed but what you name: less than by default."),
    ],
)
def test_the_bar_in_words(bar: float | None, said: str) -> None:
    assert said in words(Tuning(bar=bar))


def test_a_refit_counts_for_the_owner_only(log: MemoryEventLog) -> None:
    world = World()
    world.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)), note("camera", "The camera on the bench"))
    world.happens(note("bench", "The camera on the bench"), audience=("lab",))
    before = world.searcher("sub:lab").tuning
    world.happens(refitted(bias=-30.0))

    assert world.searcher("sub:lab").tuning == before == Tuning()
    assert model_of(world.searcher("owner").tuning).bias == -30.0
    world.happens(refitted(bias=-29.0), audience=("owner", "lab"))
    assert world.searcher("sub:lab").tuning == Tuning()  # whoever it says it is for: it was learned from everything


def test_a_refit_changes_the_next_push_and_its_undoing_gives_back_the_one_before(
    log: MemoryEventLog, service: Service
) -> None:
    first = service.push(PushRequest(request=REQUEST)).pointers[0].score
    log.append([draft(refitted(bias=DEFAULT.bias + 1))])
    second = service.push(PushRequest(request=REQUEST)).pointers[0].score
    log.append([draft(refitted(bias=-60.0))])

    assert second > first
    assert not spoke(service)
    assert service.status().refit == "in_force"
    assert service.refit(RefitRequest(undo="last")).undone == 1
    assert service.push(PushRequest(request=REQUEST)).pointers[0].score == second
    answer = service.refit(RefitRequest(undo="last"))
    assert (answer.undone, answer.kept, answer.fate) == (1, 0, "none")
    assert service.push(PushRequest(request=REQUEST)).pointers[0].score == first
    assert service.refit(RefitRequest(undo="last")).undone == 0


def test_all_refits_can_be_taken_back_at_once(log: MemoryEventLog, service: Service) -> None:
    log.append([draft(refitted(bias=-n)) for n in range(1, 4)])
    answer = service.refit(RefitRequest(undo="all"))

    assert (answer.undone, answer.kept, answer.own) == (3, 0, {})
    assert answer.default["bias"] == DEFAULT.bias


def test_a_refit_of_another_default_waits_for_the_next_night(log: MemoryEventLog, service: Service) -> None:
    before = service.push(PushRequest(request=REQUEST)).pointers[0].score
    log.append([draft(refitted(bias=-60.0, base="0123456789abcdef"))])

    assert service.push(PushRequest(request=REQUEST)).pointers[0].score == before
    assert service.status().refit == "outdated"
    assert service.refit(RefitRequest()).fate == "outdated"


def test_a_refit_that_is_not_whole_is_passed_over() -> None:
    world = World()
    for broken in (
        ev.RankerRefitted(base=DEFAULT.fingerprint, features=DEFAULT.features, weights=(1.0,), bias=0.0),
        ev.RankerRefitted(base=DEFAULT.fingerprint, features=("no such",), weights=(1.0,), bias=0.0),
    ):
        world.happens(broken)
        assert fate(world.overlay.state.tuning) == "outdated"
        assert model_of(world.overlay.state.tuning) == DEFAULT


def test_only_the_last_few_refits_are_kept() -> None:
    world = World()
    world.happens(*(refitted(bias=-n) for n in range(1, 9)))

    assert [one.told.bias for one in world.overlay.state.tuning.refits] == [-4.0, -5.0, -6.0, -7.0, -8.0]
    assert REFITS_KEPT == 5


@pytest.mark.parametrize("kind", ["tool", "web", "import"])
def test_what_a_page_or_a_tool_says_sets_no_bar_and_no_weights(kind: str) -> None:
    world = World()
    theirs = Actor(kind=kind)  # type: ignore[arg-type]
    world.happens(draft(ev.BarSet(bar=1.0), actor=theirs), draft(refitted(), actor=theirs))

    assert world.overlay.state.tuning == Tuning()


def test_the_fingerprint_moves_with_the_weights_and_not_with_the_bar() -> None:
    from msgspec.structs import replace

    assert replace(DEFAULT, bar=0.9).fingerprint == DEFAULT.fingerprint
    assert replace(DEFAULT, bias=0.9).fingerprint != DEFAULT.fingerprint


@pytest.mark.parametrize("cut", range(5))
def test_a_snapshot_at_any_point_keeps_bar_and_refits_as_a_replay_does(cut: int, tmp_path: Path) -> None:
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    first = draft(refitted(bias=-2.0))
    events = [
        draft(ev.BarSet(bar=0.25)), first, draft(refitted(bias=-3.0)),
        draft(ev.RankerReverted(refit=first.event_id)), draft(ev.BarSet(bar=0.5)),
    ]  # fmt: skip
    log.append([draft(note("camera", "The camera")), *events[:cut]])
    build(log, store, encoder())
    log.append(events[cut:])
    resumed, replayed = (
        Overlay(latest_base(store, encoder()), encoder()),
        Overlay(empty_base(encoder().dims), encoder()),
    )
    for overlay in (resumed, replayed):
        catch_up(overlay, log)

    assert resumed.state.tuning == replayed.state.tuning
    assert digest(resumed.state) == digest(replayed.state)
    assert (resumed.state.tuning.bar, model_of(resumed.state.tuning).bias) == (0.5, -3.0)


def test_a_negative_zero_is_a_zero() -> None:
    assert str(moved(0.5, "-0.0")) == "0.0"
