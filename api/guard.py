"""Stands before all routes: makes sure who calls, and writes the one log line of each request."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..events.errors import RecallError
from .auth import caller_of
from .callers import OWNER, Caller
from .failures import failed, refusal
from .openapi import OPERATIONS, PLAIN

log = structlog.get_logger()

_OWN_HOST: Final = re.compile(rb"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_UNKNOWN: Final = "The token is missing, or does not count. Send one that does as `Authorization: Bearer TOKEN`."


class Guard:
    """Lets in who may come in, and tells the routes who it is."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._known = {operation.path for operation in OPERATIONS} | {*PLAIN}

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

        found = _caller(scope)
        if isinstance(found, Caller):
            scope["caller"] = found
            counts |= {} if found.on_the_spot else {"reader": found.name}
        await (self.app if isinstance(found, Caller) else found)(scope, receive, noting)
        route = scope["path"] if scope["path"] in self._known else "unknown"
        took = round((time.perf_counter() - started) * 1000, 3)
        log.info("request.served", method=scope["method"], route=route, status=status, ms=took, **counts)


def _caller(scope: Scope) -> Caller | Response:
    """Who calls, or the answer for whom it is nobody's business.

    On the Unix socket, where only processes of this user come in, it takes no token to be the owner. A token that is
    sent there counts all the same. uvicorn gives (path, None) as the server of a Unix socket and (address, port) for
    TCP; what is neither is treated as TCP is.
    """
    state, server = scope["app"].state, scope.get("server")
    on_socket = server is not None and server[1] is None
    tokens = [value for name, value in scope["headers"] if name == b"authorization"]
    if on_socket and not tokens:
        return OWNER
    if not on_socket and not state.any_host:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not _OWN_HOST.fullmatch(hosts[0]):
            # A web page can make a browser call a name that its owner has pointed at 127.0.0.1; the Host tells.
            return refusal(403, "refused", "The Host header names another machine. Call the API as 127.0.0.1.")
    try:
        found = caller_of(tokens, state.token_hash, state.service.caller_with)
    except RecallError as exc:
        return failed(exc)
    return found or refusal(401, "refused", _UNKNOWN, {"www-authenticate": "Bearer"})
