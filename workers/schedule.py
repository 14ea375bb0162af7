"""When jobs are asked for: every night a snapshot, what learns from accesses, and the archive; a missed snapshot."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime

import structlog
from rq.cron import CronJob, CronScheduler

from ..events.connect import connect, connect_queue
from ..events.envelope import now_ms
from ..events.errors import AlreadyRunning, LogUnavailable
from ..events.position import START
from ..events.redis_log import RedisEventLog, driver_errors
from ..events.settings import Settings, private_dir
from ..events.types import Millis
from ..projections.snapshot_store import SnapshotStore
from .queue import (
    OUTLIVE_A_RESTART,
    enqueue_archive,
    enqueue_refit,
    enqueue_snapshot,
    enqueue_weighing,
    queue,
    tag,
)

log = structlog.get_logger()

NIGHTLY = "30 3 * * *"
"""03:30 UTC. rq 2 reads cron fields in UTC wherever it runs; rq 3 will not, so it is pinned."""
OVERDUE_MS = 26 * 3_600_000
"""A snapshot older than this means that a night was missed: a day, and two hours for a slow or late one."""


class _Cron(CronScheduler):
    """rq's scheduler, except that a due job is put into the queue by its `func` itself.

    rq would put a pickle into the queue (our worker reads JSON) under an id made up on the spot, so that two schedulers
    would ask twice. Ours asks under the date.
    """

    def enqueue_jobs(self) -> list[CronJob]:
        asked: list[CronJob] = []
        for job in self.get_jobs():
            if job.func is not None and job.should_run():
                try:
                    job.func()
                except LogUnavailable as error:  # it stays due; what was asked for already is not asked for twice
                    log.warning("cron.not_asked", job=job.name, reason=str(error))
                    continue
                job.set_enqueue_time(datetime.now(UTC))
                asked.append(job)
        return asked


def run_cron(settings: Settings, *, nightly: str = NIGHTLY, clock: Callable[[], Millis] = now_ms) -> None:
    """Ask for a snapshot every night, and at once when a night was missed, until SIGTERM or SIGINT; main thread only.

    Right behind the snapshot use keys are weighed and the ranker is refitted, and then the older part of the log is
    archived: one worker takes its jobs in order.

    Raises:
        AlreadyRunning: another one runs for this data folder.
        LogUnavailable: the server cannot be reached, or went away; start it again then (what it missed is caught up).
    """

    def ask() -> None:
        enqueue_snapshot(settings, job_id=nightly_id(settings, clock()))
        enqueue_weighing(settings, job_id=nightly_id(settings, clock(), "weighing"))
        enqueue_refit(settings, job_id=nightly_id(settings, clock(), "refit"))
        enqueue_archive(settings, job_id=nightly_id(settings, clock(), "archive"))

    with _sole_cron(settings), closing(connect_queue(settings)) as connection, driver_errors(connection):
        catch_up(settings, clock())
        connection.set_retry(OUTLIVE_A_RESTART)
        cron = _Cron(connection, logging_level="WARNING")
        cron.register(ask, queue(connection, settings.owner).name, cron=nightly, name=f"nightly-{tag(settings)}")
        log.info("cron.started", nightly=nightly)
        cron.start()  # type: ignore[no-untyped-call]
    log.info("cron.stopped")


def catch_up(settings: Settings, now: Millis) -> str | None:
    """Ask for a snapshot if the newest good one is over 26 hours old and there is something in the log.

    Returns the job's id, or None. The id holds the hour, so that a scheduler that dies and starts again in a loop asks
    once an hour and not at every turn, and last night's failed job is not in the way.
    """
    latest = SnapshotStore(settings.snapshots_dir).latest()
    if latest is not None and now - latest.manifest.created_at < OVERDUE_MS:
        return None
    with closing(connect(settings)) as client:
        if RedisEventLog(client, settings.owner).last_position() == START:
            return None
    at = datetime.fromtimestamp(now / 1_000, UTC)
    return enqueue_snapshot(settings, job_id=f"{nightly_id(settings, now)}-missed-{at:%H}")


def nightly_id(settings: Settings, now: Millis, kind: str = "snapshot") -> str:
    """`snapshot-2026-11-30-<tag>`: one job of a kind a day for each owner and data folder, whoever asks."""
    return f"{kind}-{datetime.fromtimestamp(now / 1_000, UTC):%Y-%m-%d}-{tag(settings)}"


@contextmanager
def _sole_cron(settings: Settings) -> Iterator[None]:
    path = private_dir(settings.home / "run") / "cron.lock"
    with path.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(
                f"A scheduler runs for {settings.home} already. Stop it with `instant-recall down` first."
            ) from error
        yield
