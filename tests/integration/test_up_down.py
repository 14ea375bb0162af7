"""`up` and `down` as a person types them: real processes, real signals, nothing left behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from instant_recall.api.client import Client
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.tests.helpers import wait_until

ROLES = ("api", "cron", "reactor", "worker")
CLI = [sys.executable, "-m", "instant_recall.ops.cli"]


def recall(home: Path, *arguments: str, code: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Run one command to its end; what it printed with --json."""
    said = subprocess.run(
        [*CLI, "--home", str(home), "--json", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | (env or {}),
        timeout=60,
        check=False,
    )
    assert said.returncode == code, said.stdout + said.stderr
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer


@contextmanager
def up(
    home: Path, *arguments: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A running `up`, and what it said when it was ready. Ended, with all that it started, when the block is left."""
    process = subprocess.Popen(
        [*CLI, "--home", str(home), "--json", "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | (env or {}),
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line, "it ended before it was ready"
        yield process, json.loads(line)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)
        wait_until(lambda: not processes_of(home), 30, "the end of all processes")


def processes_of(home: Path) -> dict[int, str]:
    """Process ids and command lines of everything that works on a data folder, but for the test itself."""
    listed = subprocess.run(["ps", "-wweo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    found = (line.strip().partition(" ") for line in listed.splitlines() if str(home) in line)
    return {int(pid): command for pid, _, command in found if int(pid) != os.getpid()}


def pid_of(home: Path, role: str) -> int | None:
    """The process in a role: `api`, `cron`, `worker`, or `server`."""
    marks = {"server": "server.sock"}
    wanted = marks.get(role, f"ops.processes {role} ")
    return next((pid for pid, command in processes_of(home).items() if wanted in command), None)


def test_up_starts_all_of_it_and_down_leaves_nothing_running(home: Path) -> None:
    with up(home) as (process, ready):
        assert ready["ready"]
        assert ready["pid"] == process.pid
        assert Path(ready["socket"]).is_socket()
        assert all(pid_of(home, role) for role in (*ROLES, "server"))
        assert os.getpriority(os.PRIO_PROCESS, pid_of(home, "worker") or 0) > os.getpriority(os.PRIO_PROCESS, 0)
        assert recall(home, "status")["server"] == "embedded"
        recall(home, "remember", "the long lens is for the lab camera", "--name", "long lens")
        pushed = recall(home, "push", "which lens does the lab camera take?")
        assert [pointer["item"] for pointer in pushed["pointers"]] == ["note:long-lens"]
        assert recall(home, "search", "lens")["found"][0]["item"] == "note:long-lens"
        assert "lab camera" in recall(home, "open", "note:long-lens")["text"]

        assert recall(home, "down") == {"stopped_pid": process.pid, "stopped_server": False}
        assert process.wait(10) == 0
        assert processes_of(home) == {}
    assert recall(home, "down") == {"stopped_pid": None, "stopped_server": False}


def test_what_was_remembered_is_there_after_down_and_up(home: Path) -> None:
    with up(home, "--no-worker"):
        assert not pid_of(home, "worker")
        written = recall(home, "remember", "the long lens is for the lab camera")
    with up(home, "--no-worker"):
        assert recall(home, "open", written["item"])["text"] == "the long lens is for the lab camera"


def test_a_second_up_is_refused_and_the_first_goes_on(home: Path) -> None:
    with up(home, "--no-worker") as (process, _):
        refused = recall(home, "up", code=1)
        assert refused["error"] == "already_running"
        assert str(process.pid) in refused["message"]
        assert "down" in refused["message"]
        assert recall(home, "status")["running"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_in_good_order(home: Path, number: signal.Signals) -> None:
    with up(home) as (process, _):
        process.send_signal(number)
        assert process.wait(30) == 0
        assert processes_of(home) == {}


@pytest.mark.parametrize("role", [*ROLES, "server"])
def test_a_process_that_is_killed_is_started_again(home: Path, role: str) -> None:
    with up(home):
        written = recall(home, "remember", "the long lens is for the lab camera")
        before = pid_of(home, role)
        assert before
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: pid_of(home, role) not in (None, before), 15, f"the restart of {role}")
        client = Client(home)
        wait_until(lambda: not client.push("hello").reason.startswith("unreachable"), 15, "an answer")
        assert recall(home, "open", written["item"])["text"] == "the long lens is for the lab camera"


def test_when_up_itself_is_killed_the_rest_ends_and_the_next_up_works(home: Path) -> None:
    with up(home) as (process, _):
        written = recall(home, "remember", "the long lens is for the lab camera")
        process.kill()
        process.wait()
        with up(home):
            assert recall(home, "open", written["item"])["text"] == "the long lens is for the lab camera"


def test_when_up_was_killed_down_waits_for_the_rest_and_stops_the_server(home: Path) -> None:
    with up(home) as (process, _):
        process.kill()
        process.wait()
        assert recall(home, "down") == {"stopped_pid": None, "stopped_server": True}
        assert processes_of(home) == {}


def test_a_port_that_is_taken_is_told_before_anything_starts(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = recall(home, "up", "--tcp", str(taken.getsockname()[1]), code=1)
    assert "--tcp" in refused["message"]
    assert processes_of(home) == {}


def test_over_tcp_the_token_that_up_tells_once_opens_the_door(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with up(home, "--no-worker", "--tcp", str(port)) as (_, ready):
        assert Client(url=ready["url"], token=ready["token"]).status().owner == "owner"
        assert Client(url=ready["url"], token="another").push("hello").reason == "refused"
    with up(home, "--no-worker", "--tcp", str(port)) as (_, again):
        assert again["token"] == ""
        assert Client(url=ready["url"], token=ready["token"]).status().owner == "owner"
    with up(home, "--no-worker", "--tcp", str(port), "--new-token") as (_, renewed):
        assert renewed["token"] not in ("", ready["token"])
        assert Client(url=ready["url"], token=ready["token"]).push("hello").reason == "refused"


def test_an_external_server_is_used_and_left_alone(home: Path, installed_settings: Settings) -> None:
    env = {"REDIS_URL": installed_settings.redis_url, "INSTANT_RECALL_OWNER": f"test-{os.getpid()}"}
    with up(home, env=env) as (_, ready):
        assert ready["server"] == "external"
        assert recall(home, "status")["server"] == "external"
        assert not pid_of(home, "server")
    assert embedded.is_running(installed_settings) is False


def test_an_external_server_that_is_down_is_named_without_its_password(home: Path) -> None:
    refused = recall(home, "up", code=1, env={"REDIS_URL": "redis://:geheim@127.0.0.1:1/0"})
    assert refused["error"] == "unavailable"
    assert "127.0.0.1:1" in refused["message"]
    assert "geheim" not in refused["message"]
    assert processes_of(home) == {}


def test_a_snapshot_folder_removed_while_running_costs_nothing_but_a_rebuild(home: Path) -> None:
    with up(home):
        written = recall(home, "remember", "the long lens is for the lab camera", "--name", "long lens")
        assert recall(home, "snapshot")["generation"] == 1
        wait_until(lambda: recall(home, "status")["generation"] == 1, 10, "the take-over of the snapshot")
        shutil.rmtree(Settings(home=home).snapshots_dir)
        assert recall(home, "push", "which lens does the lab camera take?")["pointers"][0]["item"] == written["item"]
        recall(home, "remember", "the short lens is for the bench", "--name", "short lens")
        assert recall(home, "snapshot")["outcome"] == "published"
        assert recall(home, "push", "which lens is for the bench?")["pointers"][0]["item"] == "note:short-lens"
        assert recall(home, "replay")["same"]
    shutil.rmtree(Settings(home=home).snapshots_dir)
    with up(home):
        assert recall(home, "status")["items"] == {"note": 2}


def test_import_snapshot_and_replay_work_where_nothing_runs_and_leave_nothing_running(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "lab.md").write_text("# Lab\n\n## Camera\n\nThe long lens.\n\n## Bench\n\nThe short lens.\n")
    (tmp_path / "empty.md").touch()
    first = recall(home, "import", "notes", str(tmp_path), "--dry-run")
    assert (first["new"], first["position"]) == (2, "")
    first = recall(home, "import", "notes", str(tmp_path))
    assert (first["new"], [skip["reason"] for skip in first["skipped"]]) == (2, ["empty"])
    again = recall(home, "import", "notes", str(tmp_path))
    assert (again["new"], again["changed"], again["unchanged"], again["position"]) == (0, 0, 2, "")
    (tmp_path / "lab.md").write_text("# Lab\n\n## Camera\n\nThe other lens.\n")
    changed = recall(home, "import", "notes", str(tmp_path))
    assert (changed["new"], changed["changed"], changed["closed"]) == (0, 1, 1)
    assert recall(home, "snapshot", "--full")["counts"]["items"] == 2
    replayed = recall(home, "replay")
    assert replayed["same"]
    assert replayed["generation"] == 1
    assert processes_of(home) == {}


@pytest.fixture
def external() -> Iterator[Path]:
    """A folder for an external server, with a path short enough for its socket."""
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        yield Path(folder)


def test_an_external_server_that_dies_fails_writes_loses_nothing_and_is_used_again(home: Path, external: Path) -> None:
    address = external / "s.sock"
    command = [str(embedded.server_binary()), *embedded.server_arguments(external, address)]

    def start() -> subprocess.Popen[bytes]:
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=external)
        wait_until(lambda: _accepts(address), 10, "an answer of the server")
        return started

    server = start()
    try:
        with up(home, env={"REDIS_URL": f"unix://{address}"}):
            written = recall(home, "remember", "the long lens is for the lab camera", "--name", "long lens")
            server.kill()
            server.wait()
            refused = recall(home, "remember", "this one is not stored", code=1)
            assert refused["error"] == "unavailable"
            assert recall(home, "push", "which lens does the lab camera take?")["stale"]
            server = start()
            again = recall(home, "remember", "the short lens is for the bench", "--name", "short lens")
            pushed = recall(home, "push", "which lens is for the bench?")
            assert not pushed["stale"]
            assert pushed["pointers"][0]["item"] == again["item"]
            assert recall(home, "open", written["item"])["text"] == "the long lens is for the lab camera"
    finally:
        server.kill()
        server.wait()


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(str(path)) == 0
