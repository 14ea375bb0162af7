"""`up` and `down`: server, API, cron, reactor and worker of a data folder, started, kept alive, and stopped.

Nothing here holds state of its own. Whoever runs is known by a lock (running_lock.py), which the system lets go of
however the supervisor ends; its children then see the end of their standard input and end too (processes.py).
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

import structlog

from ..api.auth import store_new_token, stored_token_hash
from ..api.tcp import Tcp
from ..events.errors import AlreadyRunning, RecallError
from ..events.settings import Settings, private_dir
from . import embedded
from .child import Child
from .processes import ROLES, all_gone
from .running_lock import running_pid, sole_runner

log = structlog.get_logger()

TICK_S = 0.1
"""How often the supervisor looks after its children, in seconds; a stop is noticed at once."""
SERVER_TICK_S = 2.0
"""How often it looks after the embedded server. A caller who finds it gone starts it sooner."""
START_S = 120.0
"""How long the API may take to answer for the first time: a long log without a snapshot is replayed first."""
STOP_S = {"api": 6.0, "cron": 4.0, "reactor": 4.0, "worker": 20.0}
"""How long each role may take to stop, in seconds."""


@dataclass(frozen=True)
class Ready:
    """What `up` tells once the API answers."""

    pid: int
    home: str
    socket: str
    url: str
    """Empty unless TCP was asked for."""
    token: str
    """What to send over TCP; told once, when it is made, for only its hash is kept. Empty otherwise."""
    server: str
    """`embedded` or `external`."""
    logs: str
    took_s: float


class Supervisor:
    """Keeps the processes of one data folder alive until a signal says stop."""

    def __init__(
        self, settings: Settings, *, tcp: Tcp | None = None, new_token: bool = False, worker: bool = True
    ) -> None:
        self.settings = settings
        self.tcp = tcp
        self._new_token = new_token
        self._token = ""
        self.children = [self._child(role) for role in ROLES if worker or role == "api"]
        self._signals = 0
        self._server_seen = 0.0

    def run(self, announce: Callable[[Ready], None]) -> None:
        """Start everything, announce that it is ready, and stay until SIGTERM, SIGINT or SIGHUP; then stop everything.

        Raises:
            AlreadyRunning: another `up` runs for this data folder.
            RecallError: the port is taken, the server cannot be reached, or the API does not start.
        """
        with sole_runner(self.settings), self._signals_noted():
            began = time.monotonic()
            if not all_gone(self.settings, 25.0):
                raise AlreadyRunning(
                    f"Processes of an earlier run in {self.settings.home} have not ended yet. "
                    "Look for them with `ps -ef | grep ops.processes`, end them, then try again."
                )
            check_port(self.tcp)
            if self.tcp is not None and (self._new_token or not stored_token_hash(self.settings.home)):
                self._token = store_new_token(self.settings.home)
            try:
                self._start()
                if self._await_api(began + START_S):
                    announce(self._ready(began))
                    self._stay()
            finally:
                self._stop()

    def _child(self, role: str) -> Child:
        arguments = ["--home", str(self.settings.home)]
        if role == "api" and self.tcp is not None:
            arguments += tcp_arguments(self.tcp)
        return Child(role, arguments, self.settings.logs_dir / f"{role}.log")

    def _start(self) -> None:
        private_dir(self.settings.logs_dir)
        if self.settings.redis_url:
            from ..events.connect import connect_queue, open_log  # noqa: PLC0415 - the embedded server needs no client

            open_log(self.settings).last_position()
            if len(self.children) > 1:
                connect_queue(self.settings).close()  # refused now, and not by each child again and again
        else:
            embedded.ensure_running(self.settings)
        for child in self.children:
            child.start()

    def _await_api(self, end: float) -> bool:
        """True once the API answers, False when a signal came first."""
        api = self.children[0]
        while not self._signals:
            if answers(self.settings):
                return True
            if (code := api.tend()) is not None:
                raise RecallError(f"The API ended with code {code} while starting: {api.last_words()} ({api.log_file})")
            if time.monotonic() > end:
                raise RecallError(f"The API has not answered for {START_S:.0f} s. Look into {api.log_file}.")
            time.sleep(TICK_S / 2)
        return False

    def _ready(self, began: float) -> Ready:
        return Ready(
            pid=os.getpid(),
            home=str(self.settings.home),
            socket=str(self.settings.api_socket),
            url=self.tcp.url if self.tcp else "",
            token=self._token,
            server="external" if self.settings.redis_url else "embedded",
            logs=str(self.settings.logs_dir),
            took_s=round(time.monotonic() - began, 2),
        )

    def _stay(self) -> None:
        while not self._signals:
            for child in self.children:
                child.tend()
            self._tend_server()
            time.sleep(TICK_S)

    def _tend_server(self) -> None:
        if self.settings.redis_url or time.monotonic() - self._server_seen < SERVER_TICK_S:
            return
        self._server_seen = time.monotonic()
        try:
            if embedded.ensure_running(self.settings):
                log.warning("server.restarted", home=str(self.settings.home))
        except RecallError as error:  # a full disk, say: the next look may find it mended
            log.warning("server.not_running", error=str(error))

    def _stop(self) -> None:
        for child in self.children:
            child.stop(0.5 if self._signals > 1 else STOP_S[child.role])
        if not self.settings.redis_url:
            embedded.stop(self.settings)

    @contextmanager
    def _signals_noted(self) -> Iterator[None]:
        def note(_number: int, _frame: FrameType | None) -> None:
            self._signals += 1

        kept = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)


@dataclass(frozen=True)
class Down:
    """What `down` found and did."""

    stopped_pid: int | None
    stopped_server: bool
    """An embedded server without an `up` was found and stopped."""


def down(settings: Settings) -> Down:
    """Stop whatever runs for a data folder and wait until all of it is gone; nothing running is fine.

    Raises:
        RecallError: something did not end in time; the message names it.
    """
    pid = running_pid(settings)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        _await_end(settings, pid, sum(STOP_S.values()) + 15.0)
    if not all_gone(settings, 25.0):
        raise RecallError(
            f"Processes for {settings.home} have not ended. "
            "Look for them with `ps -ef | grep ops.processes` and end them."
        )
    return Down(stopped_pid=pid, stopped_server=not settings.redis_url and embedded.stop(settings))


def _await_end(settings: Settings, pid: int, deadline_s: float) -> None:
    end = time.monotonic() + deadline_s
    while running_pid(settings) == pid:
        if time.monotonic() > end:
            raise RecallError(
                f"Process {pid} did not stop within {deadline_s:.0f} s. End it with `kill -9 {pid}`, then `down` again."
            )
        time.sleep(0.05)


def answers(settings: Settings) -> bool:
    """Whether an API takes connections on this data folder's socket."""
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(1.0)
        try:
            tried.connect(str(settings.api_socket))
        except OSError:
            return False
    return True


def check_port(tcp: Tcp | None) -> None:
    """Refuse a TCP port that somebody else listens on, or that may not be open so, before anything is started.

    Raises:
        RecallError: the port is taken or may not be used, or the TLS files cannot be.
    """
    if tcp is None:
        return
    tcp.check()
    with socket.socket(socket.AF_INET6 if ":" in tcp.host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((tcp.host, tcp.port))
        except OSError as error:
            raise RecallError(
                f"Port {tcp.port} of {tcp.host} cannot be used ({error.strerror}). Choose another with --tcp."
            ) from error


def tcp_arguments(tcp: Tcp) -> list[str]:
    """How the API's process is told where to listen; `processes.py` reads it."""
    files = {"--tls-cert": tcp.certificate, "--tls-key": tcp.key}
    given = [part for name, path in files.items() if path for part in (name, str(path.absolute()))]
    return ["--tcp", str(tcp.port), "--tcp-host", tcp.host, *given, *(["--without-tls"] if tcp.without_tls else [])]
