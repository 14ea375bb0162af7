"""Serving the app: the Unix socket, TCP when asked, the watch for new snapshots, and a stop that loses no answer."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from starlette.applications import Starlette

from ..events.errors import AlreadyRunning, RecallError
from ..events.settings import private_dir
from .connections import HEAD_S, SILENT_S, allow_files, cut_overdue, cut_surplus
from .peers import OwnPeers
from .routes import create_app
from .tcp import Tcp

if TYPE_CHECKING:
    from .service import Service

__all__ = ["Tcp", "create_app", "serve"]

log = structlog.get_logger()

REFRESH_SECONDS = 0.5
"""How often a newer snapshot is looked for. No answer depends on it: the overlay holds the difference meanwhile."""
FOLLOW_SECONDS = 0.05
"""How often the log is followed between requests. Every request reads to the tail itself; this keeps that short."""
KEEP_ALIVE_SECONDS = int(SILENT_S)
"""How long an idle connection is kept: a chat's turns are often a minute apart."""
STOP_SECONDS = 10
"""How long requests under way may take to finish when the server stops."""
FAREWELL_SECONDS = 1.0
"""How long the other side of a TLS connection may take to say goodbye: an idle client never does."""
BACKLOG = 512
"""Connections that may wait to be taken."""
TICKS_BETWEEN_LOOKS = 10
"""Between two looks for connections that are overdue; uvicorn ticks every tenth of a second."""


def serve(
    app: Starlette,
    *,
    socket_path: Path,
    tcp: Tcp | None = None,
    token_hash: str = "",
    on_started: Callable[[], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Serve an app of `create_app` until SIGTERM, SIGINT or `stop`; then finish what is under way.

    Args:
        app: the app; its service is closed in every case, also when serving fails.
        socket_path: the Unix socket. Its folder is made this user's alone.
        tcp: where to listen on TCP too.
        token_hash: `hash_token` of the owner's own token for TCP.
        on_started: called once when requests are taken.
        stop: stops the server when it is set, for one that does not run in the main thread.

    Raises:
        AlreadyRunning: another server answers on the socket.
        RecallError: the socket's folder, the port or the TLS files cannot be had, or TCP is asked for without a token,
            or beyond this machine without TLS.
    """
    service: Service = app.state.service
    allow_files()
    stop = stop or threading.Event()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_stopped_by_signals(stop))
        stack.callback(service.close)
        if tcp is not None and not token_hash:
            raise RecallError("Listening on TCP needs a token. Make one first.")
        app.state.token_hash = token_hash
        app.state.any_host = tcp is not None and not tcp.is_loopback
        context = tcp.check() if tcp is not None else None
        here = stack.enter_context(_unix_listener(socket_path))
        there = stack.enter_context(tcp.listener(BACKLOG)) if tcp is not None else None
        stack.enter_context(_repeated(service.refresh, REFRESH_SECONDS, "refresh"))
        stack.enter_context(_repeated(service.follow, FOLLOW_SECONDS, "follow"))
        _Server(app, there, context, on_started, stop).run([here])


class _Server(uvicorn.Server):
    """uvicorn, quiet, on one event loop everywhere, with a hook at the start and a stop from outside.

    It serves the Unix socket; TCP beside it, since uvicorn would speak TLS on all of its sockets, or on none.
    """

    def __init__(
        self,
        app: Starlette,
        tcp: socket.socket | None,
        tls: ssl.SSLContext | None,
        on_started: Callable[[], None] | None,
        stop: threading.Event,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=OwnPeers,
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,  # else a header could say that a TCP request is somebody else's
                server_header=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=STOP_SECONDS,
                backlog=BACKLOG,
            )
        )
        self._tcp = tcp
        self._tls = tls
        self._on_started = on_started
        self._stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._tcp is not None:
            loop = asyncio.get_running_loop()
            waits: dict[str, Any] = {}
            if self._tls is not None:
                waits = {"ssl_handshake_timeout": HEAD_S, "ssl_shutdown_timeout": FAREWELL_SECONDS}
            beside = await loop.create_server(self._protocol, sock=self._tcp, ssl=self._tls, backlog=BACKLOG, **waits)
            self.servers.append(beside)
        if self._on_started is not None:
            self._on_started()

    def _protocol(self) -> OwnPeers:
        return OwnPeers(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        connections = list(self.server_state.connections)
        cut_surplus(connections)
        if counter % TICKS_BETWEEN_LOOKS == 0:
            cut_overdue(connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter) or self._stop.is_set()


@contextlib.contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into `stop`.

    uvicorn raises them again when it is done, which would end the process before the service is closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, lambda *_: stop.set()) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def _unix_listener(path: Path) -> Iterator[socket.socket]:
    """A listening socket that only this user can open. What a killed server left behind is removed.

    The lock beside it decides between two that start at once: each would take the other's fresh socket for a left one.
    """
    private_dir(path.parent)
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise AlreadyRunning from exc
        _remove_left(path)
        try:
            with _bound(path) as listener:
                yield listener
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _remove_left(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise RecallError(f"{path} is in the way and is no socket. Move it elsewhere.")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError:  # a full backlog or no answer in time: somebody has it open
            pass
    raise AlreadyRunning


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        raise RecallError(f"Cannot listen on {path} ({exc.strerror or exc}). Choose another data folder.") from exc
    finally:
        os.umask(before)
    return listener


@contextlib.contextmanager
def _repeated(work: Callable[[], object], seconds: float, name: str) -> Iterator[None]:
    """Do some work again and again in a thread of its own, so that no request waits for it."""
    done = threading.Event()
    told: set[str] = set()

    def repeat() -> None:
        while not done.wait(seconds):
            try:
                work()
            except Exception as exc:  # noqa: BLE001 - requests go on being answered, and the next try may succeed
                if type(exc).__name__ not in told:
                    told.add(type(exc).__name__)
                    # Without a traceback: it may quote what was being read.
                    log.error("background.failed", work=name, error=type(exc).__name__)  # noqa: TRY400

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(STOP_SECONDS)
