"""The two encoders, each where it is better: a contextual one for what is short and precious, a static one for texts.

Cosines of different encoders are not on one scale: compare and weigh each kind for itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import structlog

from ..asset_index import RequestVectors, halve
from ..graph import HalfArray
from ..language.instances import need_of
from ..rows import BULK, GROUPS, KEYS
from .encoder import Encoder, load_encoder

log = structlog.get_logger()

MULTILINGUAL: Final = "multilingual"
"""The name of the encoder that comes with the extra of that name; a folder called so is named as `./multilingual`."""


@dataclass(frozen=True)
class Encoders:
    """A pair of encoders. Without the contextual one, the static one stands in both places."""

    bulk: Encoder
    """For long texts: sections of notes, turns of sessions."""
    precious: Encoder
    """For requests, use keys, and what a thing is called and does."""
    plain: Encoder | None = None
    """For what is an ordinary English word and what it means, by which a name is told from one; None: the bulk one."""

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

    @property
    def names(self) -> Encoder:
        """The encoder by which names are told from ordinary words; no vector of it is stored."""
        return self.plain or self.bulk

    def of(self, group: int) -> Encoder:
        """The encoder for the rows of one of rows.GROUPS."""
        return self.bulk if group == BULK else self.precious

    def is_word(self, word: str) -> bool:
        """Whether a lower-case word is an ordinary one; see Encoder."""
        return self.names.is_word(word)

    def encode_rows(self, group: int, texts: list[str]) -> HalfArray:
        """Vectors of rows of a group, as they are stored."""
        return halve(self.of(group).encode(texts))

    def encode_request(self, request: str) -> RequestVectors:
        """The request as each group's rows are compared with it: with use keys by its need, as they are by theirs.

        It is encoded once by each encoder; its need beside it where that is something else.
        """
        bulk = halve(self.bulk.encode([request]))[0]
        precious = bulk if self.precious is self.bulk else halve(self.precious.encode([request]))[0]
        need = need_of(request)
        key = precious if need == request else halve(self.precious.encode([need]))[0]
        return tuple({BULK: bulk, KEYS: key}.get(group, precious) for group in range(len(GROUPS)))


def load_encoders(name: str = "") -> Encoders:
    """Load the bundled pair, `multilingual`, or the bundled contextual encoder beside another static one.

    `multilingual` stands in both places, since texts are in any language, too; for the others see load_encoder.

    Where onnxruntime is not installed, everything works with the static one alone, and finds less; one line in the log
    says so.

    Raises:
        EncoderMissing: one of the models cannot be read, or the extra `multilingual` is not installed.
    """
    if name == MULTILINGUAL:
        from .multilingual import load_multilingual  # noqa: PLC0415

        found = load_multilingual()
        # The judge of names knows English grammar, and its thresholds are cosines of the static encoder.
        return Encoders(found, found, load_encoder())
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
