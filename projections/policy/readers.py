"""Readers: who may ask besides the owner, for which scopes, until when, and from whom they have it.

A fold of grants and revokes. A grant that was made from another (its parent) is never wider than that one is now, and
never lives longer; what became of the parent becomes of it too. Everything unclear means: sees nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from ...events.envelope import Actor, RecordedEvent
from ...events.types import Millis, ReaderGranted, ReaderKind, ReaderRevoked
from .eligibility import OWNER_NAME, Reader

MOST_ABOVE: Final = 8
"""Grants that may stand above one another; what is deeper sees nothing."""

MOST_KEPT: Final = 10_000
"""Grants that are remembered; beyond that those that count no more are let go of."""
_ANY_READER: Final = frozenset({"owner", "system"})
"""Actors that may speak of any reader."""
_A_READER: Final = frozenset({"agent", "tool"})
"""Actors that may speak of readers below themselves."""

Fate = Literal["active", "expired", "revoked", "unknown"]


class Grant(msgspec.Struct, frozen=True):
    """What one reader may see. Who holds the token is that reader; only the token's hash is kept."""

    scopes: tuple[str, ...] = ()
    kind: ReaderKind = "sub_agent"
    """Whoever has a grant of kind `owner` sees and may do what the owner may."""
    expires_at: Millis | None = None
    """From then on it counts no more; None: until it is revoked."""
    token_hash: str = ""
    """See `api/auth.py`; empty: nobody comes in as this reader, only the owner's own software may name it."""
    parent: str = ""
    """The reader from whose grant this one was made; empty: the owner made it."""
    revoked: bool = False


class Readers:
    """All grants by the reader's name, those that count no more among them."""

    def __init__(self, grants: Mapping[str, Grant] | None = None) -> None:
        self.grants: dict[str, Grant] = dict(grants or {})
        self._by_token = {grant.token_hash: name for name, grant in self.grants.items() if grant.token_hash}
        self._below: dict[str, set[str]] = defaultdict(set)
        """By reader, those whose grants were made out of its grant, or once were."""
        for name, grant in self.grants.items():
            self._below[grant.parent].add(name)

    def copy(self) -> Readers:
        """An independent copy."""
        return Readers(self.grants)

    def take(self, recorded: RecordedEvent) -> None:
        """Fold one event in, if it is about readers and comes from somebody who may say so."""
        match recorded.event:
            case ReaderGranted(reader=name, parent=parent) as event if self.may_grant(recorded.actor, name, parent):
                self.grant(name, Grant(event.scopes, event.kind, event.expires_at, event.token_hash, parent))
                if len(self.grants) > MOST_KEPT:
                    self._let_go(recorded.recorded_at)
            case ReaderRevoked(reader=name) if self.may_revoke(recorded.actor, name):
                self.revoke(name)

    def may_grant(self, actor: Actor, name: str, parent: str) -> bool:
        """Whether an actor may make a grant: the owner any but the owner's own, a reader only out of theirs.

        Of a name that is taken already a reader may make it only when that one is below them.
        """
        if name in {"", OWNER_NAME}:
            return False
        mine = actor.kind in _A_READER and bool(parent) and parent == actor.name
        return actor.kind in _ANY_READER or (mine and (name not in self.grants or self.is_below(name, parent)))

    def may_revoke(self, actor: Actor, name: str) -> bool:
        """Whether an actor may end a grant: the owner any, everybody else only those below their own."""
        return actor.kind in _ANY_READER or (actor.kind in _A_READER and self.is_below(name, actor.name))

    def grant(self, name: str, grant: Grant) -> None:
        """Take a grant in, in place of the reader's earlier one.

        A new token ends what was made with the earlier one. One whose parent does not count, is below itself, or may
        not make an owner is taken in as revoked.
        """
        known = self.grants.get(name)
        if known is not None and known.token_hash != grant.token_hash:
            self.revoke(name)
        if grant.parent:
            above = [(above, self.grants.get(above)) for above in self._names_above(grant.parent)]
            whole = all(found is not None and not found.revoked for _, found in above) and len(above) <= MOST_ABOVE
            if not whole or grant.kind == "owner" or name in {above_name for above_name, _ in above}:
                grant = msgspec.structs.replace(grant, revoked=True)
            ends = [found.expires_at for _, found in above if found is not None and found.expires_at is not None]
            if any(found is not None and found.kind == "tool" for _, found in above):
                grant = msgspec.structs.replace(grant, kind="tool")
            if ends:
                until = min([*ends, *([] if grant.expires_at is None else [grant.expires_at])])
                grant = msgspec.structs.replace(grant, expires_at=until)
        # Of one token that two grants claim, the earlier holder keeps it: it must not come to mean somebody else.
        if grant.revoked or self._by_token.get(grant.token_hash, name) != name:
            grant = msgspec.structs.replace(grant, token_hash="")
        self._put(name, grant)

    def revoke(self, name: str) -> None:
        """End a grant, and all that were made from it."""
        ended = [name]
        while ended:
            over = ended.pop()
            if over in self.grants:
                self._put(over, msgspec.structs.replace(self.grants[over], revoked=True, token_hash=""))
            ended += [name for name in self.made_out_of(over) if not self.grants[name].revoked]

    def with_token(self, token_hash: str) -> str:
        """Name of the reader whose token has this hash, whether or not its grant still counts; empty: nobody's."""
        return self._by_token.get(token_hash, "") if token_hash else ""

    def has_token(self, name: str) -> bool:
        """Whether a reader comes with a token that lets it be no more than itself."""
        found = self.grants.get(name)
        return found is not None and found.kind != "owner" and bool(found.token_hash)

    def reader(self, name: str, now: Millis) -> Reader:
        """The reader of that name at `now`. One whose grant does not count has no scopes, and so sees nothing."""
        if name == OWNER_NAME:
            return Reader(OWNER_NAME)
        if self.fate(name, now) != "active":
            return Reader(name)
        limits = [found.scopes for found in self._above(name) if found.kind != "owner"]
        if not limits:
            return Reader(OWNER_NAME)
        return Reader(name, frozenset(limits[0]).intersection(*limits[1:]))

    def fate(self, name: str, now: Millis) -> Fate:
        """Whether a reader's grant counts at `now`, and what ended it: its own end, or that of one above it."""
        if name not in self.grants:
            return "unknown"
        above = list(self._above(name))
        if any(found.revoked for found in above):
            return "revoked"
        if any(found.expires_at is not None and found.expires_at <= now for found in above):
            return "expired"
        return "active"

    def is_below(self, name: str, above: str) -> bool:
        """Whether a reader's grant was made from that of `above`, directly or by way of others."""
        return name != above and above in self._names_above(name)

    def made_out_of(self, name: str) -> list[str]:
        """The readers right below one."""
        known = ((below, self.grants.get(below)) for below in self._below.get(name, ()))
        return [below for below, grant in known if grant is not None and grant.parent == name]

    def all_below(self, name: str) -> list[str]:
        """All readers below one, in no particular order."""
        found = self.made_out_of(name)
        for below in found:
            found += self.made_out_of(below)
        return found

    def top_of(self, name: str) -> str:
        """The reader whom the owner let in, and out of whose grant that of `name` was made in the end."""
        return self._names_above(name)[-1]

    def depth(self, name: str) -> int:
        """How many grants a reader's stands on, itself counted; never told as more than MOST_ABOVE + 1."""
        return len(self._names_above(name))

    def _put(self, name: str, grant: Grant) -> None:
        known = self.grants.get(name)
        if known is not None and self._by_token.get(known.token_hash) == name:
            del self._by_token[known.token_hash]
        self.grants[name] = grant
        self._below[grant.parent].add(name)
        if grant.token_hash:
            self._by_token[grant.token_hash] = name

    def _let_go(self, now: Millis) -> None:
        for name in [name for name in self.grants if self.fate(name, now) != "active"]:
            self._by_token.pop(self.grants[name].token_hash, None)
            self._below[self.grants[name].parent].discard(name)
            del self.grants[name]

    def _above(self, name: str) -> Iterator[Grant]:
        """A reader's grant and those above it, itself first; one that is missing counts as revoked."""
        missing = Grant(revoked=True)
        return (self.grants.get(above, missing) for above in self._names_above(name))

    def _names_above(self, name: str) -> list[str]:
        """A reader's name and those above it, itself first; one more than may be when there are too many."""
        names = [name]
        while len(names) <= MOST_ABOVE:
            found = self.grants.get(names[-1])
            if found is None or not found.parent:
                break
            names.append(found.parent)
        return names
