"""`audit`: who saw what, read from the log and its archive.

An access is in the log as an event: `push_served`, `search_served`, `item_opened`, `why_served`. They are ids, and stay
when an item is forgotten; the request that stood with them is erased then. Times are those of the log, which whoever
writes into it cannot choose; what was asked while the log could not be reached is told a little later than it was.

Memory is bounded: the log is read in pages, and what is printed is a page too, or goes out as it is read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from ..events.codec import Stored, decode, is_sound
from ..events.envelope import RecordedEvent, UnreadableEvent
from ..events.errors import NotFound, RecallError
from ..events.log import EventLog
from ..events.moment import moment_text, parse_moment
from ..events.position import LARGEST, START, Position
from ..events.redis_log import RedisEventLog
from ..events.types import Event, ItemOpened, Millis, PushServed, ReaderGranted, SearchServed, WhyServed
from ..projections.policy.eligibility import OWNER_NAME
from .exporting import iso

PAGE: Final = 2_000
"""Events read from the log in one round trip."""
ROUTES: Final[dict[type[Event], str]] = {
    PushServed: "push", SearchServed: "search", ItemOpened: "open", WhyServed: "why",
}  # fmt: skip
"""By which a reader sees an item, by the event that tells of it."""
_SPAN: Final = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)
_MILLIS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One access: a line of `audit --json`."""

    at: str
    """When the log took it, ISO 8601 in UTC."""
    reader: str
    route: str
    """`push`, `search`, `open` or `why`."""
    items: tuple[str, ...]
    """What the reader saw, in the order in which it was told; empty when nothing was."""
    session: str
    anchor: str = ""
    """The part that was opened; empty: all of it."""
    request: str = ""
    """What was asked; only when it is wanted, and not erased since."""
    erased: bool = False
    """The request is wanted, and was erased together with an item that was forgotten."""
    position: str


class Span(NamedTuple):
    """The part of the log that is asked about."""

    after: Position
    """The last position in front of it."""
    until: Position
    """The last position that belongs to it."""


class Subject(NamedTuple):
    """About whom, or what, an audit is; one of the two, or both: what this reader saw of this item."""

    reader: str = ""
    item: str = ""

    def __str__(self) -> str:
        """As it is told to a person."""
        both = [f"reader {self.reader}" if self.reader else "", f"item {self.item}" if self.item else ""]
        return ", ".join(filter(None, both))


class Tally:
    """Counts of what was read, in as much memory as there are different items and readers."""

    def __init__(self) -> None:
        self.routes = dict.fromkeys(ROUTES.values(), 0)
        self.seen: dict[tuple[str, str], list[int]] = {}
        """By reader and item: how often by each route, in the order of `routes`, and the time of the last."""
        self.unreadable = 0

    def add(self, access: Access, at: Millis, item: str = "") -> None:
        """Count one access; of its items only `item`, unless that is empty."""
        self.routes[access.route] += 1
        column = list(self.routes).index(access.route)
        for one in access.items if not item else (item,):
            row = self.seen.setdefault((access.reader, one), [0] * (len(self.routes) + 1))
            row[column] += 1
            row[-1] = at

    @property
    def accesses(self) -> int:
        """How many were counted."""
        return sum(self.routes.values())


def moment(said: str, now: Millis) -> Position | Millis:
    """What a person types for a moment: `7d` (ago; also m, h, w), a date, a time, or a position.

    Raises:
        RecallError: it is none of these.
    """
    if ago := _SPAN.fullmatch(said.strip()):
        return max(now - int(ago[1]) * _MILLIS[ago[2]], 0)
    try:
        told = parse_moment(moment_text(said))
    except RecallError as error:
        message = f"{said!r:.60} is no moment. Say 7d, 12h, 2026-11-01, 2026-11-01T10:00, or a position of the log."
        raise RecallError(message) from error
    return told.position or max(told.now, 0)


def span(log: EventLog, now: Millis, since: str = "", until: str = "", before: str = "") -> Span:
    """The part of the log between two moments, both of which belong to it; its end is the present one.

    Args:
        log: whose end is looked up.
        now: for moments that are told as "so long ago".
        since: see `moment`; empty: from the beginning.
        until: empty: to the end.
        before: a position that does not belong to it any more, for the next page.

    Raises:
        RecallError: a moment cannot be read, or the span ends before it begins.
    """
    first = moment(since, now) if since else START
    after = _in_front(first if isinstance(first, Position) else Position(first, 0))
    end = log.last_position()
    if until:
        last = moment(until, now)
        wanted = last if isinstance(last, Position) else Position(last, LARGEST)
        if wanted <= after:
            raise RecallError("The span ends before it begins. Give --since a moment in front of that of --until.")
        end = min(end, wanted)
    return Span(after, min(end, _in_front(Position.parse(before))) if before else end)


def accesses(
    log: EventLog, subject: Subject, within: Span, tally: Tally, *, requests: bool = False
) -> Iterator[Access]:
    """The accesses of a span, oldest first, as they are read.

    Raises:
        LogUnavailable: the log cannot be reached.
        LogGap, CorruptArchive: a part of the span is in no file, or in one that cannot be used.
    """
    for recorded in _events(log, within, subject, payloads=requests):
        if isinstance(recorded.event, UnreadableEvent):
            tally.unreadable += 1
        elif (access := _access(recorded, subject, requests=requests)) is not None:
            tally.add(access, recorded.recorded_at, subject.item)
            yield access


def newest(found: Iterator[Access], limit: int) -> tuple[list[Access], bool]:
    """The last `limit` of them, newest first; and whether there are older ones."""
    kept = deque(found, maxlen=limit + 1)
    page = list(kept)[-limit:][::-1]
    return page, len(kept) > limit


def must_be_known(log: EventLog, subject: Subject) -> None:
    """For an audit that found nothing: whether anything was ever heard of the reader and the item.

    Raises:
        NotFound: nothing was.
    """
    whole = Span(START, log.last_position())
    if subject.reader and not _was_heard_of(log, whole, Subject(reader=subject.reader), _tells_of_reader):
        raise NotFound(
            f"No reader {subject.reader!r:.80} was ever granted anything, and none of that name ever asked. "
            "Names are told apart by every letter; without --reader, `audit --item ID` tells who asks."
        )
    if subject.item and not _was_heard_of(log, whole, Subject(item=subject.item), _tells_of_item):
        raise NotFound(
            f"No item {subject.item!r:.80} was ever there. Give its id, which has its kind in front; "
            "`instant-recall search --json` tells it as `item`. A name does while `up` runs, if only one item has it."
        )


def _was_heard_of(log: EventLog, within: Span, subject: Subject, tells: Callable[[Event, str], bool]) -> bool:
    name = subject.reader or subject.item
    if name == OWNER_NAME and subject.reader:
        return True
    return any(tells(recorded.event, name) for recorded in _events(log, within, subject, payloads=False))


def _tells_of_reader(event: Event, name: str) -> bool:
    return type(event) in {*ROUTES, ReaderGranted} and getattr(event, "reader", "") == name


def _tells_of_item(event: Event, item: str) -> bool:
    return item in event.subjects()


def _access(recorded: RecordedEvent, subject: Subject, *, requests: bool) -> Access | None:
    event = recorded.event
    route = ROUTES.get(type(event))
    if route is None:
        return None
    reader, items = getattr(event, "reader", ""), event.subjects()
    if (subject.reader and reader != subject.reader) or (subject.item and subject.item not in items):
        return None
    return Access(
        at=iso(recorded.recorded_at),
        reader=reader,
        route=route,
        items=items,
        session=getattr(event, "session", ""),
        anchor=getattr(event, "anchor", ""),
        request=getattr(event, "request", "") if requests else "",
        erased=requests and recorded.erased,
        position=str(recorded.position),
    )


def _events(log: EventLog, within: Span, subject: Subject, *, payloads: bool) -> Iterator[RecordedEvent]:
    """The events of a span that may be about the subject, and those that cannot be read.

    An id stands in an envelope letter by letter, so most envelopes need not be taken apart.
    """
    # A session's turns hold its id without the kind in front.
    needles = [name.encode("utf-8", "replace") for name in (subject.reader, subject.item.removeprefix("session:"))]
    after, more = within.after, True
    while more and after < within.until:
        if isinstance(log, RedisEventLog):
            stored = log.stored(after, PAGE)
            page = [_read(log.owner, one, payloads=payloads) for one in stored if _may_tell(one.envelope, needles)]
            last = stored[-1].position if stored else after
        else:
            page = log.read(after, PAGE)
            last = page[-1].position if page else after
        more, after = last > after, last
        yield from (one for one in page if one.position <= within.until)


def _may_tell(envelope: bytes, needles: list[bytes]) -> bool:
    return all(needle in envelope for needle in needles) or not is_sound(envelope)


def _read(owner: str, one: Stored, *, payloads: bool) -> RecordedEvent:
    payload = one.payload if payloads else None
    return decode(owner, one.position, one.event_id.decode("utf-8", "replace"), one.envelope, payload)


def _in_front(at: Position) -> Position:
    if at.seq:
        return Position(at.ms, at.seq - 1)
    return Position(at.ms - 1, LARGEST) if at.ms else START
