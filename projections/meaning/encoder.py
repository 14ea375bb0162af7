"""Encoders: text to vectors of meaning. The only module that loads model2vec."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ...events.errors import EncoderMissing

if TYPE_CHECKING:
    from model2vec import StaticModel

FloatArray = NDArray[np.float32]

BUNDLED = Path(__file__).parent.parent / "models" / "static"
_HUB = "hub:"
_MAX_TOKENS = 512
"""One limit for every call: model2vec sets it on a shared tokenizer, so mixed limits across threads mix up vectors."""


class Encoder(Protocol):
    """Turns texts into vectors that can be compared by their dot product.

    Promised: rows have length one, or are all zero for a text without a known word (empty, an emoji alone): a zero row
    means "no meaning known" and its dot products mean nothing. The same text always gives the same vector.
    Not promised: anything about vectors of encoders with different fingerprints.
    """

    @property
    def dim(self) -> int:
        """Numbers per vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would."""
        ...

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of the texts, shape (len(texts), dim)."""
        ...

    def is_word(self, word: str) -> bool:
        """Whether a lower-case word is an ordinary one: common enough to have a place of its own in the vocabulary."""
        ...


class StaticEncoder:
    """A model2vec model: one vector a word piece, a text is their mean. Safe to use from several threads."""

    def __init__(self, model: StaticModel, fingerprint: str) -> None:
        self._model = model
        self._fingerprint = fingerprint
        self._vocabulary = frozenset(model.tokens)

    @property
    def dim(self) -> int:
        """Numbers per vector."""
        return int(self._model.dim)

    @property
    def fingerprint(self) -> str:
        """Hash of the model's files."""
        return self._fingerprint

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of the texts; see Encoder."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        vectors = self._model.encode(list(texts), max_length=_MAX_TOKENS, use_multiprocessing=False)
        rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: FloatArray = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return units

    def is_word(self, word: str) -> bool:
        """Whether the word is a whole piece of the model's vocabulary."""
        return word in self._vocabulary


def load_encoder(name: str = "") -> Encoder:
    """Load the bundled model, the model in a folder, or (only when asked with `hub:NAME`) one from the model hub.

    Raises:
        EncoderMissing: the folder is not there or holds no model. Nothing is ever fetched instead.
    """
    # Several threads in the tokenizer cost more than they bring beside a busy second core.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if name.startswith(_HUB):
        return _from_hub(name.removeprefix(_HUB))
    folder = Path(name).expanduser() if name else BUNDLED
    if not folder.is_dir():
        raise EncoderMissing(
            f"The encoder folder {folder} does not exist. Name a model2vec folder in INSTANT_RECALL_ENCODER, "
            f"write {_HUB}NAME to fetch one from the model hub, or unset it for the bundled model."
        )
    return _from_folder(folder)


def _from_folder(folder: Path) -> Encoder:
    """Build the model from its files: `from_pretrained` also imports the hub's client, which doubles the time."""
    from model2vec import StaticModel  # noqa: PLC0415 - 90 ms that only a process with an encoder should pay
    from safetensors.numpy import load_file  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "model.safetensors")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        model = StaticModel(
            tensors["embeddings"],
            tokenizer,
            config=config,
            normalize=True,
            weights=tensors.get("weights"),
            token_mapping=tensors.get("mapping"),
        )
    except Exception as error:
        raise EncoderMissing(
            f"The folder {folder} holds no readable model2vec model ({type(error).__name__}). "
            "It needs config.json, model.safetensors and tokenizer.json."
        ) from error
    digest = hashlib.sha256()
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        digest.update((folder / file).read_bytes())
    return StaticEncoder(model, f"static-{digest.hexdigest()[:16]}")


def _from_hub(name: str) -> Encoder:
    from model2vec import StaticModel  # noqa: PLC0415

    try:
        model = StaticModel.from_pretrained(name, force_download=False)
    except Exception as error:
        raise EncoderMissing(
            f"The model {name!r} could not be fetched ({type(error).__name__}). Check its name and the network, "
            "or unset INSTANT_RECALL_ENCODER for the bundled model."
        ) from error
    digest = hashlib.sha256(np.ascontiguousarray(model.embedding).tobytes())
    return StaticEncoder(model, f"static-{digest.hexdigest()[:16]}")
