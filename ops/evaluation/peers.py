"""Packaged peers on the same cases, through their own public API; they come with the extra `eval-peers`.

Each runs offline, in memory, with the settings it comes with, apart from what is said below. Nothing of them is
imported before they are asked for.
"""

from __future__ import annotations

import importlib
import sqlite3
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

from ...events.errors import RecallError
from ...projections.meaning.encoders import Encoders
from .baselines import Best, Document, Makes


class Geny:
    """geny-memory-adaptor: BM25, hashed embeddings and a graph, weighed by a ranker.

    Its chance swap of the last hit is off, so that a run can be repeated. What was shown before counts for it; that is
    how it works.
    """

    def __init__(self, _encoders: Encoders) -> None:
        self._memory = _module("geny_memory_adaptor", "geny-memory-adaptor").SynapseMemory.open(":memory:", epsilon=0.0)
        weakref.finalize(self, self._memory.close)
        self._kept: dict[str, str] = {}

    def know(self, documents: Sequence[Document]) -> None:
        """See Make."""
        gone, new = _changes(self._kept, documents)
        self._memory.remove_many(gone)
        self._memory.index_many(
            [{"node_id": one.id, "text": one.text, "title": one.item.name, "kind": one.item.kind} for one in new]
        )
        self._kept = {one.id: one.text for one in documents}

    def best(self, request: str, count: int) -> Best:
        """See Make."""
        return [(hit.id, float(hit.score)) for hit in self._memory.search(request, top_k=count)]


class AgentRecall:
    """agentrecall-db: SQLite's full-text search, and vectors where SQLite can load the extension for them.

    The vectors are those of the product's encoder, since its own model would have to be fetched.
    """

    def __init__(self, encoders: Encoders) -> None:
        module = _module("agentrecall", "agentrecall-db")
        # Some builds of Python cannot load extensions into SQLite: it searches by words alone there.
        vectors = hasattr(sqlite3.Connection, "enable_load_extension") and find_spec("sqlite_vec") is not None
        self._memory = module.Memory(":memory:", embeddings=vectors, embedder=_Embedder(encoders) if vectors else None)
        weakref.finalize(self, self._memory.close)
        self._kept: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def know(self, documents: Sequence[Document]) -> None:
        """See Make."""
        gone, new = _changes(self._kept, documents)
        for key in gone:
            self._memory.delete(self._numbers.pop(key))
        added = self._memory.add_many([{"content": one.text, "metadata": {"id": one.id}} for one in new])
        self._numbers |= {one.id: record.id for one, record in zip(new, added, strict=True)}
        self._kept = {one.id: one.text for one in documents}

    def best(self, request: str, count: int) -> Best:
        """See Make."""
        return [(hit.metadata["id"], float(hit.score)) for hit in self._memory.search(request, k=count)]


class _Embedder:
    """The product's encoder as agentrecall-db takes it."""

    def __init__(self, encoders: Encoders) -> None:
        self._encoder = encoders.bulk
        self.dim = self._encoder.dim

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in self._encoder.encode(texts)]


PEERS: Final[Makes] = {"peer:geny-memory-adaptor": Geny, "peer:agentrecall-db": AgentRecall}
"""By name, how to make one; making one raises RecallError when it is not installed."""


def require() -> None:
    """Raise RecallError, which says how to install them, unless all peers are there: before a run, not in its midst."""
    _module("geny_memory_adaptor", "geny-memory-adaptor")
    _module("agentrecall", "agentrecall-db")


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RecallError(
            f"The peer {package} is not installed. Run: pip install 'instant-recall[eval-peers]', or leave --peers out."
        ) from error


def _changes(kept: dict[str, str], documents: Sequence[Document]) -> tuple[list[str], list[Document]]:
    """Ids that are gone or say something else now, and documents that are new or do."""
    now = {one.id: one.text for one in documents}
    gone = [key for key, text in kept.items() if now.get(key) != text]
    return gone, [one for one in documents if kept.get(one.id) != one.text]
