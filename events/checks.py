"""What a draft must be before it may enter a log: the rules that its types alone cannot say."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator

import msgspec

from .envelope import EventDraft
from .errors import InvalidEvent
from .types import EVENT_TYPES, Event, TopicMuted

MAX_ID_BYTES = 512
"""Bytes of an item's id, and of every other id: they are keys of maps, and are repeated in later events."""

MAX_LABEL_BYTES = 4_096
"""Bytes of any other text that stays in the stream for ever (a URI, an anchor, a project). Free text is payload."""

MAX_LABELS = 32
"""Audience labels on one thing, and scopes of one reader. Who needs more of them needs one for them all."""

MAX_PHRASE = 200
"""Characters of a topic that is muted: what is longer is no topic."""

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999 in milliseconds: what every date library can show, so no later reader fails on one."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LABEL = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_LABEL_FIELDS = frozenset(("audience", "scopes"))
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ID_FIELDS = frozenset(("item", "items", "used", "helped", "supersedes", "by", "key", "session", "reader", "mute"))
_TIME_FIELDS = frozenset(("valid_from", "valid_until", "closed_at"))
_INT64 = range(-(1 << 63), 1 << 63)

fields_of = functools.cache(msgspec.structs.fields)
"""What msgspec knows about the fields of an event class; kept, since it takes tens of microseconds to find out."""


def check(draft: EventDraft) -> None:
    """Refuse a draft that would be stored but be of no use, or harmful, ever after.

    Types are not checked here: the codec does that by reading back what it wrote.

    Raises:
        InvalidEvent: the message names the field.
    """
    if not isinstance(draft.event_id, str) or not _UUID.fullmatch(draft.event_id):
        raise InvalidEvent(
            f"event_id {draft.event_id!r:.60} is not a UUID in lower case. Make one with new_event_id()."
        )
    _check_time("occurred_at", draft.occurred_at)
    check_labels("audience", draft.audience)
    _check_text("actor.name", draft.actor.name, MAX_LABEL_BYTES)
    for name in draft.source.__struct_fields__:
        _check_text(f"source.{name}", getattr(draft.source, name), MAX_LABEL_BYTES)
    _check_event(draft.event)


def check_labels(name: str, labels: Iterable[str]) -> None:
    """Refuse labels that are none. They are never mended: a label that is cut or cleaned is another one, maybe wider.

    Plain letters only: two labels that look alike and are not the same would let somebody in, or keep them out.

    Raises:
        InvalidEvent: the message names the field, and says what a label is.
    """
    labels = tuple(labels)
    if len(labels) > MAX_LABELS:
        raise InvalidEvent(f"{name} has {len(labels)} labels; {MAX_LABELS} is the most.")
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise InvalidEvent(f"{name} has the label {label!r:.60}. One is 1 to 64 of A-Z, a-z, 0-9 and -_.:/ .")


def event_class(event: Event) -> type[Event]:
    """The registered class of an event.

    Raises:
        InvalidEvent: it is not one of EVENT_TYPES, so it could never be read back.
    """
    cls = type(event)
    if not isinstance(event, Event) or EVENT_TYPES.get(cls.type_name()) is not cls:
        raise InvalidEvent(f"{cls.__name__} is not an event type that can be stored. Use one of events/types.py.")
    return cls


def _check_event(event: Event) -> None:
    cls = type(event)
    if isinstance(event, TopicMuted) and not 0 < len(event.phrase.strip()) <= MAX_PHRASE:
        raise InvalidEvent(f"phrase has to be 1 to {MAX_PHRASE} characters. Name the topic in a few words.")
    if isinstance(event, TopicMuted):
        _check_text("phrase", event.phrase, MAX_LABEL_BYTES)
    for field in fields_of(cls):
        if field.name in cls.forgettable:
            continue
        value = getattr(event, field.name)
        if field.name in _LABEL_FIELDS:
            check_labels(field.name, value)
        if isinstance(value, int) and value not in _INT64:
            raise InvalidEvent(f"{field.name} is {value}, which needs over 64 bits. Give a smaller number.")
        _check_numbers(field.name, value)
        if field.name in _TIME_FIELDS and value is not None:
            _check_time(field.name, value)
        limit = MAX_ID_BYTES if field.name in _ID_FIELDS else MAX_LABEL_BYTES
        in_a_list = isinstance(value, tuple)
        for text in _texts(value):
            _check_text(field.name, text, limit, may_be_empty=not (field.required or in_a_list))


def _check_numbers(name: str, value: object) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(part, float) and not math.isfinite(part) for part in parts):
        raise InvalidEvent(f"{name} holds a number that is not finite. Give a plain number.")
    if name == "bar" and isinstance(value, float | int) and not 0 <= value <= 1:
        raise InvalidEvent(f"bar is {value}, which is no probability. Give a number from 0 to 1.")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable):
        yield from (part for part in value if isinstance(part, str))


def _check_text(name: str, text: str, limit: int, *, may_be_empty: bool = True) -> None:
    if not text and not may_be_empty:
        raise InvalidEvent(f"{name} is empty. Give it a value.")
    if len(text.encode()) > limit:
        raise InvalidEvent(
            f"{name} has over {limit} bytes. Shorten it; free text belongs in a field that can be forgotten."
        )
    if _CONTROL.search(text):
        raise InvalidEvent(f"{name} {text!r:.60} holds a control character. Remove it.")


def _check_time(name: str, at: int) -> None:
    if not EARLIEST <= at <= LATEST:
        raise InvalidEvent(f"{name} is {at}, which is no date. Give milliseconds since 1970-01-01 UTC.")
