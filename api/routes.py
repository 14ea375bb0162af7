"""The routes over a service: each operation with who may call it, and for a reader with what it may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..events.errors import InvalidEvent, Refused
from .callers import Caller
from .failures import failed, refusal
from .guard import Guard
from .messages import PublishResponse, PushResponse, SearchResponse, WhyResponse, WriteResponse
from .messages import Request as Question
from .openapi import OPERATIONS, PLAIN, Operation, document
from .transport import MAX_REQUEST_BYTES

if TYPE_CHECKING:
    from .service import Service

DRAIN_BYTES = 4 * MAX_REQUEST_BYTES
"""A body over the limit is read up to here and dropped: a client still sending would never read why it was refused."""
IDS_IN_A_LINE = 10
"""Event ids that a log line names; a batch can have thousands."""

_OWNERS: Final = "Only the owner may do this, and the token is another reader's. Ask the owner."


class _Named(msgspec.Struct):
    """Who a body says that it is from; whether it says so cannot be told from a request, which has a default."""

    reader: str = ""


_NAMED: Final = msgspec.json.Decoder(_Named)
_SLOW: Final = frozenset({"why"})
"""Reads that look at every row."""


def create_app(service: Service) -> Starlette:
    """The API over a service, as an ASGI app. Over TCP it lets nobody in before `serve` has given it a token's hash."""
    past = asyncio.Lock()
    routes = [Route(each.path, _endpoint(each, service, past), methods=[each.verb]) for each in OPERATIONS]
    routes += [Route(path, endpoint, methods=["GET"]) for path, endpoint in _PLAIN.items()]
    app = Starlette(routes=routes, middleware=[Middleware(Guard)], exception_handlers={HTTPException: _no_such_route})
    app.router.redirect_slashes = False
    app.state.service = service
    app.state.token_hash = ""
    app.state.any_host = False
    return app


def _endpoint(operation: Operation, service: Service, past: asyncio.Lock) -> Callable[[Request], Awaitable[Response]]:
    method: Callable[..., Any] = getattr(service, operation.name)
    decoder = None if operation.asked is None else msgspec.json.Decoder(operation.asked)

    async def asked_for(request: Request) -> tuple[Any, ...]:
        caller: Caller = request.scope["caller"]
        body = b"" if decoder is None else await _body(request)
        if not caller.may(operation.who):
            raise Refused(_OWNERS)
        if decoder is not None:
            asked, named = _decoded(decoder, body), "" if caller.is_owner else _decoded(_NAMED, body).reader
        elif operation.query is not None:
            asked, named = _converted(operation.query, request), request.query_params.get("reader", "")
        else:
            asked, named = None, ""
        if not caller.on_the_spot:
            asked = service.permitted(asked, named, caller)
        return () if asked is None else (asked,)

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
            return failed(exc)
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


async def _no_such_route(_request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)  # noqa: S101 - registered for it alone
    if exc.status_code == 404:
        return refusal(404, "not_found", "There is no such route. GET /openapi.json describes those there are.")
    allowed = (exc.headers or {}).get("Allow", "another method")
    return refusal(exc.status_code, "invalid", f"This route takes {allowed}.", dict(exc.headers or {}))


async def _healthz(_request: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type="application/json")


async def _openapi(_request: Request) -> Response:
    return Response(document(), media_type="application/json")


_PLAIN: Final = dict(zip(PLAIN, (_healthz, _openapi), strict=True))
