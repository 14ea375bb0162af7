"""The one check of who may see what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instant_recall.projections.items import Item
from instant_recall.projections.policy.eligibility import (
    RULES,
    Audiences,
    Muted,
    Policies,
    Reader,
    eligible,
    is_old,
    may_see,
    refusals,
    rule_of,
)

OWNER = Reader("owner")
LAB = Reader("sub:lab", frozenset({"lab"}))
NOBODY = Reader("sub:unknown")


def item(**fields: Any) -> Item:
    return Item(id="x", kind="note", recorded_at=1, **fields)


@pytest.mark.parametrize(
    ("audience", "reader", "seen"),
    [
        (("owner",), OWNER, True),
        (("owner",), LAB, False),
        (("owner", "lab"), LAB, True),
        (("labs",), LAB, False),
        ((), LAB, False),
        ((), OWNER, True),
        (("lab",), NOBODY, False),
    ],
)
def test_the_audience_decides(audience: tuple[str, ...], reader: Reader, seen: bool) -> None:
    assert may_see(item(audience=audience), reader, now=10) is seen


@pytest.mark.parametrize("flag", ["muted", "quarantined", "forgotten"])
def test_a_held_back_item_is_shown_to_nobody(flag: str) -> None:
    assert not may_see(item(**{flag: True}), OWNER, now=10)


def test_an_item_that_nobody_recorded_is_not_shown() -> None:
    assert not may_see(Item(id="x", kind="note"), OWNER, now=10)


@pytest.mark.parametrize(("now", "seen"), [(4, False), (5, True), (7, True), (8, False)])
def test_an_item_is_valid_from_its_first_moment_until_before_its_last(now: int, seen: bool) -> None:
    assert may_see(item(valid_from=5, valid_until=8), OWNER, now) is seen


def test_the_columns_say_of_each_item_what_the_single_check_says() -> None:
    lab = ("lab",)
    items = [item(), item(audience=lab), item(muted=True), item(valid_until=3, audience=lab), item(audience=())]
    policies = Policies(Audiences())
    for one in items:
        policies.append(one)

    for reader in (OWNER, LAB, NOBODY):
        assert eligible(policies, reader, 10).tolist() == [may_see(one, reader, 10) for one in items]


def test_a_copy_of_the_policies_is_independent() -> None:
    policies = Policies(Audiences())
    policies.append(item())
    twin = policies.copy()
    twin.set(0, item(muted=True))

    assert eligible(policies, OWNER, 10).tolist() == [True]
    assert eligible(twin, OWNER, 10).tolist() == [False]


@pytest.mark.parametrize(
    ("fields", "reader", "rule"),
    [
        ({}, OWNER, None),
        ({}, LAB, "audience"),
        ({"audience": ()}, LAB, "audience"),
        ({"muted": True}, OWNER, "muted"),
        ({"quarantined": True}, OWNER, "quarantined"),
        ({"forgotten": True, "muted": True}, LAB, "forgotten"),
        ({"valid_from": 11}, OWNER, "not_yet_valid"),
        ({"valid_until": 10}, OWNER, "ended"),
        ({"valid_until": 10, "superseded_by": "y"}, OWNER, "superseded"),
        ({"valid_until": 10, "superseded_by": ""}, OWNER, "superseded"),
        ({"valid_until": 11, "superseded_by": "y"}, OWNER, None),
        ({"valid_until": 10, "superseded_by": "y", "quarantined": True}, OWNER, "quarantined"),
        ({"valid_until": 10, "muted": True, "quarantined": True}, OWNER, "muted"),
    ],
)
def test_a_refusal_names_the_rule_and_the_check_follows_it(fields: dict[str, Any], reader: Reader, rule: str) -> None:
    policies = Policies(Audiences())
    policies.append(item(audience=("lab",)))
    policies.append(item(**fields))

    assert rule_of(int(refusals(policies, reader, 10)[1])) == rule
    assert eligible(policies, reader, 10).tolist() == [True, rule is None]


def test_only_what_is_kept_back_by_nothing_else_is_an_old_version() -> None:
    policies = Policies(Audiences())
    old = {"valid_until": 10, "superseded_by": "y"}
    for fields in ({}, old, old | {"muted": True}, old | {"audience": ("money",)}, {"valid_until": 10}):
        policies.append(item(**{"audience": ("lab",)} | fields))

    assert is_old(refusals(policies, LAB, 10)).tolist() == [False, True, False, False, False]


def test_what_was_only_named_is_refused_as_unrecorded() -> None:
    policies = Policies(Audiences())
    policies.append(Item(id="x", kind="note"))

    assert rule_of(int(refusals(policies, OWNER, 10)[0])) == "unrecorded"


@pytest.mark.parametrize("number", [1, 99, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("reader", [OWNER, LAB])
def test_an_audience_that_makes_no_sense_is_met_by_nobody_but_that_is_told_to_nobody_else(
    number: int, reader: Reader
) -> None:
    policies = Policies(Audiences())
    for _ in range(2):
        policies.append(item(audience=("lab",)))
    policies._audience.values[1] = number

    assert eligible(policies, reader, 10).tolist() == [True, False]
    assert rule_of(int(refusals(policies, reader, 10)[1])) == "unreadable"


@pytest.mark.parametrize("bit", range(16))
def test_a_flag_of_whatever_meaning_keeps_an_item_back(bit: int) -> None:
    policies = Policies(Audiences())
    policies.append(item(valid_until=3))
    policies._flags.values[0] = 1 << bit

    assert eligible(policies, OWNER, 10).tolist() == [False]
    assert rule_of(1 << bit) is not None


def test_each_rule_has_a_bit_of_its_own() -> None:
    assert sum(RULES.values()) == np.bitwise_or.reduce(list(RULES.values()))


def test_what_is_muted_in_the_session_or_as_a_topic_is_refused_with_everything_else() -> None:
    policies = Policies(Audiences())
    for _ in range(3):
        policies.append(item(audience=("lab",)))
    muted = Muted([0], np.array([1, 1], dtype=np.int32))

    assert [rule_of(int(found)) for found in refusals(policies, LAB, 10, muted)] == ["muted", "topic_muted", None]
    assert [rule_of(int(f)) for f in refusals(policies, LAB, 10, Muted(unreadable=True))] == ["unreadable"] * 3
    assert eligible(policies, LAB, 10).tolist() == [True, True, True]
