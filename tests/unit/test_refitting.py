"""The nightly refit over a log: what is asked again, as of when, and what the log is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from instant_recall.api.messages import CorrectRequest, PushRequest, RefitRequest
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.building import build
from instant_recall.projections.learning.outcomes import DAY_MS
from instant_recall.projections.ranker import model
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.lives import DAYS, FIRST, LAST, Life
from instant_recall.tests.small_world import encoder
from instant_recall.workers.refitting import refit_from


def told(log: MemoryEventLog) -> list[ev.RankerRefitted]:
    return [one.event for one in log.read(START, 10_000) if isinstance(one.event, ev.RankerRefitted)]


@pytest.fixture(scope="module")
def lived() -> Life:
    return Life().lives()


def test_what_is_never_opened_is_less_likely_from_then_on_and_the_log_is_told_why(lived: Life) -> None:
    weather = PushRequest(request="how strong is the wind going to be on day 3 at 2")
    before = lived.service.push(weather, bar=0.0).pointers[0].score
    facts = refit_from(lived.log, None, encoder(), now=LAST)

    assert facts["outcome"] == "adopted", facts["why"]
    assert (facts["requests"], facts["held_back"]) == (168, 84)
    [event] = told(lived.log)
    assert (event.base, event.features) == (model().fingerprint, model().features)
    assert (event.since, event.until) == (FIRST, FIRST + (DAYS - 1) * DAY_MS + 5_000)
    assert event.loss_after < event.loss_before
    assert event.false_after <= event.false_before
    assert event.right_after > 0
    assert lived.service.push(weather, bar=0.0).pointers[0].score < before
    assert lived.service.status().refit == "in_force"
    lived.service.refit(RefitRequest(undo="all"))
    assert lived.service.push(weather, bar=0.0).pointers[0].score == before


def test_what_was_taken_back_is_not_learned_again(lived: Life) -> None:
    life = Life().lives()
    refit_from(life.log, None, encoder(), now=LAST)
    life.service.refit(RefitRequest(undo="last"))

    assert refit_from(life.log, None, encoder(), now=LAST)["outcome"] == "not_enough"
    assert len(told(life.log)) == 1


def test_run_again_it_finds_nothing_better_and_tells_nothing() -> None:
    life = Life().lives()
    first, second = (refit_from(life.log, None, encoder(), now=LAST) for _ in range(2))

    assert (first["outcome"], second["outcome"]) == ("adopted", "not_better")
    assert second["loss_before"] == second["loss_after"] == first["loss_after"]
    assert len(told(life.log)) == 1


def test_a_snapshot_on_the_way_changes_nothing(tmp_path: Path) -> None:
    plain, snapped = Life(), Life()
    store = SnapshotStore(tmp_path)
    build(snapped.log, store, encoder())
    outcomes = [refit_from(life.lives().log, of, encoder(), now=LAST) for life, of in ((plain, None), (snapped, store))]

    assert outcomes[0]["loss_after"] == outcomes[1]["loss_after"]
    assert told(plain.log)[0] == told(snapped.log)[0]


def test_a_replay_takes_the_vectors_of_the_newest_snapshot_and_finds_the_same(tmp_path: Path) -> None:
    plain, snapped = Life().lives(), Life().lives()
    store = SnapshotStore(tmp_path)
    build(snapped.log, store, encoder())
    outcomes = [refit_from(life.log, of, encoder(), now=LAST) for life, of in ((plain, None), (snapped, store))]

    assert outcomes[0]["loss_after"] == outcomes[1]["loss_after"]
    assert told(plain.log)[0] == told(snapped.log)[0]


def test_a_request_is_judged_as_of_then_so_that_a_correction_does_not_give_itself_away() -> None:
    life = Life()
    life.now = FIRST
    request = "what do I do about the thing at the end"
    life.service.correct(CorrectRequest(request=request, item="note:kiln"))
    from instant_recall.workers.refitting import _asked_again, _outcomes

    outcomes, forgotten = _outcomes(life.log, LAST)
    [asked], _ = _asked_again(life.log, None, encoder(), outcomes, forgotten)

    words = [n for n, name in enumerate(model().features) if name.endswith("use_words")]
    assert words
    assert not asked.features[:, words].any()


def test_another_reader_moves_nothing() -> None:
    life = Life()
    life.log.append([draft(ev.ReaderGranted(reader="sub:all", scopes=("owner",)))])
    life.lives(reader="sub:all")

    assert refit_from(life.log, None, encoder(), now=LAST)["requests"] == 0


def test_an_empty_log_is_not_enough_to_go_on() -> None:
    facts = refit_from(MemoryEventLog(), None, encoder(), now=LAST)
    assert (facts["outcome"], facts["requests"]) == ("not_enough", 0)


def test_what_lies_further_back_than_a_season_is_not_learned_from() -> None:
    life = Life().lives()
    assert refit_from(life.log, None, encoder(), now=LAST + 200 * DAY_MS)["requests"] == 0
