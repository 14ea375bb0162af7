"""The nightly weighing: use keys gain weight when the pointers they bring in are used, and lose it when they are not.

It always counts from the log, over a window, and never adds to what was counted before. So it may run twice, or not for
a month, and what it says depends on the log alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from ..events.connect import log_on
from ..events.envelope import Actor, RecordedEvent, draft, now_ms
from ..events.log import MAX_BATCH, EventLog
from ..events.position import Position
from ..events.settings import Settings
from ..events.types import Millis
from .jobs import alone

if TYPE_CHECKING:
    from ..projections.learning.weighing import Counts, Pointed
    from ..projections.meaning.encoders import Encoders
    from ..projections.overlay import Overlay
    from ..projections.snapshot_store import SnapshotStore

log = structlog.get_logger()

WINDOW_MS: Final = 90 * 86_400_000
"""What happened before does not count any more: needs change, and a key that was held down gets another chance."""
MOST_POINTERS: Final = 10_000
"""The latest so many are counted. To ask a push again takes 5 to 10 ms."""
PAGE: Final = 1_000
ACTOR: Final = Actor(kind="system", name="weighing")


def weigh_keys(home: str, redis_url: str | None = "", owner: str = "owner", encoder: str = "") -> dict[str, Any]:
    """Count what became of the pointers of the last 90 days, and tell the log of each key whose weight changes.

    Args:
        home: the data folder.
        redis_url: as for `build_snapshot`.
        owner: whose log.
        encoder: as in Settings.

    Returns:
        `{"outcome": "weighed", "pointers", "keys", "changed", "seconds"}`: pointers of which it can be told what became
        of them, keys that brought any of them in, and keys whose weight is another now; or `{"outcome": "busy"}` when
        this is under way already.

    Raises:
        LogUnavailable: the server cannot be reached.
        LogGap, CorruptArchive: the log cannot be read over the whole window.
        EncoderMissing: the encoder is not there.
    """
    settings = Settings(home=Path(home), redis_url=redis_url or "", owner=owner, encoder=encoder)
    with alone(settings, "weighing", of_job=redis_url is None) as client:
        if client is None:
            return {"outcome": "busy"}
        from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415 - only enqueueing does without numpy
        from ..projections.snapshot_store import SnapshotStore  # noqa: PLC0415

        store = SnapshotStore(settings.snapshots_dir)
        return weigh_from(log_on(client, settings), store, load_encoders(encoder), now=now_ms())


def weigh_from(events: EventLog, store: SnapshotStore, encoders: Encoders, *, now: Millis) -> dict[str, Any]:
    """The same over a log at hand, as of `now`."""
    from ..projections.learning.weighing import Pointers, changes  # noqa: PLC0415
    from ..projections.overlay import Overlay  # noqa: PLC0415
    from ..projections.snapshot import catch_up, latest_base  # noqa: PLC0415

    began = time.monotonic()
    pointers = Pointers()
    for page in _pages(events, Position(max(now - WINDOW_MS, 0), 0)):
        pointers.take(page)
    judged = sorted(pointers.judged(now), key=lambda one: one.at)[-MOST_POINTERS:]
    overlay = Overlay(latest_base(store, encoders), encoders)
    catch_up(overlay, events)
    counted = _counted(overlay, encoders, judged)
    found = changes(overlay.state.all(), counted)
    told = [draft(event, occurred_at=now, actor=ACTOR, audience=key.audience) for key, event in found]
    for start in range(0, len(told), MAX_BATCH):
        events.append(told[start : start + MAX_BATCH])
    facts: dict[str, Any] = {
        "pointers": len(judged),
        "keys": len(counted),
        "changed": len(told),
        "seconds": round(time.monotonic() - began, 3),
    }
    log.info("keys.weighed", **facts)
    return {"outcome": "weighed", **facts}


def _counted(overlay: Overlay, encoders: Encoders, judged: Sequence[Pointed]) -> dict[tuple[str, str], Counts]:
    """For each (item, key) what became of the pointers that the key brought in."""
    from ..projections.learning.weighing import NOTHING, Speaker, may_count  # noqa: PLC0415
    from ..projections.searcher import Searcher  # noqa: PLC0415

    speaker = Speaker(encoders)
    pushes: dict[tuple[str, str, str, Millis], list[Pointed]] = defaultdict(list)
    for one in judged:
        pushes[one.reader, one.session, one.request, one.at].append(one)
    counted: dict[tuple[str, str], Counts] = defaultdict(lambda: NOTHING)
    for (reader, session, request, at), pointed in pushes.items():
        searcher = Searcher(overlay, encoders, overlay.state.reader(reader, at), at, session=session, weights=False)
        spoke = speaker.keys(searcher, request, [one.item for one in pointed], at)
        for one in pointed:
            key = spoke.get(one.item)
            if key is not None and may_count(one, key):
                counted[one.item, key.key] += one.counts()
    return dict(counted)


def _pages(events: EventLog, after: Position) -> Iterator[list[RecordedEvent]]:
    """Every event behind a position, up to where the log ends now."""
    until = events.last_position()
    while after < until and (page := events.read(after, PAGE)):
        yield [recorded for recorded in page if recorded.position <= until]
        after = page[-1].position
