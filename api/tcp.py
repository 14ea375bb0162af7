"""Listening on TCP: on this machine alone, beyond it with TLS, or without where that is said in so many words."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..events.errors import RecallError

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True)
class Tcp:
    """Where to listen, and whether with TLS."""

    port: int
    host: str = LOOPBACK
    """An address of this machine; 0.0.0.0 or :: for all of them."""
    certificate: Path | None = None
    key: Path | None = None
    """PEM files; the key may be in the certificate's file. None: without TLS."""
    without_tls: bool = False
    """To be reached from other machines without TLS: what is asked, answered and the tokens can be read on the way."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """Where clients find it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    def check(self) -> ssl.SSLContext | None:
        """See that it may be listened on so; gives what the TLS files make, if there are any.

        Raises:
            RecallError: it would be open to the network without TLS, or the files cannot be used.
        """
        if self.certificate is not None:
            return _context(self.certificate, self.key)
        if self.key is not None:
            raise RecallError("A TLS key needs its certificate. Give it with --tls-cert.")
        if not self.is_loopback and not self.without_tls:
            raise RecallError(
                f"{self.host} can be reached from other machines, and tokens would go there in clear. Give --tls-cert "
                "and --tls-key, or, where something else encrypts the way, --without-tls."
            )
        return None

    def listener(self, backlog: int) -> socket.socket:
        """A listening socket.

        Raises:
            RecallError: the address is none of this machine's, or the port is taken.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # With the protocol named, asyncio sends each part of an answer at once; else the second waits 40 ms for the
        # other side to say that it has the first.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen(backlog)
        except OSError as exc:
            listener.close()
            where = f"{self.host}:{self.port}"
            raise RecallError(f"Cannot listen on {where} ({exc.strerror or exc}). Choose another port.") from exc
        return listener


def _context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without the empty passphrase it would be asked for at a terminal that nobody watches.
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as exc:
        told = getattr(exc, "strerror", None) or type(exc).__name__
        raise RecallError(
            f"The TLS files cannot be used ({told}). Give a certificate and its key as PEM files, which this user may "
            "read, the key without a passphrase."
        ) from exc
    return context
