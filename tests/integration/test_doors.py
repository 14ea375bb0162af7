"""The ways in: TLS on TCP beside a Unix socket without it, and no other user on the socket."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from instant_recall import Client
from instant_recall.api.auth import hash_token, make_token
from instant_recall.api.server import Tcp
from instant_recall.events.errors import RecallError
from instant_recall.events.settings import Settings
from structlog.testing import capture_logs

from tests.api_stand_in import StandIn, serving

TOKEN = make_token()
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A certificate for localhost, trusted by clients made in this test, and its key."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return certificate, key


@needs_openssl
def test_with_tls_files_tcp_speaks_tls_to_any_name_and_the_socket_goes_on_without(
    files: tuple[Path, Path], port: int
) -> None:
    tcp = Tcp(port, "0.0.0.0", *files)  # noqa: S104 - what is tested
    with serving(StandIn(), tcp=tcp, token_hash=hash_token(TOKEN)) as home:
        url = f"https://localhost:{port}"
        client = Client(url=url, token=TOKEN, deadline_ms=5_000)
        assert client.push("one").block == "one"
        assert client.remember("x").item == "note:x"
        assert Client(url=url, deadline_ms=5_000).push("x").reason == "refused"
        assert Client(home, deadline_ms=5_000).push("two").block == "two"
        # In clear nothing comes out, nor a token in.
        plain = Client(url=f"http://127.0.0.1:{port}", token=TOKEN, deadline_ms=5_000)
        assert plain.push("x").reason in {"unreachable", "error"}
        # A name is no reason to be refused where other machines come in.
        client = Client(url=url, token=TOKEN, deadline_ms=5_000)
        client._connection()._head = client._connection()._head.replace(f"localhost:{port}", "recall.example")
        assert client.push("three").block == "three"


@needs_openssl
def test_tls_files_that_cannot_be_used_are_told_before_anything_is_open(files: tuple[Path, Path], port: int) -> None:
    certificate, key = files
    torn = key.with_name("torn.pem")
    torn.write_bytes(key.read_bytes()[:200])
    locked = key.with_name("locked.pem")
    command = ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", str(key), "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True)
    for one, other in (
        (certificate, None),
        (key, None),
        (certificate, torn),
        (certificate, locked),
        (certificate, certificate.with_name("none.pem")),
        (None, key),
    ):
        with pytest.raises(RecallError, match="certificate"):
            Tcp(port, certificate=one, key=other).check()
    assert Tcp(port, certificate=certificate, key=key).check() is not None


def test_an_address_of_another_machine_cannot_be_listened_on(port: int) -> None:
    with pytest.raises(RecallError, match="Cannot listen"):
        Tcp(port, "192.0.2.1", without_tls=True).listener(1)


KNOCK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.connect(sys.argv[1])
    link.settimeout(5)
    try:
        link.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        print(link.recv(100))
    except (BrokenPipeError, ConnectionResetError):
        print(b"")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_another_user_who_can_open_the_socket_is_hung_up_on() -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python that another user may run")
    with serving(StandIn()) as home:
        path = Settings.from_env(home).api_socket
        for folder in (home, path.parent):
            folder.chmod(0o711)
        path.chmod(0o666)
        with capture_logs() as lines:
            knock = [python, "-c", KNOCK, str(path)]
            heard = subprocess.run(knock, capture_output=True, text=True, user=65_534, cwd="/", check=True)
        assert heard.stdout.strip() == "b''"
        assert ("peer.refused", 65_534) in [(line["event"], line.get("uid")) for line in lines]
        own = subprocess.run(knock, capture_output=True, text=True, cwd="/", check=True)
        assert "200 OK" in own.stdout
