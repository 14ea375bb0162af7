"""The queue of background jobs, the worker that empties it, and how jobs are asked for.

One queue for each owner, one queue for each worker: from several queues rq takes a job with a plain pop, and a worker
that dies right there loses it. Jobs are JSON and not pickle: a person can read them, and so can the next version.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import closing

import redis
import structlog
from redis.backoff import ExponentialBackoff
from redis.retry import Retry
from rq import Queue, SimpleWorker
from rq import Retry as JobRetry
from rq.exceptions import DuplicateJobError
from rq.serializers import JSONSerializer

from ..events.connect import connect_queue
from ..events.redis_log import driver_errors
from ..events.settings import Settings

log = structlog.get_logger()

BUILD_SNAPSHOT = "instant_recall.workers.jobs.build_snapshot"
ERASE = "instant_recall.workers.erasing.erase"
ARCHIVE = "instant_recall.workers.archiving.archive_log"
WEIGH = "instant_recall.workers.weighing.weigh_keys"
REFIT = "instant_recall.workers.refitting.refit_ranker"
JOB_TIMEOUT_S = 1_800
"""Far more than a rebuild takes. A job whose worker was killed is taken up again about this long after."""
RESULT_TTL_S = 2 * 86_400
"""A nightly job's id keeps others of that night away for as long as its result is there, so well over a day."""
FAILURE_TTL_S = 7 * 86_400
WORKER_TTL_S = 60
"""An idle worker shows itself this often, in seconds; a killed one is out of the register after twice as long."""

OUTLIVE_A_RESTART = Retry(ExponentialBackoff(cap=1.0, base=0.05), 20, supported_errors=(redis.ConnectionError,))
"""A worker or scheduler whose server is gone tries on for 15 seconds: the next caller starts the embedded one again."""


def queue(connection: redis.Redis, owner: str = "owner") -> Queue:
    """The owner's queue. Nothing is sent to the server yet."""
    return Queue(f"instant-recall:{owner}", connection=connection, serializer=JSONSerializer)


def tag(settings: Settings) -> str:
    """A short mark of owner and data folder, for names that all users of one server share. Letters and digits only."""
    return hashlib.sha256(f"{settings.owner}\0{settings.home}".encode()).hexdigest()[:8]


def enqueue_snapshot(settings: Settings, *, full: bool = False, job_id: str | None = None) -> str:
    """Ask for a snapshot; returns the id of the job, which a worker takes up when it is free.

    With a `job_id`, a job that is there under this id already (waiting, running, or done less than two days ago) is the
    answer, and none is added. Without, every call adds one.

    Raises:
        LogUnavailable: the server cannot be reached.
    """
    wanted = job_id or f"snapshot-{tag(settings)}-{secrets.token_hex(8)}"
    # The server's address is left out: the worker that runs this has it, and it may hold a password.
    _enqueue(settings, BUILD_SNAPSHOT, (str(settings.home), None, settings.owner, settings.encoder, full), wanted)
    return wanted


def enqueue_erasure(settings: Settings, item: str, *, job_id: str) -> None:
    """Ask for a forgotten item's bytes to be erased; once for each job id, as with `enqueue_snapshot`.

    Raises:
        LogUnavailable: the server cannot be reached.
    """
    _enqueue(settings, ERASE, (str(settings.home), item, None, settings.owner, settings.encoder), job_id)


def enqueue_archive(settings: Settings, *, job_id: str) -> None:
    """Ask for the older part of the log to be archived; once for each job id, as with `enqueue_snapshot`.

    Raises:
        LogUnavailable: the server cannot be reached.
    """
    _enqueue(
        settings, ARCHIVE, (str(settings.home), None, settings.owner, settings.older_than, settings.keep_bytes), job_id
    )


def enqueue_weighing(settings: Settings, *, job_id: str) -> None:
    """Ask for use keys to be weighed by the accesses; once for each job id, as with `enqueue_snapshot`.

    Raises:
        LogUnavailable: the server cannot be reached.
    """
    _enqueue(settings, WEIGH, (str(settings.home), None, settings.owner, settings.encoder), job_id)


def enqueue_refit(settings: Settings, *, job_id: str) -> None:
    """Ask for the ranker to be fitted to its owner; once for each job id, as with `enqueue_snapshot`.

    Raises:
        LogUnavailable: the server cannot be reached.
    """
    _enqueue(settings, REFIT, (str(settings.home), None, settings.owner, settings.encoder), job_id)


def _enqueue(settings: Settings, function: str, arguments: tuple[object, ...], job_id: str) -> None:
    kind = function.rpartition(".")[2]
    with closing(connect_queue(settings)) as connection, driver_errors(connection):
        try:
            queue(connection, settings.owner).enqueue(
                function,
                args=arguments,
                job_id=job_id,
                unique=True,
                job_timeout=JOB_TIMEOUT_S,
                result_ttl=RESULT_TTL_S,
                failure_ttl=FAILURE_TTL_S,
                retry=JobRetry(max=2),
                description=kind,
            )
        except DuplicateJobError:
            log.info("job.already_asked_for", kind=kind, job=job_id)
        else:
            log.info("job.asked_for", kind=kind, job=job_id)


def run_worker(settings: Settings) -> None:
    """Run jobs in this process, one after the other, until SIGTERM or SIGINT; to be called from the main thread.

    The first signal lets a running job finish, a second one (over a second later) breaks it off and puts it back.
    SimpleWorker runs a job in its own process: to fork one that has native threads is a risk, and rq's spawning worker
    cannot reach a Unix socket.

    Raises:
        LogUnavailable: the server cannot be reached, or went away and did not come back within about 15 seconds.
    """
    # A name never used before, so that the register entry of a killed worker cannot stand in the way of its successor.
    name = f"instant-recall-{tag(settings)}-{os.getpid()}-{secrets.token_hex(4)}"
    with closing(connect_queue(settings)) as connection, driver_errors(connection):
        connection.ping()
        # rq waits on the connections made from here on, for longer than this one would.
        connection.connection_pool.disconnect()
        connection.set_retry(OUTLIVE_A_RESTART)
        worker = SimpleWorker(
            [queue(connection, settings.owner)],
            name=name,
            connection=connection,
            serializer=JSONSerializer,
            worker_ttl=WORKER_TTL_S,
            log_job_description=False,
        )
        log.info("worker.started", name=name, owner=settings.owner)
        worker.work(logging_level="WARNING")
    log.info("worker.stopped", name=name, done=worker.successful_job_count, failed=worker.failed_job_count)
