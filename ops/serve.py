"""The API process put together: log, encoder, snapshots, service, HTTP."""

from __future__ import annotations

import sys

import structlog

from ..api.auth import stored_token_hash
from ..api.recorder import Recorder
from ..api.server import Tcp, create_app, serve
from ..api.service import Service
from ..events.connect import open_log
from ..events.settings import Settings
from ..projections.meaning.encoders import load_encoders
from ..projections.snapshot_store import SnapshotStore
from . import embedded

log = structlog.get_logger()


def serve_api(settings: Settings, *, tcp: Tcp | None = None) -> None:
    """Serve the API of a data folder until a signal says stop.

    A server of ours that has died is started again by the request that finds it gone; an external one is waited for by
    whoever runs it.

    Raises:
        RecallError: the log cannot be reached, the encoder is not there, or the socket or port is taken.
    """
    recover = None if settings.redis_url else lambda: _start_again(settings)
    # A thread that warms a snapshot must hand over to a request at once, not after the usual 5 ms.
    sys.setswitchinterval(0.0005)
    events = open_log(settings, recover=recover)
    service = Service(
        events,
        load_encoders(settings.encoder),
        SnapshotStore(settings.snapshots_dir),
        server="external" if settings.redis_url else "embedded",
        record=Recorder(events),
    )
    service.warm()
    serve(
        create_app(service),
        socket_path=settings.api_socket,
        tcp=tcp,
        token_hash=stored_token_hash(settings.home) if tcp is not None else "",
        on_started=lambda: log.info("api.started", tcp=tcp.url if tcp else None, socket=str(settings.api_socket)),
    )


def _start_again(settings: Settings) -> None:
    if embedded.ensure_running(settings):
        log.warning("server.restarted", home=str(settings.home))
