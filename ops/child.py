"""One process under the supervisor: started, started again when it dies, and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import structlog

log = structlog.get_logger()

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
"""Before a process that died is started again: the first time, doubling up to the longest."""
STEADY_S = 60.0
"""A process that lived this long had started well: the next death counts as the first again."""
LOG_FILE_BYTES = 10_000_000
"""A log file larger than this is set aside (one older one is kept) when its process starts."""


class Child:
    """A process in one role, with its own log file and its own session, so that Ctrl-C reaches only the supervisor."""

    def __init__(self, role: str, arguments: list[str], log_file: Path) -> None:
        self.role = role
        self.log_file = log_file
        # -P: the folder in which somebody typed `up` must not hide a library of ours.
        self._command = [sys.executable, "-P", "-m", "instant_recall.ops.processes", role, "--follow", *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._deaths = 0
        self._again_at = 0.0

    @property
    def pid(self) -> int | None:
        """The process's id while it lives."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the process. The pipe that it follows is its standard input, which only this process holds open."""
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_FILE_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        with self.log_file.open("ab") as written:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=written, stderr=written, start_new_session=True
            )
        self._started = time.monotonic()

    def tend(self) -> int | None:
        """Start the process again when it has died and waited; its exit code when a death was found just now."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._again_at:
                self.start()
            return None
        code = self._process.poll()
        if code is None:
            return None
        self._close()
        self._deaths = 1 if now - self._started > STEADY_S else self._deaths + 1
        wait = min(FIRST_WAIT_S * 2 ** min(self._deaths - 1, 10), LONGEST_WAIT_S)
        self._again_at = now + wait
        log.warning(
            "child.died", role=self.role, code=code, deaths=self._deaths, again_in_s=wait, log=str(self.log_file)
        )
        return code

    def stop(self, deadline_s: float) -> None:
        """Ask the process to end, ask again at half time (a worker then drops its job), kill it at the deadline."""
        process = self._process
        if process is None:
            return
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(deadline_s / 2)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            log.warning("child.killed", role=self.role, after_s=deadline_s)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._close()

    def last_words(self, lines: int = 3) -> str:
        """The last lines of the process's log, for an error message."""
        if not self.log_file.exists():
            return ""
        with self.log_file.open("rb") as read:
            read.seek(max(0, self.log_file.stat().st_size - 4_000))
            return "\n".join(read.read().decode("utf-8", "replace").strip().splitlines()[-lines:])

    def _close(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()
        self._process = None
