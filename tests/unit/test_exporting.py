"""Events and items as JSON lines: what goes out comes back, and a bad line is named and stops nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall.events.envelope import Actor, Source, draft, new_event_id
from instant_recall.events.errors import LogUnavailable, NotFound, RecallError
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.events.types import AssetRecorded, ItemClosed, ItemMuted, NoteRecorded, TurnRecorded
from instant_recall.ops.exporting import MAX_LINE_BYTES, export_events, export_items, import_events, iso
from instant_recall.ops.replay import fold
from instant_recall.projections.items import Item

EVENTS = [
    draft(NoteRecorded(item="note:1", name="lens 🔭", text='a "long"\nlens \u2028 עדשה'), audience=("owner", "lab")),
    draft(
        AssetRecorded(item="machine:petrel", kind="machine", use_when=("train a model",), valid_from=1_700_000_000_000),
        actor=Actor(kind="import", name="notes"),
        source=Source(uri="file:///petrel.md", session="s1"),
        occurred_at=-62_000_000_000_001,
    ),
    draft(TurnRecorded(session="s1", turn=3, role="owner", text="which lens?")),
    draft(ItemClosed(item="note:1", reason="sold"), occurred_at=253_402_300_799_999),
]


@pytest.fixture
def log() -> MemoryEventLog:
    log = MemoryEventLog()
    log.append(EVENTS)
    return log


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write(path: Path, *told: dict[str, Any] | str | bytes) -> Path:
    raw = [
        one if isinstance(one, bytes) else (one if isinstance(one, str) else json.dumps(one)).encode() for one in told
    ]
    path.write_bytes(b"\n".join(raw) + b"\n")
    return path


def a_line(**fields: Any) -> dict[str, Any]:
    told = {
        "event_id": new_event_id(),
        "type": "item_muted",
        "occurred_at": "2026-01-01T00:00:00Z",
        "body": {"item": "note:1"},
    }
    return told | fields


def test_events_that_were_exported_come_back_equal(log: MemoryEventLog, tmp_path: Path) -> None:
    report = export_events(log, str(tmp_path / "e.jsonl"))
    assert (report.lines, report.unreadable) == (4, 0)
    other = MemoryEventLog()
    imported = import_events(other, str(tmp_path / "e.jsonl"))
    assert (imported.new, imported.duplicate, imported.unreadable) == (4, 0, 0)
    kept = ("event", "event_id", "occurred_at", "actor", "source", "audience")
    told = [[getattr(one, name) for name in kept] for one in log.read(START)]
    assert told == [[getattr(one, name) for name in kept] for one in other.read(START)]
    assert (tmp_path / "e.jsonl").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.part"))


def test_a_line_has_the_envelope_iso_times_and_what_the_body_says(log: MemoryEventLog, tmp_path: Path) -> None:
    export_events(log, str(tmp_path / "e.jsonl"))
    first, second, *_ = lines(tmp_path / "e.jsonl")
    assert first["audience"] == ["owner", "lab"]
    assert first["body"] == {"item": "note:1", "name": "lens 🔭", "text": 'a "long"\nlens \u2028 עדשה'}
    assert (second["occurred_at"], second["version"], second["type"]) == (
        "0005-04-19T09:46:39.999Z",
        2,
        "asset_recorded",
    )
    assert first["recorded_at"] == iso(log.read(START)[0].recorded_at)
    assert first["position"] == str(log.read(START)[0].position)


def test_imported_twice_an_event_is_stored_once(log: MemoryEventLog, tmp_path: Path) -> None:
    export_events(log, str(tmp_path / "e.jsonl"))
    before = log.last_position()
    again = import_events(log, str(tmp_path / "e.jsonl"))
    assert (again.new, again.duplicate, again.position) == (0, 4, "")
    assert log.last_position() == before
    once = a_line()
    twice = import_events(log, str(write(tmp_path / "t.jsonl", once, once)))
    assert (twice.new, twice.duplicate) == (1, 1)


def test_a_dry_run_stores_nothing(log: MemoryEventLog, tmp_path: Path) -> None:
    export_events(log, str(tmp_path / "e.jsonl"))
    other = MemoryEventLog()
    report = import_events(other, str(tmp_path / "e.jsonl"), dry_run=True)
    assert (report.new, report.dry_run, other.last_position()) == (4, True, START)


BAD: dict[str, Callable[[], dict[str, Any] | str | bytes]] = {
    "no JSON": lambda: "{",
    "no object": lambda: "[1]",
    "not UTF-8": lambda: b'{"type": "\xff"}',
    "binary": lambda: b"\x00\x01",
    "half a pair": lambda: (
        '{"type":"note_recorded","event_id":"x","occurred_at":"2026-01-01T00:00:00Z","body":{"item":"\\ud800"}}'
    ),
    "deep": lambda: '{"body": ' + "[" * 100_000,
    "no type": lambda: {k: v for k, v in a_line().items() if k != "type"},
    "unknown type": lambda: a_line(type="lunch_eaten"),
    "unknown field": lambda: a_line(body={"item": "note:1", "colour": "red"}),
    "wrong field": lambda: a_line(body={"item": 7}),
    "missing field": lambda: a_line(body={}),
    "no id": lambda: a_line(event_id="seven"),
    "no zone": lambda: a_line(occurred_at="2026-01-01T00:00:00"),
    "no time": lambda: a_line(occurred_at="yesterday"),
    "newer version": lambda: a_line(version=99),
    "unreadable then": lambda: a_line(unreadable="corrupt"),
    "bad actor": lambda: a_line(actor={"kind": "cat"}),
    "too long": lambda: '{"type": "' + "x" * (MAX_LINE_BYTES + 10) + '"}',
}


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_bad_line_is_named_by_its_number_and_the_others_are_imported(bad: str, tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", a_line(), "", BAD[bad](), a_line())
    log = MemoryEventLog()
    report = import_events(log, str(path))
    assert (report.new, report.unreadable, [one.line for one in report.lines]) == (2, 1, [3])
    assert report.lines[0].reason


def test_windows_line_ends_and_a_missing_last_one_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\r\n".join(json.dumps(a_line()).encode() for _ in range(3)))
    assert import_events(MemoryEventLog(), str(path)).new == 3


def test_an_event_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    old = a_line(
        type="asset_recorded",
        version=1,
        body={"item": "skill:x", "kind": "skill", "use_when": "one\ntwo", "where": "x.md"},
    )
    log = MemoryEventLog()
    assert import_events(log, str(write(tmp_path / "e.jsonl", old))).new == 1
    event = log.read(START)[0].event
    assert isinstance(event, AssetRecorded)
    assert (event.use_when, event.address) == (("one", "two"), "x.md")
    broken = a_line(type="asset_recorded", version=1, body={"item": "skill:x", "kind": "skill", "use_when": 7})
    assert import_events(log, str(write(tmp_path / "e.jsonl", broken))).unreadable == 1


def test_what_this_version_cannot_read_is_named_in_the_export_and_has_no_body(tmp_path: Path) -> None:
    log = MemoryEventLog()
    log.append([draft(ItemMuted(item="note:1"))])
    log._entries[0] = log._entries[0]._replace(envelope=b"\x00\x00\x00\x00damaged")
    report = export_events(log, str(tmp_path / "e.jsonl"))
    (told,) = lines(tmp_path / "e.jsonl")
    assert (report.unreadable, told["unreadable"], "body" in told) == (1, "corrupt", False)
    assert import_events(MemoryEventLog(), str(tmp_path / "e.jsonl")).unreadable == 1


def test_an_erased_text_is_said_to_be_erased(log: MemoryEventLog, tmp_path: Path) -> None:
    log.erase_payload(EVENTS[0].event_id)
    export_events(log, str(tmp_path / "e.jsonl"))
    first = lines(tmp_path / "e.jsonl")[0]
    assert (first["erased"], first["body"]) == (True, {"item": "note:1"})


def test_a_large_import_is_cut_into_appends_that_the_log_takes(tmp_path: Path) -> None:
    log = MemoryEventLog()
    big = [draft(NoteRecorded(item=f"note:{n}", text="x" * 900_000)) for n in range(5)]
    small = [draft(NoteRecorded(item=f"note:s{n}", text="x")) for n in range(1_200)]
    for drafts in (big, small):
        for one in range(0, len(drafts), 500):
            log.append(drafts[one : one + 500])
    export_events(log, str(tmp_path / "e.jsonl"))
    other = MemoryEventLog()
    assert import_events(other, str(tmp_path / "e.jsonl")).new == 1_205
    assert len(list(fold(other).state.all())) == len(list(fold(log).state.all()))


def test_items_are_exported_as_the_state_has_them(log: MemoryEventLog, tmp_path: Path) -> None:
    state = fold(log).state
    assert export_items(state.all(), str(tmp_path / "i.jsonl")).lines == 3
    read = [msgspec.json.decode(line, type=Item) for line in (tmp_path / "i.jsonl").read_bytes().splitlines()]
    assert read == list(state.all())


def test_places_that_cannot_be_used_are_clear_errors(log: MemoryEventLog, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="Check its name"):
        import_events(log, str(tmp_path / "nothing.jsonl"))
    with pytest.raises(NotFound):
        import_events(log, str(tmp_path))
    with pytest.raises(RecallError, match="Choose another place"):
        export_events(log, str(tmp_path / "no" / "folder.jsonl"))
    (tmp_path / "kept.jsonl").write_text("kept")
    for trouble in (OSError("the disk is full"), LogUnavailable()):
        with pytest.raises(RecallError), pytest.MonkeyPatch.context() as patch:
            patch.setattr(log, "read", lambda *_, trouble=trouble: (_ for _ in ()).throw(trouble))
            export_events(log, str(tmp_path / "kept.jsonl"))
    assert (tmp_path / "kept.jsonl").read_text() == "kept"
    assert not list(tmp_path.glob("*.part"))
