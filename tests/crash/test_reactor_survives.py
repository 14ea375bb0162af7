"""A reactor killed at any moment: each event leads to its jobs once, in order, and none is passed over."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import redis
from instant_recall.events import types as ev
from instant_recall.events.connect import connect, open_log
from instant_recall.events.envelope import draft
from instant_recall.events.log import EventLog
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.running import environment
from instant_recall.workers.dead_letters import reactor_status
from instant_recall.workers.queue import queue

DYING = Path(__file__).parent / "reactor_dying.py"
RUNNING = """
import sys
from instant_recall.events.settings import Settings
from instant_recall.workers.reactor import run_reactor
run_reactor(Settings.from_env(), lease_ms=300)
"""


def work(settings: Settings, step: str, nth: int) -> int:
    command = [sys.executable, str(DYING), str(settings.home), settings.owner, step, str(nth)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, timeout=60, check=False).returncode


def forget(log: EventLog, names: list[str]) -> None:
    log.append([draft(ev.ItemForgotten(item=f"note:{name}")) for name in names])


def asked_for(client: redis.Redis, owner: str) -> list[str]:
    """The jobs in the queue, in its order: names to erase, and `rebuild`."""
    jobs = queue(client, owner).jobs
    return [str(job.args[1])[5:] if str(job.func_name).endswith(".erase") else "rebuild" for job in jobs]


@pytest.mark.parametrize("step", ["handled", "committed", "asked", "struck_out"])
def test_killed_after_any_step_it_goes_on_without_asking_twice_or_passing_over(
    step: str, embedded_settings: Settings, embedded_client: redis.Redis, owner: str, log: RedisEventLog
) -> None:
    settings = dataclasses.replace(embedded_settings, owner=owner)
    names = [f"{n}" for n in range(6)]
    for part in (names[:3], names[3:]):
        forget(log, part)
        assert work(settings, step, 1) == -signal.SIGKILL
        if step == "handled":
            assert reactor_status(embedded_client, owner, log.last_position()).noted == 0
        if step == "asked":
            assert work(settings, step, 2) == -signal.SIGKILL, "it goes on with what it had noted"
    assert work(settings, "never", 1) == 0
    assert [name for name in asked_for(embedded_client, owner) if name != "rebuild"] == names
    assert asked_for(embedded_client, owner).count("rebuild") == 1, "six items are more than three, before any snapshot"
    status = reactor_status(embedded_client, owner, log.last_position())
    assert (status.checkpoint, status.noted, status.dead) == (log.last_position(), 0, 0)
    assert embedded_client.xpending(f"ir:{{{owner}}}:log", "reactor.v1")["pending"] == 0


def test_killed_from_outside_again_and_again_under_load_every_event_has_led_to_its_job_once(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    log = open_log(settings)
    chance = random.Random(7)
    names: list[str] = []
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", RUNNING], env=environment(settings), stdout=subprocess.DEVNULL
        )
        try:
            with closing(connect(settings)) as client:
                before = queue(client).count
                more = [str(len(names) + n) for n in range(chance.randint(3, 12))]
                for name in more:
                    forget(log, [name])
                    names.append(name)
                wait_until(lambda before=before, client=client: queue(client).count > before, 20, "a job")  # type: ignore[misc]
                time.sleep(chance.random() * 0.03)  # a moment nobody chose
        finally:
            process.kill()
            process.wait()
    process = subprocess.Popen([sys.executable, "-c", RUNNING], env=environment(settings), stdout=subprocess.DEVNULL)
    try:
        with closing(connect(settings)) as client:
            end = log.last_position()
            wait_until(lambda: reactor_status(client, "owner", end).checkpoint == end, 20, "the end of the log")
            wait_until(lambda: reactor_status(client, "owner", end).noted == 0, 20, "the last job")
            assert [name for name in asked_for(client, "owner") if name != "rebuild"] == names
    finally:
        process.kill()
        process.wait()


def test_killed_together_with_its_server_it_loses_and_repeats_nothing(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    log = open_log(settings, recover=partial(embedded.ensure_running, settings))
    names = [f"{n}" for n in range(9)]
    for n, step in enumerate(("handled", "committed", "asked")):
        forget(log, names[n * 3 : n * 3 + 3])
        assert work(settings, step, 1) == -signal.SIGKILL
        os.kill(int((settings.log_dir / "server.pid").read_text()), signal.SIGKILL)
        embedded.ensure_running(settings)
    assert work(settings, "never", 1) == 0
    with closing(connect(settings)) as client:
        assert [name for name in asked_for(client, "owner") if name != "rebuild"] == names


def test_a_reactor_that_was_paused_beyond_its_lease_is_refused_and_ends(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    log = open_log(settings)
    start = partial(
        subprocess.Popen,
        [sys.executable, "-c", RUNNING],
        env=environment(settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with closing(connect(settings)) as client:
        running = [start()]
        try:
            forget(log, ["a"])
            wait_until(lambda: asked_for(client, "owner") == ["a"], 20, "the first job")
            running[0].send_signal(signal.SIGSTOP)
            running.append(start())
            forget(log, ["b"])
            wait_until(lambda: asked_for(client, "owner") == ["a", "b"], 20, "the job of the one that took over")
            running[0].send_signal(signal.SIGCONT)
            names = ["a", "b"]
            while running[0].poll() is None:
                names.append(str(len(names)))
                forget(log, [names[-1]])
                time.sleep(0.05)
                assert len(names) < 200, "the first one was not refused"
            assert running[0].wait(1) == 1
            wait_until(lambda: asked_for(client, "owner") == names, 20, "all jobs, each once and in order")
            assert running[1].poll() is None or running[1].returncode == 1
        finally:
            for process in running:
                process.kill()
                process.wait()
