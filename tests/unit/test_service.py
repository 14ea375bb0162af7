"""The service: the API without HTTP."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from instant_recall.api.messages import (
    CorrectRequest,
    ForgetRequest,
    OpenRequest,
    PublishEvent,
    PublishRequest,
    PushRequest,
    RememberRequest,
    SearchRequest,
)
from instant_recall.api.recorder import Recorder
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.errors import InvalidEvent, NotFound, RecallError
from instant_recall.events.log import Appended
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START, Position
from instant_recall.projections.building import build
from instant_recall.projections.naming.resolving import NOTHING
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import encoder


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    return Service(log, encoder())


def remember(service: Service, name: str, text: str, **fields: object) -> str:
    return service.remember(RememberRequest(text=text, name=name, **fields)).item  # type: ignore[arg-type]


def pushed(service: Service, request: str, **fields: object) -> list[str]:
    return [p.item for p in service.push(PushRequest(request=request, **fields)).pointers]  # type: ignore[arg-type]


def test_what_is_remembered_is_pushed_on_the_next_message(service: Service) -> None:
    written = service.remember(RememberRequest(text="Feeds paper", name="Lark", kind="skill"))
    answer = service.push(PushRequest(request="is lark done", min_position=written.position))

    assert [(p.item, p.route, p.score) for p in answer.pointers] == [("skill:lark", "name", 1.0)]
    assert not answer.stale
    assert Position.parse(answer.position) >= Position.parse(written.position)


def test_a_position_that_the_log_has_not_reached_makes_the_answer_stale(service: Service) -> None:
    assert service.push(PushRequest(request="lark", min_position="99999999999999-0")).stale


def test_a_correction_counts_on_the_next_message(service: Service) -> None:
    item = remember(service, "portal-helper", "Relays commands to a logged-in browser", kind="skill")
    for n in range(20):
        remember(service, f"note {n}", f"Something else, number {n}, about the garden")
    request = "download last quarter's report from the company portal"
    before = pushed(service, request)
    service.correct(CorrectRequest(request=request, item="portal-helper", said="you have this"))

    assert item not in before
    assert pushed(service, request)[0] == item


@pytest.mark.parametrize("wanted", ["skill:portal-helper", "portal-helper", "the portal helper", "elsewhere/SKILL.md"])
def test_a_correction_takes_an_id_a_name_or_an_address(service: Service, wanted: str) -> None:
    remember(service, "portal-helper", "Relays commands", kind="skill", address="elsewhere/SKILL.md")

    assert service.correct(CorrectRequest(request="x y z", item=wanted)).item == "skill:portal-helper"


def test_a_correction_counts_for_everybody_whom_the_item_is_for(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.ReaderGranted(reader=f"sub:{scope}", scopes=(scope,))) for scope in ("lab", "web")])
    item = remember(service, "lark", "Feeds paper", kind="skill", audience=("owner", "lab"))
    request = "get yesterday's readings off the roof"
    before = pushed(service, request, reader="sub:lab")
    service.correct(CorrectRequest(request=request, item="lark"))

    assert before == pushed(service, request, reader="sub:web") == []
    assert pushed(service, request, reader="sub:lab") == [item]


def test_a_correction_says_in_which_session_it_was_made(service: Service, log: MemoryEventLog) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    service.correct(CorrectRequest(request="x y z", item="lark", session="s1"))

    assert log.read(START)[-1].source.session == "s1"


def test_a_correction_to_something_unknown_says_so(service: Service) -> None:
    with pytest.raises(NotFound, match="search"):
        service.correct(CorrectRequest(request="x", item="no such thing"))


def test_a_correction_that_could_mean_two_items_lists_them(service: Service) -> None:
    remember(service, "lark", "one", kind="skill")
    remember(service, "lark", "two", kind="tool")

    with pytest.raises(RecallError, match="skill:lark, tool:lark"):
        service.correct(CorrectRequest(request="x", item="lark"))


def test_nothing_is_shown_twice_in_a_session_until_its_context_is_reset(service: Service, log: MemoryEventLog) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    first = pushed(service, "is lark done", session="s1")
    second = service.push(PushRequest(request="is lark done", session="s1"))
    other = pushed(service, "is lark done", session="s2")
    log.append([draft(ev.ContextReset(session="s1"))])

    assert first == other == pushed(service, "is lark done", session="s1") == ["skill:lark"]
    assert (second.pointers, second.reason) == ((), "already_shown")


def test_a_push_writes_one_access_and_nothing_else(service: Service, log: MemoryEventLog) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    before = log.last_position()
    service.push(PushRequest(request="is lark done", session="s1", turn="7"))
    (access,) = log.read(before)

    event = access.event
    assert isinstance(event, ev.PushServed)
    assert (event.reader, event.session, event.turn, event.items) == ("owner", "s1", "7", ("skill:lark",))


def test_a_request_larger_than_an_event_may_be_is_answered_and_remembered(
    service: Service, log: MemoryEventLog
) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    request = "is lark done? " + "x" * 5_000_000

    assert pushed(service, request, session="s1") == ["skill:lark"]
    assert service.push(PushRequest(request=request, session="s1")).reason == "already_shown"
    assert [f.item for f in service.search(SearchRequest(query=request)).found] == ["skill:lark"]


def test_a_search_shows_what_the_push_keeps_back_with_its_address(service: Service) -> None:
    remember(service, "Camera", "The lens cap is on the left", address="notes/lab.md#camera:L1-L3")
    for n in range(30):
        remember(service, f"other {n}", f"Number {n} has nothing to do with it")
    found = service.search(SearchRequest(query="something about a lens", limit=3)).found

    assert (found[0].name, found[0].address) == ("Camera", "notes/lab.md#camera:L1-L3")
    assert len(found) <= 3


def test_a_search_tells_what_something_says_where_nothing_tells_what_it_is_for(service: Service) -> None:
    remember(service, "", "The chart room key hangs behind the desk. Ask Ada.")
    assert service.search(SearchRequest(query="chart room")).found[0].purpose == (
        "The chart room key hangs behind the desk."
    )
    remember(service, "", "tide table " * 500)
    assert len(service.search(SearchRequest(query="tide")).found[0].purpose) <= 160


def test_a_search_can_be_limited_to_kinds(service: Service) -> None:
    remember(service, "camera", "The camera", kind="machine")
    remember(service, "camera note", "The camera")

    assert [f.kind for f in service.search(SearchRequest(query="camera", kinds=("note",))).found] == ["note"]


def test_open_gives_the_exact_text_and_logs_the_access(service: Service, log: MemoryEventLog) -> None:
    text = "Line one\r\n  indented, with emoji 📷\n"
    remember(service, "Camera", text, address="notes/lab.md#camera:L1-L3")
    before = log.last_position()

    assert service.open(OpenRequest(address="notes/lab.md#camera:L1-L3")).text == text
    assert isinstance(log.read(before)[0].event, ev.ItemOpened)


def test_open_gives_one_turn_or_a_range_of_turns(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.TurnRecorded(session="s1", turn=n, role="owner", text=f"said {n}")) for n in range(1, 5)])

    assert service.open(OpenRequest(address="session:s1#t2")).text == "owner: said 2"
    assert service.open(OpenRequest(address="session:s1#t2-t3")).text == "owner: said 2\nowner: said 3"


@pytest.mark.parametrize(
    "address",
    [
        "skill:secret",
        "skill:none",
        "skill:secret#t1",
        "",
        "#",
        "session:s1#t9",
        "skill:open#t1-t" + "9" * 5_000,
    ],
)
def test_what_is_hidden_and_what_never_was_answer_alike(service: Service, log: MemoryEventLog, address: str) -> None:
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    remember(service, "secret", "A secret", kind="skill")
    remember(service, "open", "No secret", kind="skill", audience=("lab",))

    with pytest.raises(NotFound) as refused:
        service.open(OpenRequest(address=address, reader="sub:lab"))
    assert str(refused.value) == NOTHING


def test_publishing_many_is_all_or_none(service: Service, log: MemoryEventLog) -> None:
    good = PublishEvent(type="note_recorded", body={"item": "note:a", "name": "a", "text": "b"})
    bad = PublishEvent(type="note_recorded", body={"item": "note:a", "colour": "red"})

    with pytest.raises(InvalidEvent, match="colour"):
        service.publish(PublishRequest(events=(good, bad)))
    assert log.last_position() == START


def test_publishing_the_same_id_twice_is_one_event(service: Service, log: MemoryEventLog) -> None:
    event = PublishEvent(
        type="note_recorded",
        body={"item": "note:a", "name": "a", "text": "b"},
        event_id="01890000-0000-7000-8000-000000000001",
    )
    first = service.publish(PublishRequest(events=(event,)))
    second = service.publish(PublishRequest(events=(event,)))

    assert (first.events[0].duplicate, second.events[0].duplicate) == (False, True)
    assert first.position == second.position
    assert len(log.read(START)) == 1


def test_a_newer_snapshot_is_taken_over_without_a_change_in_the_answers(log: MemoryEventLog, tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    service = Service(log, encoder(), store, record=lambda _: None)
    remember(service, "lark", "Feeds paper through the scanner", kind="skill")
    before = service.push(PushRequest(request="lark, the paper scanner"))
    build(log, store, encoder())
    remember(service, "wren", "Feeds letters", kind="skill")

    assert service.refresh()
    after = service.push(PushRequest(request="lark, the paper scanner"))
    assert (before.generation, after.generation) == (0, 1)
    assert after.pointers == before.pointers
    assert pushed(service, "wren") == ["skill:wren"]
    assert not service.refresh()


def test_a_rollback_is_taken_over_and_keeps_every_later_write(log: MemoryEventLog, tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    service = Service(log, encoder(), store, record=lambda _: None)
    remember(service, "lark", "Feeds paper through the scanner", kind="skill")
    build(log, store, encoder())
    remember(service, "wren", "Feeds letters", kind="skill")
    build(log, store, encoder())
    service.refresh()
    before = service.push(PushRequest(request="lark and wren"))
    (tmp_path / "CURRENT").write_text("gen-000001\n")

    assert service.refresh()
    after = service.push(PushRequest(request="lark and wren"))
    assert (before.generation, after.generation) == (2, 1)
    assert after.pointers == before.pointers
    assert len(after.pointers) == 2


def test_a_removed_snapshot_folder_leaves_the_one_in_memory_in_use(log: MemoryEventLog, tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "snapshots")
    service = Service(log, encoder(), store, record=lambda _: None)
    remember(service, "lark", "Feeds paper through the scanner", kind="skill")
    build(log, store, encoder())
    service.refresh()
    service.push(PushRequest(request="x"))
    shutil.rmtree(tmp_path / "snapshots")

    assert not service.refresh()
    assert pushed(service, "lark") == ["skill:lark"]
    remember(service, "wren", "Feeds letters", kind="skill")
    build(log, store, encoder())
    assert service.refresh()
    assert pushed(service, "lark and wren") == ["skill:lark", "skill:wren"]


def test_a_shared_address_opens_the_item_that_is_still_there_also_from_a_snapshot(
    log: MemoryEventLog, tmp_path: Path
) -> None:
    store = SnapshotStore(tmp_path / "snapshots")
    service = Service(log, encoder(), store)
    remember(service, "lark", "Feeds paper", kind="skill", address="skills/feeder/SKILL.md")
    remember(service, "wren", "Feeds letters", kind="skill", address="skills/feeder/SKILL.md")
    log.append([draft(ev.ItemClosed(item="skill:lark", reason="renamed"))])  # touched last, as an import does it

    def opened(by: Service) -> str:
        return by.open(OpenRequest(address="skills/feeder/SKILL.md")).item

    assert opened(service) == "skill:wren"
    build(log, store, encoder())
    assert opened(Service(log, encoder(), store)) == "skill:wren"


def test_status_counts_what_is_valid_now(service: Service, log: MemoryEventLog) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    remember(service, "note", "Some text")
    log.append([draft(ev.ItemMuted(item="skill:lark"))])
    status = service.status()

    assert status.items == {"note": 1}
    assert status.position == status.applied == str(log.last_position())


def test_what_the_harness_says_is_shown_already_is_not_pushed_again(service: Service) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    remember(service, "heron", "Watches the bench", kind="skill")

    assert pushed(service, "are lark and heron done", already_shown=("skill:lark", "skill:none")) == ["skill:heron"]


def test_nothing_is_shown_twice_though_the_first_push_is_not_written_yet() -> None:
    class Slow(MemoryEventLog):
        """A log that takes no accesses for now."""

        def append(self, drafts: Sequence[EventDraft]) -> list[Appended]:
            """Append, but wait with accesses."""
            if isinstance(drafts[0].event, ev.PushServed):
                written.wait(10)
            return super().append(drafts)

    written = threading.Event()
    log = Slow()
    service = Service(log, encoder(), record=Recorder(log))
    remember(service, "lark", "Feeds paper", kind="skill")
    asked = [service.push(PushRequest(request="is lark done", session=session)) for session in ("s1", "s1", "s2", "")]
    written.set()
    service.close()

    assert [len(answer.pointers) for answer in asked] == [1, 0, 1, 1]
    assert pushed(service, "is lark done", session="s2") == []


def test_accesses_are_written_behind_the_requests_back_and_none_is_lost_at_the_end(log: MemoryEventLog) -> None:
    recorder = Recorder(log)
    service = Service(log, encoder(), record=recorder)
    for _ in range(300):
        service.push(PushRequest(request="is lark done"))
    service.close()

    assert len(log.read(START)) == 300


def test_a_pushed_block_that_comes_back_in_a_turn_or_a_note_is_not_kept(service: Service, log: MemoryEventLog) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")
    block = service.push(PushRequest(request="is lark done")).block
    seen_by_the_model = f"is lark done\n\n{block}"
    turn = PublishEvent(
        type="turn_recorded", body={"session": "s1", "turn": 1, "role": "owner", "text": seen_by_the_model}
    )
    service.publish(PublishRequest(events=(turn,)))
    remember(service, "kept", f"{block}\nand what I thought of it")

    assert service.open(OpenRequest(address="session:s1#t1")).text == "owner: is lark done"
    assert service.open(OpenRequest(address="note:kept")).text == "and what I thought of it"


def test_what_is_forgotten_by_its_name_is_gone_from_the_next_answer_and_stays_gone(service: Service) -> None:
    remember(service, "lark", "Feeds paper", kind="skill")

    assert service.forget(ForgetRequest(item="lark")).item == "skill:lark"
    assert pushed(service, "is lark done") == []
    remember(service, "lark", "Feeds paper again", kind="skill")
    assert pushed(service, "is lark done") == []
    with pytest.raises(NotFound):
        service.forget(ForgetRequest(item="lark"))
