"""Calls of the API: one exchange each, questions put again after a cut connection, writes with the same event ids."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TypeVar

import msgspec

from ..events.errors import LogUnavailable, NotRunning, RecallError
from ..events.settings import TOKEN_VARIABLE, Settings
from .asking import encoded, error_of
from .messages import ErrorResponse, Message, Request
from .transport import MAX_ANSWER_BYTES, Connection, ConnectionCut, Deadline, Endpoint, StrangeAnswer

Answer = TypeVar("Answer", bound=Message)


def _given(token: str | None) -> str | None:
    """The token that counts. An empty one is no way to be the owner: somebody meant to give one, and it got lost."""
    if token is not None:
        empty = "The token is empty. Give one, or None for that of the environment."
    else:
        token = os.environ.get(TOKEN_VARIABLE)
        empty = f"{TOKEN_VARIABLE} is set and empty. Put a token into it, or unset it to be the owner."
    if token is not None and not token.strip():
        raise RecallError(empty)
    return token


class Caller:
    """Calls one API. Serves any number of threads (each keeps a connection of its own), and stays usable after a fork.

    Args:
        home: the data folder whose API is called by its Unix socket; see Settings.from_env.
        url: `http://127.0.0.1:PORT` (loopback only) or `https://HOST`, instead of the Unix socket.
        token: says to the server who asks; None: that of INSTANT_RECALL_TOKEN, if it is set. Needed over TCP.
        timeout_s: the time that each try may take, seconds.

    Raises:
        RecallError: the url, the token or a variable of the environment cannot be used.
    """

    def __init__(self, home: str | Path | None, *, url: str | None, token: str | None, timeout_s: float) -> None:
        token = _given(token)
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise RecallError("The token has characters that no token has. Give it as it was shown.")
        self.endpoint = Endpoint.parse(url) if url else Endpoint(path=Settings.from_env(home).api_socket)
        self.timeout_s = timeout_s
        self.has_token = bool(token)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._local = threading.local()

    def close(self) -> None:
        """Close this thread's connection; those of other threads close when the threads end."""
        self._connection().close()

    def _connection(self) -> Connection:
        """This thread's own; a child process starts afresh, for the inherited one belongs to its parent."""
        kept: tuple[int, Connection] | None = getattr(self._local, "kept", None)
        if kept is None or kept[0] != os.getpid():
            kept = self._local.kept = (os.getpid(), Connection(self.endpoint, self._headers))
        return kept[1]

    def _ask(self, path: str, asked: Request | None, answer: type[Answer]) -> Answer:
        """A question may be put again without harm; it gets one time limit in all."""
        try:
            return self._read(path, asked, answer, Deadline.after(self.timeout_s))
        except TimeoutError as exc:
            raise LogUnavailable(f"{self.endpoint} gave no answer within {self.timeout_s:g} s. Try again.") from exc

    def _read(
        self, path: str, asked: Request | None, answer: type[Answer], deadline: Deadline, most: int = MAX_ANSWER_BYTES
    ) -> Answer:
        body = None if asked is None else encoded(asked)
        try:
            return self._exchange(path, body, answer, deadline, most)
        except ConnectionCut as cut:
            if not cut.reused:
                raise
        return self._exchange(path, body, answer, deadline, most)

    def _write(self, path: str, asked: Request, answer: type[Answer], ids: list[str]) -> Answer:
        """Try twice with the same event ids; say so when nobody can tell whether the write was stored."""
        body = encoded(asked)
        unsure: Exception | None = None
        for _ in range(2):
            try:
                return self._exchange(path, body, answer, Deadline.after(self.timeout_s))
            except TimeoutError as exc:
                unsure = exc
            except ConnectionCut as exc:
                unsure = exc if exc.sent else unsure
            except NotRunning as exc:
                if unsure is None:
                    raise
                unsure = exc
        which = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        raise LogUnavailable(
            f"{self.endpoint} did not confirm the write, which may or may not be stored. "
            f"Repeat it with the same event id, which is safe: it is stored once ({which})."
        ) from unsure

    def _exchange(
        self, path: str, body: bytes | None, answer: type[Answer], deadline: Deadline, most: int = MAX_ANSWER_BYTES
    ) -> Answer:
        method = "GET" if body is None else "POST"
        status, content = self._connection().exchange(method, path, body, deadline, most)
        try:
            if status == 200:
                return msgspec.json.decode(content, type=answer)
            failed = msgspec.json.decode(content, type=ErrorResponse)
        except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
            raise StrangeAnswer(
                f"{self.endpoint} gave an answer (HTTP {status}) that is not one of Instant Recall's. "
                "See which program listens there, and that its version fits this one."
            ) from exc
        raise error_of(failed)
