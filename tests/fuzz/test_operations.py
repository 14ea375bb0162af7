"""Every operation of the API's own description, with what fits it and what does not: never a 5xx, never another form.

`make fuzz` sends thousands of requests for each operation and reader; INSTANT_RECALL_FUZZ_EXAMPLES says how many.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from instant_recall.api.openapi import document
from instant_recall.events.types import EVENT_TYPES
from instant_recall.tests.fuzz_target import Target
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

SHORT = 3
LONG = int(os.environ.get("INSTANT_RECALL_FUZZ_EXAMPLES") or 600)
"""Requests for each operation, reader and mode."""

GROWTH_BYTES = 64 << 20
"""What a process may take in more, over all of it: part of what is sent is stored, and known until a snapshot."""

CONFORMS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    schemathesis.checks.not_a_server_error,
]

KNOWN = (
    *("machine:petrel", "petrel", "note:tide", "skill:osprey", "osprey", "note:secret", "session:owners", "owners"),
    *("owner", "scout", "scout/x", "lab", "team", "check the camera of petrel", "zanzibar", "last time", "thanks"),
    *("1767225600000-0", "0-0", "2026-11-01", "2026-11-01T10:00+01:00", "99999999999999999999-1", "1-" + "9" * 20),
    *("\0", "a\nb", "\u202e", "\U0001f600", "../../etc/passwd", "note:tide#t1", "x" * 600, "%00", "{}", "*", "'"),
    *("01900000-0000-7000-8000-000000000001", "push_served", "reader_granted", "note_recorded", "default", "more"),
)
"""Words that mean something here, or often mean trouble; chance alone would not come upon them."""


def described() -> dict[str, Any]:
    """The description, with the body of each type of event in its place, so that those are made as well."""
    told: dict[str, Any] = copy.deepcopy(json.loads(document()))
    schemas = told["components"]["schemas"]
    plain = schemas["PublishEvent"]
    kinds = [cls.__name__ for cls in EVENT_TYPES.values()]
    variants = []
    for name in kinds:
        variant, body = copy.deepcopy(plain), copy.deepcopy(schemas[name])
        (tag,) = body["properties"].pop("type")["enum"] if "type" in body.get("properties", {}) else (None,)
        body["required"] = [field for field in body.get("required", ()) if field != "type"]
        variant["properties"] |= {"type": {"enum": [tag]}, "body": body}
        variants.append(variant)
    schemas["PublishEvent"] = {"anyOf": [plain, *variants]}
    return told


SCHEMA = schemathesis.openapi.from_dict(described())
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)}


OFTEN_REFUSED = frozenset(("reader", "for_reader", "as_of", "min_position", "event_id", "audience", "occurred_at"))
"""Fields for which chance hardly ever finds a value that is taken; with them in it, a request gets no further."""


def plainer(value: Any) -> Any:
    """The value without those fields."""
    if isinstance(value, dict):
        return {name: plainer(part) for name, part in value.items() if name not in OFTEN_REFUSED}
    return [plainer(part) for part in value] if isinstance(value, list) else value


def seasoned(value: Any, draw: Callable[[Any], Any]) -> Any:
    """The value with some of its texts replaced by known words."""
    if isinstance(value, dict):
        return {name: seasoned(part, draw) for name, part in value.items()}
    if isinstance(value, list):
        return [seasoned(part, draw) for part in value]
    if isinstance(value, str) and draw(st.booleans()):
        return draw(st.sampled_from(KNOWN))
    return value


def throw(target: Target, label: str, token: str, mode: GenerationMode, examples: int) -> Counter[int]:
    """Send so many requests to an operation and check every answer; how often each status came."""
    seen: Counter[int] = Counter()
    headers = {"Authorization": f"Bearer {token}"}

    with requests.Session() as session:

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=OPERATIONS[label].as_strategy(generation_mode=mode), data=st.data())
        def one(case: Case[Any], data: st.DataObject) -> None:
            if isinstance(case.body, dict):
                case.body = seasoned(case.body, data.draw)
                if mode is GenerationMode.POSITIVE and data.draw(st.booleans()):
                    case.body = plainer(case.body)
            if case.query and mode is GenerationMode.POSITIVE:
                case.query = seasoned(dict(case.query), data.draw)
            answer = case.call(base_url=target.url, headers=headers, session=session, timeout=20)
            seen[answer.status_code] += 1
            case.validate_response(answer, checks=CONFORMS)

        try:
            one()
        except Unsatisfiable:  # what takes nothing cannot be given the wrong thing
            assert mode is GenerationMode.NEGATIVE
    return seen


def fuzz(target: Target, label: str, examples: int) -> Counter[int]:
    """All that is thrown at one operation, by the owner and by a reader that nobody revokes by chance."""
    seen: Counter[int] = Counter()
    narrow = target.grant(f"fuzz{OPERATIONS[label].definition.raw['operationId']}", "lab")
    for token in (target.token, narrow):
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            seen += throw(target, label, token, mode, examples)
    target.answers_well()
    return seen


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_brings_a_failure_of_the_server_or_an_answer_that_is_not_described(
    target: Target, label: str
) -> None:
    seen = fuzz(target, label, SHORT)
    assert not [status for status in seen if status >= 500]
    assert 401 not in seen


@pytest.mark.fuzz
def test_thousands_of_requests_for_each_operation_bring_no_failure_and_no_growth(target: Target) -> None:
    for label in OPERATIONS:
        fuzz(target, label, 20)
    before, files = target.memory(), target.files()
    total: Counter[int] = Counter()
    for label in OPERATIONS:
        seen = fuzz(target, label, LONG)
        total += seen
        print(f"{label:28} {sum(seen.values()):6,} requests  {dict(sorted(seen.items()))}")  # noqa: T201
    grown = target.memory() - before
    print(f"{sum(total.values()):,} requests, memory {before / 1e6:.0f} MB -> {grown / 1e6:+.1f} MB")  # noqa: T201
    assert grown < GROWTH_BYTES
    assert target.files() <= files + 5
