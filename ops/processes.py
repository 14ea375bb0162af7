"""The processes that `up` starts, one role each: `python -m instant_recall.ops.processes ROLE --home DIR`.

A process started with `--follow` ends when its parent does, however that one ended: its standard input is a pipe which
only the parent holds open, and end-of-file on it means that the parent is gone.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..events.errors import RecallError
from ..events.settings import Settings, private_dir

ROLES = ("api", "cron", "reactor", "worker")
"""In the order in which they are stopped: first nothing new comes in, then nothing new is started, then work ends."""

QUIET_LIBRARIES: Mapping[str, str] = {
    "OPENBLAS_NUM_THREADS": "1",  # with more, a busy machine turns 0.2 ms of arithmetic into 15 ms of waiting
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",  # its threads do not survive the fork of a worker
}
"""Set in the environment before numpy and the tokenizer are loaded, unless they are set already."""

BEHIND = 10
"""The worker's niceness: no push waits for a processor because a snapshot is being built."""

GRACE_S = 20.0
"""How long a process may take to end by itself once its parent is gone, in seconds."""


def quiet_libraries() -> None:
    """Set QUIET_LIBRARIES for this process and its children; to be called before numpy is loaded."""
    for name, value in QUIET_LIBRARIES.items():
        os.environ.setdefault(name, value)


def processes_lock(settings: Settings) -> Path:
    """The file that every process of this data folder holds a shared lock on for as long as it lives."""
    return settings.home / "run" / "processes.lock"


@contextmanager
def counted(settings: Settings) -> Iterator[None]:
    """Hold the shared lock, so that `up` and `down` can wait until the last process is gone."""
    path = processes_lock(settings)
    private_dir(path.parent)
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        yield


def all_gone(settings: Settings, deadline_s: float) -> bool:
    """Wait up to `deadline_s` seconds until no process of this data folder lives; False when one still does."""
    path = processes_lock(settings)
    if not path.exists():
        return True
    end = time.monotonic() + deadline_s
    with path.open("a") as held:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    return False
                time.sleep(0.05)
            else:
                return True


def follow_parent() -> None:
    """End this process when standard input reaches its end: politely, then firmly, then for certain."""

    def wait_for_end() -> None:
        while os.read(sys.stdin.fileno(), 64):
            pass
        # The first asks a worker to finish its job, the second to break it off.
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(GRACE_S / 2)
        os._exit(1)

    threading.Thread(target=wait_for_end, name="follow-parent", daemon=True).start()


def main(arguments: list[str] | None = None) -> int:
    """Run one role until it is told to stop; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m instant_recall.ops.processes", description=__doc__)
    parser.add_argument("role", choices=ROLES)
    parser.add_argument("--home", metavar="DIR", help="the data folder")
    parser.add_argument("--tcp", type=int, metavar="PORT", help="api: answer on this port too")
    parser.add_argument("--tcp-host", default="127.0.0.1", metavar="ADDRESS", help="of this address")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE")
    parser.add_argument("--tls-key", type=Path, metavar="FILE")
    parser.add_argument("--without-tls", action="store_true", help="also to other machines")
    parser.add_argument("--follow", action="store_true", help="end when standard input ends")
    chosen = parser.parse_args(arguments)
    quiet_libraries()
    try:
        settings = Settings.from_env(chosen.home)
        if not settings.encoder.startswith("hub:"):
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        if chosen.follow:
            follow_parent()
        with counted(settings):
            _run(chosen, settings)
    except RecallError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _run(chosen: argparse.Namespace, settings: Settings) -> None:
    from . import logs  # noqa: PLC0415 - nothing is loaded before the environment is set

    logs.configure()
    role = chosen.role
    if role == "api":
        from ..api.tcp import Tcp  # noqa: PLC0415
        from .serve import serve_api  # noqa: PLC0415

        tcp = Tcp(chosen.tcp, chosen.tcp_host, chosen.tls_cert, chosen.tls_key, chosen.without_tls)
        serve_api(settings, tcp=tcp if chosen.tcp else None)
    elif role == "worker":
        from ..workers.queue import run_worker  # noqa: PLC0415

        os.nice(BEHIND)
        run_worker(settings)
    elif role == "reactor":
        from ..workers.reactor import run_reactor  # noqa: PLC0415

        run_reactor(settings)
    else:
        from ..workers.schedule import run_cron  # noqa: PLC0415

        run_cron(settings)


if __name__ == "__main__":
    sys.exit(main())
