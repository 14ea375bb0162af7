"""What the API does, without HTTP: the same object serves the server, the evaluation and the tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from ..events.envelope import EventDraft, now_ms
from ..events.errors import Refused
from ..events.log import EventLog
from ..events.moment import time_text
from ..events.position import Position
from ..events.types import ItemOpened, Millis, WhyServed
from ..projections.evidence import Evidence
from ..projections.items import Item
from ..projections.language.words import heard
from ..projections.learning.own_model import model_of
from ..projections.meaning.encoders import Encoders
from ..projections.naming import nearest, resolving
from ..projections.overlay import Overlay
from ..projections.policy.eligibility import OWNER_NAME, Reader
from ..projections.push import compose
from ..projections.ranker import rank
from ..projections.searcher import Searcher
from ..projections.shown import shown_to
from ..projections.snapshot_store import SnapshotStore
from ..projections.why import why
from . import answers, tuning
from .asked import was_asked
from .follower import Follower
from .history import History, Question, View, admitted
from .keys import KeyService
from .messages import (
    BarRequest,
    BarResponse,
    CorrectRequest,
    ForgetRequest,
    OpenRequest,
    OpenResponse,
    PublishRequest,
    PublishResponse,
    PushRequest,
    PushResponse,
    RefitRequest,
    RefitResponse,
    RememberRequest,
    SearchRequest,
    SearchResponse,
    StatusRequest,
    StatusResponse,
    WhyRequest,
    WhyResponse,
    WriteResponse,
)
from .opening import exact_text
from .quarantine import QuarantineService
from .readers import ReaderService
from .standing import standing, told_to
from .writes import Writer

PUSH_BUDGET_S: Final = 0.15
"""Time a push may spend on catching up; half of the client's default deadline."""
_WARMING: Final = "Please use the thing that we took last time for the quarterly report"
"""A request that goes through every route."""
READ_BUDGET_S: Final = 2.0
"""The same for search, open and writes, which may wait."""
AFTER_ITS_PUSH: Final = frozenset({"item_opened", "item_helped", "pointer_rejected", "session_closed"})
"""Events that tell what became of a pointer. They stand behind its push in the log, or they would tell nothing."""


class Service(KeyService, ReaderService, QuarantineService):
    """Push, search, open, why, the writes, status and more over one owner's log. Safe to use from several threads.

    Args:
        log: the owner's log.
        encoders: the default encoders.
        snapshots: where snapshots are found; None: everything is replayed from the log at the start.
        clock: milliseconds UTC.
        server: what keeps the log, for `status`.
        record: takes the accesses; None: they are appended to the log at once.
    """

    def __init__(
        self,
        log: EventLog,
        encoders: Encoders,
        snapshots: SnapshotStore | None = None,
        *,
        clock: Callable[[], Millis] = now_ms,
        server: str = "memory",
        record: Callable[[EventDraft], None] | None = None,
    ) -> None:
        self._log = log
        self._encoders = encoders
        self._clock = clock
        self._server = server
        self._record = record or (lambda access: self._log.append([access]) and None)
        self._shown: Callable[[str, str], dict[str, str]] = getattr(record, "shown", lambda _session, _reader: {})
        self._settle: Callable[[], bool] = getattr(record, "settle", lambda: True)
        self._writer = Writer(log, clock, self._item_now, lambda wanted: self._resolve(wanted, spelled=True))
        self._follower = Follower(log, encoders, snapshots)
        self._history = History(log, encoders, snapshots)
        self._started = time.monotonic()
        self._pushes = 0

    def push(
        self,
        request: PushRequest,
        *,
        now: Millis | None = None,
        bar: float | None = None,
        names: bool = True,
        links: bool = True,
    ) -> PushResponse:
        """At most five pointers for what the owner has just typed, or none.

        Args:
            request: see PushRequest.
            now: the moment to answer for; the present when it is None. The request's `as_of` wins over it.
            bar: least probability of a pointer, 0 to 1; the trained one when it is None. 0 shows the ranking.
            names: see Searcher.find.
            links: see Searcher.find.

        Raises:
            RecallError: the past that is asked about cannot be told; see History. So do `search`, `open` and `status`.
        """
        began = time.perf_counter()
        request = admitted(request)
        waiting = self._shown(request.session, request.reader)  # before the log is read: an access is in one of the two
        with self._view(request, PUSH_BUDGET_S, now) as view:
            overlay = view.overlay
            position, generation = overlay.position, overlay.base.generation
            searcher = self._searcher(overlay, request, view.now)
            push = compose(
                searcher,
                request.request,
                shown=shown_to(overlay.state.shown, request.session, request.reader)
                | waiting
                | dict.fromkeys(request.already_shown, ""),
                bar=bar,
                names=names,
                links=links,
            )
        self._pushes += 1
        self._record(answers.access(answers.pushed(request, push), view.asked_at))
        answer = PushResponse(
            pointers=tuple(answers.pointer(ranked, line) for ranked, line in push.pointers),
            block=push.block,
            tokens=push.tokens,
            reason=push.reason,
            position=str(position),
            generation=generation,
            stale=not view.complete or _behind(searcher.reader, position, request.min_position),
            took_ms=_ms_since(began),
            as_of=view.as_of,
        )
        return told_to(searcher.reader, answer)

    def candidates(self, request: PushRequest, *, now: Millis | None = None) -> list[Evidence]:
        """Everything that the push would choose from, not ranked: what the ranker is trained on."""
        at = self._clock() if now is None else now
        with self._follower.at_tail(READ_BUDGET_S) as (overlay, _):
            return self._searcher(overlay, request, at).find(request.request)

    def warm(self) -> None:
        """Load what the first push would have to wait for: word lists, patterns, the encoders' first run."""
        with self._follower.at_tail(READ_BUDGET_S) as (overlay, _):
            compose(self._searcher(overlay, PushRequest(request=_WARMING), self._clock()), _WARMING)

    def _searcher(
        self, overlay: Overlay, asked: PushRequest | SearchRequest | WhyRequest, now: Millis, reader: str = ""
    ) -> Searcher:
        eyes = overlay.state.reader(reader or asked.reader, now)
        return Searcher(overlay, self._encoders, eyes, now, asked.recent, asked.project, asked.session)

    def search(self, request: SearchRequest, *, now: Millis | None = None) -> SearchResponse:
        """Everything that may fit, best first, without the push's bar and caps."""
        began = time.perf_counter()
        request = admitted(request)
        with self._view(request, READ_BUDGET_S, now) as view:
            overlay = view.overlay
            position, generation = overlay.position, overlay.base.generation
            searcher = self._searcher(overlay, request, view.now)
            ranked = rank(searcher.find(request.query), model_of(searcher.tuning))
            wanted = [r for r in ranked if not request.kinds or r.evidence.item.kind in request.kinds][: request.limit]
            lines = tuple(answers.found(r, searcher.versions.mark(r.evidence.item)) for r in wanted)
        self._record(answers.access(answers.searched(request, lines), view.asked_at))
        answer = SearchResponse(
            found=lines,
            position=str(position),
            generation=generation,
            stale=not view.complete or _behind(searcher.reader, position, request.min_position),
            took_ms=_ms_since(began),
            as_of=view.as_of,
        )
        return told_to(searcher.reader, answer)

    def open(self, request: OpenRequest, *, now: Millis | None = None) -> OpenResponse:
        """The exact text behind an address, an id, or a name that only one item has.

        Raises:
            NotFound: there is no such thing, or the reader may not see it; the two cannot be told apart.
            RecallError: several items that the reader sees have this name; the message lists their ids.
        """
        request = admitted(request)
        with self._view(request, READ_BUDGET_S, now) as view:
            overlay = view.overlay
            eyes = overlay.state.reader(request.reader, view.now)
            searcher = Searcher(overlay, self._encoders, eyes, view.now, session=request.session)
            item, anchor = nearest.meant(overlay, searcher, request.address)
            text = exact_text(item, anchor)
            mark, newest = searcher.versions.mark(item), searcher.versions.newest(item.id)
            token = overlay.state.readers.has_token(request.reader)
        opened = ItemOpened(item=item.id, reader=request.reader, session=request.session, anchor=anchor)
        self._record(answers.access(opened, view.asked_at, token=token))
        return OpenResponse(
            item=item.id,
            kind=item.kind,
            name=item.name,
            address=request.address,
            text=text,
            purpose=item.purpose,
            description=item.description,
            audience=item.audience if request.reader == OWNER_NAME else (),
            source_uri=item.source_uri,
            valid_until=item.valid_until,
            replaced_by=newest.id if newest else None,
            mark=mark,
            as_of=view.as_of,
        )

    def why(
        self,
        request: WhyRequest,
        *,
        now: Millis | None = None,
        bar: float | None = None,
        names: bool = True,
        links: bool = True,
    ) -> WhyResponse:
        """The first gate that an item fails for a request. Slow: every row is compared.

        It is an access when another reader than the owner asks. The owner may look into things and leave no trace.
        `now`, `bar`, `names` and `links` are those of `push`.

        Raises:
            Refused: another reader than the owner asks about somebody else's push.
            RecallError: several items have the name that was given; the message lists their ids.
        """
        request = admitted(request)
        owner, whose = request.reader == OWNER_NAME, request.for_reader or request.reader
        if whose != request.reader and not owner:
            raise Refused("Only the owner may ask about another reader's push. Ask about your own.")
        waiting = self._shown(request.session, whose)
        with self._view(request, READ_BUDGET_S, now) as view:
            overlay = view.overlay
            searcher, position = self._searcher(overlay, request, view.now, whose), overlay.position
            asks = overlay.state.reader(request.reader, view.now)
            item = resolving.subject(overlay, searcher, request.item, owner=owner)
            finish = why(
                overlay,
                searcher,
                request.request,
                item,
                owner=owner,
                shown=shown_to(overlay.state.shown, request.session, whose) | waiting,
                bar=bar,
                names=names,
                links=links,
                asked=not view.as_of or whose != OWNER_NAME or was_asked(self._log, request.request, view.now),
            )
        told = finish()
        if not owner and told.gate != "not_indexed":
            asked = WhyServed(
                item=told.item, reader=request.reader, session=request.session, request=heard(request.request)
            )
            self._record(answers.access(asked, view.asked_at))
        return told_to(asks, answers.verdict(told, view, position))

    def publish(self, request: PublishRequest) -> PublishResponse:
        """Store events, all or none. When this returns they are durable and the next push knows them.

        Raises:
            InvalidEvent: a type or a field is not known, or a value cannot be stored. Nothing was stored.
            LogFull, LogUnavailable: see EventLog.append.
        """
        self._check_topics(request.events)
        if any(event.type in AFTER_ITS_PUSH for event in request.events):
            self._settle()
        return self._writer.publish(request)

    def remember(self, request: RememberRequest) -> WriteResponse:
        """Keep a note, or an asset when `kind` is given. Raises as `publish` does; of what it replaces as `forget`."""
        return self._writer.remember(request)

    def correct(self, request: CorrectRequest) -> WriteResponse:
        """Say "you have this": the request becomes a use key of the item at once.

        Raises:
            NotFound: no item has this id, address or name.
            RecallError: several items have this name; the message lists their ids.
        """
        return self._writer.correct(request, self._resolve(request.item))

    def forget(self, request: ForgetRequest) -> WriteResponse:
        """Forget an item for good: no answer shows it again, and a job removes its bytes. Raises as `correct` does.

        A name has to be spelled right here.
        """
        return self._writer.forget(request, self._resolve(request.item, spelled=True))

    def bar(self, request: BarRequest) -> BarResponse:
        """Show the owner's bar, or move it.

        Raises:
            Refused: somebody else than the owner asks.
            RecallError: the change is neither a word that is known nor a number from 0 to 1.
        """
        with self._follower.at_tail(READ_BUDGET_S) as (overlay, _):
            tuned = overlay.state.tuning
        return tuning.bar(self._log, tuned, request, self._clock)

    def refit(self, request: RefitRequest) -> RefitResponse:
        """Show what the ranker learned from the owner's accesses, or take it back. Raises Refused as `bar` does."""
        with self._follower.at_tail(READ_BUDGET_S) as (overlay, _):
            tuned = overlay.state.tuning
        return tuning.refit(self._log, tuned, request, self._clock)

    def status(self, request: StatusRequest = StatusRequest()) -> StatusResponse:  # noqa: B008 - it is frozen
        """How things stand, or stood, as far as the reader may know. Uptime and encoder are the present ones."""
        with self._view(admitted(request), READ_BUDGET_S, None) as view:
            reader = view.overlay.state.reader(request.reader, view.now)
            told = standing(view, reader, owner=self._log.owner)
        present = {"position": told.applied if view.as_of else str(self._log.last_position()), "pushes": self._pushes}
        return msgspec.structs.replace(
            told,
            uptime_s=round(time.monotonic() - self._started, 1),
            encoder=self._encoders.fingerprint,
            server=self._server,
            **(present if reader.is_owner else {}),
        )

    def follow(self, budget_s: float = 0.005) -> None:
        """Catch up a little between requests."""
        self._follower.follow(budget_s)

    def refresh(self) -> bool:
        """Warm a newer snapshot if there is one; for a background thread. See Follower.refresh."""
        self._history.release()
        return self._follower.refresh()

    def close(self) -> None:
        """Write the accesses that are still queued."""
        close = getattr(self._record, "close", None)
        if close is not None:
            close()

    @contextmanager
    def _view(self, request: Question, budget_s: float, now: Millis | None) -> Iterator[View]:
        """What a request is answered from: the live overlay, or that of the past moment it names."""
        asked_at = self._clock() if now is None else now
        if not request.as_of:
            with self._follower.at_tail(budget_s) as (overlay, complete):
                yield View(overlay, complete, asked_at, asked_at)
            return
        moment, until = self._history.locate(request.as_of, self._clock())
        with self._follower.at_tail(PUSH_BUDGET_S) as (live, _):
            base = live.base
        with self._history.at(until, live=base) as overlay:
            # Not sooner: making the view takes time, and what is forgotten meanwhile must not be shown.
            with self._follower.at_tail(PUSH_BUDGET_S) as (live, complete):
                forgotten = live.forgotten()
            overlay.forget(forgotten)
            yield View(overlay, complete, moment.now, asked_at, time_text(moment.now))

    def _resolve(self, wanted: str, *, spelled: bool = False) -> Item:
        """The owner's item of this id, address or name; one that is hidden only by its id or address."""
        with self._follower.at_tail(READ_BUDGET_S) as (overlay, _):
            found = resolving.at(overlay, wanted, lambda _item: True)[0]
            if found is not None and not found.forgotten and found.recorded_at:
                return found
            now = self._clock()
            searcher = Searcher(overlay, self._encoders, overlay.state.reader(OWNER_NAME, now), now)
            return nearest.meant(overlay, searcher, wanted, spelled=spelled)[0]


def _behind(reader: Reader, position: Position, wanted: str) -> bool:
    """Whether the owner is answered from before a position; anybody else would learn from it where the log stands."""
    return bool(wanted) and position < Position.parse(wanted) and reader.is_owner


def _ms_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
