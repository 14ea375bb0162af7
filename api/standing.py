"""How things stand, and what of it is told to whom.

Where the log stands and how much there is tells that something happened, or is there, that a reader may not see. So
another reader than the owner is told neither a position nor a generation, and counts of what they may see alone.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from .. import __version__
from ..projections.learning.own_model import fate, model_of
from ..projections.policy.eligibility import Reader
from ..projections.ranker import model
from .history import View
from .messages import PushResponse, SearchResponse, StatusResponse, WhyResponse
from .precision import precision
from .quarantine import waiting

Placed = TypeVar("Placed", PushResponse, SearchResponse, WhyResponse)


def told_to(reader: Reader, answer: Placed) -> Placed:
    """The answer as it is told to a reader: to another than the owner without the position and the generation."""
    return answer if reader.is_owner else msgspec.structs.replace(answer, position="", generation=0)


def standing(view: View, reader: Reader, *, owner: str) -> StatusResponse:
    """How a view stands for a reader; what only the running server knows is left out.

    Args:
        view: what is known.
        reader: who asks.
        owner: whose log it is.
    """
    overlay = view.overlay
    tuning = overlay.state.tuning
    seen = overlay.refusals(reader, view.now) == 0
    told = StatusResponse(
        version=__version__,
        owner=owner,
        position="",
        applied="",
        generation=0,
        snapshot_position="",
        overlay_items=0,
        items=overlay.policies.count_by_kind(seen),
        pushes=0,
        uptime_s=0.0,
        encoder="",
        bar=model_of(tuning.seen_by(reader)).bar,
        bar_default=model().bar,
        server="",
        as_of=view.as_of,
    )
    if not reader.is_owner:
        return told
    return msgspec.structs.replace(
        told,
        applied=str(overlay.position),
        generation=overlay.base.generation,
        snapshot_position=str(overlay.base.position),
        overlay_items=len(overlay),
        refit=fate(tuning),
        precision=precision(overlay.state.feedback, view.now),
        held=sum(1 for _ in waiting(overlay)),
    )
