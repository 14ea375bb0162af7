"""The token that the API asks for over TCP. Only its hash is kept, so a stolen data folder opens no door."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from ..events.errors import RecallError
from ..events.settings import private_dir

_HASH = re.compile(r"[0-9a-f]{64}")


def make_token() -> str:
    """A fresh token: 256 random bits as 43 URL-safe characters."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """The form in which a token is kept. It needs no salt and no slow hash, for a long random token is not guessed."""
    return hashlib.sha256(token.encode()).hexdigest()


def token_fits(authorization: bytes, token_hash: str) -> bool:
    """Whether an `Authorization` header carries the token with this hash. An empty hash fits nothing."""
    scheme, _, token = authorization.partition(b" ")
    given = hashlib.sha256(token.strip()).hexdigest()
    return hmac.compare_digest(given, token_hash) and scheme.lower() == b"bearer"


def token_file(home: Path) -> Path:
    """Where a data folder keeps the hash of its token."""
    return home / "api-token.sha256"


def store_new_token(home: Path) -> str:
    """Make a token, keep its hash in place of an earlier one's, and give the token back to be shown once."""
    token = make_token()
    path = token_file(private_dir(home))
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out:
        out.write(hash_token(token) + "\n")
    part.replace(path)
    return token


def stored_token_hash(home: Path) -> str:
    """The hash that `store_new_token` kept; empty when there is none.

    Raises:
        RecallError: the file holds something else, or other users may change it.
    """
    path = token_file(home)
    try:
        text = path.read_text(encoding="ascii").strip()
        mode = path.stat().st_mode
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as exc:
        raise RecallError(f"{path} cannot be read ({type(exc).__name__}). Remove it and make a new token.") from exc
    if mode & 0o077 or not _HASH.fullmatch(text):
        raise RecallError(f"{path} is damaged or open to other users. Remove it and make a new token.")
    return text
