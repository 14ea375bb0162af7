"""The two encoders, each where it is better: a contextual one for what is short and precious, a static one for texts.

Cosines of different encoders are not on one scale: compare and weigh each kind for itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import structlog

from .asset_index import RequestVectors, halve
from .encoder import Encoder, load_encoder
from .graph import HalfArray
from .rows import BULK, GROUPS

log = structlog.get_logger()


@dataclass(frozen=True)
class Encoders:
    """A pair of encoders. Without the contextual one, the static one stands in both places."""

    bulk: Encoder
    """For long texts: sections of notes, turns of sessions."""
    precious: Encoder
    """For requests, use keys, and what a thing is called and does."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever a vector of either would."""
        if self.precious is self.bulk:
            return self.bulk.fingerprint
        return f"{self.bulk.fingerprint}+{self.precious.fingerprint}"

    @property
    def dims(self) -> tuple[int, ...]:
        """Numbers per vector, for each of rows.GROUPS."""
        return tuple(self.of(group).dim for group in range(len(GROUPS)))

    def of(self, group: int) -> Encoder:
        """The encoder for the rows of one of rows.GROUPS."""
        return self.bulk if group == BULK else self.precious

    def is_word(self, word: str) -> bool:
        """Whether a lower-case word is an ordinary one; see Encoder."""
        return self.bulk.is_word(word)

    def encode_rows(self, group: int, texts: list[str]) -> HalfArray:
        """Vectors of rows of a group, as they are stored."""
        return halve(self.of(group).encode(texts))

    def encode_request(self, request: str) -> RequestVectors:
        """The request as each group's rows are compared with it. It is encoded once by each encoder."""
        bulk = halve(self.bulk.encode([request]))[0]
        precious = bulk if self.precious is self.bulk else halve(self.precious.encode([request]))[0]
        return tuple(bulk if group == BULK else precious for group in range(len(GROUPS)))


def load_encoders(name: str = "") -> Encoders:
    """Load the bundled pair, or the bundled contextual encoder beside another static one; see load_encoder.

    Where onnxruntime is not installed, everything works with the static one alone, and finds less; one line in the log
    says so.

    Raises:
        EncoderMissing: one of the models cannot be read.
    """
    # Several threads in the tokenizers cost more than they bring beside a busy second core.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from .contextual import load_contextual  # noqa: PLC0415

    try:
        precious: Encoder | None = load_contextual()
    except ImportError as error:
        log.warning("encoder.contextual_missing", why=str(error), remedy="pip install onnxruntime")
        precious = None
    bulk = load_encoder(name)
    return Encoders(bulk, bulk if precious is None else precious)
