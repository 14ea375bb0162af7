"""Print a golden line for an event as today's code stores it.

    python tests/golden/record_events.py key_added '{"item": "skill:x"}' 36 >> tests/golden/events.jsonl

The number makes the line's event id and position. Lines are added when an event type is new or gets a new version.
Lines that are there are never changed: they stand for logs that people have.
"""

from __future__ import annotations

import json
import sys

import msgspec
from instant_recall.events.codec import decode, encode, event_from
from instant_recall.events.envelope import Actor, Source, draft
from instant_recall.events.position import Position

NEW_YEAR_2026 = 1_767_225_600_000


def golden_line(event_type: str, body: dict[str, object], number: int) -> str:
    """One line: the stored bytes in hexadecimal, and what they read as."""
    written = draft(
        event_from(event_type, body),
        occurred_at=NEW_YEAR_2026 + number,
        actor=Actor(kind="agent", name="a harness"),
        source=Source(harness="harness", session="s1", turn="7", uri="file:///notes/a.md"),
        audience=("owner", "team"),
        event_id=f"01900000-0000-7000-8000-{number:012x}",
    )
    position = Position(NEW_YEAR_2026 + 1_000, number)
    stored = encode(written)
    read = decode("owner", position, written.event_id, stored.envelope, stored.payload or None)
    line = {
        "type": event_type,
        "version": type(written.event).version,
        "position": str(position),
        "event_id": written.event_id,
        "envelope": stored.envelope.hex(),
        "payload": stored.payload.hex() or None,
        "reads_as": json.loads(msgspec.json.encode(read)),
    }
    return json.dumps(line, ensure_ascii=False)


if __name__ == "__main__":
    print(golden_line(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])))  # noqa: T201
