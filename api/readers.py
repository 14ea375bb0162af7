"""The part of the service that is about readers: letting them in, handing on less, ending it; and who has a token."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from ..events.envelope import Actor, draft
from ..events.errors import InvalidEvent, LogUnavailable, NotFound, Refused
from ..events.log import EventLog
from ..events.types import Event, Millis, ReaderGranted, ReaderRevoked
from ..projections.meaning.encoders import Encoders
from ..projections.overlay import Overlay
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.policy.readers import MOST_ABOVE, Grant, Readers
from ..projections.searcher import Searcher
from .auth import NO_HASH, hash_token, is_hash, make_token
from .callers import OWNER, Caller
from .follower import Follower
from .messages import PublishRequest, RememberRequest, Request
from .permits import Permit, actor_of
from .reader_messages import (
    GrantRequest,
    GrantResponse,
    KnownReader,
    NarrowRequest,
    ReadersRequest,
    ReadersResponse,
    RevokeRequest,
    RevokeResponse,
)

PATIENCE_S: Final = 0.15
"""Time that finding out who somebody is may spend on catching up."""
MOST_SCOPES: Final = 32
MOST_BELOW: Final = 1_000
"""Living grants that may be made out of one of the owner's, in all."""
_LABEL: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_ABOUT_READERS: Final = frozenset({ReaderGranted.type_name(), ReaderRevoked.type_name()})
_NOBODY: Final = "There is no such reader that you may speak of. `instant-recall reader list` shows those there are."


class ReaderService:
    """The questions and changes about readers. The service is one of these; see there for what the fields hold."""

    _log: EventLog
    _encoders: Encoders
    _clock: Callable[[], Millis]
    _follower: Follower

    def caller_with(self, token_hash: str) -> Caller | None:
        """The reader whose token has this hash, if its grant counts now; None for every other reason alike.

        Raises:
            LogUnavailable: the log could not be read to its tail, so that nobody knows what was revoked.
        """
        with self._follower.at_tail(PATIENCE_S) as (overlay, complete):
            readers = overlay.state.readers
            name = readers.with_token(token_hash)
            grant = readers.grants.get(name, Grant(token_hash=NO_HASH))
            fits = hmac.compare_digest(grant.token_hash, token_hash)
            # The log's time never steps back: what has ended stays so when this machine's clock does.
            counts = readers.fate(name, max(self._clock(), overlay.position.ms)) == "active"
        if not complete:
            raise LogUnavailable("The log cannot be read to its end, so nobody knows which tokens count. Try again.")
        return Caller(name, grant.kind) if fits and counts else None

    def permitted(self, asked: Request | None, named: str, caller: Caller) -> Request | None:
        """What somebody with a token asks, as they may ask it: for themselves.

        Args:
            asked: the request; None: there is none.
            named: the reader that it names, if it names one.
            caller: whose token came along.

        Raises:
            Refused: they may not ask it.
            InvalidEvent: there is nothing in it.
            NotFound: it is about an item that they do not see.
        """
        if caller.is_owner:
            return _below(asked, caller)
        if named not in ("", caller.name):
            raise Refused("The token says who asks, and that is not the reader that the request names. Leave it out.")
        if hasattr(asked, "reader"):
            return replace(asked, reader=caller.name)  # type: ignore[type-var]
        if isinstance(asked, PublishRequest) and not asked.events:
            # The answer would name the log's last position, and so when the owner last did something.
            raise InvalidEvent("There is no event in it. Nothing was stored.")
        if isinstance(asked, PublishRequest | RememberRequest):
            with self._follower.at_tail(PATIENCE_S) as (overlay, _):
                permit = self._permit(overlay, caller)
                if isinstance(asked, RememberRequest):
                    return permit.remembered(asked)
                return replace(asked, events=tuple(permit.event(event) for event in asked.events))
        return asked

    def readers(self, request: ReadersRequest) -> ReadersResponse:
        """Who may ask, and for what."""
        now = self._clock()
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            known, position = overlay.state.readers.copy(), str(overlay.position)
        told = [_told(known, name, now) for name in sorted(known.grants)]
        wanted = tuple(reader for reader in told if request.ended or reader.state == "active")
        return ReadersResponse(
            readers=wanted, ended=sum(reader.state != "active" for reader in told), position=position
        )

    def grant(self, request: GrantRequest) -> GrantResponse:
        """Let a reader in.

        Raises:
            InvalidEvent: the name, a scope or the end cannot be used. Nothing was granted.
            Refused: it would be wider than the grant out of which it is to be made.
        """
        now = self._clock()
        if request.expires_s is not None and request.expires_at is not None:
            raise InvalidEvent("Say when it ends by `expires_s` or by `expires_at`, not by both. Nothing was granted.")
        end = _end(now, request.expires_s) if request.expires_at is None else request.expires_at
        if request.kind == "owner" and request.scopes:
            raise InvalidEvent("A reader of kind owner has no scopes: it sees everything. Nothing was granted.")
        new = Grant(request.scopes, request.kind, end, parent=request.parent)
        if request.parent:
            new = self._out_of(request.parent, request.name, new, now)
        actor = Caller(request.parent or OWNER_NAME)
        return self._granted(request.name, new, now, actor=actor, token=request.token, reason=request.reason)

    def narrow(self, request: NarrowRequest) -> GrantResponse:
        """Make a grant out of that of `request.reader`. Raises as `grant` does."""
        now = self._clock()
        new = Grant(request.scopes, request.kind or "sub_agent", _end(now, request.expires_s))
        if request.reader == OWNER_NAME:
            return self._granted(request.name, new, now, actor=OWNER)
        holder = request.reader
        name = request.name if request.name.startswith(f"{holder}/") else f"{holder}/{request.name}"
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            kind = overlay.state.readers.grants.get(holder, Grant()).kind
        if not request.kind and kind == "tool":
            new = replace(new, kind="tool")
        new = self._out_of(holder, name, replace(new, parent=holder), now)
        return self._granted(name, new, now, actor=Caller(holder, kind))

    def revoke(self, request: RevokeRequest) -> RevokeResponse:
        """End a grant and all below it, from the next request on.

        Raises:
            NotFound: there is no such reader, or it is none of those whom `request.reader` may speak of.
        """
        now = self._clock()
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            known = overlay.state.readers.copy()
        name = request.name
        own = request.reader == OWNER_NAME
        if not own and not known.is_below(name, request.reader):
            name = f"{request.reader}/{name}"  # as it was given to `narrow`
        if name not in known.grants or not (own or known.is_below(name, request.reader)):
            raise NotFound(_NOBODY)
        ended = [each for each in sorted([name, *known.all_below(name)]) if known.fate(each, now) == "active"]
        actor = OWNER if own else Caller(request.reader, known.grants[request.reader].kind)
        event_id, position = self._append(ReaderRevoked(reader=name), actor, now)
        return RevokeResponse(ended=tuple(ended), event_id=event_id, position=position)

    def _permit(self, overlay: Overlay, caller: Caller) -> Permit:
        now = self._clock()
        reader = overlay.state.reader(caller.name, now)
        searcher = Searcher(overlay, self._encoders, reader, now)
        return Permit(caller, reader, lambda item: searcher.sees(item) or searcher.sees_if_asked(item), now)

    def _out_of(self, holder: str, name: str, new: Grant, now: Millis) -> Grant:
        """A grant as it may be made out of the holder's: refused where it would be wider, or longer."""
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            readers = overlay.state.readers.copy()
        if readers.fate(holder, now) != "active" or readers.depth(holder) > MOST_ABOVE:
            raise Refused("Nothing more can be made out of this grant: it has ended, or stands too deep.")
        has, own = readers.reader(holder, now), readers.grants[holder]
        if not has.is_owner and not has.scopes.issuperset(new.scopes):
            raise Refused("A scope is asked for that this reader does not have itself. Nothing was granted.")
        if new.kind == "owner" or (own.kind == "tool" and new.kind != "tool"):
            raise Refused("A reader cannot make one of a kind that may do more than itself. Nothing was granted.")
        if own.expires_at is not None and (new.expires_at or own.expires_at) > own.expires_at:
            left = (own.expires_at - now) // 1_000
            raise Refused(f"It would live longer than the grant it is made out of, which ends in {left} s. Say less.")
        if name in readers.grants and not readers.is_below(name, holder):
            raise Refused("A reader that is not below this one has the name. Choose another. Nothing was granted.")
        below = readers.all_below(readers.top_of(holder))
        if sum(readers.fate(each, now) == "active" for each in below) >= MOST_BELOW:
            raise Refused(f"{MOST_BELOW} grants were made out of that of the owner. Revoke some of them.")
        return replace(new, expires_at=own.expires_at if new.expires_at is None else new.expires_at)

    def _granted(
        self, name: str, new: Grant, now: Millis, *, actor: Caller, token: bool = True, reason: str = ""
    ) -> GrantResponse:
        _check_grant(name, new, now)
        with self._follower.at_tail(PATIENCE_S) as (overlay, _):
            carried = {label for labels in overlay.policies.audiences.labels() for label in labels}
        secret = make_token() if token else ""
        event = ReaderGranted(
            reader=name,
            scopes=new.scopes,
            reason=reason,
            kind=new.kind,
            expires_at=new.expires_at,
            token_hash=hash_token(secret) if secret else "",
            parent=new.parent,
        )
        event_id, position = self._append(event, actor, now)
        return GrantResponse(
            reader=name,
            kind=new.kind,
            scopes=new.scopes,
            expires_at=new.expires_at,
            parent=new.parent,
            token=secret,
            unused=tuple(label for label in new.scopes if label not in carried) if actor.is_owner else (),
            event_id=event_id,
            position=position,
        )

    def _append(self, event: Event, actor: Caller, now: Millis) -> tuple[str, str]:
        write = draft(event, occurred_at=now, actor=actor_of(actor))
        (result,) = self._log.append([write])
        return write.event_id, str(result.position)


def check_published(event: Event, actor: Actor, now: Millis) -> None:
    """See that an event about readers that somebody publishes means something; any other event is fine.

    Raises:
        InvalidEvent: a name, a scope or a hash is none, or the grant ends before it begins.
        Refused: it is somebody else than the owner who speaks.
    """
    if isinstance(event, ReaderGranted | ReaderRevoked) and actor.kind not in {"owner", "system"}:
        raise Refused("Only the owner says who may see what. Hand on less than you have with `narrow`.")
    if isinstance(event, ReaderGranted):
        _check_names(event.reader, event.scopes, event.parent)
        _check_end(event.expires_at, now)
        if event.token_hash and not is_hash(event.token_hash):
            raise InvalidEvent("`token_hash` is no SHA-256 in hexadecimal. Never publish a token itself.")


def _check_names(name: str, scopes: tuple[str, ...], parent: str) -> None:
    parts = name.split("/") if parent else [name]
    if name == OWNER_NAME or len(name) > 64 * MOST_ABOVE or not all(map(_LABEL.fullmatch, parts)):
        raise InvalidEvent(
            "A reader's name has 1 to 64 letters, digits and -_.:/, and is not `owner`. Nothing was granted."
        )
    if len(scopes) > MOST_SCOPES or not all(map(_LABEL.fullmatch, scopes)):
        raise InvalidEvent(
            f"Scopes are 1 to 64 letters, digits and -_.:/ each, at most {MOST_SCOPES} of them. Nothing was granted."
        )


def _check_end(expires_at: Millis | None, now: Millis) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidEvent("It would end before it begins. Name a moment that is still to come. Nothing was granted.")


def _check_grant(name: str, grant: Grant, now: Millis) -> None:
    _check_names(name, grant.scopes, grant.parent)
    _check_end(grant.expires_at, now)
    if OWNER_NAME in grant.scopes:
        raise InvalidEvent(
            "`owner` is no scope: what carries it is for the owner alone. Nothing was granted. "
            "For a reader that sees everything there is the kind `owner`."
        )
    if grant.kind != "owner" and not grant.scopes:
        raise InvalidEvent("Without a scope a reader sees nothing. Name at least one. Nothing was granted.")


def _end(now: Millis, seconds: int | None) -> Millis | None:
    return None if seconds is None else now + seconds * 1_000


def _told(readers: Readers, name: str, now: Millis) -> KnownReader:
    grant = readers.grants[name]
    return KnownReader(
        name=name,
        kind=grant.kind,
        scopes=grant.scopes,
        sees=tuple(sorted(readers.reader(name, now).scopes)),
        expires_at=grant.expires_at,
        parent=grant.parent,
        has_token=bool(grant.token_hash),
        state=readers.fate(name, now),
    )


def _below(asked: Request | None, caller: Caller) -> Request | None:
    """What another device of the owner's asks: all but that the grants it makes end together with its own."""
    if isinstance(asked, PublishRequest) and any(event.type in _ABOUT_READERS for event in asked.events):
        raise Refused("Readers are let in by /v1/readers/grant, and not by publishing. Nothing was stored.")
    if isinstance(asked, GrantRequest):
        return replace(asked, parent=caller.name)
    if isinstance(asked, NarrowRequest) and asked.reader == OWNER_NAME:
        return replace(asked, reader=caller.name)
    return asked
