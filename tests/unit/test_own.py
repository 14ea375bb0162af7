"""The owner's own corrections, asked again as of just before each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner
from instant_recall.events.envelope import draft
from instant_recall.events.log import EventLog
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import (
    AssetRecorded,
    Event,
    ItemForgotten,
    NoteRecorded,
    OwnershipCorrected,
    PushServed,
)
from instant_recall.ops import local
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation.own import OwnReport, run_own
from instant_recall.ops.evaluation.suite_text import own_lines
from instant_recall.tests.small_world import encoder

HELPER = AssetRecorded(item="skill:portal-helper", kind="skill", name="portal-helper", description="Relays clicks.")
KITE = NoteRecorded(item="note:kite", name="Kite", text="The red kite needs a new tail before the spring wind.")
MISSED = "download last quarter's report from the company site"
CORRECTED = OwnershipCorrected(item="skill:portal-helper", request=MISSED, said="portal-helper does that")


def log_of(*events: Event) -> MemoryEventLog:
    now = iter(range(1_790_000_000_000, 1_800_000_000_000, 1_000))
    log = MemoryEventLog(clock=lambda: next(now))
    for number, event in enumerate(events):
        log.append([draft(event, occurred_at=1_790_000_000_000 + 1_000 * number)])
    return log


def report_of(*events: Event) -> OwnReport:
    return run_own(log_of(*events), encoder())


def test_a_correction_is_asked_as_of_just_before_it_and_just_after() -> None:
    (case,) = report_of(HELPER, KITE, CORRECTED).cases

    assert case.known
    assert "skill:portal-helper" not in case.pushed
    assert case.pushed_after[0] == "skill:portal-helper"
    assert case.request == MISSED


def test_a_correction_that_came_before_it_counts() -> None:
    first, second = report_of(HELPER, KITE, CORRECTED, CORRECTED).cases

    assert "skill:portal-helper" not in first.pushed
    assert second.pushed[0] == "skill:portal-helper"


def test_what_came_later_does_not_count() -> None:
    (case,) = report_of(KITE, CORRECTED, HELPER).cases

    assert not case.known
    assert "skill:portal-helper" not in case.ranked


def test_what_was_pushed_then_is_the_last_push_for_the_same_request() -> None:
    early = PushServed(reader="owner", request=MISSED, items=("note:other",))
    late = PushServed(reader="owner", request=MISSED, items=("note:kite",))
    other = PushServed(reader="sub:web", request=MISSED, items=("note:web",))

    (case,) = report_of(HELPER, KITE, early, late, other, CORRECTED, early).cases
    (unasked,) = report_of(HELPER, KITE, CORRECTED, late).cases

    assert case.pushed_then == ("note:kite",)
    assert unasked.pushed_then is None


def test_what_was_forgotten_since_is_shown_in_no_case() -> None:
    wanted = OwnershipCorrected(item="skill:portal-helper", request="the red kite in the spring wind")
    pushed = PushServed(reader="owner", request=wanted.request, items=("note:kite", "skill:portal-helper"))

    (kept,) = report_of(HELPER, KITE, pushed, wanted).cases
    (case,) = report_of(HELPER, KITE, pushed, wanted, ItemForgotten(item="note:kite")).cases

    assert "note:kite" in kept.ranked
    assert "note:kite" not in (*case.pushed, *case.ranked, *case.pushed_after, *(case.pushed_then or ()))


def test_a_correction_without_its_text_or_about_something_forgotten_is_no_case() -> None:
    erased = OwnershipCorrected(item="skill:portal-helper")

    report = report_of(HELPER, KITE, erased, CORRECTED, ItemForgotten(item="skill:portal-helper"))

    assert (report.corrections, report.unusable, report.cases) == (2, 2, ())


def test_an_empty_log_has_nothing_to_ask() -> None:
    assert report_of().counts()["cases"] == 0


def test_the_log_is_only_read() -> None:
    log = log_of(HELPER, KITE, CORRECTED)
    before = log.last_position()

    run_own(log, encoder())

    assert log.last_position() == before


def test_nothing_private_is_told_unless_asked() -> None:
    report = report_of(HELPER, KITE, CORRECTED)
    told = "\n".join(own_lines(report))

    for private in ("quarter", "portal", "kite", MISSED):
        assert private not in told
        assert private not in json.dumps(report.counts())
    assert MISSED in "\n".join(own_lines(report, verbose=True))


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def log_at_hand(_settings: Any) -> Iterator[EventLog]:
        yield log_of(HELPER, KITE, CORRECTED)

    monkeypatch.setattr(local, "log_at_hand", log_at_hand)


@pytest.mark.usefixtures("at_hand")
def test_the_command_prints_counts_and_the_cases_when_asked() -> None:
    plain, verbose = (CliRunner().invoke(main, ["eval", "--own", *more]) for more in ([], ["--verbose"]))
    counts, whole = (
        json.loads(CliRunner().invoke(main, ["eval", "--own", "--json", *more]).stdout) for more in ([], ["--verbose"])
    )

    assert plain.exit_code == verbose.exit_code == 0
    assert "1 correction" in plain.stdout
    assert MISSED not in plain.stdout
    assert MISSED in verbose.stdout
    assert (counts["corrections"], counts["hit5"], counts["hit5_after"]) == (1, 0, 1)
    assert "request" not in json.dumps(counts)
    assert whole["cases"][0]["request"] == MISSED
