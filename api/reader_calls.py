"""The part of the client that is about readers. Loads only the standard library and msgspec."""

from __future__ import annotations

from collections.abc import Iterable

from ..events.types import ReaderKind
from .asking import checked, texts
from .caller import Caller
from .reader_messages import (
    GrantRequest,
    GrantResponse,
    NarrowRequest,
    ReadersRequest,
    ReadersResponse,
    RevokeRequest,
    RevokeResponse,
)
from .twins import twin


class ReaderCalls(Caller):
    """Letting readers in, handing on less, ending it; see Client, which has them."""

    reader: str

    def narrow(self, name: str, *, scopes: Iterable[str], expires_s: int | None = None, kind: str = "") -> str:
        """Make a token that sees less and lives shorter than the one this client has: for a sub-agent, say.

        Without a token, on the Unix socket, the owner hands on. Called again it makes another token, and the first one
        ends. What it can be told by, in `readers` and `revoke`, is NAME behind the name of who hands on: `scout/NAME`.

        Args:
            name: 1 to 64 letters, digits and `-_.:/`.
            scopes: what it may see; all of them have to be this client's own.
            expires_s: seconds until it ends; as late as this client's own when not given.
            kind: `sub_agent` or `tool`; as this client when not given.

        Returns:
            The token. It is told only here.

        Raises:
            Refused: it would be wider, or live longer, than this client may.
            InvalidEvent: the name, a scope or the time cannot be used.
        """
        fields = {"name": name, "scopes": texts(scopes), "expires_s": expires_s, "kind": kind, "reader": self.reader}
        return self.narrowed(checked(NarrowRequest, **fields)).token

    def narrowed(self, asked: NarrowRequest) -> GrantResponse:
        """The same with all that there is to be told of it. Raises as `narrow` does."""
        return self._ask("/v1/readers/narrow", asked, GrantResponse)

    def grant(
        self,
        name: str,
        *,
        scopes: Iterable[str] = (),
        kind: ReaderKind = "sub_agent",
        expires_s: int | None = None,
        token: bool = True,
        reason: str = "",
    ) -> GrantResponse:
        """Let a reader in; only the owner may. An earlier grant of that name ends, and all that were made out of it.

        Raises:
            Refused: somebody else than the owner asks.
            InvalidEvent: the name, a scope or the time cannot be used.
        """
        asked = checked(
            GrantRequest,
            name=name,
            scopes=texts(scopes),
            kind=kind,
            expires_s=expires_s,
            token=token,
            reason=reason,
        )
        return self._ask("/v1/readers/grant", asked, GrantResponse)

    def revoke(self, name: str) -> RevokeResponse:
        """End a reader's grant, and all that were made out of it, from the next request on.

        The owner may end any; with a token, those that were made out of its own.

        Raises:
            NotFound: there is no such reader among those.
        """
        return self._ask("/v1/readers/revoke", checked(RevokeRequest, name=name, reader=self.reader), RevokeResponse)

    def readers(self, *, ended: bool = False) -> ReadersResponse:
        """Who may ask, and for what; with `ended` those who may no more, too. Raises Refused for all but the owner."""
        return self._ask("/v1/readers", checked(ReadersRequest, ended=ended), ReadersResponse)


class AsyncReaderCalls:
    """The same, to be awaited; see AsyncClient, which has them."""

    narrow = twin(ReaderCalls.narrow)
    grant = twin(ReaderCalls.grant)
    revoke = twin(ReaderCalls.revoke)
    readers = twin(ReaderCalls.readers)
