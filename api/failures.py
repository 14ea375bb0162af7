"""What every failure looks like from outside: a status, a stable code, and a sentence that says what to do."""

from __future__ import annotations

import traceback
from pathlib import Path

import msgspec
import structlog
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..events.envelope import new_event_id
from ..events.errors import (
    CorruptArchive,
    InvalidEvent,
    LogFull,
    LogGap,
    LogUnavailable,
    NotFound,
    NotRunning,
    RecallError,
    Refused,
)
from .messages import ErrorResponse
from .transport import MAX_REQUEST_BYTES

log = structlog.get_logger()

_FAILURES: tuple[tuple[type[Exception], int, str], ...] = (
    (NotFound, 404, "not_found"),
    (Refused, 403, "refused"),
    (InvalidEvent, 400, "invalid"),
    (LogFull, 507, "full"),
    (LogGap, 410, "gone"),
    (CorruptArchive, 500, "damaged"),
    (LogUnavailable, 503, "unavailable"),
    (NotRunning, 503, "unavailable"),
)


def refusal(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says what went wrong."""
    content = msgspec.json.encode(ErrorResponse(error=code, message=message))
    return Response(content, status, headers, "application/json")


def failed(exc: Exception) -> Response:
    """The answer for an exception. What is no error of ours leaves a line in the log, and an id to find it by."""
    if isinstance(exc, HTTPException):
        limit = MAX_REQUEST_BYTES // 1024 // 1024
        message = f"The body is over {limit} MiB. Nothing was stored; cut it in parts."
        return refusal(exc.status_code, "invalid", message, {"connection": "close"})
    for kind, status, code in _FAILURES:
        if isinstance(exc, kind):
            return refusal(status, code, str(exc))
    if type(exc) is RecallError:  # the root itself stands for a value that cannot be used, such as a bad position
        return refusal(400, "invalid", str(exc))
    error_id = new_event_id()
    last = traceback.extract_tb(exc.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    log.error("request.failed", error_id=error_id, error=type(exc).__name__, where=where)
    return refusal(500, "internal", f"Something failed inside. Look for {error_id} in the logs of the data folder.")
