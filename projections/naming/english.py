"""Ordinary English words: which words are more than somebody's name for a thing, and how common they are."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Final

_WORDS: Final = Path(__file__).parent.parent / "models" / "words" / "english.txt.gz"
_COMMON: Final = 57_000
"""Words ahead of this place are more often meant than mistyped. Behind it stand "carlota" and "dovecots"."""
_FREQUENT: Final = 1_000
"""Words ahead of this place say nothing of what a text is about."""


@cache
def _places() -> dict[str, int]:
    return {word: place for place, word in enumerate(gzip.decompress(_WORDS.read_bytes()).decode().split())}


def is_word(word: str) -> bool:
    """Whether a lower-case word is in the list at all, inflected or not."""
    return word in _places()


def is_common(word: str) -> bool:
    """Whether a lower-case word is one that people write on purpose, and not a slip of another."""
    return _places().get(word, _COMMON) < _COMMON


def is_frequent(word: str) -> bool:
    """Whether a lower-case word is among those that stand in every text."""
    return _places().get(word, _FREQUENT) < _FREQUENT


@cache
def frequent() -> frozenset[str]:
    """All lower-case words that stand in every text."""
    return frozenset(filter(is_frequent, _places()))
