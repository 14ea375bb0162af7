"""From a caller's arguments to a request that can be sent, and from a refusal back to an error. No heavy imports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from ..events.envelope import EventDraft, new_event_id
from ..events.errors import (
    CorruptArchive,
    InvalidEvent,
    LogFull,
    LogGap,
    LogUnavailable,
    NotFound,
    RecallError,
    Refused,
)
from ..events.types import Event
from .messages import ErrorResponse, PublishEvent, Request
from .transport import MAX_REQUEST_BYTES

Asked = TypeVar("Asked", bound=Request)

_ERRORS: dict[str, type[RecallError]] = {
    "not_found": NotFound,
    "refused": Refused,
    "invalid": InvalidEvent,
    "unavailable": LogUnavailable,
    "full": LogFull,
    "gone": LogGap,
    "damaged": CorruptArchive,
}


def checked(cls: type[Asked], **fields: Any) -> Asked:
    """Build a request with each field checked. A plain constructor would take bytes, and send them as base64."""
    try:
        return msgspec.convert(fields, cls)
    except (msgspec.ValidationError, RecursionError) as exc:
        raise InvalidEvent(f"{exc}. Nothing was sent.") from exc


def texts(values: Iterable[str]) -> tuple[str, ...]:
    """The values as a tuple. A lone string is a mistake that would become a tuple of letters."""
    if isinstance(values, str | bytes):
        raise InvalidEvent("Expected a list of texts, got one text. Put it in brackets.")
    return tuple(values)


def publishable(event: Event | EventDraft | PublishEvent, common: dict[str, Any]) -> PublishEvent:
    """Any form of event as the API takes it, with an id. `common` fills in what a plain event does not say."""
    if isinstance(event, PublishEvent):
        return event if event.event_id else msgspec.structs.replace(event, event_id=new_event_id())
    if isinstance(event, EventDraft):
        common = {name: getattr(event, name) for name in ("actor", "source", "audience", "occurred_at", "event_id")}
        event = event.event
    if not isinstance(event, Event):
        raise InvalidEvent(f"{type(event).__name__} is not an event. Publish events, drafts or PublishEvents.")
    body = msgspec.to_builtins(event)
    del body["type"]
    return checked(PublishEvent, type=event.type_name(), body=body, **{"event_id": new_event_id(), **common})


def encoded(asked: Request) -> bytes:
    """The request as JSON, if the server would take it."""
    try:
        body = msgspec.json.encode(asked)
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise InvalidEvent(f"The request cannot be written as JSON ({type(exc).__name__}). Nothing was sent.") from exc
    if len(body) > MAX_REQUEST_BYTES:
        raise InvalidEvent(
            f"The request is {len(body)} bytes, over the limit of {MAX_REQUEST_BYTES}. Nothing was sent; split it."
        )
    return body


def error_of(failed: ErrorResponse) -> RecallError:
    """The error that the server raised, as near as its code tells."""
    return _ERRORS.get(failed.error, RecallError)(failed.message)
