"""A writer that survives its server: appends batches for ever and writes down what was acknowledged.

Run as `python log_writer.py HOME WRITER ACKNOWLEDGED_FILE SERVER_PROGRAM`. Each batch is BATCH turns of one session.
"""

from __future__ import annotations

import sys
from pathlib import Path

from instant_recall.events.connect import open_log
from instant_recall.events.envelope import draft
from instant_recall.events.errors import LogUnavailable
from instant_recall.events.settings import Settings
from instant_recall.events.types import TurnRecorded
from instant_recall.ops import embedded

BATCH = 5


def write(home: str, writer: str, acknowledged: str, program: str) -> None:
    """Append until killed; a server that is gone is started again from this program."""
    embedded.server_binary = lambda: Path(program)
    settings = Settings(home=Path(home))
    log = open_log(settings, recover=lambda: embedded.ensure_running(settings))
    batch = 0
    with Path(acknowledged).open("a", buffering=1) as file:
        while True:
            session = f"{writer}/{batch}"
            drafts = [draft(TurnRecorded(session=session, turn=n, role="owner", text="t" * 200)) for n in range(BATCH)]
            stored = False
            while not stored:
                try:
                    log.append(drafts)
                    stored = True
                except LogUnavailable:
                    continue  # the outcome is unknown: the same drafts again settle it
            file.write(f"{session}\n")
            batch += 1


if __name__ == "__main__":
    write(*sys.argv[1:])
