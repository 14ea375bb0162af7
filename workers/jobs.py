"""The jobs that a worker runs. Their arguments and results are JSON: ids, counts and paths, never text of the owner's.

A job may run twice, at the same time as another, or go on after its worker was given up for dead; each is safe alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
import structlog
from rq import get_current_job

from ..events.connect import connect, log_on
from ..events.envelope import Actor, draft
from ..events.errors import StaleBuild
from ..events.redis_log import driver_errors
from ..events.settings import Settings
from ..events.types import SnapshotPublished
from ..projections.snapshot_store import SnapshotStore
from .lease import DEFAULT_TTL_MS, Lease
from .queue import tag

if TYPE_CHECKING:
    from ..projections.manifest import Manifest

log = structlog.get_logger()

WAIT_MS = DEFAULT_TTL_MS + 10_000
"""How long a job waits for another builder: longer than the lease of one that was killed, since nobody asks again for
what a job gave up. A person at a terminal is told at once instead."""
KEEP = 3
"""Generations that stay on disk: the current one, one that readers may still be leaving, one to fall back to."""


def build_snapshot(
    home: str, redis_url: str | None = "", owner: str = "owner", encoder: str = "", full: bool = False
) -> dict[str, Any]:
    """Build a snapshot of everything in the log, make it current, tell the log, and remove what is no longer needed.

    Args:
        home: the data folder.
        redis_url: the server; empty: the embedded one of `home`; None, in a job: the server that the job came from, or
            the worker's REDIS_URL where jobs have a server of their own (so that an address, which may hold a
            password, is stored in no job).
        owner: whose log.
        encoder: as in Settings.
        full: make every vector anew instead of taking those of unchanged items from the present snapshot.

    Returns:
        `{"outcome": "published", "generation", "position", "counts", "bytes", "collected", "seconds"}`, or only an
        outcome: `busy` when another builder is at work already, `stale` when another published first. Both mean that
        there is, or shortly will be, a snapshot as good as this one.

    Raises:
        LogUnavailable: the server cannot be reached.
        SnapshotFailed: the snapshot cannot be written; the one before it stays.
        EncoderMissing: the encoder is not there.
    """
    settings = Settings(home=Path(home), redis_url=redis_url or "", owner=owner, encoder=encoder)
    try:
        of_job = redis_url is None
        with alone(settings, "snapshot", of_job=of_job, wait_ms=WAIT_MS if of_job else 0) as client:
            if client is not None:
                return _build(settings, client, full=full)
            log.info("snapshot.busy", home=home)
            return {"outcome": "busy"}
    except StaleBuild as lost:
        log.info("snapshot.stale", reason=str(lost))
        return {"outcome": "stale"}


@contextmanager
def alone(settings: Settings, work: str, *, of_job: bool, wait_ms: int = 0) -> Iterator[redis.Redis | None]:
    """A client of the log's server, as `job_client` has it, as long as nobody else does the same work; else None.

    Args:
        settings: whose log; two data folders may do the same work for one owner.
        work: what it is called in the lease.
        of_job: as for `job_client`.
        wait_ms: as for Lease.
    """
    with (
        job_client(settings, of_job=of_job) as client,
        driver_errors(client),
        Lease(client, settings.owner, f"{work}:{tag(settings)}", wait_ms=wait_ms) as held,
    ):
        yield client if held else None


@contextmanager
def job_client(settings: Settings, *, of_job: bool) -> Iterator[redis.Redis]:
    """A client of the log's server: by the settings, or (`of_job`) by what the worker that runs the job has."""
    job = get_current_job() if of_job else None
    if job is not None:
        here = Settings.from_env(settings.home)
        if not here.queue_url:
            yield job.connection
            return
        settings = here
    with closing(connect(settings)) as client:
        yield client


def _build(settings: Settings, client: redis.Redis, *, full: bool) -> dict[str, Any]:
    # Imported here because they load numpy and the encoder's library, which whoever only enqueues does not need.
    from ..projections.building import build  # noqa: PLC0415
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415

    began = time.monotonic()
    events = log_on(client, settings)
    store = SnapshotStore(settings.snapshots_dir)
    made: Manifest = build(events, store, load_encoders(settings.encoder), full=full)
    published = SnapshotPublished(generation=made.generation, through=str(made.position))
    events.append([draft(published, actor=Actor(kind="system", name="snapshot"))])
    facts: dict[str, Any] = {
        "generation": made.generation,
        "position": str(made.position),
        "counts": made.counts,
        "bytes": made.total_bytes,
        "collected": store.collect(KEEP),
        "seconds": round(time.monotonic() - began, 3),
    }
    log.info("snapshot.published", **facts)
    return {"outcome": "published", **facts}
