"""A reactor that is killed (SIGKILL, by itself) when it has come to a step for the nth time, counted over all batches.

Run as `python reactor_dying.py HOME OWNER STEP NTH`. Exits with 0 when there was nothing left to do before that.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from pathlib import Path

from instant_recall.events.connect import connect
from instant_recall.events.settings import Settings
from instant_recall.workers.reactor import Reactor


def run(home: str, owner: str, step: str, nth: int) -> None:
    """Work until there is nothing to do, or the end."""
    left = nth

    def die(done: str) -> None:
        nonlocal left
        left -= done == step
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    settings = Settings(home=Path(home), owner=owner, rebuild_after=3)
    with closing(connect(settings)) as client:
        reactor = Reactor(settings, client, after_step=die)
        reactor.open()
        while reactor.turn(block_ms=1):
            pass


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
