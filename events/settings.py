"""Where things are and how they are set: one frozen Settings, read once at an entry point and passed down.

Standard library only: the client imports it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import RecallError

SOCKET_PATH_LIMIT = 100
"""Bytes of a Unix socket's path we allow; the kernel's limit is 108 with the closing zero (104 on macOS)."""

SERVER_SOCKET = "server.sock"
"""What the embedded server's socket is called; by this an error tells it from an external server."""


TOKEN_VARIABLE = "INSTANT_RECALL_TOKEN"  # noqa: S105 - the name of a variable
"""Whoever has it set asks as the reader of that token. Not a field of Settings: those are the owner's."""


def default_home(env: Mapping[str, str] = os.environ) -> Path:
    """The platform's folder for a user's data: XDG on Linux, Application Support on macOS."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "instant-recall"
    base = env.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "instant-recall"


@dataclass(frozen=True)
class Settings:
    """Everything an Instant Recall process needs to know about its surroundings."""

    home: Path
    """The data folder: all state lives below it (sockets too, unless the path is too long for one)."""
    redis_url: str = ""
    """An external Redis or Valkey, or a cluster of them; empty: the embedded server."""
    owner: str = "owner"
    """Whose log: part of every key in the server."""
    encoder: str = ""
    """`multilingual` (the extra of that name), the folder of a model2vec model, or `hub:NAME` to fetch one on purpose;
    empty: the bundled ones."""
    queue_url: str = ""
    """An external server for the background jobs, which cannot be kept in a cluster; empty: the one with the log."""
    rebuild_after: int = 5_000
    """Items that readers may keep in memory beside the snapshot; past it the reactor has a new one built."""
    older_than: int = 30
    """Days that events stay in the server; then they are archived, behind the nightly snapshot."""
    keep_bytes: int = 256 << 20
    """Bytes of the server's memory for events and their text; past it the oldest are archived, whatever their age."""

    @classmethod
    def from_env(cls, home: str | Path | None = None, env: Mapping[str, str] = os.environ) -> Settings:
        """Read INSTANT_RECALL_HOME (over which `home` wins), a variable like it for every other field, and REDIS_URL.

        Raises:
            RecallError: a variable has a value that cannot be used; the message names the variable.
        """
        owner = env.get("INSTANT_RECALL_OWNER", "") or "owner"
        if not owner.isprintable() or any(c in owner for c in "{}:/") or len(owner.encode()) > 64 or owner[0] == ".":
            raise RecallError(
                "INSTANT_RECALL_OWNER may not hold {, }, : or /, nor begin with a dot, and has at most 64 bytes. "
                "Choose another."
            )
        chosen = home or env.get("INSTANT_RECALL_HOME", "") or default_home(env)
        return cls(
            home=Path(chosen).expanduser().absolute(),
            redis_url=env.get("REDIS_URL", ""),
            queue_url=env.get("INSTANT_RECALL_QUEUE_URL", ""),
            owner=owner,
            encoder=env.get("INSTANT_RECALL_ENCODER", ""),
            rebuild_after=_count("INSTANT_RECALL_REBUILD_AFTER", env, cls.rebuild_after),
            older_than=_count("INSTANT_RECALL_OLDER_THAN", env, cls.older_than),
            keep_bytes=_count("INSTANT_RECALL_KEEP_BYTES", env, cls.keep_bytes),
        )

    @property
    def log_dir(self) -> Path:
        """Where the embedded server keeps its append-only file."""
        return self.home / "log"

    @property
    def snapshots_dir(self) -> Path:
        """Where generations are published: a folder for each owner, so that no owner is ever served another's."""
        return self.home / "snapshots" / self.owner

    @property
    def archive_dir(self) -> Path:
        """Where the older part of the owner's log is kept."""
        return self.home / "archive" / self.owner

    @property
    def logs_dir(self) -> Path:
        """Where the processes of `up` write their log lines."""
        return self.home / "logs"

    @property
    def server_socket(self) -> Path:
        """The embedded server's socket."""
        return self._socket(SERVER_SOCKET)

    @property
    def api_socket(self) -> Path:
        """The API's socket."""
        return self._socket("api.sock")

    def _socket(self, name: str) -> Path:
        """`<home>/run/<name>`, or a short path made from a hash of the home where that would be too long."""
        wanted = self.home / "run" / name
        if len(os.fsencode(wanted)) <= SOCKET_PATH_LIMIT:
            return wanted
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        runtime = os.environ.get("XDG_RUNTIME_DIR", "") or "/tmp"  # noqa: S108 - the folder in it is checked by private_dir
        short = Path(runtime) / f"instant-recall-{os.getuid()}-{digest}" / name
        if len(os.fsencode(short)) > SOCKET_PATH_LIMIT:
            raise RecallError(
                f"The socket path {short} is over {SOCKET_PATH_LIMIT} bytes. Set XDG_RUNTIME_DIR to a shorter folder."
            )
        return short


def _count(name: str, env: Mapping[str, str], default: int) -> int:
    text = env.get(name, "") or str(default)
    if not (text.isascii() and text.isdigit() and len(text) <= 15 and int(text) > 0):
        raise RecallError(f"{name} is {text!r:.40}, which is no whole number of 1 or more. Set one, or none.")
    return int(text)


def private_dir(path: Path) -> Path:
    """Make a folder (and its parents) that only this user can enter, and check that it is one.

    Raises:
        RecallError: it is a link, or belongs to somebody else (a folder below /tmp can be made by anyone first).
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RecallError(f"{path} is not a folder of this user. Remove it, or choose another data folder.")
    if found.st_mode & 0o077:
        path.chmod(0o700)
    return path
