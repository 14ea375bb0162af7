"""`export` and `import events`: the log and the items as JSON lines, which any tool reads and which can be read back.

A line of events: position, event id, type, version, when it occurred and was recorded (ISO 8601, UTC), actor, source,
audience, and the body: the fields of its type (see `events/types.py`) that say something. Times in a body are
milliseconds since 1970, as everywhere in events. Imported, an event keeps its id and gets a new position; the same id
is stored once. For an exact copy, positions and all, there is `backup`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec

from ..events.checks import fields_of
from ..events.codec import MAX_PAYLOAD_BYTES, encode, event_from
from ..events.envelope import OWNER_ONLY, Actor, EventDraft, RecordedEvent, Source, UnreadableEvent
from ..events.errors import InvalidEvent, NotFound, RecallError
from ..events.log import EventLog
from ..events.position import START
from ..events.types import EVENT_TYPES, Event, Millis
from ..events.upcasters import upcast
from ..projections.items import Item
from .importing import BATCH, BATCH_BYTES
from .replay import BATCH as PAGE

STANDARD: Final = "-"
"""Names standard output or input."""
MAX_LINE_BYTES: Final = 8 * MAX_PAYLOAD_BYTES
"""A longer line is no event: even a text of which every letter is escaped is shorter."""
MOST_UNREADABLE: Final = 1_000
"""Unreadable lines that are named; all are counted."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLI: Final = timedelta(milliseconds=1)


class ExportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `export` prints, unless it wrote to standard output."""

    what: str
    file: str
    lines: int
    unreadable: int
    """Events that this version cannot read: they are named in the file, without a body."""


class Unreadable(msgspec.Struct, frozen=True):
    """A line that was not imported."""

    line: int
    reason: str


class EventsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `import events` prints."""

    file: str
    new: int
    duplicate: int
    """Events whose id was in the log already; nothing was stored for them."""
    unreadable: int
    lines: tuple[Unreadable, ...]
    """The first MOST_UNREADABLE of the unreadable ones."""
    position: str
    """Of the last event stored; empty when none was."""
    dry_run: bool


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    event_id: str
    occurred_at: datetime
    version: int = 0
    """0: that of today."""
    actor: Actor = Actor()
    source: Source = Source()
    audience: tuple[str, ...] = OWNER_ONLY
    body: dict[str, Any] = {}
    unreadable: str = ""


class _Read(NamedTuple):
    line: int
    draft: EventDraft
    size: int


def export_events(log: EventLog, to: str, *, on_progress: Callable[[int], None] = lambda _: None) -> ExportReport:
    """Write every event as one line.

    Raises:
        LogUnavailable: the server cannot be reached.
        RecallError: the file cannot be written.
    """
    lines, unreadable, after = 0, 0, START
    with writing(to) as out:
        while batch := log.read(after, PAGE):
            for recorded in batch:
                out.write(msgspec.json.encode(_event_line(recorded)) + b"\n")
                unreadable += isinstance(recorded.event, UnreadableEvent)
            after, lines = batch[-1].position, lines + len(batch)
            on_progress(lines)
    return ExportReport(what="events", file=to, lines=lines, unreadable=unreadable)


def export_items(items: Iterator[Item], to: str) -> ExportReport:
    """Write every item as one line, as the state has it: closed, muted and forgotten ones too.

    Raises:
        RecallError: the file cannot be written.
    """
    lines = 0
    with writing(to) as out:
        for item in items:
            out.write(msgspec.json.encode(item) + b"\n")
            lines += 1
    return ExportReport(what="items", file=to, lines=lines, unreadable=0)


def import_events(log: EventLog, source: str, *, dry_run: bool = False) -> EventsReport:
    """Append every event of a file, each id once. What cannot be read is named by its line, and the rest imported.

    Raises:
        NotFound: there is no such file.
        LogUnavailable, LogFull: the log does not take it; what was appended before stays, and a second try goes on.
    """
    new, duplicate, position, failed = 0, 0, "", list[Unreadable]()
    with reading(source) as file:
        for batch in _batches(_drafts(file, failed)):
            if dry_run:
                new += len(batch)
                continue
            for appended in log.append(batch):
                new += not appended.duplicate
                duplicate += appended.duplicate
                position = position if appended.duplicate else str(appended.position)
    return EventsReport(
        file=source,
        new=new,
        duplicate=duplicate,
        unreadable=len(failed),
        lines=tuple(failed[:MOST_UNREADABLE]),
        position=position,
        dry_run=dry_run,
    )


def iso(at: Millis) -> str:
    """A time as ISO 8601 in UTC, to the millisecond."""
    return (_EPOCH + at * _MILLI).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _event_line(recorded: RecordedEvent) -> dict[str, Any]:
    event, known = recorded.event, not isinstance(recorded.event, UnreadableEvent)
    line: dict[str, Any] = {
        "position": str(recorded.position),
        "event_id": recorded.event_id,
        "type": event.type_name(),
        "version": event.version,
        "occurred_at": iso(recorded.occurred_at),
        "recorded_at": iso(recorded.recorded_at),
        "actor": recorded.actor,
        "source": recorded.source,
        "audience": recorded.audience,
    }
    if isinstance(event, UnreadableEvent):
        return line | {"type": event.stored_type, "version": event.stored_version, "unreadable": event.why}
    if recorded.erased:
        line["erased"] = True
    return line | {"body": _body(event)} if known else line


def _body(event: Event) -> dict[str, Any]:
    values = ((field, getattr(event, field.name)) for field in fields_of(type(event)))
    return {field.name: value for field, value in values if field.required or value != field.default}


def _batches(read: Iterator[_Read]) -> Iterator[list[EventDraft]]:
    batch, size = list[EventDraft](), 0
    for one in read:
        if batch and (len(batch) >= BATCH or size + one.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one.draft)
        size += one.size
    if batch:
        yield batch


def _drafts(file: IO[bytes], failed: list[Unreadable]) -> Iterator[_Read]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        try:
            if len(line) > MAX_LINE_BYTES:
                _skip_rest(file, line)
                raise InvalidEvent(f"the line has over {MAX_LINE_BYTES:,} bytes")
            if line.strip():
                draft = _draft(line)
                yield _Read(number, draft, sum(map(len, encode(draft))))
        except InvalidEvent as error:
            failed.append(Unreadable(number, str(error)))


def _skip_rest(file: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(MAX_LINE_BYTES)


def _draft(line: bytes) -> EventDraft:
    try:
        read = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidEvent(f"the line is no event ({error})") from error
    if read.unreadable:
        raise InvalidEvent(f"the event was not readable when it was exported ({read.unreadable})")
    if read.occurred_at.tzinfo is None:
        raise InvalidEvent("occurred_at has no time zone")
    return EventDraft(
        event=_event(read),
        event_id=read.event_id,
        occurred_at=(read.occurred_at - _EPOCH) // _MILLI,
        actor=read.actor,
        source=read.source,
        audience=read.audience,
    )


def _event(read: _Line) -> Event:
    cls = EVENT_TYPES.get(read.type)
    body = read.body
    if cls is not None and read.version > cls.version:
        raise InvalidEvent(f"{read.type} has version {read.version}, and this version reads {cls.version}")
    if cls is not None and 0 < read.version < cls.version:
        try:
            body = upcast(read.type, read.version, cls.version, dict(body))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidEvent(f"{read.type} of version {read.version} has a wrong field") from error
    return event_from(read.type, body)


@contextmanager
def writing(to: str) -> Iterator[IO[bytes]]:
    """A private file that is there whole or not at all; or standard output, for `-`.

    Raises:
        RecallError: it cannot be written.
    """
    if to == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(to)
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
        part.replace(path)
    except OSError as error:
        raise RecallError(f"{to} cannot be written ({error.strerror or error}). Choose another place.") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def reading(source: str) -> Iterator[IO[bytes]]:
    """A file to be read; or standard input, for `-`.

    Raises:
        NotFound: it cannot be opened.
    """
    if source == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115 - closed below; an error while it is read is another one
    except OSError as error:
        raise NotFound(f"{source} cannot be read ({error.strerror or error}). Check its name.") from error
    with file:
        yield file
