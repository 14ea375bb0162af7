"""Logs that people have are read by today's code to exactly what they mean. See record_events.py for adding lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall.events.codec import decode
from instant_recall.events.envelope import RecordedEvent
from instant_recall.events.position import Position
from instant_recall.events.types import EVENT_TYPES, AssetRecorded

LINES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "events.jsonl").read_text("utf-8").splitlines()
]


def read(line: dict[str, Any], *, erased: bool = False) -> RecordedEvent:
    payload = None if erased or line["payload"] is None else bytes.fromhex(line["payload"])
    position = Position.parse(line["position"])
    return decode("owner", position, line["event_id"], bytes.fromhex(line["envelope"]), payload)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line['type']}-v{line['version']}")
def test_a_stored_event_of_any_version_reads_as_it_was_meant(line: dict[str, Any]) -> None:
    recorded, meant = read(line), line["reads_as"]
    found = json.loads(msgspec.json.encode(recorded))
    defaults = {field.name: field.default for field in msgspec.structs.fields(recorded.event)}
    for name in found["event"].keys() - meant["event"].keys():  # the type got it after the line was written
        del found["event"][name]
        assert getattr(recorded.event, name) == defaults[name]
    assert found == meant


def test_every_event_type_and_every_version_of_it_has_a_golden_line() -> None:
    wanted = {(name, version) for name, cls in EVENT_TYPES.items() for version in range(1, cls.version + 1)}

    assert {(line["type"], line["version"]) for line in LINES} == wanted


def test_the_first_asset_form_gets_its_phrases_and_its_address() -> None:
    [old] = [line for line in LINES if line["version"] == 1 and line["payload"] and line["type"] == "asset_recorded"]
    event = read(old).event

    assert isinstance(event, AssetRecorded)
    assert event.use_when == ("a photo has too many seals", "count again, blind")
    assert event.address == "skill:seal-counter"


@pytest.mark.parametrize("line", [line for line in LINES if line["payload"]], ids=lambda line: line["type"])
def test_a_stored_event_whose_text_was_erased_still_reads(line: dict[str, Any]) -> None:
    whole, left = read(line), read(line, erased=True)

    assert left.erased
    assert left.event.subjects() == whole.event.subjects()
    assert all(not getattr(left.event, name) for name in type(left.event).forgettable)
