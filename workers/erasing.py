"""Erasing what was forgotten: a job that takes the bytes of forgotten items out of every file of ours, and says so.

`ItemForgotten` hides an item at once. This job then erases its texts from the log and its archive, builds a snapshot
without them, removes the older ones, and has the server write its append-only file anew. All steps may be done twice.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import redis
import structlog
from redis.cluster import RedisCluster
from redis.exceptions import ResponseError

from ..events.connect import log_on
from ..events.envelope import Actor, RecordedEvent, UnreadableEvent, draft
from ..events.errors import LogFull, LogUnavailable, SnapshotFailed
from ..events.log import EventLog
from ..events.position import START
from ..events.redis_log import driver_errors
from ..events.settings import SERVER_SOCKET, Settings
from ..events.types import ErasureCompleted, ItemForgotten, SessionClosed
from ..projections.policy.caps import counts
from ..projections.snapshot_store import SnapshotStore
from .jobs import build_snapshot, job_client

PAGE: Final = 1_000
BUILDER_S: Final = 900.0
"""How long another builder may hold up the rebuild."""
REWRITE_S: Final = 600.0
"""How long the server may take to write its append-only file anew; a few seconds for a million events."""
POLL_S: Final = 0.05

LOG, SNAPSHOTS, REWRITTEN = "log and archive", "snapshots", "append-only file"
OUT_OF_REACH: Final = (
    "backups and exports made before",
    "copies elsewhere: what it was imported from, transcripts of a harness",
    "texts of other items that mention it",
    "free blocks of the disk",
)
FILES_OF_OTHERS: Final = "the external server's own snapshots, replicas and backups"

log = structlog.get_logger()


def erase(home: str, item: str, redis_url: str | None = "", owner: str = "owner", encoder: str = "") -> dict[str, Any]:
    """Erase the bytes of a forgotten item, and of all others that were forgotten and not erased yet.

    Args:
        home: the data folder; what other data folders hold of this owner is not touched.
        item: the id of the forgotten item.
        redis_url: as with `build_snapshot`.
        owner: whose log.
        encoder: as in Settings.

    Returns:
        `{"outcome": "erased", "items", "payloads", "places", "unreachable", "seconds"}`; or only `{"outcome":
        "already"}` when the item was not forgotten, or was erased together with an earlier one.

    Raises:
        LogUnavailable: the server cannot be reached.
        LogFull: the server could not write its append-only file anew.
        SnapshotFailed: the snapshot could not be written, or another builder did not come to an end.
        LogGap, CorruptArchive, ArchiveFailed: texts in the archive could not be erased.
    """
    began = time.monotonic()
    settings = Settings(home=Path(home), redis_url=redis_url or "", owner=owner, encoder=encoder)
    with job_client(settings, of_job=redis_url is None) as client, driver_errors(client):
        events = log_on(client, settings)
        forgotten, waiting = _forgotten(events)
        if item not in waiting:
            return {"outcome": "already"}
        payloads = events.erase_payloads([one.event_id for one in _about(events, forgotten)])
        _rebuild(settings, redis_url)
        places, unreachable = _clean_server(client)
        receipts = [
            draft(
                ErasureCompleted(item=one, places=places, unreachable=unreachable),
                actor=Actor(kind="system", name="erasure"),
                event_id=str(uuid.uuid5(uuid.UUID(event_id), "erased")),
            )
            for one, event_id in waiting.items()
        ]
        for start in range(0, len(receipts), PAGE):
            events.append(receipts[start : start + PAGE])
    facts: dict[str, Any] = {
        "items": sorted(waiting),
        "payloads": payloads,
        "places": list(places),
        "unreachable": list(unreachable),
        "seconds": round(time.monotonic() - began, 3),
    }
    log.info("erasure.completed", **facts)
    return {"outcome": "erased", **facts}


def _all(events: EventLog) -> Iterator[RecordedEvent]:
    after = START
    while page := events.read(after, PAGE):
        yield from page
        after = page[-1].position


def _forgotten(events: EventLog) -> tuple[set[str], dict[str, str]]:
    """Items ever forgotten; and those whose erasure is due, with the id of the event that last said so."""
    ever: set[str] = set()
    waiting: dict[str, str] = {}
    for recorded in _all(events):
        if not counts(recorded.event, recorded.actor.kind):
            continue
        if isinstance(recorded.event, ItemForgotten):
            ever.add(recorded.event.item)
            waiting[recorded.event.item] = recorded.event_id
        elif isinstance(recorded.event, ErasureCompleted):
            waiting.pop(recorded.event.item, None)
    return ever, waiting


def _about(events: EventLog, items: set[str]) -> Iterator[RecordedEvent]:
    """Events with a text about one of these items."""
    for recorded in _all(events):
        event = recorded.event
        if isinstance(event, UnreadableEvent) or not event.forgettable or recorded.erased:
            continue
        # How a session came out is the session's text; it does not go with every item that was used in it.
        subjects = event.subjects()[:1] if isinstance(event, SessionClosed) else event.subjects()
        if not items.isdisjoint(subjects):
            yield recorded


def _rebuild(settings: Settings, redis_url: str | None) -> None:
    """A snapshot from zero, since a base still has what was learned from the texts; then nothing older than it."""
    end = time.monotonic() + BUILDER_S
    arguments = (str(settings.home), redis_url, settings.owner, settings.encoder, True)
    while build_snapshot(*arguments)["outcome"] != "published":
        # Whatever the other builder publishes may have been begun before the texts were erased.
        if time.monotonic() > end:
            raise SnapshotFailed(
                "Another builder of snapshots has not come to an end, so what was forgotten is still in the snapshot. "
                "Look for it with `instant-recall status`; this job is tried again."
            )
        time.sleep(1.0)
    SnapshotStore(settings.snapshots_dir).collect(keep=1)


def _clean_server(client: redis.Redis) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Have the server write its append-only file anew, without what was erased; all places cleaned, and not reached."""
    cleaned: tuple[str, ...] = (LOG, SNAPSHOTS)
    if isinstance(client, RedisCluster):
        return cleaned, ("files of the cluster's nodes: run BGREWRITEAOF on each", FILES_OF_OTHERS, *OUT_OF_REACH)
    missed = () if _is_embedded(client) else (FILES_OF_OTHERS,)
    if not _persistence(client)["aof_enabled"]:
        return cleaned, (*missed, *OUT_OF_REACH)
    try:
        _await_rewrite(client)  # one that is under way may have begun before
        client.bgrewriteaof()
    except ResponseError as error:
        log.warning("erasure.no_rewrite", reason=str(error))
        return cleaned, ("append-only file: the server refuses BGREWRITEAOF", *missed, *OUT_OF_REACH)
    _await_rewrite(client)
    if _persistence(client)["aof_last_bgrewrite_status"] != "ok":
        raise LogFull(
            "The server could not write its append-only file anew, so it still holds what was forgotten. "
            "Free some space; this job is tried again."
        )
    return (*cleaned, REWRITTEN), (*missed, *OUT_OF_REACH)


def _await_rewrite(client: redis.Redis) -> None:
    end = time.monotonic() + REWRITE_S
    while (about := _persistence(client))["aof_rewrite_in_progress"] or about["aof_rewrite_scheduled"]:
        if time.monotonic() > end:
            raise LogUnavailable("The server does not come to the end of writing its append-only file. Try again.")
        time.sleep(POLL_S)


def _persistence(client: redis.Redis) -> dict[str, Any]:
    return client.info("persistence")


def _is_embedded(client: redis.Redis) -> bool:
    return str(client.get_connection_kwargs().get("path", "")).endswith(f"/{SERVER_SOCKET}")
