"""Checks of the server and the log in it: durable, clock, a write and a read, archive, reactor, last activity."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from redis import RedisError
from redis.cluster import RedisCluster

from ..events.archive import Archive
from ..events.codec import decode
from ..events.envelope import RecordedEvent, draft, now_ms
from ..events.errors import CorruptArchive
from ..events.position import START, Position
from ..events.redis_log import RedisEventLog, driver_errors, place
from ..events.types import (
    ContextReset,
    Event,
    ItemOpened,
    LogArchived,
    Millis,
    PushServed,
    SearchServed,
    SnapshotPublished,
    WhyServed,
)
from ..workers.dead_letters import dead_letters, reactor_status
from .checks import Finding, Patient
from .output import count
from .raw_log import RawLog

CLOCK_WARN_MS: Final = 2_000
CLOCK_BAD_MS: Final = 60_000
"""A difference of clocks: from the first on, times look odd; from the second on, as-of and validity are wrong."""
SET_CLOCK: Final = "timedatectl set-ntp true"
LOOK_BACK: Final = 5_000
"""Events among which the last write and the last push are looked for."""
BEHIND: Final = 10_000
"""Events that a reactor which runs may be behind for a while."""


def durable(patient: Patient) -> Iterator[Finding]:
    """Whether what was acknowledged is on the server's disk, and stays."""
    client = patient.at_hand.client
    with driver_errors(client):
        if isinstance(client, RedisCluster):
            nodes = client.info(target_nodes=RedisCluster.PRIMARIES)
        else:
            nodes = {place(client): client.info()}
    wrong = 0
    for where, about in cast("dict[str, Mapping[str, Any]]", nodes).items():
        for says, remedy in _undurable(patient, about):
            wrong += 1
            yield Finding("server", "BAD", f"{where}: {says}", remedy)
    if not wrong:
        where, about = next(iter(nodes.items()))
        kind = about.get("server_name") or "redis"
        version = about.get("valkey_version") or about.get("redis_version")
        yield Finding("server", "ok", f"{kind} {version} at {where}: append-only file, evicts nothing")


def _undurable(patient: Patient, about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    def setting(name: str, value: str) -> str:
        if patient.settings.redis_url:
            return f'redis-cli -u "$REDIS_URL" CONFIG SET {name} {value}'
        return f"{patient.type('down')} && {patient.type('up')}"  # it starts with the right settings

    if not about.get("aof_enabled"):
        yield "it keeps no append-only file, so a crash loses events", setting("appendonly", "yes")
    if (sync := _config(patient, "appendfsync")) not in ("always", ""):
        yield f"it syncs {sync}, so a power cut loses acknowledged events", setting("appendfsync", "always")
    if about.get("maxmemory") and about.get("maxmemory_policy") != "noeviction":
        yield "it evicts events when its memory is full", setting("maxmemory-policy", "noeviction")
    if about.get("aof_last_write_status", "ok") != "ok":
        yield "its last write to the disk failed; is the disk full?", f"du -sh {patient.folder}/*"


def _config(patient: Patient, name: str) -> str:
    """A setting of the server; empty when it does not tell (hosted servers do not)."""
    client = patient.at_hand.client
    try:
        return str(client.config_get(name).get(name, ""))
    except RedisError:
        return ""


def clock(patient: Patient) -> Iterator[Finding]:
    """Whether the server's clock and ours agree, and the log does not end in the future."""
    client, log = patient.at_hand
    with driver_errors(client):
        seconds, micros = client.time()
    server, last = seconds * 1000 + micros // 1000, log.last_position()
    apart, ahead = abs(server - now_ms()), last.ms - server
    if ahead > CLOCK_WARN_MS:
        says = (
            f"the last event is {_span(ahead)} ahead of the server's clock, so the clock was set back. No event is "
            "lost or out of order; until then, new ones are recorded at that time"
        )
        yield Finding("clock", "BAD" if ahead > CLOCK_BAD_MS else "warn", says, SET_CLOCK)
    if apart > CLOCK_WARN_MS:
        says = f"the server's clock and this machine's are {_span(apart)} apart"
        yield Finding("clock", "BAD" if apart > CLOCK_BAD_MS else "warn", says, SET_CLOCK)
    elif ahead <= CLOCK_WARN_MS:
        yield Finding("clock", "ok", "the server agrees with this machine, and the log with both")


def write_and_read(patient: Patient) -> Iterator[Finding]:
    """A real event, to a log of its own that is removed again."""
    client = patient.at_hand.client
    scratch = f"doctor-{uuid.uuid4().hex[:12]}"
    written = draft(ContextReset(session="doctor"))
    own, began = RedisEventLog(client, scratch), now_ms()
    try:
        at = own.append([written])[0].position
        read = [one.event_id for one in own.read(START, 2)]
    finally:
        RawLog(client, scratch).erase()
    if read != [written.event_id]:
        yield Finding("write", "BAD", f"an event written at {at} does not read back", patient.type("replay"))
    else:
        yield Finding("write", "ok", f"an event was written, synced and read back in {now_ms() - began} ms")


def archive(patient: Patient) -> Iterator[Finding]:
    """Whether archive and stream are one log, without a gap, every byte of the archive as it was written."""
    log = patient.at_hand.log
    kept, bad, previous = Archive(patient.settings.archive_dir, patient.settings.owner), 0, START
    segments, trimmed = kept.segments(), log.trimmed()
    for segment in segments:
        try:
            opened = kept.open(segment)
        except CorruptArchive as error:
            bad += 1
            yield Finding("archive", "BAD", str(error), patient.type("restore BACKUP.tar.zst --archive"))
            previous = segment.last
            continue
        if opened.previous != previous:
            bad += 1
            yield _gap(patient, previous, opened.previous)
        previous = segment.last
    if previous < trimmed:
        bad += 1
        yield _gap(patient, previous, trimmed)
    if not bad:
        says = f"{count(len(segments), 'segment')}, up to {previous}, none missing" if segments else "nothing archived"
        yield Finding("archive", "ok", says)


def _gap(patient: Patient, after: Position, until: Position) -> Finding:
    says = f"the events behind {after} and up to {until} are missing: put their files back from a backup"
    return Finding("archive", "BAD", says, patient.type("restore BACKUP.tar.zst --archive"))


def reactor(patient: Patient) -> Iterator[Finding]:
    """Whether the reactor's checkpoint belongs to this log, it keeps up, and no event was set aside."""
    client, log = patient.at_hand
    last = log.last_position()
    with driver_errors(client):
        found = reactor_status(client, patient.settings.owner, last)
        dead = dead_letters(client, patient.settings.owner)
    if found.checkpoint > last:
        says = f"it has handled the log up to {found.checkpoint}, but the log ends at {last}: an older one was restored"
        yield Finding("reactor", "BAD", says, patient.type("reactor --start-over"))
    elif patient.status and not found.running:
        yield Finding("reactor", "warn", f"it is not running; it stands at {found.checkpoint}", "")
    else:
        says = f"up to {found.checkpoint}" if found.checkpoint > START else "it has handled nothing yet"
        yield Finding("reactor", "ok", says)
    for letter in dead:
        says = f"event {letter.event_id} ({letter.type}, at {letter.position}) was set aside: {letter.error}"
        yield Finding("dead letter", "BAD", says, patient.type(f"dead-letters retry {letter.event_id}"))
    if not dead:
        yield Finding("dead letter", "ok", "no event was set aside")


_NO_WRITES: Final[tuple[type[Event], ...]] = (
    PushServed, SearchServed, ItemOpened, WhyServed, SnapshotPublished, LogArchived,
)  # fmt: skip


def activity(patient: Patient) -> Iterator[Finding]:
    """When something was last written, and last pushed."""
    write, push = None, None
    for event in _latest(patient):
        if isinstance(event.event, PushServed):
            push = push or event
        elif not isinstance(event.event, _NO_WRITES):
            write = write or event
        if write and push:
            break
    now = now_ms()
    yield Finding("activity", "ok", f"last write {_ago(write, now)}, last push {_ago(push, now)}")


def _latest(patient: Patient) -> Iterator[RecordedEvent]:
    """The last events, newest first, without their texts."""
    client, owner = patient.at_hand.client, patient.settings.owner
    with driver_errors(client):
        rows = cast(
            "list[tuple[bytes, dict[bytes, bytes]]]",
            client.xrevrange(f"ir:{{{owner}}}:log", count=LOOK_BACK),
        )
    for at, fields in rows:
        yield decode(
            owner, Position.parse(at.decode()), fields.get(b"id", b"").decode("utf-8", "replace"), fields[b"e"], None
        )


def _ago(event: RecordedEvent | None, now: Millis) -> str:
    return f"{_span(max(0, now - event.recorded_at))} ago" if event else "none lately"


def _span(millis: Millis) -> str:
    seconds = millis / 1000
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} seconds"
