"""What a person or a harness starts, as real processes: one command, an API, or all of `up`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from instant_recall.api.client import Client
from instant_recall.events.errors import NotRunning
from instant_recall.events.settings import Settings
from instant_recall.tests.helpers import wait_until

COMMAND = [sys.executable, "-m", "instant_recall.ops.cli", "--json"]


def environment(settings: Settings) -> Mapping[str, str]:
    """The environment that leads a process to these settings."""
    return os.environ | {
        "INSTANT_RECALL_HOME": str(settings.home),
        "INSTANT_RECALL_OWNER": settings.owner,
        "INSTANT_RECALL_QUEUE_URL": settings.queue_url,
        "REDIS_URL": settings.redis_url,
    }


def recall(settings: Settings, *arguments: str, code: int = 0, patience_s: float = 60) -> dict[str, Any]:
    """Run one command to its end; what it printed with --json."""
    said = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment(settings),
        timeout=patience_s,
        check=False,
    )
    assert said.returncode == code, said.stdout + said.stderr
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer


@contextmanager
def api(settings: Settings) -> Iterator[Client]:
    """A running API process, and a patient client of it."""
    settings.home.mkdir(parents=True, exist_ok=True)
    said = settings.home / "api.log"
    with said.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "instant_recall.ops.processes", "api", "--follow"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment(settings),
        )
    client = Client(settings.home, deadline_ms=10_000)
    try:
        wait_until(lambda: _answers(client, process, said), 30, "an answer of the API")
        yield client
    finally:
        client.close()
        process.terminate()
        process.communicate(timeout=20)


@contextmanager
def up(settings: Settings, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A running `up` that is ready."""
    process = subprocess.Popen(
        [*COMMAND, "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(settings),
    )
    try:
        assert process.stdout
        assert json.loads(process.stdout.readline() or "{}").get("ready"), "it ended before it was ready"
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _answers(client: Client, process: subprocess.Popen[bytes], said: Path) -> bool:
    assert process.poll() is None, f"the API ended while starting: {said.read_text()}"
    try:
        client.status()
    except NotRunning:
        return False
    return True
