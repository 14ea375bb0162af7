"""Snapshots are built in the background: by a real worker, from a real queue, on a schedule."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from instant_recall.events.connect import ANSWER_SECONDS, connect
from instant_recall.events.envelope import draft, now_ms
from instant_recall.events.errors import AlreadyRunning, EncoderMissing, LogUnavailable
from instant_recall.events.position import START, Position
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.events.types import AssetRecorded, SnapshotPublished
from instant_recall.ops import embedded
from instant_recall.projections import building
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.workers import schedule
from instant_recall.workers.jobs import build_snapshot
from instant_recall.workers.lease import Lease
from instant_recall.workers.queue import enqueue_snapshot, queue, run_worker
from rq import Retry
from rq.cron import CronJob
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.worker import SimpleWorker
from structlog.testing import capture_logs

HOUR_MS = 3_600_000

WORKER = "from instant_recall.workers.queue import run_worker; run_worker(settings)"
CRON_EACH_SECOND = "from instant_recall.workers.schedule import run_cron; run_cron(settings, nightly='* * * * * *')"


def wait_until(true: Callable[[], object], within_s: float = 30.0) -> None:
    end = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)


class World:
    """A data folder with a running server, and processes that end with the test."""

    def __init__(self, settings: Settings, client: redis.Redis) -> None:
        self.settings = settings
        self.client = client
        self.store = SnapshotStore(settings.snapshots_dir)
        self.log = RedisEventLog(client, settings.owner)
        self.queue = queue(client, settings.owner)
        self.processes: list[subprocess.Popen[bytes]] = []

    def record(self, name: str) -> Position:
        event = AssetRecorded(item=f"skill:{name}", kind="skill", name=name, description=f"does {name}")
        return self.log.append([draft(event)])[0].position

    def start(self, code: str, redis_url: str = "") -> subprocess.Popen[bytes]:
        source = (
            "import sys; from instant_recall.events.settings import Settings\n"
            "settings = Settings.from_env(sys.argv[1])\n" + code
        )
        env = {name: value for name, value in os.environ.items() if not name.startswith(("INSTANT_RECALL", "REDIS"))}
        process = subprocess.Popen(
            [sys.executable, "-c", source, self.settings.home], env=env | {"REDIS_URL": redis_url}
        )
        self.processes.append(process)
        return process

    def start_worker(self, redis_url: str = "") -> subprocess.Popen[bytes]:
        known = {worker.name for worker in SimpleWorker.all(queue=self.queue)}
        process = self.start(WORKER, redis_url)
        wait_until(lambda: {worker.name for worker in SimpleWorker.all(queue=self.queue)} - known)
        return process

    def job(self, job_id: str) -> Job:
        return Job.fetch(job_id, connection=self.client, serializer=JSONSerializer)

    def wait_for_job(self, job_id: str) -> Job:
        wait_until(lambda: self.job(job_id).get_status() in {"finished", "failed"})
        return self.job(job_id)

    def wait_for_outcome(self, job_id: str) -> str:
        facts = self.wait_for_job(job_id).return_value()
        assert facts is not None
        return str(facts["outcome"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    settings = Settings(home=tmp_path / "home")
    embedded.ensure_running(settings)
    with closing(connect(settings)) as client:
        world = World(settings, client)
        try:
            yield world
        finally:
            for process in world.processes:
                process.kill()
                process.wait()
            embedded.stop(settings)


# --- the job ----------------------------------------------------------------------------------------------------------


def test_a_snapshot_holds_everything_in_the_log_and_the_log_hears_of_it(world: World) -> None:
    position = world.record("portal-helper")
    facts = build_snapshot(str(world.settings.home))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["outcome"] == "published"
    assert (facts["generation"], facts["position"]) == (1, str(position))
    assert world.store.open(1).manifest.position == position
    (told,) = world.log.read(position)
    assert told.event == SnapshotPublished(generation=1, through=str(position))
    assert told.actor.kind == "system"


def test_an_empty_log_gives_an_empty_snapshot(world: World) -> None:
    assert build_snapshot(str(world.settings.home))["position"] == str(START)


def test_only_the_last_generations_stay_on_disk(world: World) -> None:
    world.record("portal-helper")
    facts = [build_snapshot(str(world.settings.home)) for _ in range(5)]
    assert [made["collected"] for made in facts] == [[], [], [], [1], [2]]
    assert world.store.generations() == [3, 4, 5]


def test_a_damaged_snapshot_is_replaced_by_a_good_one(world: World) -> None:
    position = world.record("portal-helper")
    build_snapshot(str(world.settings.home))
    for path in (world.store.root / "gen-000001").rglob("*.bin"):
        path.write_bytes(b"damaged")
    with capture_logs() as logs:
        build_snapshot(str(world.settings.home))
    assert "snapshot.corrupt" in {line["event"] for line in logs}
    opened = world.store.latest()
    assert opened is not None
    assert opened.manifest.generation == 2
    assert opened.manifest.position > position


def test_while_a_builder_is_at_work_another_does_not_begin(world: World) -> None:
    begun, go_on = threading.Event(), threading.Event()
    write = building.write
    outcomes: list[str] = []

    def slow_write(*args: object) -> dict[str, int]:
        begun.set()
        assert go_on.wait(30)
        return write(*args)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(building, "write", slow_write)
        first = threading.Thread(target=lambda: outcomes.append(build_snapshot(str(world.settings.home))["outcome"]))
        first.start()
        try:
            assert begun.wait(30)
            assert build_snapshot(str(world.settings.home)) == {"outcome": "busy"}
        finally:
            go_on.set()
            first.join()
    assert outcomes == ["published"]
    assert build_snapshot(str(world.settings.home))["outcome"] == "published"


def test_a_builder_that_was_overtaken_says_so_and_tells_the_log_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease ran out while it was paused, and somebody else published meanwhile."""
    position = world.record("portal-helper")
    write = building.write

    def overtaken(*args: object) -> dict[str, int]:
        world.store.publish(lambda _: {}, position=START, encoder="other", started_from=world.store.current())
        return write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "write", overtaken)
    assert build_snapshot(str(world.settings.home)) == {"outcome": "stale"}
    assert world.store.generations() == [1]
    assert world.log.read(position) == []


def test_without_a_server_a_snapshot_is_a_clear_error(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with pytest.raises(LogUnavailable, match="instant-recall up"):
        build_snapshot(str(tmp_path))
    with pytest.raises(LogUnavailable, match="instant-recall up"):
        enqueue_snapshot(settings)
    with pytest.raises(LogUnavailable, match="instant-recall up"):
        run_worker(settings)
    with pytest.raises(LogUnavailable, match="instant-recall up"):
        schedule.run_cron(settings)


def test_a_missing_encoder_is_a_clear_error_and_frees_the_lease(world: World) -> None:
    with pytest.raises(EncoderMissing):
        build_snapshot(str(world.settings.home), encoder=str(world.settings.home / "nowhere"))
    assert build_snapshot(str(world.settings.home))["outcome"] == "published"


# --- the lease --------------------------------------------------------------------------------------------------------


def test_a_lease_has_one_holder_and_only_its_holder_gives_it_back(world: World) -> None:
    first, second = (Lease(world.client, "owner", "work") for _ in range(2))
    assert first.take()
    assert not second.take()
    assert not second.renew()
    assert not second.release()
    assert first.renew()
    assert first.release()
    assert second.take()


def test_who_waits_gets_the_lease_of_a_holder_that_was_killed(world: World) -> None:
    killed = Lease(world.client, "owner", "work", ttl_ms=1_200)
    assert killed.take()

    with Lease(world.client, "owner", "work") as impatient:
        assert not impatient
    with Lease(world.client, "owner", "work", wait_ms=10_000) as patient:
        assert patient


def test_leases_of_other_owners_and_other_names_are_apart(world: World) -> None:
    assert Lease(world.client, "owner", "work").take()
    assert Lease(world.client, "other", "work").take()
    assert Lease(world.client, "owner", "other work").take()


def test_a_lease_lasts_as_long_as_the_work_and_ends_with_it(world: World) -> None:
    with Lease(world.client, "owner", "work", ttl_ms=150) as held:
        assert held
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            assert not Lease(world.client, "owner", "work").take()
            time.sleep(0.01)
    assert Lease(world.client, "owner", "work").take()


def test_the_lease_of_a_killed_holder_runs_out(world: World) -> None:
    assert Lease(world.client, "owner", "work", ttl_ms=100).take()
    wait_until(lambda: Lease(world.client, "owner", "work").take(), within_s=5)


def test_work_goes_on_when_the_lease_is_lost(world: World) -> None:
    with capture_logs() as logs, Lease(world.client, "owner", "work", ttl_ms=150) as held:
        assert held
        world.client.flushall()
        wait_until(lambda: logs)
    assert [line["event"] for line in logs] == ["lease.lost"]


# --- the worker -------------------------------------------------------------------------------------------------------


def test_a_worker_builds_what_was_asked_for_and_stops_cleanly(world: World) -> None:
    position = world.record("portal-helper")
    job_id = enqueue_snapshot(world.settings)
    worker = world.start_worker()
    assert world.wait_for_outcome(job_id) == "published"
    assert world.store.open(1).manifest.position == position
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=10) == 0
    assert SimpleWorker.all(queue=world.queue) == []


def test_a_worker_told_to_stop_finishes_its_job_first(world: World) -> None:
    worker = world.start_worker()
    job = world.queue.enqueue("time.sleep", 1.5)
    wait_until(lambda: job.get_status() == "started")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=10) == 0
    assert job.get_status() == "finished"


def test_a_worker_told_twice_breaks_its_job_off_and_puts_it_back(world: World) -> None:
    worker = world.start_worker()
    job = world.queue.enqueue("time.sleep", 60, retry=Retry(max=2))
    wait_until(lambda: job.get_status() == "started")
    worker.send_signal(signal.SIGTERM)
    time.sleep(1.2)  # rq takes a second signal within a second for an echo of the first
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=10) == 0
    assert job.get_status() == "queued"


def test_a_killed_worker_does_not_stand_in_the_way_of_the_next(world: World) -> None:
    worker = world.start_worker()
    stuck = world.queue.enqueue("time.sleep", 60)
    wait_until(lambda: stuck.get_status() == "started")
    worker.kill()
    worker.wait()
    world.start_worker()
    assert world.wait_for_job(enqueue_snapshot(world.settings)).get_status() == "finished"


def test_a_job_asked_for_survives_the_death_of_the_server(world: World) -> None:
    job_id = enqueue_snapshot(world.settings)
    pid = int((world.settings.log_dir / "server.pid").read_text())
    os.kill(pid, signal.SIGKILL)
    embedded.ensure_running(world.settings)
    world.start_worker()
    assert world.wait_for_outcome(job_id) == "published"


def test_an_idle_worker_outlives_the_death_of_the_server(world: World) -> None:
    worker = world.start_worker()
    os.kill(int((world.settings.log_dir / "server.pid").read_text()), signal.SIGKILL)
    embedded.ensure_running(world.settings)
    assert world.wait_for_job(enqueue_snapshot(world.settings)).get_status() == "finished"
    assert worker.poll() is None


def test_an_idle_worker_waits_for_longer_than_one_answer_of_the_server_may_take(world: World) -> None:
    worker = world.start_worker()
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(timeout=ANSWER_SECONDS + 1)


def test_a_job_that_fails_is_tried_again_and_then_kept_with_its_reason(world: World) -> None:
    broken = Settings(home=world.settings.home, encoder=str(world.settings.home / "nowhere"))
    job_id = enqueue_snapshot(broken)
    world.start_worker()
    failed = world.wait_for_job(job_id)
    assert failed.get_status() == "failed"
    result = failed.latest_result()
    assert result is not None
    assert "EncoderMissing" in str(result.exc_string)
    assert world.store.generations() == []


def test_a_worker_on_an_external_server_uses_that_one_and_no_job_holds_its_address(world: World) -> None:
    url = f"unix://{world.settings.server_socket}"
    external = Settings(home=world.settings.home / "elsewhere", redis_url=url)
    job_id = enqueue_snapshot(external)
    assert url not in str(world.client.hgetall(f"rq:job:{job_id}"))
    world.start_worker(redis_url=url)
    assert world.wait_for_outcome(job_id) == "published"
    assert SnapshotStore(external.snapshots_dir).current() == 1


def test_owners_have_queues_of_their_own(world: World) -> None:
    enqueue_snapshot(Settings(home=world.settings.home, owner="anna"))
    assert queue(world.client, "anna").count == 1
    assert world.queue.count == 0


# --- the schedule -----------------------------------------------------------------------------------------------------


def test_a_job_with_an_id_is_asked_for_once_and_others_each_time(world: World) -> None:
    assert {enqueue_snapshot(world.settings, job_id="snapshot-2026-11-30") for _ in range(3)} == {"snapshot-2026-11-30"}
    assert world.queue.count == 1
    assert len({enqueue_snapshot(world.settings) for _ in range(3)}) == 3
    assert world.queue.count == 4


def test_a_nightly_id_has_the_day_in_utc_and_differs_between_owners_and_folders(world: World) -> None:
    late = int(datetime(2026, 11, 30, 23, 59, tzinfo=UTC).timestamp() * 1_000)
    mine = schedule.nightly_id(world.settings, late)
    assert mine.startswith("snapshot-2026-11-30-")
    assert schedule.nightly_id(world.settings, late + 60_000).startswith("snapshot-2026-12-01-")
    others = [Settings(home=world.settings.home, owner="anna"), Settings(home=world.settings.home / "b")]
    assert len({mine, *(schedule.nightly_id(other, late) for other in others)}) == 3


def test_nightly_means_half_past_three_utc_in_any_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        due = CronJob("queue", func_name="none", cron=schedule.NIGHTLY).next_enqueue_time
    finally:
        monkeypatch.undo()
        time.tzset()
    assert due is not None
    assert (due.hour, due.minute, due.utcoffset()) == (3, 30, timedelta(0))


def test_a_missed_night_is_caught_up_once_an_hour_at_most(world: World) -> None:
    assert schedule.catch_up(world.settings, now_ms()) is None  # the log is empty
    world.record("portal-helper")
    first = schedule.catch_up(world.settings, now_ms())
    assert first is not None
    assert world.queue.count == 1
    build_snapshot(str(world.settings.home))
    assert schedule.catch_up(world.settings, now_ms()) is None
    assert schedule.catch_up(world.settings, now_ms() + 25 * HOUR_MS) is None
    overdue = now_ms() + 27 * HOUR_MS
    second = schedule.catch_up(world.settings, overdue)
    assert second not in {None, first}
    assert schedule.catch_up(world.settings, overdue) == second
    assert world.queue.count == 2


def test_a_schedule_asks_once_a_day_however_often_it_comes_round(world: World) -> None:
    cron = world.start(CRON_EACH_SECOND)
    wait_until(lambda: world.queue.count)
    cron.send_signal(signal.SIGTERM)
    assert cron.wait(timeout=10) == 0
    again = world.start(CRON_EACH_SECOND)
    wait_until(lambda: world.client.zcard("rq:cron_schedulers"))
    time.sleep(2.2)  # two more ticks, which must add nothing
    assert again.poll() is None
    assert world.queue.job_ids == [
        schedule.nightly_id(world.settings, now_ms(), kind) for kind in ("snapshot", "weighing", "refit", "archive")
    ]


def test_what_the_schedule_asked_for_is_what_the_worker_can_run(world: World) -> None:
    world.start(CRON_EACH_SECOND)
    world.start_worker()
    wait_until(lambda: world.store.current() == 1)


def test_a_schedule_outlives_the_death_of_the_server(world: World) -> None:
    cron = world.start(CRON_EACH_SECOND)
    wait_until(lambda: world.queue.count)
    os.kill(int((world.settings.log_dir / "server.pid").read_text()), signal.SIGKILL)
    embedded.ensure_running(world.settings)
    world.client.delete("rq:cron_schedulers")  # where it shows itself at each tick
    wait_until(lambda: world.client.zcard("rq:cron_schedulers"))
    assert cron.poll() is None


def test_a_second_schedule_for_a_folder_is_refused(world: World) -> None:
    world.start(CRON_EACH_SECOND)
    wait_until(lambda: world.queue.count)
    with pytest.raises(AlreadyRunning, match="scheduler runs"):
        schedule.run_cron(world.settings)
