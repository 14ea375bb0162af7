"""A harness that publishes for ever and writes down what was acknowledged.

Run as `python harness.py HOME NAME ACKNOWLEDGED_FILE`. What fails is sent again under the same event ids until it is
acknowledged, however long the API is away.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path

from instant_recall.api.client import Client
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.errors import RecallError
from instant_recall.events.types import NoteRecorded, OwnershipCorrected, TurnRecorded

PAUSE_S = 0.02


def write(home: str, name: str, acknowledged: str) -> None:
    """Publish until killed, with a push between the writes."""
    client = Client(home)
    with Path(acknowledged).open("a", buffering=1) as file:
        for number in count():
            drafts = story(name, number)
            while not _published(client, drafts):
                time.sleep(PAUSE_S)
            file.writelines(f"{made.event_id}\n" for made in drafts)
            client.push(f"where does {name} keep the chart of sector {number % 50}?", session=name)
            time.sleep(PAUSE_S)


def story(name: str, number: int) -> list[EventDraft]:
    """What happens in one step: a turn, a note, and a correction to an older note."""
    return [
        draft(TurnRecorded(session=f"{name}-{number // 20}", turn=number % 20, role="owner", text=f"sector {number}")),
        draft(NoteRecorded(item=f"note:{name}-{number}", name=f"chart {number}", text=f"depths of sector {number}")),
        draft(OwnershipCorrected(item=f"note:{name}-{number // 2}", request=f"the chart of sector {number % 50}")),
    ]


def _published(client: Client, drafts: list[EventDraft]) -> bool:
    try:
        client.publish(drafts)
    except RecallError:
        return False
    return True


if __name__ == "__main__":
    write(*sys.argv[1:])
