"""The setups that are compared: what each is fed, and which routes it may use."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall.events.errors import RecallError
from instant_recall.events.types import (
    AssetRecorded,
    ItemMuted,
    NoteRecorded,
    OwnershipCorrected,
    ReaderGranted,
    SessionClosed,
)
from instant_recall.ops.evaluation.evaluate import Answer, ask
from instant_recall.ops.evaluation.playback import timeline
from instant_recall.ops.evaluation.setups import SETUPS, chosen, run_setups
from instant_recall.ops.evaluation.worlds import Case, World, read_world

TINY = Path(__file__).parent / "tiny_world"


@pytest.fixture(scope="module")
def world() -> World:
    return read_world(TINY)


def fed(world: World, name: str, shape: type[Any]) -> list[Any]:
    return [made.event for made in timeline(world, SETUPS[name]) if isinstance(made.event, shape)]


def asked(world: World, name: str, request: str, at: datetime, kind: str = "topic") -> tuple[str, ...]:
    case = msgspec.convert({"id": "q", "at": at, "request": request, "kind": kind}, Case)
    (answer,) = ask(dataclasses.replace(world, cases=(case,)), setup=SETUPS[name])
    return answer.pushed


def test_the_baseline_adds_names_and_descriptions_of_assets_to_notes_and_sessions(world: World) -> None:
    assert fed(world, "S1", AssetRecorded) == []
    assert len(fed(world, "S1", NoteRecorded)) == len(world.notes)
    assets = fed(world, "S2", AssetRecorded)
    assert len(assets) == len(world.assets)
    assert all(asset.name and asset.description for asset in assets)
    assert not any(asset.aliases or asset.use_when or asset.request for asset in assets)


def test_each_later_setup_is_fed_one_thing_more(world: World) -> None:
    assert any(asset.aliases for asset in fed(world, "S3", AssetRecorded))
    assert not any(asset.use_when or asset.request for asset in fed(world, "S3", AssetRecorded))
    assert any(asset.use_when for asset in fed(world, "S4", AssetRecorded))
    assert any(asset.request for asset in fed(world, "S4", AssetRecorded))
    assert fed(world, "S4", OwnershipCorrected) == []
    assert not any(session.helped for session in fed(world, "S4", SessionClosed))
    assert len(fed(world, "S5", OwnershipCorrected)) == len(world.corrections)
    assert any(session.helped for session in fed(world, "S5", SessionClosed))
    assert not any(session.used for session in fed(world, "S5", SessionClosed))
    assert any(session.used for session in fed(world, "S6", SessionClosed))


def test_the_full_setup_is_fed_the_whole_world(world: World) -> None:
    assert [made.event for made in timeline(world, SETUPS["S7"])] == [made.event for made in timeline(world)]


@pytest.mark.parametrize("name", SETUPS)
def test_who_may_see_what_is_fed_to_every_setup(world: World, name: str) -> None:
    assert len(fed(world, name, ReaderGranted)) == 1
    # Muting a thing that was never fed would only name it.
    assert len(fed(world, name, ItemMuted)) == (0 if name == "S1" else 1)


def test_a_name_comes_first_only_from_the_third_setup_on(world: World) -> None:
    # The note shares three words with the request, the machine one: its name.
    request, at = "what humidity does the piano tuner want, ask magpie", datetime(2026, 6, 3, tzinfo=UTC)

    assert asked(world, "S2", request, at)[0] == "n-001"
    assert asked(world, "S3", request, at)[0] == "a-magpie"


def test_a_correction_of_today_is_known_with_the_overlay_and_not_without(world: World) -> None:
    request, at = "the old programmes are only pictures", datetime(2026, 4, 2, 9, 5, tzinfo=UTC)

    assert "a-copperplate" in asked(world, "S7", request, at)
    assert "a-copperplate" not in asked(world, "S7 nightly", request, at)
    assert "a-copperplate" in asked(world, "S7 nightly", request, datetime(2026, 4, 3, 0, 1, tzinfo=UTC))


def test_only_the_full_setups_have_a_bar(world: World) -> None:
    for name in SETUPS:
        pushed = asked(world, name, "good morning, what is the capital of Mongolia", datetime(2026, 6, 3, tzinfo=UTC))
        assert bool(pushed) == (name not in ("S7", "S7 nightly"))


def test_every_setup_answers_every_case_with_the_same_result_each_time(world: World) -> None:
    told: list[tuple[int, int]] = []

    def comparable(runs: dict[str, list[Answer]]) -> dict[str, list[Answer]]:
        return {name: [dataclasses.replace(one, took_ms=0.0) for one in run] for name, run in runs.items()}

    first = run_setups(world, ["S7", "S2"], on_case=lambda done, total: told.append((done, total)))

    assert list(first) == ["S2", "S7"]
    assert {len(answers) for answers in first.values()} == {len(world.cases)}
    assert told == [(number, 24) for number in range(1, 25)]
    assert comparable(first) == comparable(run_setups(world, ["S2", "S7"]))


def test_the_tokens_of_a_shorter_push_are_told_too(world: World) -> None:
    for answer in ask(world, setup=SETUPS["S6"]):
        assert len(answer.tokens_to) == len(answer.pushed)
        assert list(answer.tokens_to) == sorted(answer.tokens_to)
        assert not answer.pushed or answer.tokens_to[-1] == answer.tokens


def test_a_setup_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(RecallError, match=r"no setup 'S9'.*S1, S2"):
        chosen(["S2", "S9"])
