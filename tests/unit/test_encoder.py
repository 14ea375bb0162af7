"""The bundled encoder, and what happens with another."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from instant_recall.events.errors import EncoderMissing
from instant_recall.projections.meaning.encoder import BUNDLED, load_encoder
from instant_recall.tests.small_world import encoder


def test_vectors_have_length_one_and_like_texts_are_near() -> None:
    texts = ["the camera in the lab", "a lens in the laboratory", "kilometre allowance for taxes"]
    a, b, c = encoder().bulk.encode(texts)

    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-5)
    assert a @ b > a @ c + 0.2


@pytest.mark.parametrize("text", ["", "   ", "\n", "🙂"])
def test_a_text_without_a_known_word_is_all_zero(text: str) -> None:
    assert not encoder().bulk.encode([text]).any()


def test_no_texts_have_no_vectors() -> None:
    assert encoder().bulk.encode([]).shape == (0, encoder().bulk.dim)


def test_one_by_one_and_together_are_the_same() -> None:
    texts = ["the camera in the lab", "x", "a much longer text about many things " * 20]

    assert (encoder().bulk.encode(texts) == np.concatenate([encoder().bulk.encode([t]) for t in texts])).all()


def test_the_fingerprint_is_the_files(tmp_path: Path) -> None:
    for file in BUNDLED.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    same = load_encoder(str(tmp_path))
    config = tmp_path / "config.json"
    config.write_text(config.read_text() + "\n")

    assert same.fingerprint == encoder().bulk.fingerprint
    assert load_encoder(str(tmp_path)).fingerprint != encoder().bulk.fingerprint


def test_a_missing_folder_is_an_error_and_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("the network was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in (str(tmp_path / "missing"), "minishlab/potion-base-8M"):
        with pytest.raises(EncoderMissing, match="does not exist"):
            load_encoder(name)


def test_a_folder_without_a_model_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(EncoderMissing, match=r"model\.safetensors"):
        load_encoder(str(tmp_path))


def test_ordinary_words_are_known_and_made_up_ones_are_not() -> None:
    assert encoder().bulk.is_word("letter")
    assert not encoder().bulk.is_word("thimbel")
