"""The contextual encoder: a small transformer (MiniLM-L6 in 8 bits) that reads a text as a whole, word by word.

It finds twice as much by what it is for as the static encoder does, and takes a hundred times as long: one to ten
milliseconds a text. So it reads only what is short and precious; see `rows.GROUPS`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...events.errors import EncoderMissing
from .encoder import FloatArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BUNDLED: Final = Path(__file__).parent.parent / "models" / "contextual"
_MODEL: Final = "model.onnx"
_TOKENIZER: Final = "tokenizer.json"
_MAX_TOKENS: Final = 128
"""What the model was trained with; it also bounds what a pasted page costs: about 15 ms."""
_REMEMBERED: Final = 512
"""Texts whose vectors are kept. A request that missed comes back as a key; one turn becomes a key of several items."""


class ContextualEncoder:
    """See Encoder. Safe to use from several threads; each call keeps one core busy and lets other threads run."""

    def __init__(self, session: Any, tokenizer: Tokenizer, fingerprint: str) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._fingerprint = fingerprint
        self._dim = int(session.get_outputs()[0].shape[1])
        self._vocabulary = frozenset(tokenizer.get_vocab())
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
        """Vectors of the texts; see Encoder.

        One text at a time: in a batch, a text's vector would depend a little on the texts beside it.
        """
        vectors = np.zeros((len(texts), self._dim), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._encode_one(text)
        return vectors

    def is_word(self, word: str) -> bool:
        """Whether the word is a whole piece of the model's vocabulary."""
        return word in self._vocabulary

    def _compute(self, text: str) -> FloatArray:
        read = self._tokenizer.encode(text)
        # Nothing but the marks of begin and end and of what is unknown: the model would make something up.
        if not any(number not in _MARKS for number in read.ids):
            return np.zeros(self._dim, dtype=np.float32)
        ids = np.array([read.ids], dtype=np.int64)
        vector: FloatArray = self._session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        unit: FloatArray = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


_MARKS: Final = frozenset({0, 100, 101, 102})
"""Numbers of [PAD], [UNK], [CLS] and [SEP] in BERT's vocabulary."""


def load_contextual(folder: Path = BUNDLED) -> ContextualEncoder:
    """Load the bundled contextual encoder.

    Raises:
        ImportError: onnxruntime is not installed.
        EncoderMissing: the model's files are not there or cannot be read.
    """
    import onnxruntime  # noqa: PLC0415 - slow to load, and may be absent
    from tokenizers import Tokenizer  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    # Its own threads would fight with those of other processes for the cores, and spin while they wait.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        model = (folder / _MODEL).read_bytes()
        words = (folder / _TOKENIZER).read_bytes()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_buffer(words)
    except Exception as error:
        raise EncoderMissing(
            f"The contextual encoder in {folder} cannot be read ({type(error).__name__}). Install the package again: "
            f"{_MODEL} and {_TOKENIZER} are part of it."
        ) from error
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    digest = hashlib.sha256(model)
    digest.update(words)
    return ContextualEncoder(session, tokenizer, f"contextual-{digest.hexdigest()[:16]}")


def load_onnxruntime_first() -> None:
    """Import onnxruntime, if it is installed, ahead of usearch.

    The other way round, importing onnxruntime (1.32) after usearch (2.26) ends the process with a segmentation fault.
    Whoever imports usearch calls this first.
    """
    try:
        import onnxruntime  # noqa: F401, PLC0415
    except ImportError:
        return
