"""The pair of encoders: which reads what, what happens without the contextual one, and the order of two libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from instant_recall.events.envelope import draft
from instant_recall.events.errors import EncoderMissing
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.types import TurnRecorded
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.meaning import contextual
from instant_recall.projections.meaning.encoders import Encoders, load_encoders
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.rows import GROUPS, OPENING, OPENING_LENGTH, TEXT, TOPIC, rows_of, terms_of
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, Counting, World, encoder, note, skill
from structlog.testing import capture_logs

LONG = (
    "The kiln needs a slow start: two hours at a hundred degrees, then a rise of eighty an hour, and a night to cool."
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


# --- the contextual encoder -------------------------------------------------------------------------------------------


def test_like_needs_are_near_though_they_share_no_word() -> None:
    need, same, other = encoder().precious.encode(
        ["fetch last quarter's figures", "download the report of the previous three months", "water the tomato beds"]
    )

    assert np.linalg.norm(need) == pytest.approx(1, abs=1e-5)
    assert need @ same > need @ other + 0.2


@pytest.mark.parametrize("text", ["", "   ", "\n", "🙂"])
def test_a_text_without_a_known_word_is_all_zero(text: str) -> None:
    assert not encoder().precious.encode([text]).any()


def test_one_by_one_and_together_are_the_same_also_behind_a_very_long_text() -> None:
    texts = ["the camera in the lab", "x", "a much longer text about many things " * 500, "the camera in the lab"]
    together = encoder().precious.encode(texts)

    assert (together == np.concatenate([encoder().precious.encode([text]) for text in texts])).all()
    assert encoder().precious.encode([]).shape == (0, encoder().precious.dim)


def test_a_damaged_model_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").write_bytes((contextual.BUNDLED / "tokenizer.json").read_bytes())

    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(EncoderMissing, match="Install the package again"):
            contextual.load_contextual(folder)


# --- the pair ---------------------------------------------------------------------------------------------------------


def test_a_request_is_encoded_once_by_each_encoder() -> None:
    bulk, precious = Counting(encoder().bulk), Counting(encoder().precious)
    vectors = Encoders(bulk, precious).encode_request("where is the kiln")

    assert (bulk.texts, precious.texts) == (1, 1)
    assert [len(vector) for vector in vectors] == list(encoder().dims)
    assert len(vectors) == len(GROUPS)


def test_a_request_meets_use_keys_by_its_need() -> None:
    bulk, precious = Counting(encoder().bulk), Counting(encoder().precious)
    topics, keys, _ = Encoders(bulk, precious).encode_request("send invoice INV-2231 by 12.03.2025")
    other = encoder().encode_request("send invoice INV by")[GROUPS.index("keys")]

    assert (bulk.texts, precious.texts) == (1, 2)
    assert keys.tolist() == other.tolist() != topics.tolist()


def test_texts_go_to_the_static_encoder_and_what_is_short_to_the_contextual_one() -> None:
    bulk, precious = Counting(encoder().bulk), Counting(encoder().precious)
    both = Encoders(bulk, precious)
    log, world = MemoryEventLog(clock=lambda: NOW), World()
    log.append([draft(event, occurred_at=NOW) for event in (skill("heron", "Watches"), note("kiln", LONG))])
    world.happens(skill("heron", "Watches"), note("kiln", LONG))
    kinds = [row.kind for item in world.overlay.state.all() for row in rows_of(item)]

    assert kinds == [TOPIC, TEXT]
    catch_up(Overlay(empty_base(both.dims), both), log)
    assert (bulk.texts, precious.texts) == (1, 1)


def test_an_opening_is_whole_words_and_short_and_finds_by_meaning_alone() -> None:
    world = World()
    world.happens(TurnRecorded(session="s1", turn=1, role="owner", text=f"kiln {LONG}"))
    (item,) = world.overlay.state.all()
    (opening,) = [row.text for row in rows_of(item) if row.kind == OPENING]

    assert len(opening) <= OPENING_LENGTH
    assert f"kiln {LONG}".startswith(f"{opening} ")
    (found,) = world.searcher().find("firing pottery in the oven")
    assert found.topic_meaning > 0.2
    assert [bool(terms) for terms in terms_of(rows_of(item))] == [False, True]


def test_the_same_static_encoder_with_and_without_the_contextual_one_are_different_pairs() -> None:
    alone = Encoders(encoder().bulk, encoder().bulk)

    assert alone.fingerprint == encoder().bulk.fingerprint
    assert encoder().fingerprint == f"{encoder().bulk.fingerprint}+{encoder().precious.fingerprint}"


def test_a_snapshot_of_another_pair_is_built_anew(tmp_path: Path) -> None:
    log, store, alone = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path), Encoders(*[encoder().bulk] * 2)
    log.append([draft(skill("heron", "Watches the bench"), occurred_at=NOW)])
    build(log, store, alone)
    assert latest_base(store, encoder()).generation == 0
    build(log, store, encoder())

    assert latest_base(store, encoder()).generation == 2
    assert latest_base(store, encoder()).segment.vectors.groups[0].matrix.shape == (1, encoder().precious.dim)
    assert latest_base(store, alone).generation == 1


# --- without onnxruntime, and beside usearch --------------------------------------------------------------------------


def test_without_onnxruntime_one_line_says_so_and_the_static_encoder_reads_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with capture_logs() as lines:
        pair = load_encoders()

    assert pair.precious is pair.bulk
    assert [(line["event"], line["log_level"]) for line in lines] == [("encoder.contextual_missing", "warning")]


def test_without_onnxruntime_a_push_works_in_a_process_of_its_own() -> None:
    done = run(
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from instant_recall.api.messages import PushRequest\n"
        "from instant_recall.api.service import Service\n"
        "from instant_recall.events.memory_log import MemoryEventLog\n"
        "from instant_recall.events.envelope import draft\n"
        "from instant_recall.events.types import AssetRecorded\n"
        "from instant_recall.projections.meaning.encoders import load_encoders\n"
        "log = MemoryEventLog()\n"
        "log.append([draft(AssetRecorded(item='skill:heron', kind='skill', name='heron', description='Watches'))])\n"
        "service = Service(log, load_encoders())\n"
        "print([p.item for p in service.push(PushRequest(request='what does heron watch')).pointers])\n"
    )

    assert done.returncode == 0, done.stderr
    assert "['skill:heron']" in done.stdout


@pytest.mark.parametrize("module", ["graph", "building", "searcher"])
def test_a_graph_may_be_made_before_an_encoder_is_loaded(module: str) -> None:
    done = run(
        "import numpy as np, tempfile, pathlib\n"
        f"import instant_recall.projections.{module}\n"
        "from instant_recall.projections import graph\n"
        "matrix = np.ones((3, 8), dtype=np.float16)\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'graph'\n"
        "graph.build(matrix, path); path.unlink(); path.parent.rmdir()\n"
        "from instant_recall.projections.meaning.encoders import load_encoders\n"
        "print(len(load_encoders().encode_request('hello')))\n"
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(len(GROUPS))


def test_loading_the_encoders_writes_no_file_anywhere(tmp_path: Path) -> None:
    """Later versions of onnxruntime keep a telemetry session in the temporary folder."""
    code = "from instant_recall.projections.meaning.encoders import load_encoders; load_encoders().encode_request('x')"
    folders = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=os.environ | folders, cwd=tmp_path, check=True, timeout=60)

    assert list(tmp_path.iterdir()) == []
