"""The overlay over a base answers as one replay of the whole log would."""

from __future__ import annotations

from pathlib import Path

import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.ops.corpus import make_drafts, make_requests
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, World, answers, counting, encoder, note, skill

LAB = ("owner", "lab")


def story() -> list[EventDraft]:
    """A log in which everything happens to something."""

    def said(event: ev.Event, audience: tuple[str, ...] = ("owner",)) -> EventDraft:
        return draft(event, occurred_at=NOW, audience=audience)

    return [
        said(ev.ReaderGranted(reader="sub:lab", scopes=("lab",))),
        said(skill("portal-helper", "Relays commands to a logged-in browser", use_when=("a site without a download",))),
        said(note("camera", "The camera on the bench is reached at port 8080. Lens cap on the left."), LAB),
        said(skill("lark", "Feeds paper through the scanner and adds the text"), LAB),
        said(note("rates", "Kilometre allowance is 30 cents")),
        said(ev.OwnershipCorrected(item="skill:portal-helper", request="download the quarterly report")),
        said(ev.TurnRecorded(session="s1", turn=1, role="owner", text="train the sorter on the new pictures"), LAB),
        said(ev.TurnRecorded(session="s1", turn=2, role="agent", text="used the two stage setup, four hours")),
        said(ev.SessionClosed(session="s1", project="sorter", helped=("skill:lark",), outcome="trained"), LAB),
        said(
            ev.AssetRecorded(item="skill:lark", kind="skill", name="lark", description="Scans and reads letters"), LAB
        ),
        said(ev.ItemMuted(item="note:camera")),
        said(ev.ItemUnmuted(item="note:camera")),
        said(note("rates2", "Kilometre allowance is 38 cents", supersedes="note:rates")),
        said(ev.KeyAdded(item="note:camera", phrase="is anybody at the bench"), LAB),
        said(skill("old", "A thing that goes away")),
        said(ev.ItemForgotten(item="skill:old")),
        said(ev.ItemClosed(item="skill:portal-helper", reason="gone")),
        said(skill("portal-helper", "Relays commands to a logged-in browser")),
    ]


REQUESTS = [
    "download last quarter's report from the company portal",
    "check the camera on the lab machine",
    "train it again with the setup we used last time",
    "kilometre allowance",
    "lark please",
    "a thing that goes away",
    "",
]


def replayed(log: MemoryEventLog) -> Overlay:
    overlay = Overlay(empty_base(encoder().dims), encoder())
    catch_up(overlay, log)
    return overlay


@pytest.mark.parametrize("cut", range(len(story()) + 1))
def test_a_snapshot_at_any_point_plus_the_rest_answers_as_a_replay_from_zero(cut: int, tmp_path: Path) -> None:
    log, store, events = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path), story()
    if cut:
        log.append(events[:cut])
    build(log, store, encoder())
    if events[cut:]:
        log.append(events[cut:])
    resumed = Overlay(latest_base(store, encoder()), encoder())
    catch_up(resumed, log)

    for reader in ("owner", "sub:lab", "sub:nobody"):
        assert answers(resumed, REQUESTS, reader) == answers(replayed(log), REQUESTS, reader)


def test_a_chain_of_snapshots_answers_as_a_replay_from_zero(tmp_path: Path) -> None:
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    for event in story():
        log.append([event])
        build(log, store, encoder())
    base = latest_base(store, encoder())

    assert base.generation == len(story())
    assert answers(Overlay(base, encoder()), REQUESTS) == answers(replayed(log), REQUESTS)


def test_a_rebuild_reuses_every_vector_that_still_holds(tmp_path: Path) -> None:
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    log.append(story())
    build(log, store, encoder())
    log.append([draft(note("new", "Something new under the sun"), occurred_at=NOW)])
    encoders, counted = counting()
    build(log, store, encoders)

    assert counted.texts == 1


def test_what_is_applied_is_found_at_once() -> None:
    world = World()
    world.happens(note("camera", "The camera on the bench"))

    assert world.found("camera") == ["note:camera"]


def test_the_same_events_twice_change_nothing() -> None:
    world = World()
    world.happens(*story())
    before = answers(world.overlay, REQUESTS)
    world.overlay.apply(world.log.read(START))

    assert answers(world.overlay, REQUESTS) == before


def test_events_of_an_unknown_type_are_passed_over(tmp_path: Path) -> None:
    world = World()
    world.happens(note("camera", "The camera on the bench"))
    before = world.overlay.position
    raw = world.log.read(START)[0]
    from instant_recall.events.envelope import UnreadableEvent
    from msgspec.structs import replace

    strange = UnreadableEvent(stored_type="item_praised", stored_version=1, why="unknown_type")
    world.overlay.apply([replace(raw, event=strange, position=type(before)(before.ms + 1, 0))])

    assert world.found("camera") == ["note:camera"]
    assert world.overlay.position > before


def test_an_overlay_of_another_base_does_not_change_the_base(tmp_path: Path) -> None:
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    log.append(story())
    build(log, store, encoder())
    base = latest_base(store, encoder())
    before = answers(Overlay(base, encoder()), REQUESTS)
    changed = Overlay(base, encoder())
    log.append([draft(ev.ItemMuted(item="note:camera")), draft(note("rates2", "Nothing about money any more"))])
    catch_up(changed, log)

    assert answers(changed, REQUESTS) != before
    assert answers(Overlay(base, encoder()), REQUESTS) == before


def test_when_more_fits_than_a_route_brings_in_snapshot_and_overlay_choose_as_one_index_does(tmp_path: Path) -> None:
    made = list(make_drafts(200))
    # Twins tie with one another at the cut, the later ones first in a snapshot if rows had a say.
    twins = [note(f"twin {n}", "the very same words about the harbour light") for n in range(60)]
    log = MemoryEventLog()
    log.append([*made[:100], *map(draft, twins[::2])])
    store = SnapshotStore(tmp_path / "snapshots")
    build(log, store, encoder())
    log.append([*map(draft, twins[1::2]), *made[100:], *map(draft, reversed(twins[:10]))])
    resumed = Overlay(latest_base(store, encoder()), encoder())
    replayed = Overlay(empty_base(encoder().dims), encoder())
    for overlay in (resumed, replayed):
        catch_up(overlay, log)

    requests = [*make_requests(50, made), "what about the harbour light", "the very same words"]
    assert answers(resumed, requests) == answers(replayed, requests)
