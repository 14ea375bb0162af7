"""Events to bytes and back.

Two pieces per event, each behind its CRC32 (four bytes, big-endian), since the server's append-only file has no
checksum of its own:

* the envelope, in the stream: a msgpack map of type, version, who, when, where from, for whom, and the event's lasting
  fields;
* the payload, beside the stream: a msgpack map of those forgettable fields that differ from their defaults. No bytes
  at all when there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from zlib import crc32

import msgspec

from .checks import check, event_class, fields_of
from .envelope import Actor, EventDraft, RecordedEvent, Source, UnreadableEvent
from .errors import CorruptEvent, InvalidEvent
from .log import MAX_BATCH, MAX_BATCH_BYTES
from .position import Position
from .types import EVENT_TYPES, Event, Millis
from .upcasters import upcast

MAX_PAYLOAD_BYTES = 4 << 20
"""Bytes of one event's free text. A thing larger than this is no memory but a file: record where it is."""

MAX_ENVELOPE_BYTES = 1 << 20
"""Bytes of one event without its free text; only a list of thousands of ids comes near."""

_CRC_BYTES = 4


class StoredEnvelope(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The envelope as it stands in the stream. New fields get defaults; none is ever renamed."""

    type: str
    version: int
    occurred_at: Millis
    actor: Actor
    source: Source
    audience: tuple[str, ...]
    body: dict[str, Any]
    payload: bool = False
    """There was a payload when the event was stored: if it is gone now, it was erased."""


class Encoded(NamedTuple):
    """One event as bytes; an empty payload is not stored."""

    envelope: bytes
    payload: bytes


class Stored(NamedTuple):
    """One event as a log keeps it: its bytes as they stand there, whether or not they can be read."""

    position: Position
    event_id: bytes
    envelope: bytes
    payload: bytes | None
    """None: there was none, or it was erased."""


_to_bytes = msgspec.msgpack.Encoder().encode
_to_envelope = msgspec.msgpack.Decoder(StoredEnvelope).decode
_to_fields = msgspec.msgpack.Decoder(dict[str, Any]).decode

_UNREADABLE = (CorruptEvent, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What decoding or upcasting damaged bytes can raise (msgspec's own errors are ValueErrors)."""


def event_from(event_type: str, body: Mapping[str, Any]) -> Event:
    """Make an event from its type's tag and plain fields, as a harness sends them.

    Raises:
        InvalidEvent: unknown type, unknown field, or a value of the wrong type; the message names it.
    """
    cls = EVENT_TYPES.get(event_type)
    if cls is None:
        raise InvalidEvent(
            f"There is no event type {event_type!r:.60}. The types are: {', '.join(sorted(EVENT_TYPES))}."
        )
    if unknown := sorted(set(body) - set(cls.__struct_fields__)):
        known = ", ".join(cls.__struct_fields__)
        raise InvalidEvent(f"{event_type} has no field {unknown[0]!r:.60}. Its fields are: {known}.")
    return _convert(body, cls, event_type)


def encode_batch(drafts: Sequence[EventDraft]) -> list[Encoded]:
    """Check and encode what one append stores.

    Raises:
        InvalidEvent: there are too many drafts, they are too large together, or one of them cannot be stored.
    """
    if len(drafts) > MAX_BATCH:
        raise InvalidEvent(
            f"{len(drafts)} events in one append; {MAX_BATCH} is the most. Append them in several calls."
        )
    encoded = [encode(draft) for draft in drafts]
    if (size := sum(len(one.envelope) + len(one.payload) for one in encoded)) > MAX_BATCH_BYTES:
        raise InvalidEvent(f"{size} bytes in one append; {MAX_BATCH_BYTES} is the most. Append them in several calls.")
    return encoded


def encode(draft: EventDraft) -> Encoded:
    """Check a draft and turn it into bytes. Whatever this accepts, `decode` gives back equal.

    Raises:
        InvalidEvent: the message names the field.
    """
    cls = event_class(draft.event)
    lasting, forgettable = _split(draft.event, cls)
    stored = StoredEnvelope(
        type=cls.type_name(),
        version=cls.version,
        occurred_at=draft.occurred_at,
        actor=draft.actor,
        source=draft.source,
        audience=draft.audience,
        body=lasting,
        payload=bool(forgettable),
    )
    try:
        envelope, payload = _to_bytes(stored), _to_bytes(forgettable) if forgettable else b""
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError) as error:
        raise InvalidEvent(_why_unwritable({**lasting, **forgettable}, draft)) from error
    _read_back(envelope, payload, cls)
    check(draft)
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise InvalidEvent(
            f"The text of {cls.type_name()} has {len(payload)} bytes; {MAX_PAYLOAD_BYTES} is the most. Cut it up."
        )
    if len(envelope) > MAX_ENVELOPE_BYTES:
        raise InvalidEvent(f"{cls.type_name()} has {len(envelope)} bytes of ids; {MAX_ENVELOPE_BYTES} is the most.")
    return Encoded(_frame(envelope), _frame(payload) if payload else b"")


def decode(owner: str, position: Position, event_id: str, envelope: bytes, payload: bytes | None) -> RecordedEvent:
    """Turn stored bytes into an event of today's form. Never raises: what cannot be read becomes an UnreadableEvent.

    Args:
        owner: whose log the bytes come from.
        position: the place in that log.
        event_id: the writer's id of the event.
        envelope: the bytes in the stream.
        payload: the bytes beside the stream; None when there are none (any more).
    """
    try:
        stored = _to_envelope(_unframe(envelope))
    except _UNREADABLE:
        return _recorded(
            owner, position, event_id, _NOTHING_KNOWN, UnreadableEvent(stored_type="", stored_version=0, why="corrupt")
        )
    erased = stored.payload and payload is None
    event = _event(stored, payload)
    return _recorded(owner, position, event_id, stored, event, erased=erased and not isinstance(event, UnreadableEvent))


_NOTHING_KNOWN = StoredEnvelope(
    type="", version=0, occurred_at=0, actor=Actor(kind="system"), source=Source(), audience=(), body={}
)


def _recorded(
    owner: str, position: Position, event_id: str, stored: StoredEnvelope, event: Event, *, erased: bool = False
) -> RecordedEvent:
    return RecordedEvent(
        event=event,
        event_id=event_id,
        position=position,
        occurred_at=position.ms if stored is _NOTHING_KNOWN else stored.occurred_at,
        owner=owner,
        actor=stored.actor,
        source=stored.source,
        audience=stored.audience,
        erased=erased,
    )


def _event(stored: StoredEnvelope, payload: bytes | None) -> Event:
    cls = EVENT_TYPES.get(stored.type)
    if cls is None:
        return _unreadable(stored, "unknown_type")
    if stored.version > cls.version:
        return _unreadable(stored, "newer_version")
    try:
        fields = stored.body
        if stored.payload and payload is not None:
            fields.update(_to_fields(_unframe(payload)))
        if stored.version != cls.version:
            fields = upcast(stored.type, stored.version, cls.version, fields)
        return msgspec.convert(fields, cls)
    except _UNREADABLE:
        return _unreadable(stored, "corrupt")


def _unreadable(stored: StoredEnvelope, why: Literal["unknown_type", "newer_version", "corrupt"]) -> UnreadableEvent:
    about = {name: found for name in ("item", "session", "reader") if isinstance(found := stored.body.get(name), str)}
    return UnreadableEvent(stored_type=stored.type, stored_version=stored.version, why=why, **about)


def _split(event: Event, cls: type[Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that stay for ever, and those forgettable ones that say something."""
    lasting: dict[str, Any] = {}
    forgettable: dict[str, Any] = {}
    for field in fields_of(cls):
        value = getattr(event, field.name)
        if field.name not in cls.forgettable:
            lasting[field.name] = value
        elif value != field.default:
            forgettable[field.name] = value
    return lasting, forgettable


def _why_unwritable(fields: Mapping[str, Any], draft: EventDraft) -> str:
    """Name the value that has no bytes: half a surrogate pair (a text cut in the middle of an emoji), a huge number."""
    around = {
        "actor": draft.actor,
        "source": draft.source,
        "audience": draft.audience,
        "occurred_at": draft.occurred_at,
    }
    for name, value in {**around, **fields}.items():
        try:
            _to_bytes(value)
        except UnicodeEncodeError:
            return f"{name} holds half of a character pair (U+D800 to U+DFFF). Replace it."
        except (OverflowError, TypeError, ValueError) as error:
            return f"{name} cannot be stored: {error}."
    return "The event cannot be stored."


def _read_back(envelope: bytes, payload: bytes, cls: type[Event]) -> None:
    """Structs do not check types when they are made, so the bytes are read once as every later reader will do."""
    try:
        fields = _to_envelope(envelope).body
    except msgspec.ValidationError as error:
        raise InvalidEvent(f"The envelope of {cls.type_name()} is wrong: {error}.") from error
    if payload:
        fields.update(_to_fields(payload))
    _convert(fields, cls, cls.type_name())


def _convert(fields: Mapping[str, Any], cls: type[Event], event_type: str) -> Event:
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        raise InvalidEvent(f"{event_type} has a wrong field: {error}.") from error


def is_sound(framed: bytes) -> bool:
    """Whether stored bytes are those that were written; cheaper than decoding them."""
    return len(framed) > _CRC_BYTES and crc32(memoryview(framed)[_CRC_BYTES:]) == int.from_bytes(
        framed[:_CRC_BYTES], "big"
    )


def _frame(data: bytes) -> bytes:
    return crc32(data).to_bytes(_CRC_BYTES, "big") + data


def _unframe(framed: bytes) -> bytes:
    if not is_sound(framed):
        raise CorruptEvent
    return framed[_CRC_BYTES:]
