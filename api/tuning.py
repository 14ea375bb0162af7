"""The owner's bar and the refits of the ranker: shown, moved, taken back."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from ..events.envelope import draft, new_event_id
from ..events.errors import Refused
from ..events.log import EventLog
from ..events.types import BarSet, Millis, RankerReverted
from ..projections.learning.own_model import fate, model_of, moved, words
from ..projections.learning.tuning import Refit, Tuning
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.ranker import model
from .messages import BarRequest, BarResponse, RefitRequest, RefitResponse


def bar(log: EventLog, tuning: Tuning, request: BarRequest, clock: Callable[[], Millis]) -> BarResponse:
    """Answer a request about the bar; see Service.bar. `tuning` is what counts for the owner now.

    What would change nothing (a step from the bar's end, or what holds already) stores nothing.
    """
    _for_the_owner(request.reader)
    before, position = model_of(tuning).bar, ""
    wanted = moved(before, request.change) if request.change else tuning.bar
    if wanted != tuning.bar and not (wanted == before and _is_step(request.change)):
        event_id = request.event_id or new_event_id()
        (stored,) = log.append([draft(BarSet(bar=wanted), occurred_at=clock(), event_id=event_id)])
        position = str(stored.position)
        tuning = Tuning(bar=wanted, refits=tuning.refits)
    return BarResponse(
        bar=model_of(tuning).bar,
        default=model().bar,
        is_default=tuning.bar is None,
        before=before,
        words=words(tuning),
        position=position,
    )


def refit(log: EventLog, tuning: Tuning, request: RefitRequest, clock: Callable[[], Millis]) -> RefitResponse:
    """Answer a request about the refits; see Service.refit. `tuning` is what counts for the owner now."""
    _for_the_owner(request.reader)
    gone: tuple[Refit, ...] = ()
    if request.undo:
        gone = tuning.refits if request.undo == "all" else tuning.refits[-1:]
        reverted = [RankerReverted(refit=one.event_id) for one in reversed(gone)]
        first = request.event_id or new_event_id()
        ids = [first, *(str(uuid.uuid5(uuid.UUID(first), one.event_id)) for one in gone[1:])]
        if reverted:
            log.append(
                [draft(event, occurred_at=clock(), event_id=id_) for event, id_ in zip(reverted, ids, strict=True)]
            )
        tuning = Tuning(bar=tuning.bar, refits=tuning.refits[: len(tuning.refits) - len(gone)])
    default = model()
    newest = tuning.refit
    told = newest.told if newest else None
    return RefitResponse(
        fate=fate(tuning),
        undone=len(gone),
        kept=len(tuning.refits),
        adopted_at=newest.recorded_at if newest else None,
        default=dict(zip(default.features, default.weights, strict=True), bias=default.bias),
        own=dict(zip(told.features, told.weights, strict=False), bias=told.bias) if told else {},
        refit=told,
    )


def _is_step(change: str) -> bool:
    return change.strip().lower() in {"more", "less"}


def _for_the_owner(reader: str) -> None:
    if reader != OWNER_NAME:
        raise Refused("How the ranker judges is the owner's: only the owner may see or change it.")
