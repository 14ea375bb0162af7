"""What every event log must do. A backend's test file is a subclass that says how to make one."""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod

import msgspec
import pytest
from instant_recall.events.checks import EARLIEST, LATEST
from instant_recall.events.codec import MAX_PAYLOAD_BYTES, StoredEnvelope, encode
from instant_recall.events.envelope import Actor, EventDraft, RecordedEvent, Source, UnreadableEvent, draft
from instant_recall.events.errors import InvalidEvent
from instant_recall.events.log import MAX_BATCH, Appended, EventLog
from instant_recall.events.position import LARGEST, START, Position
from instant_recall.events.types import (
    AssetRecorded,
    Event,
    ItemClosed,
    ItemOpened,
    ItemUnmuted,
    NoteRecorded,
    PushServed,
    TurnRecorded,
)

RIGHT_TO_LEFT = "\u202bהמצלמה של המעבדה\u202c — كاميرا المختبر"
GOOD_ID = "01900000-0000-7000-8000-00000000000a"
FAMILY = "👩‍👩‍👧‍👦 on the 🏔️"


class EventLogContract(ABC):
    """The contract of EventLog, as tests."""

    @abstractmethod
    def make_log(self, owner: str) -> EventLog:
        """The log of an owner. Two calls may give two objects, but with one owner they are the same log."""

    @abstractmethod
    def store_raw(self, log: EventLog, event_id: str, envelope: bytes, payload: bytes) -> None:
        """Put bytes into the log as if another version (or a failing disk) had written them."""

    @pytest.fixture
    def log(self, owner: str) -> EventLog:
        return self.make_log(owner)

    # --- appending and reading -----------------------------------------------------------------------------------

    def test_an_empty_log_has_no_events_and_no_position(self, log: EventLog) -> None:
        assert log.read(START) == []
        assert log.last_position() == START

    def test_appending_nothing_stores_nothing(self, log: EventLog) -> None:
        assert log.append([]) == []
        assert log.last_position() == START

    def test_events_come_back_in_the_order_they_were_appended(self, log: EventLog) -> None:
        for batch in range(4):
            log.append([note(f"{batch}-{n}") for n in range(3)])

        assert names(log.read(START)) == [f"{batch}-{n}" for batch in range(4) for n in range(3)]

    def test_everything_a_writer_said_comes_back(self, log: EventLog) -> None:
        written = draft(
            AssetRecorded(
                item="skill:portal-helper",
                kind="skill",
                name="Portal helper",
                aliases=("portal", "helper"),
                purpose="Drives a logged-in browser",
                use_when=("a site blocks downloads",),
                supersedes="skill:old-helper",
                valid_from=1,
                digest="d41d8c",
            ),
            occurred_at=1_700_000_000_123,
            actor=Actor(kind="agent", name="claude"),
            source=Source(harness="h", session="s1", turn="12", uri="file:///skills/portal.md"),
            audience=("owner", "team"),
        )

        [appended] = log.append([written])

        [read] = log.read(START)
        assert read == RecordedEvent(
            event=written.event,
            event_id=written.event_id,
            position=appended.position,
            occurred_at=written.occurred_at,
            owner=log.owner,
            actor=written.actor,
            source=written.source,
            audience=written.audience,
        )
        assert read.recorded_at == appended.position.ms

    def test_positions_rise_strictly_and_are_those_that_read_gives(self, log: EventLog) -> None:
        given = [appended.position for _ in range(3) for appended in log.append([note("a"), note("b")])]

        assert given == sorted(set(given))
        assert [read.position for read in log.read(START)] == given
        assert log.last_position() == given[-1]
        assert given[0] > START

    def test_a_batch_stands_together(self, log: EventLog) -> None:
        log.append([note("before")])
        appended = log.append([note(str(n)) for n in range(MAX_BATCH)])

        assert len(appended) == MAX_BATCH
        assert names(log.read(START, MAX_BATCH + 10)) == ["before", *map(str, range(MAX_BATCH))]

    def test_reading_starts_behind_the_given_position_and_stops_at_the_limit(self, log: EventLog) -> None:
        given = log.append([note(str(n)) for n in range(10)])

        assert names(log.read(given[3].position, 4)) == ["4", "5", "6", "7"]
        assert names(log.read(given[7].position)) == ["8", "9"]
        assert log.read(given[9].position) == []
        assert log.read(START, 0) == []

    def test_pages_of_any_size_join_without_gap_or_repeat(self, log: EventLog) -> None:
        log.append([note(str(n)) for n in range(100)])

        for size in (1, 7, 33, 100, 101):
            assert names(read_all(log, size)) == [str(n) for n in range(100)]

    def test_a_position_between_or_beyond_events_is_a_place_to_read_from(self, log: EventLog) -> None:
        [only] = log.append([note("only")])

        assert names(log.read(Position(only.position.ms - 1, 5))) == ["only"]
        assert log.read(Position(only.position.ms + 1, 0)) == []
        assert log.read(Position(LARGEST, 0)) == []
        assert log.read(Position(LARGEST, LARGEST)) == []

    def test_pages_with_much_text_still_hold_what_was_asked_for(self, log: EventLog) -> None:
        for n in range(7):
            log.append([note(str(n), text="x" * (3 << 20))])

        assert names(log.read(START, 100)) == [str(n) for n in range(7)]
        assert names(log.read(START, 6)) == [str(n) for n in range(6)]

    # --- once ----------------------------------------------------------------------------------------------------

    def test_an_event_id_appended_again_is_the_event_that_is_there(self, log: EventLog) -> None:
        first = note("first")
        [stored] = log.append([first])
        log.append([note("between")])

        again = log.append([note("other text, same id", event_id=first.event_id)])

        assert again == [Appended(stored.position, duplicate=True)]
        assert names(log.read(START)) == ["first", "between"]

    def test_an_event_id_twice_in_one_batch_is_stored_once(self, log: EventLog) -> None:
        first = note("a")
        results = log.append([first, note("b"), first])

        assert [one.duplicate for one in results] == [False, False, True]
        assert results[2].position == results[0].position
        assert names(log.read(START)) == ["a", "b"]

    def test_a_batch_of_old_and_new_stores_the_new(self, log: EventLog) -> None:
        old = note("old")
        log.append([old])

        results = log.append([note("new"), old, note("newer")])

        assert [one.duplicate for one in results] == [False, True, False]
        assert names(log.read(START)) == ["old", "new", "newer"]

    # --- payloads ------------------------------------------------------------------------------------------------

    def test_an_erased_payload_leaves_the_event_in_its_place(self, log: EventLog) -> None:
        secret = draft(ItemClosed(item="note:a", closed_at=5, reason="secret"))
        log.append([note("before"), secret, note("after")])
        before = log.read(START)

        assert log.erase_payload(secret.event_id) is True

        after = log.read(START)
        assert [one.position for one in after] == [one.position for one in before]
        assert after[1].event == ItemClosed(item="note:a", closed_at=5)
        assert [one.erased for one in after] == [False, True, False]

    def test_a_payload_is_erased_once_and_only_if_there_is_one(self, log: EventLog) -> None:
        secret, plain = note("secret"), draft(ItemUnmuted(item="note:a"))
        log.append([secret, plain])

        assert log.erase_payload(secret.event_id) is True
        assert log.erase_payload(secret.event_id) is False
        assert log.erase_payload(plain.event_id) is False
        assert log.erase_payload(str(uuid.uuid4())) is False
        assert [one.erased for one in log.read(START)] == [True, False]

    def test_appending_again_does_not_bring_an_erased_payload_back(self, log: EventLog) -> None:
        secret = note("secret")
        log.append([secret])
        log.erase_payload(secret.event_id)

        log.append([secret])

        [read] = log.read(START)
        assert read.erased
        assert read.event == NoteRecorded(item="note:secret")

    # --- what cannot be read -------------------------------------------------------------------------------------

    def test_an_event_that_cannot_be_read_hides_none_behind_it(self, log: EventLog) -> None:
        good = encode(note("good"))
        flipped = good.envelope[:-1] + bytes([good.envelope[-1] ^ 1])
        spoiled = good.payload[:-1] + bytes([good.payload[-1] ^ 1])
        log.append([note("first")])
        self.store_raw(log, raw_id(), raw_envelope("dream_recorded", 1), b"")
        self.store_raw(log, raw_id(), raw_envelope("note_recorded", 99), b"")
        self.store_raw(log, raw_id(), flipped, b"")
        self.store_raw(log, raw_id(), good.envelope, spoiled)
        self.store_raw(log, raw_id(), b"", b"")
        log.append([note("last")])

        events = [one.event for one in log.read(START)]

        assert names(log.read(START)) == ["first", "last"]
        assert events[1:-1] == [
            UnreadableEvent(stored_type="dream_recorded", stored_version=1, why="unknown_type"),
            UnreadableEvent(stored_type="note_recorded", stored_version=99, why="newer_version"),
            UnreadableEvent(stored_type="", stored_version=0, why="corrupt"),
            UnreadableEvent(stored_type="note_recorded", stored_version=1, why="corrupt", item="note:good"),
            UnreadableEvent(stored_type="", stored_version=0, why="corrupt"),
        ]

    # --- refusals ------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("event", "named"),
        [
            (NoteRecorded(item=""), "item"),
            (NoteRecorded(item="note:\x00"), "item"),
            (NoteRecorded(item="note:a\nb"), "item"),
            (NoteRecorded(item="note:" + "é" * 254), "item"),
            (NoteRecorded(item="note:a", supersedes="x" * 513), "supersedes"),
            (NoteRecorded(item="note:\ud83d"), "item"),
            (NoteRecorded(item="note:a", text="cut \ud83d here"), "text"),
            (NoteRecorded(item="note:a", text="x" * MAX_PAYLOAD_BYTES), "bytes"),
            (NoteRecorded(item="note:a", text=5), "text"),  # type: ignore[arg-type]
            (NoteRecorded(item="note:a", valid_from=10**18), "valid_from"),
            (AssetRecorded(item="x", kind="spell"), "kind"),  # type: ignore[arg-type]
            (PushServed(reader="owner", items=("note:a", "")), "items"),
            (PushServed(reader="owner", tokens=2**70), "tokens"),
            (PushServed(reader="owner", items=tuple(f"note:{n:0500d}" for n in range(3000))), "bytes of ids"),
            (UnreadableEvent(stored_type="a", stored_version=1, why="corrupt"), "UnreadableEvent"),
        ],
    )
    def test_an_event_that_cannot_be_kept_is_refused_with_its_whole_batch(
        self, log: EventLog, event: Event, named: str
    ) -> None:
        with pytest.raises(InvalidEvent, match=named):
            log.append([note("good"), draft(event), note("good too")])

        assert log.read(START) == []

    @pytest.mark.parametrize(
        "event_id", ["", "7", "not-a-uuid", GOOD_ID.upper(), GOOD_ID + "\n", GOOD_ID[:-1], "{" + GOOD_ID + "}"]
    )
    def test_an_event_id_must_be_a_uuid(self, log: EventLog, event_id: str) -> None:
        refused = EventDraft(event=ItemUnmuted(item="note:a"), event_id=event_id, occurred_at=1)

        with pytest.raises(InvalidEvent, match="event_id"):
            log.append([refused])

        assert log.last_position() == START

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            (draft(ItemUnmuted(item="a"), occurred_at=10**18), "occurred_at"),
            (draft(ItemUnmuted(item="a"), audience=("",)), "audience"),
            (draft(ItemUnmuted(item="a"), audience=("x\x07",)), "audience"),
            (draft(ItemUnmuted(item="a"), actor=Actor(kind="ghost")), "actor"),  # type: ignore[arg-type]
            (draft(ItemUnmuted(item="a"), actor=Actor(name="\udc00")), "actor"),
            (draft(ItemUnmuted(item="a"), source=Source(uri="x" * 5000)), "source.uri"),
        ],
    )
    def test_an_envelope_that_cannot_be_kept_is_refused(self, log: EventLog, wrong: EventDraft, named: str) -> None:
        with pytest.raises(InvalidEvent, match=named):
            log.append([wrong])

        assert log.last_position() == START

    def test_too_many_events_in_one_append_are_refused(self, log: EventLog) -> None:
        with pytest.raises(InvalidEvent, match="5001 events"):
            log.append([note("x")] * (MAX_BATCH + 1))

        assert log.last_position() == START

    def test_too_many_bytes_in_one_append_are_refused(self, log: EventLog) -> None:
        with pytest.raises(InvalidEvent, match="bytes in one append"):
            log.append([note(str(n), text="x" * (4_000_000)) for n in range(9)])

        assert log.last_position() == START

    # --- odd but good --------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("text", [FAMILY, RIGHT_TO_LEFT, "a\r\nb\x00c", "\ufeff", " ", "e\u0301 é"])
    def test_text_of_any_script_comes_back_as_it_was(self, log: EventLog, text: str) -> None:
        event = NoteRecorded(item="note:a", name=text, text=text, use_when=(text, text))
        log.append([draft(event)])

        assert [one.event for one in log.read(START)] == [event]

    @pytest.mark.parametrize("item", [f"note:{FAMILY}", f"note:{RIGHT_TO_LEFT}", "x" * 512, "n"])
    def test_ids_of_any_script_come_back_as_they_were(self, log: EventLog, item: str) -> None:
        log.append([draft(ItemOpened(item=item, reader=item, session=item))])

        assert log.read(START)[0].event.subjects() == (item,)

    @pytest.mark.parametrize("at", [EARLIEST, -1, 0, LATEST])
    def test_the_first_and_last_moment_can_be_kept(self, log: EventLog, at: int) -> None:
        event = NoteRecorded(item="note:a", valid_from=at, valid_until=at)
        log.append([draft(event, occurred_at=at)])

        [read] = log.read(START)
        assert read.occurred_at == at
        assert read.event == event

    def test_the_smallest_and_largest_values_can_be_kept(self, log: EventLog) -> None:
        written = [
            TurnRecorded(session="s", turn=-(2**63), role="owner"),
            TurnRecorded(session="s", turn=2**63 - 1, role="owner", text="x" * (MAX_PAYLOAD_BYTES - 64)),
            NoteRecorded(item="n"),
        ]
        log.append([draft(event, audience=()) for event in written])

        assert [one.event for one in log.read(START)] == written

    # --- many at once --------------------------------------------------------------------------------------------

    def test_two_owners_never_see_each_other(self, owner: str) -> None:
        mine, yours = self.make_log(f"{owner}-a"), self.make_log(f"{owner}-b")
        shared = note("mine")
        mine.append([shared])
        [stored] = yours.append([note("yours", event_id=shared.event_id)])

        assert stored.duplicate is False
        assert (names(mine.read(START)), names(yours.read(START))) == (["mine"], ["yours"])
        assert [one.owner for one in yours.read(START)] == [f"{owner}-b"]
        assert yours.erase_payload(shared.event_id) is True
        assert names(mine.read(START)) == ["mine"]

    def test_a_reader_beside_many_writers_sees_no_gap_and_no_torn_batch(self, log: EventLog) -> None:
        writers, batches, size = 4, 25, 5
        done = threading.Event()
        followed: list[RecordedEvent] = []

        def write(writer: int) -> None:
            for batch in range(batches):
                log.append([note(f"{writer}/{batch}/{n}") for n in range(size)])

        def follow() -> None:
            at = START
            while True:
                finished = done.is_set()
                page = log.read(at, 7)
                followed.extend(page)
                at = page[-1].position if page else at
                if finished and not page:
                    return

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
        reader = threading.Thread(target=follow)
        for thread in (reader, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        reader.join()

        assert names(followed) == names(read_all(log, 1000))
        assert sorted(names(followed)) == sorted(
            f"{writer}/{batch}/{n}" for writer in range(writers) for batch in range(batches) for n in range(size)
        )
        batch_of = [name.rpartition("/")[0] for name in names(followed)]
        assert all(len(set(batch_of[first : first + size])) == 1 for first in range(0, len(batch_of), size))

    def test_writers_with_the_same_events_store_them_once(self, log: EventLog) -> None:
        same = [note(str(n)) for n in range(50)]
        positions: list[list[Position]] = []

        def write() -> None:
            positions.append([log.append([one])[0].position for one in same])

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert names(log.read(START)) == [str(n) for n in range(50)]
        assert positions == [positions[0]] * 4


def note(name: str, *, text: str = "", event_id: str | None = None) -> EventDraft:
    """A note that is known by its name."""
    return draft(NoteRecorded(item=f"note:{name}", name=name, text=text), event_id=event_id)


def names(events: list[RecordedEvent]) -> list[str]:
    """The names of the notes among the events."""
    return [one.event.name for one in events if isinstance(one.event, NoteRecorded)]


def read_all(log: EventLog, page_size: int) -> list[RecordedEvent]:
    """The whole log, page by page."""
    found: list[RecordedEvent] = []
    while page := log.read(found[-1].position if found else START, page_size):
        found += page
    return found


def raw_id() -> str:
    """A fresh event id."""
    return str(uuid.uuid4())


def raw_envelope(event_type: str, version: int) -> bytes:
    """A sound envelope of any type and version, as a later release might write it."""
    known = encode(note("x")).envelope[4:]
    changed = msgspec.structs.replace(
        msgspec.msgpack.decode(known, type=StoredEnvelope),
        type=event_type,
        version=version,
        body={"new": [1, {"a": 2}]},
    )
    return framed(msgspec.msgpack.encode(changed))


def framed(data: bytes) -> bytes:
    """Put the checksum in front, as the log keeps it."""
    from zlib import crc32

    return crc32(data).to_bytes(4, "big") + data
