"""What a check is, and those checks that need no event log: what runs, sockets, disk, the API."""

from __future__ import annotations

import shlex
import shutil
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ..api.client import Client
from ..api.messages import StatusResponse
from ..events.errors import LogUnavailable, RecallError
from ..events.settings import Settings
from . import embedded
from .processes import all_gone
from .running_lock import running_pid

if TYPE_CHECKING:
    import redis

    from ..events.redis_log import RedisEventLog

Level = Literal["ok", "warn", "BAD"]

LITTLE_SPACE: Final = 1 << 30
"""Bytes free on the disk below which it is time to look; a rebuild of 100,000 items takes about 200 MB for a while."""
NO_SPACE: Final = 100 << 20
"""Bytes free below which the next write may fail."""
LEFT_BEHIND: Final = (".restore-*", ".mend-*")
"""Working folders of `restore`, see backup.py and mending.py."""
ANSWER_S: Final = 2.0
"""An API that has not answered within this many seconds hangs."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    check: str
    level: Level
    says: str
    remedy: str = ""
    """The command that mends it; empty when there is nothing to mend."""

    def as_facts(self) -> dict[str, Any]:
        """As it is printed with --json."""
        return asdict(self)


class Server(NamedTuple):
    """A server that answers, and the log in it."""

    client: redis.Redis
    log: RedisEventLog


@dataclass
class Patient:
    """What the checks look at."""

    settings: Settings
    home: str | None
    """The data folder as it was said on the command line: remedies have to say it again."""
    server: Server | None = None
    """Once it answers."""
    status: StatusResponse | None = None
    """What the API says of itself; None: it does not answer."""

    @property
    def at_hand(self) -> Server:
        """The server, for a check that needs it.

        Raises:
            LogUnavailable: it does not answer.
        """
        if self.server is None:
            raise LogUnavailable
        return self.server

    def type(self, command: str) -> str:
        """A command of ours, for this data folder."""
        return f"instant-recall {command}" + (f" --home {shlex.quote(self.home)}" if self.home else "")

    @property
    def folder(self) -> str:
        """The data folder, as a shell takes it."""
        return shlex.quote(str(self.settings.home))


def running(patient: Patient) -> Iterator[Finding]:
    """Whether an `up` runs, and its API answers."""
    pid = running_pid(patient.settings)
    if pid is None:
        yield Finding("running", "warn", "nothing is running for this data folder", patient.type("up"))
        return
    client = Client(patient.settings.home, timeout_s=ANSWER_S)
    try:
        patient.status = client.status()
    except RecallError as error:
        says = f"`up` runs (process {pid}), but its API does not answer within {ANSWER_S:.0f} s: {error}"
        hung = _listener(patient.settings.api_socket)
        # Its supervisor starts another at once.
        remedy = f"kill -9 {hung}" if hung else f"{patient.type('down')} && {patient.type('up')}"
        yield Finding("running", "BAD", says, remedy)
        return
    finally:
        client.close()
    yield Finding("running", "ok", f"process {pid}, version {patient.status.version}; the API answers")


def _listener(path: Path) -> int | None:
    """The process that listens at a socket, if the system tells (Linux does): the kernel takes a connection for it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    with socket.socket(socket.AF_UNIX) as tried, suppress(OSError):
        tried.settimeout(1.0)
        tried.connect(str(path))
        pid, _, _ = struct.unpack("3i", tried.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        return int(pid)
    return None


def quarantine(patient: Patient) -> Iterator[Finding]:
    """Whether something is held back that its owner has not looked at."""
    if patient.status is None:
        return
    waiting = patient.status.held
    says = f"held back until you have looked: {waiting:,}" if waiting else "nothing is held back"
    yield Finding("quarantine", "warn" if waiting else "ok", says, patient.type("quarantine list") if waiting else "")


def orphans(patient: Patient) -> Iterator[Finding]:
    """Whether something runs that nobody looks after."""
    if running_pid(patient.settings) is not None:
        yield Finding("processes", "ok", "all of them have their supervisor")
    elif not all_gone(patient.settings, 0.0):
        says = "processes of an `up` that is gone are still running; within a minute they end by themselves"
        yield Finding("processes", "BAD", says, patient.type("down"))
    elif embedded.is_running(patient.settings):
        says = "the server runs without an `up`: another command uses it just now, or it was left behind"
        yield Finding("processes", "warn", says, patient.type("down"))
    else:
        yield Finding("processes", "ok", "none were left behind")


def sockets(patient: Patient) -> Iterator[Finding]:
    """Whether the sockets are there while something runs, and only this user can open them."""
    settings = patient.settings
    expected = {settings.api_socket: running_pid(settings) is not None}
    if not settings.redis_url:
        expected[settings.server_socket] = embedded.is_running(settings)
    good = []
    for path, needed in expected.items():
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            if needed:
                command = f"{patient.type('down')} && {patient.type('up')}"
                yield Finding("socket", "BAD", f"{path} is not there, so nobody can connect", command)
            continue
        if not stat.S_ISSOCK(mode):
            yield Finding("socket", "BAD", f"{path} is no socket", f"rm {shlex.quote(str(path))}")
        elif mode & 0o077:
            says = f"{path} is open to other users (mode {stat.S_IMODE(mode):o})"
            yield Finding("socket", "BAD", says, f"chmod 600 {shlex.quote(str(path))}")
        else:
            good.append(path.name)
    if good:
        yield Finding("socket", "ok", f"{' and '.join(good)}: only this user can connect")


def disk(patient: Patient) -> Iterator[Finding]:
    """Whether there is room for what comes next."""
    home = patient.settings.home
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    level: Level = "BAD" if free < NO_SPACE else "warn" if free < LITTLE_SPACE else "ok"
    # What is large and is ours shows here; what may go is the owner's to say.
    remedy = "" if level == "ok" else f"du -sh {patient.folder}/*"
    yield Finding("disk", level, f"{free / 1e9:,.1f} GB free at {there}", remedy)


def leftovers(patient: Patient) -> Iterator[Finding]:
    """Whether a restore that was killed left its working folder, with texts in it."""
    found = [path for pattern in LEFT_BEHIND for path in patient.settings.home.glob(pattern)]
    for path in found:
        says = f"{path} is of a restore that is under way, or that was killed"
        yield Finding("leftovers", "warn", says, f"rm -r {shlex.quote(str(path))}")
