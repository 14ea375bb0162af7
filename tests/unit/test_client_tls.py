"""The client over TLS: for an Instant Recall behind a proxy on another machine."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_server

import msgspec
import pytest
from instant_recall import Client
from instant_recall.api.messages import PushResponse
from instant_recall.tests.raw_server import answer, read_request

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate for localhost, trusted by clients made in this test."""
    made = tmp_path / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(made), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    return made


@contextmanager
def tls_server(
    certificate: Path, handle: Callable[[ssl.SSLSocket], None], *, shake_hands: bool = True
) -> Iterator[int]:
    """One connection is taken and handled; gives the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    done = threading.Event()

    def run() -> None:
        with suppress(OSError):
            plain, _ = listener.accept()
            with plain:
                if not shake_hands:
                    done.wait(5)
                    return
                with context.wrap_socket(plain, server_side=True) as connection:
                    handle(connection)

    with create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join(10)


def test_a_push_goes_over_tls_and_the_connection_is_kept(certificate: Path) -> None:
    def handle(connection: ssl.SSLSocket) -> None:
        for _ in range(2):
            body = msgspec.json.decode(read_request(connection))
            connection.sendall(answer(msgspec.json.encode(PushResponse(block=body["request"]))))

    with tls_server(certificate, handle) as port:
        client = Client(url=f"https://localhost:{port}", deadline_ms=5_000)
        assert client.push("one").block == "one"
        assert client.push("two " * 50_000).block == "two " * 50_000
        client.close()


def test_a_server_that_drips_over_tls_is_left_at_the_deadline(certificate: Path) -> None:
    def handle(connection: ssl.SSLSocket) -> None:
        read_request(connection)
        while True:
            connection.sendall(b"H")
            time.sleep(0.02)

    with tls_server(certificate, handle) as port:
        client = Client(url=f"https://localhost:{port}", deadline_ms=200)
        started = time.monotonic()
        assert client.push("x") == PushResponse(reason="deadline")
        assert time.monotonic() - started < 0.6


def test_a_server_that_never_shakes_hands_is_left_at_the_deadline(certificate: Path) -> None:
    with tls_server(certificate, lambda _: None, shake_hands=False) as port:
        client = Client(url=f"https://localhost:{port}", deadline_ms=200)
        started = time.monotonic()
        assert client.push("x") == PushResponse(reason="deadline")
        assert time.monotonic() - started < 0.6


def test_a_certificate_of_another_host_is_not_taken(certificate: Path) -> None:
    with tls_server(certificate, lambda _: None) as port:
        client = Client(url=f"https://127.0.0.1:{port}", deadline_ms=5_000)
        assert client.push("x") == PushResponse(reason="unreachable")
