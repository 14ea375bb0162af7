"""Who calls: the owner's own software on the spot, or a reader who came with a token."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ..events.types import ReaderKind

OWNER_NAME: Final = "owner"

Who = Literal["", "owner", "reader"]
"""Who may call an operation: the owner alone, or any reader for itself. Empty, when nobody has said: as the owner."""


class Caller(NamedTuple):
    """Who sends a request, as far as the server could make sure of it."""

    name: str = OWNER_NAME
    """The reader whose token came along. Without one, on the Unix socket, it is the owner."""
    kind: ReaderKind = "owner"

    @property
    def is_owner(self) -> bool:
        """Whether it may do what the owner may."""
        return self.kind == "owner"

    @property
    def on_the_spot(self) -> bool:
        """Whether it is the owner in person: on the Unix socket, or with the token that `up --tcp` told."""
        return self.name == OWNER_NAME

    def may(self, who: Who) -> bool:
        """Whether it may call an operation that is for these."""
        return self.is_owner or who == "reader"


OWNER: Final = Caller()
