"""A whole night's work on one log, done by a process that dies at a chosen point of it.

Without arguments it reads one order a line from standard input (see `Order`), does it in a forked process, and answers
with a line: how that process ended. With HOME, REDIS_URL and OWNER it works one night after the other until it is
killed. A night: writes, a snapshot, its announcement, a rollback and back, collecting and archiving, then more
writes: each call that changes the disk and each command to the server is a point at which the process can die, before
or after it.
"""

from __future__ import annotations

import itertools
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import redis.connection
from instant_recall.events.connect import connect, log_on
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.log import EventLog
from instant_recall.events.settings import Settings
from instant_recall.events.types import NoteRecorded, OwnershipCorrected, SnapshotPublished
from instant_recall.ops import logs
from instant_recall.projections.building import build
from instant_recall.projections.meaning.encoders import Encoders, load_encoders
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.workers.archiving import archive_log

DIED = 9
CHANGES = ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir")


class Order(msgspec.Struct):
    """What to do for whom, and where to die: at the nth point (0: nowhere), before it or after it."""

    home: str
    redis_url: str
    owner: str
    point: int = 0
    before: bool = False


class Answer(msgspec.Struct):
    """How the process ended, and how many points it passed when it lived."""

    code: int
    points: int


def night(settings: Settings, encoder: Encoders, evening: str = "evening", morning: str = "morning") -> None:
    """Do it all, writing what is named so. Done again after it broke off anywhere, it comes to the same end."""
    with connect(settings) as client:
        log = log_on(client, settings)
        write(log, settings, evening)
        store = SnapshotStore(settings.snapshots_dir)
        older = store.current()
        made = build(log, store, encoder)
        log.append([draft(SnapshotPublished(generation=made.generation, through=str(made.position)))])
        if older is not None:
            store.rollback(older)
            store.rollback(made.generation)
        store.collect(keep=1)
        archive_log(str(settings.home), settings.redis_url, settings.owner, older_than=0, at_least=1)
        write(log, settings, morning)


def write(log: EventLog, settings: Settings, part: str) -> None:
    """Append a few events, always the same, and write their ids down once they are acknowledged."""
    drafts = story(settings.owner, part)
    log.append(drafts)
    with (settings.home / "acknowledged").open("a") as file:
        file.writelines(f"{made.event_id}\n" for made in drafts)


def story(owner: str, part: str) -> list[EventDraft]:
    """Events of one part of the night, with the same ids each time."""
    events = [
        *(NoteRecorded(item=f"note:{n}", name=f"{part} {n}", text=f"the {part} tide at pier {n}") for n in range(3)),
        OwnershipCorrected(item="note:1", request=f"when does the {part} ferry leave"),
    ]
    return [
        draft(event, event_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{owner}/{part}/{n}")))
        for n, event in enumerate(events)
    ]


def die_at(point: int, before: bool) -> Callable[[], int]:
    """Put a point around every change; returns how many were passed so far."""
    passed = 0

    def around(place: Any, name: str) -> None:
        real = getattr(place, name)

        def change(*arguments: Any, **named: Any) -> Any:
            nonlocal passed
            passed += 1
            mine = passed
            if before and mine == point:
                os._exit(DIED)
            try:
                return real(*arguments, **named)
            finally:  # a change that was refused is a point too
                if mine == point:
                    os._exit(DIED)

        setattr(place, name, change)

    for name in CHANGES:
        around(os, name)
    around(redis.connection.AbstractConnection, "send_packed_command")
    return lambda: passed


def go_on(settings: Settings, encoder: Encoders) -> None:
    """One night after the other."""
    for number in itertools.count():
        night(settings, encoder, f"evening {os.getpid()} {number}", f"morning {os.getpid()} {number}")


def serve(encoder: Encoders) -> None:
    """Take orders until there are no more. The encoder is loaded once; each night has a process of its own."""
    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        settings = Settings(home=Path(order.home), redis_url=order.redis_url, owner=order.owner)
        child = os.fork()
        if not child:
            passed = die_at(order.point, order.before)
            night(settings, encoder)
            (settings.home / "points").write_text(str(passed()))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        points = int((settings.home / "points").read_text()) if code == 0 else 0
        sys.stdout.write(msgspec.json.encode(Answer(code, points)).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    logs.configure()
    loaded = load_encoders()
    loaded.encode_request("warm")
    if sys.argv[1:]:
        home, redis_url, owner = sys.argv[1:]
        go_on(Settings(home=Path(home), redis_url=redis_url, owner=owner), loaded)
    else:
        serve(loaded)
