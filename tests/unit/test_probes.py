"""Requests made by machine, for the rules that may never be broken: what is made, and that a broken rule is seen."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instant_recall.ops.evaluation.probe_world import Things, with_a_reader_of_every_scope
from instant_recall.ops.evaluation.probes import KINDS, ROUTES, Probe, access_probes, named_probes, run_probes
from instant_recall.ops.evaluation.worlds import World, read_world
from instant_recall.projections import overlay
from instant_recall.projections.policy.eligibility import Reader
from instant_recall.projections.searcher import Searcher

TINY = Path(__file__).parent / "tiny_world"
JUNE = datetime(2026, 6, 15, tzinfo=UTC)


@pytest.fixture(scope="module")
def world() -> World:
    return with_a_reader_of_every_scope(read_world(TINY))


@pytest.fixture(scope="module")
def things(world: World) -> Things:
    return Things(world)


@pytest.fixture(scope="module")
def named(things: Things) -> list[Probe]:
    return list(named_probes(things, 300, seed=0))


@pytest.fixture(scope="module")
def access(things: Things) -> list[Probe]:
    return list(access_probes(things, 300, seed=0))


def per_route(probes: Iterable[Probe]) -> Counter[str]:
    return Counter(probe.route for probe in probes)


def test_there_are_three_hundred_for_each_route_and_kind_of_reader(named: list[Probe], access: list[Probe]) -> None:
    for kind in ("owner", "sub_agent", "tool"):
        assert per_route(probe for probe in named if probe.readers == kind) == {"push": 300, "search": 300}
    assert per_route(access) == dict.fromkeys(ROUTES["access"], 300)


def test_the_same_seed_makes_the_same_probes(things: Things, named: list[Probe], access: list[Probe]) -> None:
    assert list(named_probes(things, 300, seed=0)) == named
    assert list(access_probes(things, 300, seed=0)) == access
    assert list(named_probes(things, 300, seed=1)) != named


def test_every_name_is_said_in_many_ways(world: World, named: list[Probe]) -> None:
    requests = [probe.request for probe in named]

    assert {probe.item for probe in named} == {asset.id for asset in world.assets}
    assert any("membership-fees" in request.lower() for request in requests)
    assert any("membershipfees" in request.lower() for request in requests)
    assert any("MAGPIE" in request for request in requests)
    assert any(re.search("magpies", request, re.I) for request in requests)
    assert any(re.search("magpie['\u2019]s", request, re.I) for request in requests)
    assert any(len(request.split()) > 12 for request in requests)
    assert len(set(requests)) > 150


def test_named_things_may_be_seen_and_hidden_ones_may_not(
    things: Things, named: list[Probe], access: list[Probe]
) -> None:
    assert all(things.sees(probe.reader, probe.item, probe.at) and probe.item in probe.right for probe in named)
    assert not any(things.sees(probe.reader, probe.item, probe.at) for probe in access)


def test_readers_of_every_scope_ask_and_one_who_was_granted_nothing(named: list[Probe], access: list[Probe]) -> None:
    scopes = {"sub:probe-money", "sub:probe-stage", "sub:probe-tool-money", "sub:probe-tool-stage", "sub:treasurer"}

    assert scopes <= {probe.reader for probe in named}
    assert {*scopes, "owner", "sub:nobody-granted-anything"} <= {probe.reader for probe in access}


def test_who_sees_what_is_read_from_the_rows(things: Things) -> None:
    assert things.sees("owner", "a-ledger", JUNE)
    assert things.sees("sub:treasurer", "a-ledger", JUNE)
    assert not things.sees("sub:treasurer", "a-magpie", JUNE)
    assert not things.sees("sub:nobody-granted-anything", "a-ledger", JUNE)
    assert not things.sees("owner", "a-ledger", datetime(2026, 1, 1, tzinfo=UTC)), "not stored yet"
    muted = datetime(2026, 6, 10, 9, tzinfo=UTC)
    assert things.sees("owner", "a-whistle", muted - timedelta(seconds=1))
    assert not things.sees("owner", "a-whistle", muted)
    replaced = datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert things.sees("owner", "a-fees-2025", replaced - timedelta(seconds=1))
    assert not things.sees("owner", "a-fees-2025", replaced)
    assert things.tells("owner", "a-fees-2025", replaced, "open the Membership-Fees 2025")
    assert not things.tells("owner", "a-fees-2025", replaced, "open the membership fees")
    assert not things.tells("owner", "a-whistle", muted, "open the whistle")


def test_two_versions_of_one_name_are_both_right_while_both_may_be_seen(things: Things) -> None:
    assert things.called("Fee-Sheet", "owner", JUNE) == {"a-fees-2026"}
    assert things.called("fee sheet", "owner", datetime(2026, 2, 1, tzinfo=UTC)) == {"a-fees-2025"}


def test_a_sentence_around_a_name_names_nothing_else(things: Things) -> None:
    assert things.names_something("put the Whistles away")
    assert not things.names_something("what does it do exactly")


def test_the_product_keeps_both_rules(world: World) -> None:
    told: list[tuple[int, int]] = []

    tallies = run_probes(read_world(TINY), named=20, access=60, on_probe=lambda done, of: told.append((done, of)))

    named = [("named", route, kind, 20) for route in ROUTES["named"] for kind in KINDS]
    access = [("access", route, "", 60) for route in ROUTES["access"]]
    assert [(tally.rule, tally.route, tally.readers, tally.probes) for tally in tallies] == [*named, *access]
    assert [tally.failures for tally in tallies] == [()] * 12
    assert {tally.bound for tally in tallies if tally.rule == "access"} == {0.05}
    assert told[-1] == (480, 480)


def test_a_product_that_shows_everything_fails_on_every_route(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_refused(policies: Any, *_more: Any) -> Any:
        return np.zeros(len(policies), dtype=np.uint16)

    monkeypatch.setattr(overlay, "refusals", nothing_refused)
    monkeypatch.setattr(Reader, "meets", lambda _self, _audience: True)
    tallies = {tally.route: tally for tally in run_probes(read_world(TINY), named=0, access=30) if tally.probes}

    assert all(tallies[route].failures for route in ROUTES["access"])
    failure = tallies["open"].failures[0]
    assert failure.item in failure.got
    assert tallies["open"].bound > 0.1


def test_a_product_that_knows_no_names_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Searcher, "_hear", lambda _self, _request: ({}, {}))

    tallies = run_probes(read_world(TINY), named=30, access=0)
    assert all(tally.failures for tally in tallies if tally.route == "push" and tally.probes)


def test_a_world_with_nothing_in_it_has_no_probes_and_proves_nothing() -> None:
    nothing = dataclasses.replace(
        read_world(TINY), assets=(), notes=(), sessions=(), corrections=(), policy=(), cases=()
    )

    assert [(tally.probes, tally.bound) for tally in run_probes(nothing)] == [(0, 1.0)] * 12
