"""Requests and answers of the API, shared by server and client. Imports only msgspec and event types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from ..events.envelope import OWNER_ONLY, Actor, Source
from ..events.types import AssetKind, Millis, RankerRefitted
from .precision import Precision


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all requests and answers. An unknown field in an answer is ignored: an old client reads a new server."""


class Request(Message, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all requests. An unknown field is refused: a dropped argument (a scope, say) must never pass unseen.

    Fields that have their defaults are not sent, so that an older server refuses a newer client only what it was asked
    and does not know.
    """


class PushRequest(Request, frozen=True, kw_only=True):
    """What the owner has just typed, and around it what helps to find things for it."""

    request: str
    reader: str = "owner"
    session: str = ""
    """Pointers already shown in this session are not shown again unless the item changed. Empty: no memory of it."""
    turn: str = ""
    project: str = ""
    """Where it is asked. Counts a little for a request that points back ("as we did last time")."""
    recent: tuple[str, ...] = ()
    """The last line or two of the chat before the request, oldest first."""
    already_shown: tuple[str, ...] = ()
    """Ids of items the harness knows to be in front of the model already."""
    min_position: str = ""
    """A position a writer got back: the answer takes at least everything up to it into account."""
    as_of: str = ""
    """A past moment, `ms-seq` or an ISO 8601 time with its zone: what would have been answered then, without what was
    forgotten since. Only for the owner; it takes no `already_shown` or `min_position`, and looks at no session. Empty:
    the present."""


class Pointer(Message, frozen=True, kw_only=True):
    """One line that points at an item."""

    item: str
    kind: str
    name: str
    address: str
    line: str
    """The pointer as the model reads it: one line, no markup."""
    score: float
    """The calibrated probability that the pointer helps, 0 to 1; 1 for an item that the request names."""
    route: str
    """How it was found first of all: `name`, `use`, `topic`, `link` (used together with what the request names) or
    `last_time` (what a request that points back means)."""


class PushResponse(Message, frozen=True, kw_only=True):
    """At most five pointers, or none. An empty push is an answer; `reason` says why there is none."""

    pointers: tuple[Pointer, ...] = ()
    block: str = ""
    """What to put next to the owner's message; empty when there is no pointer."""
    tokens: int = 0
    """Estimated tokens of the block."""
    reason: str = ""
    """Why the push is empty: `nothing_fits`, `trivial_turn`, `already_shown`; `deadline`, `unreachable`, `refused`,
    `error` when it failed."""
    position: str = ""
    """Everything up to here was taken into account. Told to the owner alone, as is the generation."""
    generation: int = 0
    stale: bool = False
    """The log could not be read to its tail in time; the answer is right as of `position`."""
    took_ms: float = 0.0
    """Time inside the server, milliseconds."""
    as_of: str = ""
    """The time for which this was answered, when that was the past."""


class SearchRequest(Request, frozen=True, kw_only=True):
    """The pull side: everything that may fit, best first, without the push's bar and caps."""

    query: str
    reader: str = "owner"
    session: str = ""
    limit: Annotated[int, msgspec.Meta(ge=0)] = 20
    kinds: tuple[str, ...] = ()
    """Only these kinds; empty: all."""
    recent: tuple[str, ...] = ()
    project: str = ""
    """As in PushRequest, both."""
    min_position: str = ""
    as_of: str = ""
    """As in PushRequest."""


class Found(Message, frozen=True, kw_only=True):
    """One item that a search found, with the exact address of what matched."""

    item: str
    kind: str
    name: str
    """May be empty: then `purpose` and `item` tell what it is."""
    purpose: str
    """What it is for, or else how the part that matched begins."""
    address: str
    score: float
    route: str
    mark: str = ""
    """Of an old version, which is found by its own name or date only, what replaced it and when."""


class SearchResponse(Message, frozen=True, kw_only=True):
    """What a search found, best first."""

    found: tuple[Found, ...] = ()
    position: str = ""
    generation: int = 0
    stale: bool = False
    took_ms: float = 0.0
    as_of: str = ""
    """The time for which this was answered, when that was the past."""


class OpenRequest(Request, frozen=True, kw_only=True):
    """Ask for the exact text behind an address (or an item's id)."""

    address: str
    reader: str = "owner"
    session: str = ""
    min_position: str = ""
    as_of: str = ""
    """As in PushRequest."""


class OpenResponse(Message, frozen=True, kw_only=True):
    """The exact text, and what it belongs to."""

    item: str
    kind: str
    name: str
    address: str
    text: str
    purpose: str = ""
    description: str = ""
    audience: tuple[str, ...] = ()
    source_uri: str = ""
    valid_until: Millis | None = None
    replaced_by: str | None = None
    """Id of the version that stands in its place, if the reader may see one."""
    mark: str = ""
    """As in Found: to be told before the text."""
    as_of: str = ""
    """The time for which this was answered, when that was the past."""


class WhyRequest(Request, frozen=True, kw_only=True):
    """Ask why an item is, or is not, in the push for a request."""

    request: str
    item: str
    """The item's id, address or name."""
    reader: str = "owner"
    """Who asks. Only the owner is told what holds an item back."""
    for_reader: str = ""
    """Whose push is meant; empty: that of who asks. Only the owner may ask about another's."""
    session: str = ""
    recent: tuple[str, ...] = ()
    project: str = ""
    """As in PushRequest, all three: give what the push was given."""
    as_of: str = ""
    """As in PushRequest. Of a request that the owner typed in the day before, it also tells whether anybody asked."""


class WhyResponse(Message, frozen=True, kw_only=True):
    """The first gate that an item fails for a request.

    Of an item that a reader may not see it tells what it would tell of none. So it does not say how long it took.
    """

    item: str
    """The item's id; what was asked for when there is no such item."""
    gate: str
    """`found`: it is in the push. Else `not_indexed`, `not_asked`, `filtered`, `wrong_key` or `drowned`."""
    rule: str = ""
    """For the owner, what filtered it out: `audience`, `muted`, `quarantined`, `forgotten`, `not_yet_valid`, `closed`,
    `superseded`, `older_asked` (the request asks for an older version of it), `already_shown`."""
    cut: str = ""
    """What drowned it: `bar`, `places`, `tokens` or `width` (of a route, which has places for 24 rows)."""
    ranks: dict[str, int | None]
    """For `use_words`, `use_meaning`, `topic_words` and `topic_meaning` its place among the items that the reader may
    see, 1 for the best; null where nothing of it matches, or where it was not weighed."""
    rank: int | None = None
    """Its place among all candidates together; null when it was not weighed."""
    probability: float | None = None
    """The calibrated probability that a pointer to it helps, 0 to 1."""
    bar: float
    """The least probability that is pushed."""
    bar_default: float | None = None
    """What it is when the owner has set none."""
    words: str
    """All of it in a sentence or two."""
    position: str = ""
    generation: int = 0
    stale: bool = False
    as_of: str = ""
    """The time for which this was answered, when that was the past."""


class PublishEvent(Request, frozen=True, kw_only=True):
    """One event as a harness publishes it: `body` holds the fields of the event type (see `events/types.py`)."""

    type: str
    body: dict[str, Any]
    event_id: str = ""
    """A UUIDv7 made by the writer so that it may retry; the client makes one when it is empty."""
    occurred_at: Millis | None = None
    actor: Actor = Actor()
    source: Source = Source()
    audience: tuple[str, ...] = OWNER_ONLY


class PublishRequest(Request, frozen=True, kw_only=True):
    """One or many events, stored all or none."""

    events: tuple[PublishEvent, ...]


class Published(Message, frozen=True, kw_only=True):
    """What became of one event."""

    event_id: str
    position: str
    duplicate: bool = False


class PublishResponse(Message, frozen=True, kw_only=True):
    """What became of each event, in order. When this arrives the events are durable."""

    events: tuple[Published, ...]
    position: str
    """The last of the positions: hand it on as `min_position` to prove that a push has seen the write."""


class RememberRequest(Request, frozen=True, kw_only=True):
    """Keep something the owner has: a note, or (with `kind`) a skill, tool, machine, decision, approach or document."""

    text: str
    name: str = ""
    kind: AssetKind | None = None
    """None: a note."""
    item: str = ""
    """The id; recording it again replaces it. Empty: made from kind and name, or a fresh one."""
    purpose: str = ""
    aliases: tuple[str, ...] = ()
    use_when: tuple[str, ...] = ()
    request: str = ""
    """What the owner had asked for when this was stored."""
    address: str = ""
    supersedes: str | None = None
    audience: tuple[str, ...] = OWNER_ONLY
    actor: Actor = Actor()
    source: Source = Source()
    event_id: str = ""


class CorrectRequest(Request, frozen=True, kw_only=True):
    """Say "you have this": the request that missed, and the item (id, address or name) that would have answered it."""

    request: str
    item: str
    said: str = ""
    session: str = ""
    event_id: str = ""


class ForgetRequest(Request, frozen=True, kw_only=True):
    """Forget an item (id, address or name) for good: hidden at once, its bytes removed by a job."""

    item: str
    event_id: str = ""


class BarRequest(Request, frozen=True, kw_only=True):
    """See the bar, or move it: how sure a pointer has to be before it is pushed."""

    change: str = ""
    """`more` (speak more), `less`, a number from 0 to 1, or `default`; empty: only tell how it stands."""
    reader: str = "owner"
    """Who asks; nobody else may."""
    event_id: str = ""


class BarResponse(Message, frozen=True, kw_only=True):
    """How the bar stands, after the change if there was one. It counts from the very next push, for every reader."""

    bar: float
    """Least probability of a pointer that the request does not name, 0 to 1."""
    default: float
    is_default: bool
    before: float
    words: str
    """All of it in a sentence or two."""
    position: str = ""
    """Where the change stands in the log; empty when nothing had to be changed."""


class RefitRequest(Request, frozen=True, kw_only=True):
    """See what the ranker has learned from its owner's accesses, or take it back."""

    undo: Literal["", "last", "all"] = ""
    reader: str = "owner"
    """Who asks; nobody else may."""
    event_id: str = ""


class RefitResponse(Message, frozen=True, kw_only=True):
    """How the ranker's weights stand, after what was taken back."""

    fate: str
    """`none`: the default ones count. `in_force`: those of the newest refit. `outdated`: that one was made for another
    default than today's, so the default counts until the next night."""
    undone: int = 0
    """How many were taken back."""
    kept: int = 0
    """How many are left, the newest of which is meant here."""
    adopted_at: Millis | None = None
    default: dict[str, float]
    """The weights that come with the package, by feature, and their bias."""
    own: dict[str, float]
    """Those of the newest refit; empty without one."""
    refit: RankerRefitted | None = None
    """What was told of it when it was adopted."""


class WriteResponse(Message, frozen=True, kw_only=True):
    """What happened to a write."""

    event_id: str
    position: str
    item: str
    duplicate: bool = False


class StatusRequest(Request, frozen=True, kw_only=True):
    """How things stand, or stood."""

    reader: str = "owner"
    """Who asks. The past, positions, the snapshot and how pushes are used are told to the owner alone."""
    as_of: str = ""
    """As in PushRequest."""


class StatusResponse(Message, frozen=True, kw_only=True):
    """How things stand, for the owner."""

    version: str
    owner: str
    position: str
    """The log's last position."""
    applied: str
    """The position up to which this server has read."""
    generation: int
    snapshot_position: str
    overlay_items: int
    items: dict[str, int]
    """Items that are valid now and that the reader may see, by kind."""
    pushes: int
    """Pushes answered since this server started."""
    uptime_s: float
    encoder: str
    bar: float | None = None
    """The least probability that is pushed, and what it is when the owner has set none."""
    bar_default: float | None = None
    refit: str = ""
    """Whether the ranker was refitted to the owner: `none`, `in_force`, or `outdated` (made for another default, so
    that it does not count until the next night)."""
    server: str
    """What keeps the log: `embedded`, `external` or `memory`."""
    as_of: str = ""
    """The time for which this was answered, when that was the past."""
    precision: tuple[Precision, ...] = ()
    """How often pointers were of use lately; told to the owner only."""
    held: int = 0
    """Things that are held back until the owner has looked at them; told to the owner only."""


class ErrorResponse(Message, frozen=True, kw_only=True):
    """What went wrong and what to do, in one sentence each."""

    error: str
    """A stable code: `not_found`, `refused`, `invalid`, `unavailable`, `full`, `gone`, `damaged`, `internal`."""
    message: str
