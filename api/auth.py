"""Tokens: how they are made, in what form they are kept, and whose one is. A stolen data folder opens no door."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ..events.errors import RecallError
from ..events.settings import private_dir
from .callers import OWNER, Caller

_HASH: Final = re.compile(r"[0-9a-f]{64}")
NO_HASH: Final = "0" * 64
"""Stands for the hash of a token that nobody has."""


def make_token() -> str:
    """A fresh token: 256 random bits as 43 URL-safe characters."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """The form in which a token is kept. It needs no salt and no slow hash, for a long random token is not guessed."""
    return hashlib.sha256(token.encode()).hexdigest()


def caller_of(headers: Sequence[bytes], owner_hash: str, caller_with: Callable[[str], Caller | None]) -> Caller | None:
    """Who sends these `Authorization` headers; None when there is not just one, or its token does not count.

    Why it does not count makes no difference, neither in the answer nor in what is done: one hash, one look.

    Args:
        headers: the values of all such headers of a request.
        owner_hash: hash of the owner's own token for TCP; empty: there is none.
        caller_with: the reader whose token has a hash.
    """
    scheme, _, token = (headers[0] if len(headers) == 1 else b"").partition(b" ")
    given = hashlib.sha256(token).hexdigest()
    well_formed = scheme.lower() == b"bearer"
    if hmac.compare_digest(given, owner_hash or NO_HASH) and well_formed:
        return OWNER
    found = caller_with(given)
    return found if well_formed else None


def is_hash(text: str) -> bool:
    """Whether a text has the form of `hash_token`."""
    return _HASH.fullmatch(text) is not None


def token_file(home: Path) -> Path:
    """Where a data folder keeps the hash of the owner's own token for TCP. Readers' are in the log."""
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
