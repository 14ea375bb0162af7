"""Baselines: plain search by words, by meaning and by both, on the same cases as the product.

They know what the product knows at that moment, use keys included, and only what its own eligibility check lets the
reader see; all they lack is the product's ranking. None of them has a bar: the first five are what they push.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from ...events.types import Millis
from ...projections.items import Item
from ...projections.language.words import tokenize
from ...projections.meaning.encoder import Encoder, FloatArray
from ...projections.meaning.encoders import Encoders
from ...projections.pointers import MOST, block, render, tokens
from ...projections.policy.eligibility import Audiences, Policies, Reader, eligible
from ...projections.state import State
from .evaluate import Answer
from .playback import Playback
from .public_sets import Group, PublicSet
from .rankings import DEPTH, Ranking, answer_of
from .worlds import Case, World, millis

K: Final = 60
"""The constant of reciprocal rank fusion, as its authors have it (Cormack, Clarke and Büttcher 2009)."""
FUSED: Final = 100
"""How far down each of the two rankings is looked."""

Best = list[tuple[str, float]]
"""Ids of documents with their scores, best first."""


class Document(NamedTuple):
    """What a make may search in: an item, or one turn of a session where turns are asked for."""

    id: str
    text: str
    item: Item
    anchor: str
    line: str
    """The product's pointer to it, without its `For:`."""


class Make(Protocol):
    """A search engine of some make, for one reader."""

    def know(self, documents: Sequence[Document]) -> None:
        """From now on these are all there is; many of them were there before."""
        ...

    def best(self, request: str, count: int) -> Best:
        """At most `count` documents, best first, equals in a fixed order."""
        ...


class Words:
    """Plain bm25s with its own defaults, over all words of a document."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._tokens: dict[str, list[str]] = {}
        self._index: Any = None

    def know(self, documents: Sequence[Document]) -> None:
        """See Make."""
        import bm25s  # noqa: PLC0415

        new = [one.text for one in documents if one.text not in self._tokens]
        self._tokens |= dict(zip(new, tokenize(new), strict=True))
        self._ids = [one.id for one in documents]
        corpus = [self._tokens[one.text] for one in documents]
        self._index = None
        if any(corpus):
            self._index = bm25s.BM25()
            self._index.index(corpus, show_progress=False)

    def best(self, request: str, count: int) -> Best:
        """See Make."""
        asked = tokenize([request])[0]
        if self._index is None or not asked:
            return []
        scores: FloatArray = self._index.get_scores(asked)
        return _top(self._ids, scores, count)


class Meaning:
    """An encoder alone: one vector a document, by cosine."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, FloatArray] = {}
        self._ids: list[str] = []
        self._rows: FloatArray = np.zeros((0, self._encoder.dim), dtype=np.float32)

    def know(self, documents: Sequence[Document]) -> None:
        """See Make."""
        new = [one.text for one in documents if one.text not in self._vectors]
        self._vectors |= dict(zip(new, self._encoder.encode(new), strict=True))
        self._ids = [one.id for one in documents]
        if documents:
            self._rows = np.stack([self._vectors[one.text] for one in documents])

    def best(self, request: str, count: int) -> Best:
        """See Make."""
        return _top(self._ids, self._rows @ self._encoder.encode([request])[0], count) if self._ids else []


class Fused:
    """Reciprocal rank fusion of several makes."""

    def __init__(self, *makes: Make) -> None:
        self._makes = makes

    def know(self, documents: Sequence[Document]) -> None:
        """See Make."""
        for make in self._makes:
            make.know(documents)

    def best(self, request: str, count: int) -> Best:
        """See Make."""
        scores: dict[str, float] = {}
        for make in self._makes:
            for place, (found, _) in enumerate(make.best(request, FUSED), 1):
                scores[found] = scores.get(found, 0.0) + 1 / (K + place)
        return sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:count]


Makes = Mapping[str, Callable[[Encoders], Make]]

BASELINES: Final[Makes] = {
    "bm25s": lambda _encoders: Words(),
    "encoder": lambda encoders: Meaning(encoders.bulk),
    "rrf": lambda encoders: Fused(Words(), Meaning(encoders.bulk)),
    "encoder, contextual": lambda encoders: Meaning(encoders.precious),
    "rrf, contextual": lambda encoders: Fused(Words(), Meaning(encoders.precious)),
}
"""By name, how to make one. The product has two encoders, and either may be the better one for plain search."""


def run_baselines(
    world: World, encoders: Encoders, makes: Makes = BASELINES, on_case: Callable[[], None] = lambda: None
) -> dict[str, list[Answer]]:
    """Ask every case of a world of every make: the five that it would push; `on_case` is called after each case."""
    ranked = rank_others(PublicSet("", (Group(world),)), encoders, makes, on_case)
    return {name: [answer_of(ranking, MOST) for ranking in rankings] for name, rankings in ranked.items()}


def rank_others(
    asked: PublicSet, encoders: Encoders, makes: Makes = BASELINES, on_case: Callable[[], None] = lambda: None
) -> dict[str, list[Ranking]]:
    """Ask every case of a set of every make, owner by owner; `on_case` is called after each case."""
    rankings: dict[str, list[Ranking]] = {name: [] for name in makes}
    for group in asked.groups:
        for found in _rank_group(group, encoders, makes):
            for name, ranking in found.items():
                rankings[name].append(ranking)
            on_case()
    return rankings


def _rank_group(group: Group, encoders: Encoders, makes: Makes) -> Iterator[dict[str, Ranking]]:
    playback = Playback(group.world, encoders)
    known = _Known(playback, by_turn=any(group.evidence.values()))
    readers: dict[str, _Reading] = {}
    try:
        for case in sorted(group.world.cases, key=lambda case: case.at):
            documents = known.documents(case.reader, millis(case.at))
            if case.reader not in readers:
                readers[case.reader] = _Reading({name: make(encoders) for name, make in makes.items()})
            reading = readers[case.reader]
            reading.know(documents)
            yield {
                name: _ranking(make, case, reading.documents, group.evidence.get(case.id, ()), playback)
                for name, make in reading.makes.items()
            }
    finally:
        playback.close()


class _Reading:
    """The makes of one reader: nobody else's things get into what they count and compare."""

    def __init__(self, makes: dict[str, Make]) -> None:
        self.makes = makes
        self.documents: dict[str, Document] = {}

    def know(self, documents: Sequence[Document]) -> None:
        if documents != list(self.documents.values()):
            self.documents = {one.id: one for one in documents}
            for make in self.makes.values():
                make.know(documents)


def _ranking(
    make: Make, case: Case, documents: Mapping[str, Document], evidence: tuple[str, ...], playback: Playback
) -> Ranking:
    began = time.perf_counter()
    best = make.best(case.request, DEPTH)
    took = (time.perf_counter() - began) * 1_000
    found = [documents[place] for place, _ in best]
    lines = [document.line for document in found[:MOST]]
    return Ranking(
        case=case,
        items=tuple(playback.world_id(document.item.id) for document in found),
        places=tuple(document.id.removeprefix("session:") for document in found),
        scores=tuple(score for _, score in best),
        took_ms=took,
        tokens_to=tuple(tokens(block(lines[:place])) for place in range(1, len(lines) + 1)),
        evidence=evidence,
    )


class _Known:
    """What a reader may be told of at a moment: the product's own fold of the log, and its own check."""

    def __init__(self, playback: Playback, *, by_turn: bool) -> None:
        self._playback = playback
        self._by_turn = by_turn
        self._state = State()
        self._policies = Policies(Audiences())
        self._ids: dict[str, int] = {}
        self._made: dict[tuple[str, Reader], tuple[Item, list[Document]]] = {}

    def documents(self, name: str, at: Millis) -> list[Document]:
        """In the order in which the log first names them."""
        self._playback.feed_until(at)
        while events := self._playback.log.read(self._state.position):
            touched = [item for event in events for item in self._state.apply(event)]
            for item in dict.fromkeys(touched):
                self._place(item)
        reader = self._state.reader(name, at)
        seen = eligible(self._policies, reader, at)
        visible = [item for item, ordinal in self._ids.items() if seen[ordinal]]
        return [document for item in visible for document in self._documents(item, reader)]

    def _place(self, key: str) -> None:
        item = self._state.get(key)
        assert item is not None, "a touched item that is not there"  # noqa: S101 - the fold has just made it
        if key in self._ids:
            self._policies.set(self._ids[key], item)
        else:
            self._ids[key] = len(self._policies)
            self._policies.append(item)

    def _documents(self, key: str, reader: Reader) -> list[Document]:
        item = self._state.get(key)
        assert item is not None, "a known item that is not there"  # noqa: S101 - as above
        made = self._made.get((key, reader))
        if made is None or made[0] is not item:
            made = self._made[key, reader] = (item, list(_cut(item, reader, self._by_turn)))
        return made[1]


def _cut(item: Item, reader: Reader, by_turn: bool) -> Iterator[Document]:
    """An item as documents: all of it as one, or each turn of a session for itself."""
    if by_turn and item.kind == "session":
        for part in item.parts:
            yield Document(f"{item.id}#{part.anchor}", part.text, item, part.anchor, render(item, part.anchor))
        return
    keys = [key.phrase for key in item.keys if not key.negative and reader.meets(key.audience)]
    # A session's name is its id, which says nothing.
    names = () if item.kind == "session" else (item.name, *item.aliases)
    texts = (*names, item.purpose, item.description, *(part.text for part in item.parts), *keys)
    yield Document(item.id, "\n".join(filter(None, texts)), item, "", render(item, ""))


def _top(ids: Sequence[str], scores: FloatArray, count: int) -> Best:
    """The best of those that have anything to do with the request; equals in the order of their documents."""
    order = np.argsort(-scores, kind="stable")[:count]
    return [(ids[place], float(scores[place])) for place in order if scores[place] > 0]
