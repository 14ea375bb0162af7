from __future__ import annotations

import msgspec
import pytest
from instant_recall.events.codec import StoredEnvelope, decode, encode, event_from
from instant_recall.events.envelope import UnreadableEvent, draft
from instant_recall.events.errors import InvalidEvent
from instant_recall.events.position import Position
from instant_recall.events.types import AssetRecorded, ItemUnmuted, KeyAdded, NoteRecorded
from instant_recall.tests.contract.event_log import framed

AT = Position(1_767_225_600_000, 3)
ID = "01900000-0000-7000-8000-000000000001"


def stored(**changes: object) -> bytes:
    """The envelope of a note, changed and with a right checksum."""
    note = encode(draft(NoteRecorded(item="note:a")))
    envelope = msgspec.msgpack.decode(note.envelope[4:], type=StoredEnvelope)
    return framed(msgspec.msgpack.encode(msgspec.structs.replace(envelope, **changes)))


def why(envelope: bytes, payload: bytes | None = None) -> str:
    event = decode("owner", AT, ID, envelope, payload).event
    assert isinstance(event, UnreadableEvent)
    return event.why


def test_free_text_is_in_the_payload_and_nowhere_else() -> None:
    encoded = encode(draft(NoteRecorded(item="note:a", name="hidden", text="hidden", use_when=("hidden",))))

    assert b"note:a" in encoded.envelope
    assert b"hidden" not in encoded.envelope
    assert b"note:a" not in encoded.payload


def test_an_event_without_free_text_has_no_payload_and_is_never_erased() -> None:
    encoded = encode(draft(KeyAdded(item="note:a", negative=True)))
    read = decode("owner", AT, ID, encoded.envelope, None)

    assert encoded.payload == b""
    assert read.event == KeyAdded(item="note:a", negative=True)
    assert not read.erased


def test_every_single_flipped_bit_of_envelope_and_payload_is_noticed() -> None:
    encoded = encode(draft(NoteRecorded(item="note:a", text="some text")))
    for place in range(len(encoded.envelope) * 8):
        assert why(flipped(encoded.envelope, place), encoded.payload) == "corrupt"
    for place in range(len(encoded.payload) * 8):
        assert why(encoded.envelope, flipped(encoded.payload, place)) == "corrupt"


def test_every_cut_of_envelope_and_payload_is_noticed() -> None:
    encoded = encode(draft(NoteRecorded(item="note:a", text="some text")))
    for length in range(len(encoded.envelope)):
        assert why(encoded.envelope[:length], encoded.payload) == "corrupt"
    for length in range(len(encoded.payload)):
        assert why(encoded.envelope, encoded.payload[:length]) == "corrupt"


@pytest.mark.parametrize(
    "content",
    [b"\xc1", b"\xc0", b"\x90", b"\x80", b"\xa3abc", b"\x81\xa4type\xff", b"\x91" * 100_000, b"\x81\x91\x01\x01"],
    ids=["never used", "nil", "list", "empty map", "text", "number as type", "deeply nested", "list as key"],
)
def test_bytes_with_a_right_checksum_and_no_sense_are_unreadable(content: bytes) -> None:
    good = encode(draft(NoteRecorded(item="note:a", text="x")))

    assert why(framed(content)) == "corrupt"
    if content != b"\x80":
        assert why(good.envelope, framed(content)) == "corrupt"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": "dream_recorded"}, "unknown_type"),
        ({"type": ""}, "unknown_type"),
        ({"type": "unreadable"}, "unknown_type"),
        ({"version": 2}, "newer_version"),
        ({"version": 0}, "corrupt"),
        ({"version": -1}, "corrupt"),
        ({"body": {}}, "corrupt"),
        ({"body": {"item": 5}}, "corrupt"),
        ({"type": "asset_recorded", "version": 1, "body": {"use_when": 7}}, "corrupt"),
    ],
)
def test_an_event_of_no_known_form_says_why(changes: dict[str, object], reason: str) -> None:
    assert why(stored(**changes)) == reason


def test_an_unreadable_event_still_says_what_its_envelope_says() -> None:
    read = decode("owner", AT, ID, stored(type="dream_recorded", version=4, occurred_at=17), None)

    assert (read.position, read.event_id, read.occurred_at) == (AT, ID, 17)
    about = UnreadableEvent(stored_type="dream_recorded", stored_version=4, why="unknown_type", item="note:a")
    assert read.event == about


def test_a_field_that_a_later_release_added_is_passed_over() -> None:
    read = decode("owner", AT, ID, stored(body={"item": "note:a", "mood": "good"}), None)

    assert read.event == NoteRecorded(item="note:a")


def test_an_event_is_made_from_plain_fields() -> None:
    made = event_from("asset_recorded", {"item": "tool:x", "kind": "tool", "use_when": ["a", "b"], "valid_from": None})

    assert made == AssetRecorded(item="tool:x", kind="tool", use_when=("a", "b"))


@pytest.mark.parametrize(
    ("event_type", "body", "named"),
    [
        ("dream_recorded", {}, "dream_recorded.*note_recorded"),
        ("unreadable", {}, "no event type"),
        ("note_recorded", {}, "item"),
        ("note_recorded", {"item": 5}, r"\$\.item"),
        ("note_recorded", {"item": "a", "txet": "b"}, "txet"),
        ("note_recorded", {"item": "a", "type": "note_recorded"}, "type"),
        ("note_recorded", {"item": "a", "use_when": "not a list"}, r"\$\.use_when"),
        ("asset_recorded", {"item": "a", "kind": "spell"}, r"\$\.kind"),
        ("turn_recorded", {"session": "s", "turn": "1", "role": "owner"}, r"\$\.turn"),
    ],
)
def test_plain_fields_that_do_not_fit_are_refused_by_name(event_type: str, body: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidEvent, match=named):
        event_from(event_type, body)


def test_a_subclass_of_an_event_type_is_not_taken_for_it() -> None:
    class Extended(ItemUnmuted, frozen=True, tag="item_unmuted_more"):
        more: int = 1

    with pytest.raises(InvalidEvent, match="Extended"):
        encode(draft(Extended(item="note:a")))


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
