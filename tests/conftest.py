"""Fixtures for every test. A real server per session (one per worker under xdist), and nothing left behind."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
import structlog
from instant_recall.events.connect import connect
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.tests.cluster import Node, cluster_url, three_nodes
from instant_recall.tests.helpers import FixedClock, wait_until

OF_TESTS = ("INSTANT_RECALL_SOAK_", "INSTANT_RECALL_FUZZ_", "INSTANT_RECALL_WORLDS")
"""Beginnings of the variables that say how much is done in tests/soak and tests/fuzz, and what tests/bench measures."""


def pytest_configure() -> None:
    """Tests depend on nothing that is set where they run, but for the extent of the longest ones."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy loads; two threads on busy cores are ten times slower
    for name in [name for name in os.environ if name.startswith("INSTANT_RECALL_") or name == "REDIS_URL"]:
        if not name.startswith(OF_TESTS):
            del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def _no_test_touches_the_data_of_whoever_runs_it() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, _short_folder() as folder:
        patch.setenv("XDG_DATA_HOME", str(folder))
        yield


@pytest.fixture(autouse=True)
def _logging_stays_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process configures logging; the tests after it must not notice."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    structlog.reset_defaults()
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands at the first moment of 2026 until it is moved."""
    return FixedClock()


@pytest.fixture
def owner() -> str:
    """An owner that no other test has, so that tests can share a server."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def home() -> Iterator[Path]:
    """A data folder of the test's own, short enough for sockets; its embedded server is stopped at the end."""
    with _short_folder() as folder:
        try:
            yield folder
        finally:
            embedded.stop(Settings(home=folder))


@pytest.fixture(scope="session")
def embedded_settings() -> Iterator[Settings]:
    """The session's embedded server, running. Shared: use the `owner` fixture, and do not stop it."""
    with _short_folder() as folder:
        settings = Settings(home=folder)
        embedded.ensure_running(settings)
        try:
            yield settings
        finally:
            embedded.stop(settings)


@pytest.fixture(scope="session")
def embedded_client(embedded_settings: Settings) -> Iterator[redis.Redis]:
    """A client of the session's embedded server."""
    yield from _client(embedded_settings)


@pytest.fixture
def log(embedded_client: redis.Redis, owner: str) -> RedisEventLog:
    """An empty log on the session's embedded server."""
    return RedisEventLog(embedded_client, owner)


@pytest.fixture(scope="session")
def installed_settings() -> Iterator[Settings]:
    """The redis-server that is installed here (Debian's), running as an external server. Skips when there is none."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    with _short_folder() as folder:
        socket = folder / "s.sock"
        process = subprocess.Popen(
            [program, *embedded.server_arguments(folder, socket)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        settings = Settings(home=folder / "home", redis_url=f"unix://{socket}")
        try:
            wait_until(lambda: _answers(settings), what="the start of redis-server")
            yield settings
        finally:
            process.kill()  # a polite end is refused while it writes its first file
            process.wait()


@pytest.fixture(scope="session")
def installed_client(installed_settings: Settings) -> Iterator[redis.Redis]:
    """A client of the installed redis-server."""
    yield from _client(installed_settings)


@pytest.fixture(scope="session")
def cluster_nodes() -> Iterator[list[Node]]:
    """The session's cluster of three nodes. Shared: use the `owner` fixture, and leave it as it was."""
    with _short_folder() as folder, three_nodes(folder) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def cluster_settings(cluster_nodes: list[Node]) -> Settings:
    """Settings whose log is in the session's cluster."""
    return Settings(home=cluster_nodes[0].folder / "home", redis_url=cluster_url(cluster_nodes))


@pytest.fixture(scope="session")
def cluster_client(cluster_settings: Settings) -> Iterator[redis.Redis]:
    """A client of the session's cluster."""
    yield from _client(cluster_settings)


def _client(settings: Settings) -> Iterator[redis.Redis]:
    client = connect(settings)
    try:
        yield client
    finally:
        client.close()


def _answers(settings: Settings) -> bool:
    with connect(settings) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


@contextmanager
def _short_folder() -> Iterator[Path]:
    """A temporary folder; pytest's own are too deep for a socket's path."""
    folder = Path(tempfile.mkdtemp(prefix="ir-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
