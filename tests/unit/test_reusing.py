"""A replay takes the vectors that a snapshot has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.learning.reusing import reusing
from instant_recall.projections.meaning.encoders import Encoders
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.rows import BULK, GROUPS
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import Counting, answers, encoder, note, skill

REQUESTS = ["check the camera on the bench", "who reads letters", "the allowance"]


def counting() -> tuple[Encoders, Counting, Counting]:
    bulk, precious = Counting(encoder().bulk), Counting(encoder().precious)
    return Encoders(bulk, precious), bulk, precious


def test_what_the_snapshot_holds_is_not_encoded_again_and_what_it_lacks_is(tmp_path: Path) -> None:
    log, store = MemoryEventLog(), SnapshotStore(tmp_path)
    log.append(
        [draft(note("camera", "The camera on the bench in the lab")), draft(note("rates", "Allowance: 30 cents"))]
    )
    log.append([draft(skill("lark", "Reads letters", use_when=("who wrote this",)))])
    build(log, store, encoder())
    log.append([draft(note("new", "Something new under the sun"))])
    encoders, bulk, precious = counting()
    replayed = Overlay(empty_base(encoders.dims), reusing(encoders, latest_base(store, encoder())))
    catch_up(replayed, log)

    assert (bulk.texts, precious.texts) == (1, 0)
    plain = Overlay(empty_base(encoder().dims), encoder())
    catch_up(plain, log)
    assert answers(replayed, REQUESTS) == answers(plain, REQUESTS)


def test_a_text_has_the_vector_of_its_group(tmp_path: Path) -> None:
    log, store = MemoryEventLog(), SnapshotStore(tmp_path)
    # One text, as a key and as what a note says.
    log.append(
        [draft(note("a", "who wrote this"), audience=("lab",)), draft(skill("a", "", use_when=("who wrote this",)))]
    )
    build(log, store, encoder())
    encoders = reusing(encoder(), latest_base(store, encoder()))

    for group in range(len(GROUPS)):
        text = "a who wrote this" if group == BULK else "who wrote this"
        assert np.allclose(encoders.encode_rows(group, [text]), encoder().encode_rows(group, [text]), atol=1e-2)


def test_an_empty_snapshot_changes_nothing() -> None:
    assert reusing(encoder(), empty_base(encoder().dims)) is encoder()
