"""The nightly refit: the ranker's weights for one owner, learned from what was opened, and adopted only when better.

The log is replayed from the newest snapshot before the first request that counts, and every request is asked again as
of just before it was made: later on, a correction or a session that helped would give away what was right.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog

from ..events.connect import log_on
from ..events.envelope import Actor, RecordedEvent, draft, now_ms
from ..events.log import EventLog
from ..events.position import LARGEST, Position
from ..events.settings import Settings
from ..events.types import ItemForgotten, Millis, RankerRefitted, RankerReverted
from .jobs import alone

if TYPE_CHECKING:
    from ..projections.learning.outcomes import Outcome
    from ..projections.learning.refit import Found, Judged
    from ..projections.learning.tuning import Tuning
    from ..projections.meaning.encoders import Encoders
    from ..projections.ranker import Model
    from ..projections.snapshot_store import SnapshotStore

log = structlog.get_logger()

SPAN_MS: Final = 90 * 86_400_000
"""What happened before is learned from no more: needs change."""
MOST_REQUESTS: Final = 1_500
"""The newest so many are learned from. Asking one again takes a few milliseconds."""
_BATCH: Final = 500
_ACTOR: Final = Actor(kind="system", name="refit")


def refit_ranker(home: str, redis_url: str | None = "", owner: str = "owner", encoder: str = "") -> dict[str, Any]:
    """Learn from an owner's accesses, and tell the log when what was learned is better.

    Args:
        home: the data folder.
        redis_url: as for `build_snapshot`.
        owner: whose log.
        encoder: as in Settings.

    Returns:
        `{"outcome", "why", "requests", "held_back", "seconds"}` and, where there was enough to go on, the scores before
        and after. The outcome is `adopted`, `not_better` or `not_enough`; or only `busy`, when one is under way.

    Raises:
        LogUnavailable: the server cannot be reached.
        LogGap, CorruptArchive: the log does not go back far enough any more.
        EncoderMissing: the encoder is not there.
    """
    settings = Settings(home=Path(home), redis_url=redis_url or "", owner=owner, encoder=encoder)
    with alone(settings, "refit", of_job=redis_url is None) as client:
        if client is None:
            return {"outcome": "busy"}
        from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415 - only enqueueing does without numpy
        from ..projections.snapshot_store import SnapshotStore  # noqa: PLC0415

        store = SnapshotStore(settings.snapshots_dir)
        return refit_from(log_on(client, settings), store, load_encoders(encoder), now=now_ms())


def refit_from(events: EventLog, store: SnapshotStore | None, encoders: Encoders, *, now: Millis) -> dict[str, Any]:
    """The same over a log at hand, as of `now`."""
    from ..projections.learning.own_model import model_of  # noqa: PLC0415
    from ..projections.learning.refit import refit, too_few  # noqa: PLC0415
    from ..projections.ranker import model  # noqa: PLC0415

    began = time.monotonic()
    outcomes, forgotten = _outcomes(events, now)
    found = too_few(len(outcomes))
    if found is None:
        requests, tuning = _asked_again(events, store, encoders, outcomes, forgotten)
        found = refit(requests, model(), model_of(tuning))
    facts = _facts(found) | {"seconds": round(time.monotonic() - began, 3)}
    if found.outcome == "adopted":
        events.append([draft(_told(found, model()), occurred_at=now, actor=_ACTOR)])
    log.info("ranker.refit", **{name: fact for name, fact in facts.items() if name != "why"})
    return facts


def _outcomes(events: EventLog, now: Millis) -> tuple[list[Outcome], set[str]]:
    """The requests to learn from, in the order of the log; and what was forgotten, which is asked of no more."""
    from ..projections.learning.outcomes import Outcomes  # noqa: PLC0415
    from ..projections.policy.caps import counts  # noqa: PLC0415

    found, forgotten = Outcomes(), set()
    for recorded in _after(events, Position(max(now - SPAN_MS, 0), 0)):
        if not counts(recorded.event, recorded.actor.kind):
            continue
        if isinstance(recorded.event, RankerReverted):
            found.start_over()
        elif isinstance(recorded.event, ItemForgotten):
            forgotten.add(recorded.event.item)
        else:
            found.take([recorded])
    return found.known(now)[-MOST_REQUESTS:], forgotten


def _asked_again(
    events: EventLog,
    store: SnapshotStore | None,
    encoders: Encoders,
    outcomes: Sequence[Outcome],
    forgotten: set[str],
) -> tuple[list[Judged], Tuning]:
    """Every request (there is one) with its candidates as of then; and the tuning at the end of the log."""
    from ..projections.learning.refit import judged  # noqa: PLC0415
    from ..projections.learning.reusing import reusing  # noqa: PLC0415
    from ..projections.overlay import Overlay  # noqa: PLC0415
    from ..projections.policy.eligibility import OWNER_NAME  # noqa: PLC0415
    from ..projections.ranker import model  # noqa: PLC0415
    from ..projections.searcher import Searcher  # noqa: PLC0415
    from ..projections.snapshot import base_at, latest_base  # noqa: PLC0415

    if store is not None:
        encoders = reusing(encoders, latest_base(store, encoders))
    overlay = Overlay(base_at(store, encoders, _just_before(outcomes[0].position)), encoders)
    tuning = overlay.state.tuning
    waiting: list[RecordedEvent] = []
    asked: list[Judged] = []
    left = list(reversed(outcomes))
    for recorded in _after(events, overlay.position):
        while left and left[-1].position <= recorded.position:
            outcome = left.pop()
            overlay.apply(waiting)
            overlay.forget(forgotten)
            waiting.clear()
            owner = overlay.state.reader(OWNER_NAME, outcome.at)
            searcher = Searcher(overlay, encoders, owner, outcome.at, session=outcome.session)
            asked.append(judged(searcher, outcome, model().features))
        if left:
            waiting.append(recorded)
        tuning = tuning.after(recorded)
    return asked, tuning


def _after(events: EventLog, position: Position) -> Iterator[RecordedEvent]:
    """Every event behind a position, up to where the log ends now."""
    until = events.last_position()
    while position < until and (batch := events.read(position, _BATCH)):
        yield from (recorded for recorded in batch if recorded.position <= until)
        position = batch[-1].position


def _just_before(position: Position) -> Position:
    return Position(position.ms, position.seq - 1) if position.seq else Position(position.ms - 1, LARGEST)


def _facts(found: Found) -> dict[str, Any]:
    facts: dict[str, Any] = {name: getattr(found, name) for name in ("outcome", "why", "requests", "held_back")}
    if found.until:
        facts |= {"since": found.since, "until": found.until}
    for name, scores in (("before", found.before), ("after", found.after)):
        if scores is not None:
            facts |= {f"{what}_{name}": value for what, value in scores._asdict().items()}
    return facts


def _told(found: Found, default: Model) -> RankerRefitted:
    assert found.weights is not None  # noqa: S101 - without weights nothing is adopted
    scores = {name: fact for name, fact in _facts(found).items() if name in RankerRefitted.__struct_fields__}
    told = RankerRefitted(
        base=default.fingerprint,
        features=default.features,
        weights=tuple(found.weights.weights.tolist()),
        bias=found.weights.bias,
    )
    return msgspec.structs.replace(told, **scores)
