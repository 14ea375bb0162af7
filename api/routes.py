"""The routes over a service, who may call them, and what every failure looks like from outside."""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
from .auth import token_fits
from .messages import ErrorResponse, PublishResponse, PushResponse, SearchResponse, WhyResponse, WriteResponse
from .messages import Request as Question
from .openapi import OPERATIONS, Operation, document
from .transport import MAX_REQUEST_BYTES

if TYPE_CHECKING:
    from .service import Service

log = structlog.get_logger()

DRAIN_BYTES = 4 * MAX_REQUEST_BYTES
"""A body over the limit is read up to here and dropped: a client still sending would never read why it was refused."""
IDS_IN_A_LINE = 10
"""Event ids that a log line names; a batch can have thousands."""

_OWN_HOST = re.compile(rb"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
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

_SLOW: Final = frozenset({"why"})
"""Reads that look at every row."""


def create_app(service: Service) -> Starlette:
    """The API over a service, as an ASGI app. Over TCP it lets nobody in before `serve` has given it a token's hash."""
    past = asyncio.Lock()
    routes = [Route(each.path, _endpoint(each, service, past), methods=[each.verb]) for each in OPERATIONS]
    routes += [Route("/healthz", _healthz, methods=["GET"]), Route("/openapi.json", _openapi, methods=["GET"])]
    app = Starlette(routes=routes, middleware=[Middleware(Guard)], exception_handlers={HTTPException: _no_such_route})
    app.router.redirect_slashes = False
    app.state.service = service
    app.state.token_hash = ""
    return app


def _endpoint(operation: Operation, service: Service, past: asyncio.Lock) -> Callable[[Request], Awaitable[Response]]:
    method: Callable[..., Any] = getattr(service, operation.name)
    decoder = None if operation.asked is None else msgspec.json.Decoder(operation.asked)

    async def asked_for(request: Request) -> tuple[Any, ...]:
        if decoder is not None:
            return (_decoded(decoder, await _body(request)),)
        return () if operation.query is None else (_converted(operation.query, request),)

    async def endpoint(request: Request) -> Response:
        try:
            asked = await asked_for(request)
            # Reads take a few milliseconds and share one searcher, so they run here, one after the other. A write
            # waits for the disk, so it must not hold them up. Nor must a look into the past, or at every row, which may
            # take seconds; such looks wait here for one another, where they keep no thread from the writes.
            if operation.writes:
                answer = await run_in_threadpool(method, *asked)
            elif operation.name in _SLOW or any(getattr(each, "as_of", "") for each in asked):
                async with past:
                    answer = await run_in_threadpool(method, *asked)
            else:
                answer = method(*asked)
            content = msgspec.json.encode(answer)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as exc:  # noqa: BLE001 - every failure becomes an answer
            return _failed(exc)
        request.scope["counts"].update(_counts(answer))
        return Response(content, media_type="application/json")

    return endpoint


async def _body(request: Request) -> bytes:
    size, parts = 0, []
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_REQUEST_BYTES:
            parts.append(chunk)
        elif size > DRAIN_BYTES:
            break
    if size > MAX_REQUEST_BYTES:
        raise HTTPException(413)
    return b"".join(parts)


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidEvent(f"The body is not as the route wants it: {str(exc)[:300]}. See GET /openapi.json.") from exc


def _converted(query: type[Question], request: Request) -> Question:
    try:
        return msgspec.convert(dict(request.query_params), query)
    except msgspec.ValidationError as exc:
        raise InvalidEvent(f"The query is not as the route wants it: {str(exc)[:300]}. See GET /openapi.json.") from exc


def _counts(answer: Any) -> dict[str, Any]:
    """What the log line tells about an answer: ids and numbers, never text."""
    match answer:
        case PushResponse():
            return {"pointers": len(answer.pointers), "tokens": answer.tokens, "reason": answer.reason}
        case SearchResponse():
            return {"found": len(answer.found)}
        case WhyResponse():
            return {"gate": answer.gate}
        case PublishResponse():
            ids = [event.event_id for event in answer.events[:IDS_IN_A_LINE]]
            return {"events": len(answer.events), "event_ids": ids}
        case WriteResponse():
            return {"events": 1, "event_ids": [answer.event_id]}
    return {}


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    content = msgspec.json.encode(ErrorResponse(error=code, message=message))
    return Response(content, status, headers, "application/json")


def _failed(exc: Exception) -> Response:
    if isinstance(exc, HTTPException):
        limit = MAX_REQUEST_BYTES // 1024 // 1024
        message = f"The body is over {limit} MiB. Nothing was stored; cut it in parts."
        return _error(exc.status_code, "invalid", message, {"connection": "close"})
    for kind, status, code in _FAILURES:
        if isinstance(exc, kind):
            return _error(status, code, str(exc))
    if type(exc) is RecallError:  # the root itself stands for a value that cannot be used, such as a bad position
        return _error(400, "invalid", str(exc))
    error_id = new_event_id()
    last = traceback.extract_tb(exc.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    log.error("request.failed", error_id=error_id, error=type(exc).__name__, where=where)
    return _error(500, "internal", f"Something failed inside. Look for {error_id} in the logs of the data folder.")


async def _no_such_route(_request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)  # noqa: S101 - registered for it alone
    if exc.status_code == 404:
        return _error(404, "not_found", "There is no such route. GET /openapi.json describes those there are.")
    allowed = (exc.headers or {}).get("Allow", "another method")
    return _error(exc.status_code, "invalid", f"This route takes {allowed}.", dict(exc.headers or {}))


async def _healthz(_request: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type="application/json")


async def _openapi(_request: Request) -> Response:
    return Response(document(), media_type="application/json")


class Guard:
    """Stands before all routes: lets in who may come in, and writes the one log line of each request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._known = {operation.path for operation in OPERATIONS} | {"/healthz", "/openapi.json"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0
        counts: dict[str, Any] = {}
        scope["counts"] = counts

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await (_refusal(scope) or self.app)(scope, receive, noting)
        route = scope["path"] if scope["path"] in self._known else "unknown"
        took = round((time.perf_counter() - started) * 1000, 3)
        log.info("request.served", method=scope["method"], route=route, status=status, ms=took, **counts)


def _refusal(scope: Scope) -> Response | None:
    """None for the Unix socket, whose file mode stands guard. Anything else needs a local Host and the token.

    uvicorn gives (path, None) as the server of a Unix socket and (address, port) for TCP; what is neither is refused
    like TCP without a token.
    """
    server = scope.get("server")
    if server is not None and server[1] is None:
        return None
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 or not _OWN_HOST.fullmatch(hosts[0]):
        # A web page can make a browser call a name that its owner has pointed at 127.0.0.1; the Host gives it away.
        return _error(403, "refused", "The Host header names another machine. Call the API as 127.0.0.1.")
    tokens = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(tokens) != 1 or not token_fits(tokens[0], scope["app"].state.token_hash):
        message = "The token is missing or wrong. Send it as `Authorization: Bearer TOKEN`."
        return _error(401, "refused", message, {"www-authenticate": "Bearer"})
    return None
