"""Every kind of event, as frozen structs in the past tense with stable tags.

An event's fields are kept in the log's stream for ever. The fields named in `forgettable` hold free text: they are
kept beside the stream as the event's payload, so that they can be erased without moving any position. After erasure
they read as their defaults. A new field always gets a default; any other change is a new `version` plus an upcaster
(see `upcasters.py`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from .event import Event as Event  # noqa: PLC0414 - offered here with the others
from .event import Millis as Millis  # noqa: PLC0414 - offered here with the others
from .policy_types import AudienceChanged as AudienceChanged  # noqa: PLC0414 - offered here with the others
from .policy_types import TopicMuted as TopicMuted  # noqa: PLC0414 - offered here with the others
from .policy_types import TopicUnmuted as TopicUnmuted  # noqa: PLC0414 - offered here with the others
from .tuning_types import BarSet as BarSet  # noqa: PLC0414 - offered here with the others
from .tuning_types import RankerRefitted as RankerRefitted  # noqa: PLC0414 - offered here with the others
from .tuning_types import RankerReverted as RankerReverted  # noqa: PLC0414 - offered here with the others

AssetKind = Literal["skill", "tool", "machine", "decision", "approach", "document"]
ItemKind = Literal["skill", "tool", "machine", "decision", "approach", "document", "note", "session"]
Role = Literal["owner", "agent", "tool"]
ReaderKind = Literal["owner", "sub_agent", "tool"]


# --- writes -----------------------------------------------------------------------------------------------------------


class AssetRecorded(Event, frozen=True, tag="asset_recorded"):
    """The owner has a skill, tool, machine, decision, approach or document; recording the id again replaces it."""

    version: ClassVar[int] = 2
    forgettable: ClassVar[tuple[str, ...]] = (
        "name", "aliases", "purpose", "description", "text", "address", "use_when", "request",
    )  # fmt: skip

    item: str
    kind: AssetKind
    name: str = ""
    aliases: tuple[str, ...] = ()
    purpose: str = ""
    """One line: what it is for. Empty: the first sentence of the description stands in."""
    description: str = ""
    text: str = ""
    """The full text, for `open`; may be empty when the description is all there is."""
    address: str = ""
    use_when: tuple[str, ...] = ()
    request: str = ""
    """What the owner had asked for when this was stored: the first key under which it will be looked for."""
    supersedes: str | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    digest: str = ""
    """Hash of the source, by which an importer sees that nothing changed."""


class NoteRecorded(Event, frozen=True, tag="note_recorded"):
    """A note, or one section of a document; recording the id again replaces it."""

    forgettable: ClassVar[tuple[str, ...]] = ("name", "text", "address", "use_when", "request")

    item: str
    name: str = ""
    """The heading, outermost first, joined by " > "."""
    text: str = ""
    address: str = ""
    use_when: tuple[str, ...] = ()
    request: str = ""
    supersedes: str | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    digest: str = ""


class TurnRecorded(Event, frozen=True, tag="turn_recorded"):
    """One turn of a session was said. The item is `session:<id>`; the turn's address is `session:<id>#t<turn>`."""

    forgettable: ClassVar[tuple[str, ...]] = ("text",)

    session: str
    turn: int
    role: Role
    text: str = ""
    project: str = ""

    def subjects(self) -> tuple[str, ...]:
        """The session, as an item."""
        return (f"session:{self.session}",)


class SessionClosed(Event, frozen=True, tag="session_closed"):
    """A session ended: what was opened in it, what clearly helped, and how it came out."""

    forgettable: ClassVar[tuple[str, ...]] = ("outcome",)

    session: str
    project: str = ""
    used: tuple[str, ...] = ()
    helped: tuple[str, ...] = ()
    outcome: str = ""

    def subjects(self) -> tuple[str, ...]:
        """The session and everything opened in it."""
        return (f"session:{self.session}", *self.used, *self.helped)


class KeyAdded(Event, frozen=True, tag="key_added"):
    """The owner said that an item helps (negative: does not help) in a situation. The key's id is the event's."""

    forgettable: ClassVar[tuple[str, ...]] = ("phrase",)

    item: str
    phrase: str = ""
    negative: bool = False


class KeyRemoved(Event, frozen=True, tag="key_removed"):
    """A use key was taken away. `key` is the key's id as `keys` shows it."""

    item: str
    key: str


class KeyWeighed(Event, frozen=True, tag="key_weighed"):
    """The accesses of the last months were counted for a use key; a later count, or a new key, takes its place.

    The four counts are of pointers that this key brought in: `opened` are those that were opened and not more.
    """

    item: str
    key: str
    weight: float = 1.0
    """What the key's likeness to a request is multiplied with, apart from what sessions say of it; 1: as it was."""
    shown: int = 0
    opened: int = 0
    helped: int = 0
    rejected: int = 0


# --- corrections ------------------------------------------------------------------------------------------------------


class OwnershipCorrected(Event, frozen=True, tag="ownership_corrected"):
    """The agent missed something the owner has; the request that missed becomes a use key of the item at once."""

    forgettable: ClassVar[tuple[str, ...]] = ("request", "said")

    item: str
    request: str = ""
    said: str = ""


class ItemSuperseded(Event, frozen=True, tag="item_superseded"):
    """An item was replaced, by `by` when that is known; it is closed from then on and stays in its version chain."""

    forgettable: ClassVar[tuple[str, ...]] = ("reason",)

    item: str
    by: str | None = None
    reason: str = ""


class ItemClosed(Event, frozen=True, tag="item_closed"):
    """An item stopped being true or being there, at `closed_at` (when the event occurred, if not said)."""

    forgettable: ClassVar[tuple[str, ...]] = ("reason",)

    item: str
    closed_at: Millis | None = None
    reason: str = ""


class ItemMuted(Event, frozen=True, tag="item_muted"):
    """The owner asked not to be told about an item."""

    forgettable: ClassVar[tuple[str, ...]] = ("reason",)

    item: str
    reason: str = ""
    session: str = ""
    """Only in this session; empty: for good."""


class ItemUnmuted(Event, frozen=True, tag="item_unmuted"):
    """The owner wants to hear of a muted item again."""

    item: str
    session: str = ""
    """Only the mute for this session is undone; empty: all mutes of the item are."""


class ItemQuarantined(Event, frozen=True, tag="item_quarantined"):
    """An item, or one turn of a session, is held back until the owner has looked at it."""

    forgettable: ClassVar[tuple[str, ...]] = ("reason",)

    item: str
    anchor: str = ""
    """The part that is held back; empty: all of it."""
    reason: str = ""


class ItemReleased(Event, frozen=True, tag="item_released"):
    """The owner looked at what was held back, an item or one part of it, and let it go."""

    item: str
    anchor: str = ""


class ReaderGranted(Event, frozen=True, tag="reader_granted"):
    """A reader (a sub-agent, a tool) may see items whose audience meets these scopes; replaces an earlier grant."""

    forgettable: ClassVar[tuple[str, ...]] = ("reason",)

    reader: str
    scopes: tuple[str, ...] = ()
    reason: str = ""
    kind: ReaderKind = "sub_agent"
    expires_at: Millis | None = None
    """From then on it counts no more, by the clock of whoever answers; None: until it is revoked."""
    token_hash: str = ""
    """SHA-256 of the reader's token, in hexadecimal; the token itself is nowhere. Empty: it has none."""
    parent: str = ""
    """The reader out of whose grant this one was made, than which it is never wider; empty: the owner made it."""


class ReaderRevoked(Event, frozen=True, tag="reader_revoked"):
    """A reader may see nothing any more, nor may any whose grant was made out of its grant."""

    reader: str


class PointerRejected(Event, frozen=True, tag="pointer_rejected"):
    """A pushed pointer was of no use for a request; without one, for the last that it was shown for in the session."""

    forgettable: ClassVar[tuple[str, ...]] = ("request",)

    item: str
    request: str = ""
    session: str = ""


# --- accesses ---------------------------------------------------------------------------------------------------------


class PushServed(Event, frozen=True, tag="push_served"):
    """A push was answered; `items` are the pointers in order, `seen` is each one's content position (Item.changed)."""

    forgettable: ClassVar[tuple[str, ...]] = ("request",)

    reader: str
    session: str = ""
    turn: str = ""
    items: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    tokens: int = 0
    request: str = ""

    def subjects(self) -> tuple[str, ...]:
        """The items pointed at."""
        return self.items


class SearchServed(Event, frozen=True, tag="search_served"):
    """A search was answered."""

    forgettable: ClassVar[tuple[str, ...]] = ("request",)

    reader: str
    session: str = ""
    items: tuple[str, ...] = ()
    request: str = ""

    def subjects(self) -> tuple[str, ...]:
        """The items found."""
        return self.items


class ItemOpened(Event, frozen=True, tag="item_opened"):
    """A reader opened an item at an address."""

    item: str
    reader: str
    session: str = ""
    anchor: str = ""


class WhyServed(Event, frozen=True, tag="why_served"):
    """A reader other than the owner was told why an item is, or is not, in a push of its own."""

    forgettable: ClassVar[tuple[str, ...]] = ("request",)

    item: str
    reader: str
    session: str = ""
    request: str = ""


class ItemHelped(Event, frozen=True, tag="item_helped"):
    """An item clearly helped in a session."""

    item: str
    session: str = ""


class ContextReset(Event, frozen=True, tag="context_reset"):
    """A session's context was cleared or compacted: what was pushed before is no longer in front of the model."""

    session: str


# --- life -------------------------------------------------------------------------------------------------------------


class ItemForgotten(Event, frozen=True, tag="item_forgotten"):
    """The owner wants an item gone. A tombstone: it holds the id and a reason code, never content, and stays."""

    item: str
    code: str = "owner_request"


class ErasureCompleted(Event, frozen=True, tag="erasure_completed"):
    """The bytes of a forgotten item were removed; `places` were cleaned, `unreachable` could not be."""

    item: str
    places: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()


class SnapshotPublished(Event, frozen=True, tag="snapshot_published"):
    """A generation became current; it holds every event up to `through`."""

    generation: int
    through: str


class LogArchived(Event, frozen=True, tag="log_archived"):
    """A segment of the log was moved to a file."""

    segment: str
    first: str
    last: str


def _concrete(base: type[Event]) -> list[type[Event]]:
    return [found for cls in base.__subclasses__() for found in (cls, *_concrete(cls))]


EVENT_TYPES: dict[str, type[Event]] = {cls.type_name(): cls for cls in _concrete(Event)}
"""Every event type by its tag."""
