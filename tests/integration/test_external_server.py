"""A server that somebody else runs: Debian's redis-server, reached by REDIS_URL over TCP with a password."""

from __future__ import annotations

import contextlib
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import redis
from instant_recall.api.client import Client
from instant_recall.events.connect import connect, connect_queue, open_log
from instant_recall.events.envelope import draft
from instant_recall.events.errors import LogFull, LogUnavailable, RecallError
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.events.types import NoteRecorded
from instant_recall.ops import embedded
from instant_recall.tests.cluster import HOST, Node, free_ports, keys_by_node
from instant_recall.tests.helpers import wait_until
from instant_recall.tests.running import api, recall, up
from instant_recall.workers.queue import enqueue_snapshot
from structlog.testing import capture_logs

LETMEIN = "hunter2"


@dataclass
class External:
    """A redis-server that is none of ours."""

    folder: Path
    port: int
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def settings(self) -> Settings:
        return Settings(self.folder / "home", redis_url=f"redis://:{LETMEIN}@{HOST}:{self.port}/0")

    def start(self, program: str) -> None:
        usual = embedded.server_arguments(self.folder, self.folder / "s.sock")
        self.process = subprocess.Popen(
            [program, *usual, "--port", str(self.port), "--requirepass", LETMEIN, *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
        )
        wait_until(self.answers, what="the start of redis-server")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def answers(self) -> bool:
        with connect(self.settings) as client, contextlib.suppress(redis.RedisError):
            return bool(client.ping())
        return False


@pytest.fixture(scope="session")
def program() -> str:
    found = shutil.which("redis-server")
    if found is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    return found


@pytest.fixture
def external(home: Path, program: str) -> Iterator[External]:
    """A running server, ended with the test."""
    with free_ports(1) as [port]:
        made = External(home, port)
        try:
            made.start(program)
            yield made
        finally:
            made.kill()


@pytest.mark.timeout(180)
def test_all_of_it_works_on_a_server_that_is_killed_and_restarted_and_that_down_leaves_alone(
    external: External, program: str, tmp_path: Path
) -> None:
    settings = external.settings
    lens, bench = "which lens does the lab camera take?", "which lens is for the bench?"
    (tmp_path / "lab.md").write_text("# Lab\n\n## Camera\n\nThe long lens is for the lab camera.\n")
    with up(settings) as process, contextlib.closing(Client(settings.home, deadline_ms=10_000)) as client:
        assert recall(settings, "import", "notes", str(tmp_path))["new"] == 1
        [pointer] = client.push(lens).pointers
        assert recall(settings, "snapshot")["outcome"] == "published"

        external.kill()
        with pytest.raises(LogUnavailable, match=f"{HOST}:{external.port}.*REDIS_URL") as refused:
            client.remember("this one is not stored")
        assert LETMEIN not in str(refused.value)
        assert "instant-recall up" not in str(refused.value)
        assert client.push(lens).stale

        external.start(program)
        written = client.remember("the short lens is for the bench", name="short lens")
        pushed = client.push(bench)
        assert written.item in [each.item for each in pushed.pointers]
        assert not pushed.stale
        assert client.push(lens).pointers[0].item == pointer.item
        assert recall(settings, "replay")["same"]

        assert recall(settings, "down") == {"stopped_pid": process.pid, "stopped_server": False}
        assert process.wait(10) == 0
    assert external.answers()
    assert len(open_log(settings).read(START, 100)) >= 2
    assert not settings.log_dir.exists()


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ("does not let us in", "redis://{host}:{port}/0"),
        ("does not let us in", "redis://:guess@{host}:{port}/0"),
        ("does not let us in", "redis://nobody:guess@{host}:{port}/0"),
        ("cannot be reached", "redis://:guess@{host}:1/0"),
        ("cannot be reached", "redis://:guess@nowhere.invalid:{port}/0"),
        ("cannot be reached", "rediss://:guess@{host}:{port}/0"),
        ("cannot be reached", "unix:///nowhere/redis.sock?password=guess"),
    ],
)
def test_a_wrong_address_or_password_is_told_with_what_to_mend(external: External, told: str, url: str) -> None:
    settings = replace(external.settings, redis_url=url.format(host=HOST, port=external.port))

    with pytest.raises(LogUnavailable, match=told) as refused:
        open_log(settings)

    assert "URL" in str(refused.value)
    assert "guess" not in str(refused.value)
    assert "instant-recall up" not in str(refused.value)


def test_up_refuses_a_wrong_password_at_once_and_starts_nothing(external: External) -> None:
    settings = replace(external.settings, redis_url=f"redis://:guess@{HOST}:{external.port}/0")

    refused = recall(settings, "up", code=1)

    assert refused["error"] == "unavailable"
    assert "let us in" in refused["message"]
    assert "guess" not in refused["message"]


@pytest.mark.parametrize("version", ["6.2.14", "5.0.3"])  # the second does not know the client's greeting either
def test_a_server_that_is_too_old_is_refused(home: Path, version: str) -> None:
    with old_server(version) as port:
        settings = Settings(home, redis_url=f"redis://{HOST}:{port}/0")
        with pytest.raises(LogUnavailable, match=r"7\.0 or later") as refused:
            open_log(settings)
        assert (version if version > "6" else "too old") in str(refused.value)
        assert recall(settings, "up", code=1) == {"error": "unavailable", "message": str(refused.value)}


def test_a_server_without_an_append_only_file_is_used_and_warned_of(home: Path, program: str) -> None:
    with free_ports(1) as [port]:
        forgetful = External(home, port, ("--appendonly", "no"))
        try:
            forgetful.start(program)
            with capture_logs() as lines:
                log = open_log(forgetful.settings)
            log.append([note("a")])
        finally:
            forgetful.kill()

    [warning] = lines
    assert warning["event"] == "log.server_without_append_only_file"
    assert warning["log_level"] == "warning"
    assert "appendonly yes" in warning["remedy"]
    assert LETMEIN not in str(warning)


def no_memory(client: redis.Redis, _folder: Path) -> Callable[[], object]:
    client.config_set("maxmemory", 1)
    return lambda: client.config_set("maxmemory", 0)


def no_saving(client: redis.Redis, folder: Path) -> Callable[[], object]:
    """The server cannot write its RDB file, as on a full disk: a folder is in its way."""
    (folder / "dump.rdb" / "in the way").mkdir(parents=True)
    client.config_set("save", "3600 1")
    client.bgsave()
    wait_until(lambda: info(client)["rdb_last_bgsave_status"] == "err", what="the failure of the save")
    return lambda: mend_saving(client, folder)


def mend_saving(client: redis.Redis, folder: Path) -> None:
    shutil.rmtree(folder / "dump.rdb")
    client.bgsave()
    wait_until(lambda: info(client)["rdb_last_bgsave_status"] == "ok", what="a save that works")


@pytest.mark.parametrize("what", [no_memory, no_saving])
def test_a_server_that_is_full_refuses_writes_stores_no_half_of_one_and_takes_them_again(
    external: External, what: Callable[[redis.Redis, Path], Callable[[], object]]
) -> None:
    settings = external.settings
    with connect(settings) as client, api(settings) as recalls:
        log = open_log(settings)
        log.append([note("before")])
        mend = what(client, external.folder)
        with pytest.raises(LogFull, match="nothing was stored"):
            log.append([note("b"), note("c")])
        with pytest.raises(LogFull, match="nothing was stored"):
            recalls.remember("the long lens", name="long lens")
        assert recalls.push("hello again").reason not in {"error", "unreachable"}
        assert sizes(client, settings.owner) == (1, 1, 1)

        mend()

        log.append([note("after")])
        assert recalls.remember("the long lens", name="long lens").item == "note:long-lens"
        stored = [one.event.name for one in log.read(START) if isinstance(one.event, NoteRecorded)]
        assert stored == ["before", "after", "long lens"]


@pytest.mark.timeout(180)
def test_on_a_cluster_jobs_are_kept_by_a_server_of_their_own(
    home: Path, owner: str, cluster_settings: Settings, cluster_nodes: list[Node], external: External
) -> None:
    alone = replace(cluster_settings, home=home / "home", owner=owner)
    refused = recall(alone, "up", code=1)
    assert "INSTANT_RECALL_QUEUE_URL" in refused["message"]
    assert "--no-worker" in refused["message"]

    settings = replace(alone, queue_url=external.settings.redis_url)
    with (
        up(settings),
        contextlib.closing(Client(settings.home, deadline_ms=10_000)) as client,
        connect_queue(settings) as jobs,
    ):
        written = client.remember("the long lens is for the lab camera", name="long lens")
        pushed = client.push("which lens does the lab camera take?")
        assert [pointer.item for pointer in pushed.pointers] == [written.item]
        job = enqueue_snapshot(settings)
        wait_until(lambda: jobs.hget(f"rq:job:{job}", "status") == b"finished", 30, "the job")
        wait_until(lambda: client.status().generation == 1, 10, "the take-over of the snapshot")
        assert jobs.keys("ir:*") == []
    held = keys_by_node(cluster_nodes, "")
    assert [key for keys in held for key in keys if key.startswith("rq:")] == []
    assert [bool(keys) for keys in keys_by_node(cluster_nodes, owner)].count(True) == 1


def test_on_a_cluster_up_without_a_worker_needs_no_other_server(
    home: Path, owner: str, cluster_settings: Settings
) -> None:
    settings = replace(cluster_settings, home=home, owner=owner)
    with up(settings, "--no-worker"), contextlib.closing(Client(settings.home, deadline_ms=10_000)) as client:
        written = client.remember("the long lens is for the lab camera", name="long lens")
        assert recall(settings, "snapshot")["outcome"] == "published"
        assert "lab camera" in client.open(written.item).text


@pytest.mark.parametrize("url", ["redis+cluster://127.0.0.1:1", "nonsense://"])
def test_a_server_for_jobs_that_cannot_be_one_is_told_by_its_variable(home: Path, url: str) -> None:
    with pytest.raises(RecallError, match="INSTANT_RECALL_QUEUE_URL"):
        connect_queue(Settings(home, queue_url=url))


def note(name: str) -> Any:
    return draft(NoteRecorded(item=f"note:{name}", name=name, text="text"))


def info(client: redis.Redis) -> dict[str, Any]:
    return dict(client.info("persistence"))


def sizes(client: redis.Redis, owner: str) -> tuple[int, int, int]:
    """Entries of the stream, the ids and the payloads; accesses of pushes would count too."""
    start = f"ir:{{{owner}}}:"
    return tuple(map(int, (client.xlen(f"{start}log"), client.hlen(f"{start}ids"), client.hlen(f"{start}payloads"))))  # type: ignore[return-value]


@contextlib.contextmanager
def old_server(version: str) -> Iterator[int]:
    """A stand-in that says it is Redis of some version, and knows a greeting (from 6 on) and INFO only; its port."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while header := self.rfile.readline():
                parts = [self._part() for _ in range(int(header[1:]))]
                if parts[0].upper() == b"INFO":
                    about = f"# Server\r\nredis_version:{version}\r\n".encode()
                    self.wfile.write(b"$%d\r\n%s\r\n" % (len(about), about))
                elif parts[0].upper() == b"HELLO" and version > "6":
                    self.wfile.write(b"%1\r\n$5\r\nproto\r\n:3\r\n")
                else:
                    self.wfile.write(b"-ERR unknown command `%s`\r\n" % parts[0])

        def _part(self) -> bytes:
            size = int(self.rfile.readline()[1:])
            return self.rfile.read(size + 2)[:-2]

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server((HOST, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
