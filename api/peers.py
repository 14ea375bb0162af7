"""The other end of a connection: on the Unix socket only processes of the user who runs the server are let in."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from typing import Final

import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from .connections import Tended

log = structlog.get_logger()

_LINUX: Final = struct.Struct("3i")
"""struct ucred: process, user, group."""
_MAC: Final = struct.Struct("2I")
"""How struct xucred begins: version, user."""
_MAC_BYTES: Final = 76
_LOCAL_PEERCRED: Final = 1


class OwnPeers(Tended, H11Protocol):
    """uvicorn's protocol, which hangs up on other users before it reads a byte.

    The socket's file is for its owner alone already. This holds as well where somebody has changed that, and for root.
    It is the one of h11, which comes with us; uvicorn would take another where that happens to be installed.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look who is there."""
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        if peer.family == socket.AF_UNIX and (uid := peer_uid(peer)) != own_uid():
            log.warning("peer.refused", uid=uid)
            transport.abort()


def own_uid() -> int:
    """The user that this process acts as."""
    return os.geteuid()


def peer_uid(connection: socket.socket) -> int:
    """The user who opened the other end of a connected Unix socket; -1 when the system does not tell."""
    if hasattr(socket, "SO_PEERCRED"):
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX.size)
        return int(_LINUX.unpack(found)[1])
    try:
        return int(_MAC.unpack_from(connection.getsockopt(0, _LOCAL_PEERCRED, _MAC_BYTES))[1])
    except OSError:
        return -1
