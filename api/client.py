"""The client of a harness: push, search, open, publish. Loads only the standard library and msgspec."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ..events.envelope import OWNER_ONLY, Actor, EventDraft, Source, new_event_id
from ..events.errors import LogUnavailable, NotRunning, Refused
from ..events.moment import AsOf, moment_text
from ..events.types import AssetKind, Event, ItemHelped, ItemOpened, Millis, PointerRejected
from .asking import checked, publishable, texts
from .key_calls import KeyCalls
from .messages import (
    BarRequest,
    BarResponse,
    CorrectRequest,
    ForgetRequest,
    OpenRequest,
    OpenResponse,
    PublishEvent,
    PublishRequest,
    PublishResponse,
    PushRequest,
    PushResponse,
    RefitRequest,
    RefitResponse,
    RememberRequest,
    SearchRequest,
    SearchResponse,
    StatusResponse,
    WhyRequest,
    WhyResponse,
    WriteResponse,
)
from .policy_calls import AsyncPolicyCalls, PolicyCalls
from .quarantine_calls import AsyncQuarantineCalls, QuarantineCalls
from .reader_calls import AsyncReaderCalls, ReaderCalls
from .transport import Deadline
from .twins import twin

MAX_PUSH_BYTES = 1024 * 1024
"""A push holds five pointers; a longer answer would take up the turn that it should help."""


class Client(KeyCalls, ReaderCalls, PolicyCalls, QuarantineCalls):
    """Talks to the Instant Recall of one data folder, or to the one at `url`.

    One client serves any number of threads (each keeps a connection of its own) and stays usable after a fork.
    `push` never raises. Everything else raises a RecallError that says what to do: NotRunning when nobody listens,
    InvalidEvent, NotFound, Refused, LogFull with the server's message, LogUnavailable when no answer came in time.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        deadline_ms: float = 300,
        reader: str = "owner",
        session: str = "",
        timeout_s: float = 10,
    ) -> None:
        """Opens no connection yet.

        Args:
            home: the data folder; else INSTANT_RECALL_HOME, else the platform's. Its API is found by its Unix socket.
            url: `http://127.0.0.1:PORT` (loopback only) or `https://HOST`, instead of the Unix socket.
            token: says to the server who asks, and so what may be told; else INSTANT_RECALL_TOKEN. Needed over TCP.
            deadline_ms: the time a push may take in all, milliseconds.
            reader: who asks, unless a call says otherwise.
            session: the chat under way, unless a call says otherwise.
            timeout_s: the time that each try of anything but a push may take, seconds.

        Raises:
            RecallError: the url, the token or a variable of the environment cannot be used.
        """
        super().__init__(home, url=url, token=token, timeout_s=timeout_s)
        self.deadline_ms = deadline_ms
        self.reader = reader
        self.session = session

    def push(
        self,
        request: str,
        *,
        recent: Iterable[str] = (),
        session: str | None = None,
        turn: str = "",
        project: str = "",
        already_shown: Iterable[str] = (),
        min_position: str = "",
        reader: str | None = None,
        deadline_ms: float | None = None,
        as_of: AsOf = "",
    ) -> PushResponse:
        """Pointers to what the owner has for this request; put `block` next to the owner's message.

        Never raises, and takes at most the deadline (and a few milliseconds of scheduling): when anything fails the
        answer is an empty push whose `reason` is `deadline`, `unreachable`, `refused` or `error`. With `as_of` it is
        what would have been pushed at that past moment; that may take `timeout_s`, unless `deadline_ms` is given here.
        """
        try:
            deadline = Deadline.after(self._push_limit_s(deadline_ms, as_of))
            asked = checked(
                PushRequest,
                request=request,
                **self._asker(reader, session, as_of),
                turn=turn,
                project=project,
                recent=texts(recent),
                already_shown=texts(already_shown),
                min_position=min_position,
            )
            return self._read("/v1/push", asked, PushResponse, deadline, MAX_PUSH_BYTES)
        except TimeoutError:
            return PushResponse(reason="deadline")
        except (NotRunning, LogUnavailable):
            return PushResponse(reason="unreachable")
        except Refused:
            return PushResponse(reason="refused")
        except Exception:  # noqa: BLE001 - whatever it is, the harness's turn goes on
            return PushResponse(reason="error")

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        kinds: Iterable[str] = (),
        recent: Iterable[str] = (),
        project: str = "",
        session: str | None = None,
        reader: str | None = None,
        min_position: str = "",
        as_of: AsOf = "",
    ) -> SearchResponse:
        """Everything that may fit, best first, without the push's bar and caps."""
        asked = checked(
            SearchRequest,
            query=query,
            limit=limit,
            kinds=texts(kinds),
            recent=texts(recent),
            project=project,
            min_position=min_position,
            **self._asker(reader, session, as_of),
        )
        return self._ask("/v1/search", asked, SearchResponse)

    def why(
        self,
        request: str,
        item: str,
        *,
        recent: Iterable[str] = (),
        session: str | None = None,
        project: str = "",
        reader: str | None = None,
        for_reader: str = "",
        as_of: AsOf = "",
    ) -> WhyResponse:
        """Why an item (its id, address or name) is, or is not, in the push for a request: the first gate it fails.

        `recent`, `session` and `project` are those that the push was given.

        Raises:
            Refused: another reader than the owner asks about somebody else's push (`for_reader`) or about the past.
            RecallError: several items have this name; the message lists their ids.
        """
        asker = self._asker(reader, session, as_of)
        around = {"recent": texts(recent), "project": project, **asker}
        asked = checked(WhyRequest, request=request, item=item, for_reader=for_reader, **around)
        return self._ask("/v1/why", asked, WhyResponse)

    def open(
        self,
        address: str,
        *,
        session: str | None = None,
        reader: str | None = None,
        min_position: str = "",
        as_of: AsOf = "",
    ) -> OpenResponse:
        """The exact text behind an address or an item's id.

        Raises:
            NotFound: there is no such thing, or the reader may not see it.
        """
        asked = checked(OpenRequest, address=address, min_position=min_position, **self._asker(reader, session, as_of))
        return self._ask("/v1/open", asked, OpenResponse)

    def status(self, *, reader: str | None = None, as_of: AsOf = "") -> StatusResponse:
        """How things stand, or stood."""
        asker = self._asker(reader, "", as_of)
        named = {name: asker[name] for name in ("reader", "as_of")} if as_of else {"reader": asker["reader"]}
        query = "?" + urlencode(named) if as_of or named["reader"] != "owner" else ""
        return self._ask("/v1/status" + query, None, StatusResponse)

    def publish(
        self,
        events: Event | EventDraft | PublishEvent | Iterable[Event | EventDraft | PublishEvent],
        *,
        actor: Actor | None = None,
        source: Source | None = None,
        audience: tuple[str, ...] = OWNER_ONLY,
        occurred_at: Millis | None = None,
    ) -> PublishResponse:
        """Store one event or many, all or none; when this returns they are durable and the next push knows them.

        `actor`, `source`, `audience` and `occurred_at` are for plain events; a PublishEvent or EventDraft has its own.
        Ids are made before the first try. To be able to repeat a failed call later, hand in drafts (`draft(event)`),
        which keep their ids.
        """
        many = [events] if isinstance(events, Event | EventDraft | PublishEvent) else list(events)
        common = {"actor": actor or Actor(), "source": source or Source(session=self.session), "audience": audience}
        ready = tuple(publishable(event, {**common, "occurred_at": occurred_at}) for event in many)
        asked = checked(PublishRequest, events=ready)
        return self._write("/v1/publish", asked, PublishResponse, [event.event_id for event in asked.events])

    def remember(
        self,
        text: str,
        *,
        name: str = "",
        kind: AssetKind | None = None,
        item: str = "",
        purpose: str = "",
        aliases: Iterable[str] = (),
        use_when: Iterable[str] = (),
        request: str = "",
        address: str = "",
        supersedes: str | None = None,
        audience: Iterable[str] = OWNER_ONLY,
        actor: Actor | None = None,
        source: Source | None = None,
        event_id: str = "",
    ) -> WriteResponse:
        """Keep something the owner has: a note, or an asset of some `kind` (skill, machine, decision, ...).

        `use_when` and `request` say what it is for: they become its first use keys.
        """
        asked = checked(
            RememberRequest,
            text=text,
            name=name,
            kind=kind,
            item=item,
            purpose=purpose,
            aliases=texts(aliases),
            use_when=texts(use_when),
            request=request,
            address=address,
            supersedes=supersedes,
            audience=texts(audience),
            actor=actor or Actor(),
            source=source or Source(session=self.session),
            event_id=event_id or new_event_id(),
        )
        return self._write("/v1/remember", asked, WriteResponse, [asked.event_id])

    def correct(
        self, request: str, item: str, *, said: str = "", session: str | None = None, event_id: str = ""
    ) -> WriteResponse:
        """Say "you have this": the request that missed, and the id, address or name of what would have answered it.

        The very next push for such a request has the item.

        Raises:
            NotFound: there is no such item.
        """
        asked = checked(
            CorrectRequest,
            request=request,
            item=item,
            said=said,
            session=self.session if session is None else session,
            event_id=event_id or new_event_id(),
        )
        return self._write("/v1/correct", asked, WriteResponse, [asked.event_id])

    def forget(self, item: str, *, event_id: str = "") -> WriteResponse:
        """Forget an item (id, address or name) for good: hidden at once, its bytes removed by a job.

        Raises:
            NotFound: there is no such item.
        """
        asked = checked(ForgetRequest, item=item, event_id=event_id or new_event_id())
        return self._write("/v1/forget", asked, WriteResponse, [asked.event_id])

    def bar(self, change: str | float = "", *, reader: str | None = None, event_id: str = "") -> BarResponse:
        """How sure a pointer has to be before it is pushed, after a change if one is given.

        `change` is `more` (speak more), `less`, a number from 0 to 1, or `default`. Raises Refused for another reader.
        """
        reader, event_id = self.reader if reader is None else reader, event_id or new_event_id()
        asked = checked(BarRequest, change=str(change), reader=reader, event_id=event_id)
        return self._write("/v1/bar", asked, BarResponse, [event_id])

    def refit(self, undo: str = "", *, reader: str | None = None, event_id: str = "") -> RefitResponse:
        """What the ranker learned from its owner; `undo` takes the last refit back (`last`), or all of them (`all`)."""
        reader, event_id = self.reader if reader is None else reader, event_id or new_event_id()
        asked = checked(RefitRequest, undo=undo, reader=reader, event_id=event_id)
        return self._write("/v1/refit", asked, RefitResponse, [event_id])

    def opened(self, item: str, session: str | None = None) -> PublishResponse:
        """Tell that an item was opened by other means than `open`."""
        session = self.session if session is None else session
        # Whose token it is, the server knows.
        reader = "" if self.has_token and self.reader == "owner" else self.reader
        return self.publish(ItemOpened(item=item, reader=reader, session=session))

    def helped(self, item: str, session: str | None = None) -> PublishResponse:
        """Tell that an item clearly helped."""
        return self.publish(ItemHelped(item=item, session=self.session if session is None else session))

    def rejected(
        self, item: str, request: str = "", session: str | None = None, *, audience: tuple[str, ...] = OWNER_ONLY
    ) -> PublishResponse:
        """Tell that a pushed pointer was of no use for a request: it does not come back for it, unless it is named.

        Without a request it is the last one for which the session was shown the item. `audience` are those for whose
        pushes this counts; the owner is always among them.
        """
        session = self.session if session is None else session
        return self.publish(PointerRejected(item=item, request=request, session=session), audience=audience)

    def _asker(self, reader: str | None, session: str | None, as_of: AsOf) -> dict[str, str]:
        return {
            "reader": self.reader if reader is None else reader,
            "session": self.session if session is None else session,
            "as_of": moment_text(as_of) if as_of else "",
        }

    def _push_limit_s(self, deadline_ms: float | None, as_of: AsOf) -> float:
        if deadline_ms is None and as_of:
            return self.timeout_s
        return (self.deadline_ms if deadline_ms is None else deadline_ms) / 1000


class AsyncClient(AsyncReaderCalls, AsyncPolicyCalls, AsyncQuarantineCalls):
    """The same methods as Client, to be awaited; each runs in a thread, so that the event loop never waits."""

    def __init__(self, home: str | Path | None = None, **options: Any) -> None:
        """Takes the arguments of Client."""
        self.sync = Client(home, **options)

    async def push(self, request: str, *, deadline_ms: float | None = None, **options: Any) -> PushResponse:
        """See Client.push. The time spent waiting for a free thread counts too."""
        import asyncio  # noqa: PLC0415 - as above

        try:
            limit = self.sync._push_limit_s(deadline_ms, options.get("as_of", ""))
            asking = asyncio.to_thread(self.sync.push, request, deadline_ms=deadline_ms, **options)
            return await asyncio.wait_for(asking, limit + 0.02)
        except TimeoutError:
            return PushResponse(reason="deadline")
        except Exception:  # noqa: BLE001 - whatever it is, the harness's turn goes on
            return PushResponse(reason="error")

    search = twin(Client.search)
    why = twin(Client.why)
    open = twin(Client.open)
    status = twin(Client.status)
    publish = twin(Client.publish)
    remember = twin(Client.remember)
    correct = twin(Client.correct)
    forget = twin(Client.forget)
    bar = twin(Client.bar)
    refit = twin(Client.refit)
    keys = twin(Client.keys)
    add_keys = twin(Client.add_keys)
    fill_keys = twin(Client.fill_keys)
    remove_key = twin(Client.remove_key)
    keys_todo = twin(Client.keys_todo)
    opened = twin(Client.opened)
    helped = twin(Client.helped)
    rejected = twin(Client.rejected)
