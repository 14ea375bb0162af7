"""What is fuzzed: a real API process with a little data, over its Unix socket and over TCP, and how it is doing."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall import Client
from instant_recall.api.auth import store_new_token
from instant_recall.events.envelope import draft
from instant_recall.events.errors import RecallError
from instant_recall.events.settings import Settings
from instant_recall.events.types import AssetRecorded, NoteRecorded, SessionClosed, TurnRecorded
from instant_recall.tests.helpers import NEW_YEAR_2026, wait_until
from instant_recall.tests.running import environment

GOOD_S = 3.0
"""Seconds within which a good request is answered, whatever else goes on. It takes milliseconds on an idle machine."""


class Target(msgspec.Struct, frozen=True):
    """A running API process."""

    settings: Settings
    pid: int
    port: int
    token: str
    """The owner's, for TCP."""
    process: subprocess.Popen[bytes]
    narrow: str = ""
    """A sub-agent's, that has the scope `lab`."""

    @property
    def url(self) -> str:
        """Where it listens on TCP."""
        return f"http://127.0.0.1:{self.port}"

    def connect(self, *, tcp: bool = False) -> socket.socket:
        """A connection to write bytes into."""
        link = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
        try:
            # Without a time limit it waits where many others wait; with one it fails there at once.
            link.connect(("127.0.0.1", self.port) if tcp else str(self.settings.api_socket))
            link.settimeout(5)
        except BaseException:
            link.close()
            raise
        return link

    def ask(self, path: str, body: dict[str, Any] | bytes | None, token: str = "") -> tuple[int, bytes]:
        """One request over the Unix socket, a GET when it has no body; status and bytes of its answer."""
        link = http.client.HTTPConnection("localhost")
        link.sock = self.connect()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            content = json.dumps(body) if isinstance(body, dict) else body
            link.request("GET" if body is None else "POST", path, content, headers)
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()

    def grant(self, name: str, *scopes: str, **more: Any) -> str:
        """Let a reader in; its token."""
        status, answer = self.ask("/v1/readers/grant", {"name": name, "scopes": scopes, **more})
        assert status == 200, answer
        return str(json.loads(answer)["token"])

    def answers_well(self) -> float:
        """Seconds that a good push takes; fails when it is not answered well, or late."""
        began = time.perf_counter()
        status, content = self.ask("/v1/push", {"request": "check the camera of petrel"})
        took = time.perf_counter() - began
        assert status == 200, content
        assert took < GOOD_S
        assert self.process.poll() is None
        return took

    def memory(self) -> int:
        """Bytes of memory that the process holds."""
        return _status(self.pid, "VmRSS") * 1024

    def files(self) -> int:
        """Files and connections that the process has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - only their number is wanted


HIDDEN = ("skill:osprey", "machine:gannet", "note:secret", "note:scout~mine", "note:newest", "session:owners")
"""Items that the sub-agent must not see."""
HIDDEN_EVENT = "01900000-0000-7000-8000-0000000000ff"
"""The events about them have ids that begin like this one."""


def fill_seen(client: Client) -> None:
    """What a sub-agent with the scope `lab` may see."""
    seen = [
        AssetRecorded(item="machine:petrel", kind="machine", name="petrel", purpose="the camera of the wet lab"),
        NoteRecorded(item="note:tide", name="Tide", text="Spring tide is at nine.", use_when=("when is the tide",)),
        NoteRecorded(item="note:lens", name="Lens", text="The wide lens lies in the blue box.", supersedes="note:old"),
        NoteRecorded(item="note:old", name="Lens once", text="The wide lens lies in the red box."),
    ]
    client.publish(seen, audience=("owner", "lab"), occurred_at=NEW_YEAR_2026)


def fill_hidden(client: Client) -> None:
    """What is the owner's alone, and what the owner has asked."""
    hidden = [
        AssetRecorded(item="skill:osprey", kind="skill", name="osprey", purpose="Signs in to the bank"),
        AssetRecorded(item="machine:gannet", kind="machine", name="petrel", purpose="the camera on the boat"),
        NoteRecorded(item="note:secret", name="Secret", text="The zanzibar account is number 7714."),
        NoteRecorded(item="note:scout~mine", name="Mine", text="zanzibar once more"),
        NoteRecorded(
            item="note:newest", name="Lens", text="The wide lens was sold in zanzibar.", supersedes="note:lens"
        ),
        TurnRecorded(session="owners", turn=1, role="owner", text="zanzibar is where the account is"),
        SessionClosed(session="owners", project="bank", used=("note:tide", "skill:osprey"), outcome="zanzibar paid"),
    ]
    drafts = [
        draft(event, event_id=HIDDEN_EVENT[:-2] + f"{n:02}", occurred_at=NEW_YEAR_2026)
        for n, event in enumerate(hidden)
    ]
    client.publish(drafts)
    assert client.push("when is the tide", session="owners").pointers
    client.opened("note:tide", session="owners")


def fill_whole(client: Client) -> None:
    """What a sub-agent with the scope `lab` may see, and what is the owner's alone."""
    fill_seen(client)
    fill_hidden(client)


@contextmanager
def running_target(home: Path, fill: Callable[[Client], None] = fill_whole) -> Iterator[Target]:
    """An API process of its own, over the home's embedded server."""
    if not Path("/proc/self/status").exists():
        pytest.skip("memory and open files are read from /proc, which this system does not have")
    settings = Settings(home=home)
    token = store_new_token(home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = [sys.executable, "-m", "instant_recall.ops.processes", "api", "--follow", "--tcp", str(port)]
    said = home / "said.log"
    with said.open("ab") as out:
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=out, stderr=out, env=environment(settings))
    try:
        client = Client(home, deadline_ms=10_000)
        wait_until(lambda: _is_up(client, process, said), 60, "an answer of the API")
        fill(client)
        client.close()
        target = Target(settings, process.pid, port, token, process)
        yield msgspec.structs.replace(target, narrow=target.grant("scout", "lab"))
        assert process.poll() is None, f"the API ended: {said.read_text()[-2_000:]}"
        lines = said.read_text().splitlines()
        wrong = [line for line in lines if "Traceback" in line or "request.failed" in line]
        assert not wrong, "\n".join(wrong[:5])
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _is_up(client: Client, process: subprocess.Popen[bytes], said: Path) -> bool:
    assert process.poll() is None, f"the API ended while starting: {said.read_text()}"
    try:
        client.status()
    except RecallError:
        return False
    return True


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(f"no {field} of process {pid}")
