"""The searcher: one view of base and overlay that answers one request.

Every route is cut to what the reader may see before it is cut to the best, so a narrow reader is not starved by what
stands in front of it unseen, and nothing hidden moves anything visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, get_args

import numpy as np

from ..events.types import Millis
from .evidence import Evidence
from .items import Item, UseKey
from .language.cutting import best_of
from .language.words import heard, request_terms
from .looks import Best, Look, visible_rows
from .meaning.encoders import Encoders
from .naming.english import is_common
from .naming.name_evidence import Judge, Verdict
from .naming.names import named_in
from .overlay import Overlay
from .past.last_time import points_back
from .past.links import MOST_SESSIONS, Eyes, Link, neighbours
from .past.look_back import Asked, Place, meant
from .past.uses import Use
from .policy.eligibility import BoolArray, Reader, Rule, is_old, only_over, rule_of
from .policy.mutes import TopicMute
from .rows import OPENING, TEXT, TOPIC, USE, Row, row_of_key
from .text_index import Scores, languages_in, score
from .versions import Versions

WIDTH: Final = 24
"""Rows that each route may bring in, for each kind of row. Five are shown; the rest gives the ranker its choice."""

Route = Literal["use_words", "use_meaning", "topic_words", "topic_meaning", "text_meaning"]
"""What leads from a request to an item: words or meaning, of a use key, of what the item is, or of what it says."""


class Searcher:
    """Answers for one reader at one moment. Make one per request; it must not outlive it.

    `recent` are the lines said just before the request; `project` and `session` are where it is asked. Without
    `weights` every use key counts alike, whatever was learned of it, and no rejection counts.
    """

    def __init__(
        self,
        overlay: Overlay,
        encoders: Encoders,
        reader: Reader,
        now: Millis,
        recent: Sequence[str] = (),
        project: str = "",
        session: str = "",
        *,
        weights: bool = True,
    ) -> None:
        self._overlay = overlay
        self._encoders = encoders
        self._reader = reader
        self.tuning = overlay.state.tuning.seen_by(reader)
        self._recent = recent
        self._project = project
        self._session = session
        self._weights = weights
        self._now = now
        self._otherwise = overlay.otherwise(reader)
        self._refused = overlay.refusals(reader, now, session)
        self._visible: BoolArray = self._refused == 0
        self._old: BoolArray = is_old(self._refused)
        self.versions = Versions(self.know, self.sees, self.sees_if_asked)
        met = overlay.policies.audiences.met_by(reader)
        self._places = [
            (segment, visible_rows(segment, alive, self._visible, met))
            for segment, alive in (
                (overlay.base.segment, overlay.alive_in_base),
                (overlay.segment, overlay.segment.alive),
            )
        ]

    @property
    def reader(self) -> Reader:
        """Who asks."""
        return self._reader

    def sees(self, item: str) -> bool:
        """Whether the reader may be told of this item."""
        ordinal = self._overlay.ordinal(item)
        return ordinal is not None and bool(self._visible[ordinal])

    def sees_if_asked(self, item: str) -> bool:
        """Whether it is an old version that the reader may be told of when its own name or date is said.

        What was replaced by nothing that anybody named is as good as closed.
        """
        ordinal = self._overlay.ordinal(item)
        return ordinal is not None and bool(self._old[ordinal]) and bool(self._known(item).superseded_by)

    def refused_by(self, item: str) -> Rule | None:
        """The first rule that keeps the item from the reader; None when there is none, or no such item.

        Only the owner may be told: to anybody else a hidden item is one that is not there.
        """
        ordinal = self._overlay.ordinal(item)
        return None if ordinal is None else rule_of(int(self._refused[ordinal]))

    def muted_topic(self, item: str) -> TopicMute | None:
        """The muted topic that keeps an item back, for the owner to be told; None when none does."""
        ordinal, topics = self._overlay.ordinal(item), self._overlay.state.mutes.topics_in(self._session)
        return next((topic for topic in topics if topic.phrase and ordinal in self._overlay.about(topic.phrase)), None)

    def get(self, item: str) -> Item | None:
        """The item, if the reader may see it."""
        return self.know(item) if self.sees(item) else None

    def know(self, item: str) -> Item | None:
        """The item of an id, may it be seen or not, as this reader would see it; see `replacing.py`."""
        return self._otherwise.items.get(item) or self._overlay.state.get(item)

    def visible_keys(self, item: Item) -> list[UseKey]:
        """The item's use keys that the reader may see."""
        return [key for key in item.keys if self._reader.meets(key.audience)]

    def peek_name(self, item: str) -> str:
        """The name of an item that this reader was shown before, valid or not any more; empty for one held back."""
        ordinal = self._overlay.ordinal(item)
        return "" if ordinal is None or not only_over(int(self._refused[ordinal])) else self._known(item).name

    def keys_for(self, evidence: Evidence) -> list[UseKey]:
        """The keys that the reader may see of an item that was found, what speaks most for it first."""
        keys = self.visible_keys(evidence.item)
        if len(keys) < 2 or not evidence.best_keys:
            return keys
        places = {
            (row.kind, row.text, row.audience): (not in_base, number)
            for row, (in_base, number) in self._overlay.numbered(evidence.item).items()
        }

        def speaks(key: UseKey) -> bool:
            row = row_of_key(key)
            return places.get((row.kind, row.text, row.audience)) in evidence.best_keys

        return sorted(keys, key=speaks, reverse=True)

    def visible_items(self) -> Iterable[Item]:
        """Every item that the reader may see."""
        return (self._known(item.id) for item in self._overlay.state.all() if self.sees(item.id))

    def refused_items(self) -> Iterator[Item]:
        """Every item that some rule keeps from the reader; for the owner alone, as `refused_by` is."""
        return (item for item in self._overlay.state.all() if self.refused_by(item.id) is not None)

    def named(self, request: str) -> dict[str, int]:
        """Ids of the items that a request names, with their place in the order of naming."""
        return self._hear(request)[0]

    def hear_name(self, request: str, item: str) -> Verdict | None:
        """Whether a name of the item that stands in the request is meant as one, and why; None when there is none."""
        return self._hear(request)[1].get(item)

    def _hear(self, request: str) -> tuple[dict[str, int], dict[str, Verdict]]:
        """What the request names, by place, and of all names that stand in it whether they are meant."""
        judge = Judge(self._known, self._phrases, self._encoders.names.encode, self._recent)
        tables = (self._overlay.names, self._overlay.base.names)
        request = heard(request)
        spans = named_in(request, tables, self.sees, self.is_word, judge, self.sees_if_asked)
        ids = [item for span in spans for item in sorted(self.versions.settle(span, request))]
        return {item: place for place, item in enumerate(dict.fromkeys(ids))}, judge.verdicts

    def _known(self, item: str) -> Item:
        found = self.know(item)
        assert found is not None, "an id without an item"  # noqa: S101 - names and ordinals are made with their items
        return found

    def _phrases(self, item: Item) -> Iterable[str]:
        return (key.phrase for key in self.visible_keys(item) if not key.negative)

    def is_word(self, word: str) -> bool:
        """Whether a lower-case word is an ordinary one, of this owner or of the language."""
        return is_common(word) or self._encoders.is_word(word)

    def linked(self, seeds: Iterable[str]) -> dict[str, Link]:
        """Items that were used together with these visible ones, by id, as far as the reader may know."""
        if not (seeds := list(seeds)):
            return {}
        policies = self._overlay.policies
        sessions = np.flatnonzero(self._visible & policies.of_kind("session"))
        latest = best_of(policies.recorded[sessions], sessions, MOST_SESSIONS, self._overlay.id_of)
        lately = [self._overlay.id_of(ordinal).partition(":")[2] for ordinal in latest]
        eyes = Eyes(self._overlay.state.uses, self._reader.meets, self._knows, self.sees)
        return neighbours(eyes, seeds, lately, self._now)

    def _knows(self, session: str) -> bool:
        """Whether what was used in a session may count: the reader sees it, or nothing of it was ever recorded."""
        item = f"session:{session}"
        return self._overlay.ordinal(item) is None or self.sees(item)

    def _sees_use(self, use: Use) -> bool:
        return self._reader.meets(use.audience) and self.sees(use.item)

    def find(self, request: str, *, names: bool = True, links: bool = True, also: Iterable[str] = ()) -> list[Evidence]:
        """Evidence for every item that some route brings in, in no particular order.

        A request without a known word has no meaning route, and one without any index term no word route. Without
        `names` a name is a word like any other, and without `links` neither what was used together nor what was meant
        by "last time" is looked at: what the evaluation compares with. Items of `also` that the reader may see are
        weighed though no route brings them in.
        """
        request = heard(request)
        looked, weight = self._looks(request)
        named, verdicts = self._hear(request) if names else ({}, {})
        linked = self.linked(named) if links else {}
        asked = (*named, *linked, *filter(self.sees, also))
        ordinals = dict.fromkeys(o for item in asked if (o := self._overlay.ordinal(item)) is not None)
        for kind in (USE, TOPIC, OPENING, TEXT):
            for route in zip(*(look.best(kind, WIDTH) for look in looked), strict=True):
                ordinals |= dict.fromkeys(self._best_items(route))
        self._compare(looked, ordinals)
        last_time = self._meant(request, looked) if links else {}
        ordinals |= dict.fromkeys(last_time)
        self._compare(looked, last_time)
        found = [self._weigh(ordinal, looked, named, weight) for ordinal in ordinals]
        for ordinal, evidence in zip(ordinals, found, strict=True):
            evidence.last_time = last_time.get(ordinal, 0.0)
            if (verdict := verdicts.get(evidence.item.id)) is not None and not verdict.counts:
                evidence.doubt(verdict.unlike)
            if (link := linked.get(evidence.item.id)) is not None:
                evidence.link, evidence.linked_to = link.strength, link.seed
            if self._weights:
                evidence.hold_back()
        return [*found, *self._dated(request, found)] if names else found

    def _dated(self, request: str, found: list[Evidence]) -> Iterator[Evidence]:
        """The old versions whose date is said; marks the newest ones that stand back for an old one."""
        known = {evidence.item.id: evidence for evidence in found}
        place = 1 + max((evidence.named for evidence in found), default=-1)
        for old, newest in self.versions.asked_for(request, self._recent, self._now, [e.item for e in found]):
            if old not in known:
                stands = known[newest]
                yield Evidence(self._known(old), named=place if stands.named < 0 else stands.named)
                stands.named, stands.stands_back_for = -1, old
        for item in [item for item in known if self.sees_if_asked(item)]:
            now = self.versions.newest(item)
            if now is not None and now.id in known and known[now.id].named < 0:
                known[now.id].stands_back_for = item

    def _best_items(self, found: Iterable[Best]) -> list[int]:
        """Items of the WIDTH best rows of all segments. Which of them stand in the snapshot has no say."""
        scores, ordinals = map(np.concatenate, zip(*found, strict=True))
        return best_of(scores, ordinals, WIDTH, self._overlay.id_of)

    def _compare(self, looked: list[Look], ordinals: Iterable[int]) -> None:
        for look, rows in zip(looked, zip(*map(self._overlay.rows, ordinals), strict=True), strict=False):
            look.compare_all(rows)

    def _meant(self, request: str, looked: list[Look]) -> dict[int, float]:
        """What a request that points back means, by ordinal; nothing for another one."""
        back = points_back(request, self._now)
        if back is None:
            return {}
        policies = self._overlay.policies
        pool = self._visible & (policies.of_kind("session") | policies.of_kind("approach"))
        if (present := self._overlay.ordinal(f"session:{self._session}")) is not None:
            pool[present] = False
        asked = Asked(back, self._recent, self._project, self._now)
        places = [Place(*place) for place in self._places]
        return meant(asked, self._overlay, places, pool, lambda found: self._meanings(found, looked), self._sees_use)

    def _meanings(self, ordinals: Iterable[int], looked: list[Look]) -> dict[int, float]:
        """For each item the cosine of its best visible topic."""
        self._compare(looked, ordinals)
        return {
            ordinal: max(
                (
                    meaning
                    for look, rows in zip(looked, self._overlay.rows(ordinal), strict=True)
                    for _, kind, _, meaning in look.facts(rows)
                    if kind in {TOPIC, TEXT}
                ),
                default=0.0,
            )
            for ordinal in ordinals
        }

    def best_rows(self, request: str) -> Callable[[], dict[Route, Scores]]:
        """For each route the score of every item's best visible row, by ordinal; 0 where nothing matches.

        Every row is compared, also those that `find` leaves to a graph: it is exact, and slow. So what stands in the
        snapshot is left for the call of what this returns, which nobody has to wait for: a snapshot never changes.
        """
        looked, _ = self._looks(heard(request))
        best: dict[Route, Scores] = {route: np.zeros(len(self._visible)) for route in get_args(Route)}
        base, *others = looked
        for look in others:
            _raise_all(look, best)

        def finish() -> dict[Route, Scores]:
            _raise_all(base, best)
            return best

        return finish

    def row_fits(self, request: str, item: Item) -> dict[Row, tuple[float, float]]:
        """For each visible row of an item, put down with weight 1, its word score and its cosine as weighed."""
        looked, _ = self._looks(heard(request))
        ordinal = self._overlay.ordinal(item.id)
        if ordinal is None:
            return {}
        self._compare(looked, [ordinal])
        fits = [
            {row: (words, meaning) for row, _, words, meaning in look.facts(rows)}
            for look, rows in zip(looked, self._overlay.rows(ordinal), strict=True)
        ]
        places = {row: (not in_base, number) for row, (in_base, number) in self._overlay.numbered(item).items()}
        return {
            row._replace(weight=1.0): fits[look][number]
            for row, (look, number) in places.items()
            if number in fits[look]
        }

    def _looks(self, request: str) -> tuple[list[Look], float]:
        """What each segment has to say to a request, and what the request's words weigh together."""
        vectors = self._encoders.encode_request(request)
        asked = request_terms(request, languages_in([segment.postings for segment, _ in self._places]))
        words, weight = score(asked, [(segment.postings, mask) for segment, mask in self._places])
        places = zip(self._places, words, strict=True)
        # What was learned of a key was learned from all that happened, and so is for the owner alone.
        owner = self._reader.is_owner
        learned = self._weights and owner
        return [Look(s, mask, vectors, found, weights=learned, exact=not owner) for (s, mask), found in places], weight

    def _item(self, ordinal: int) -> Item:
        return self._known(self._overlay.id_of(ordinal))

    def _weigh(self, ordinal: int, looked: list[Look], named: dict[str, int], weight: float) -> Evidence:
        item = self._item(ordinal)
        evidence = Evidence(item, named=named.get(item.id, -1), request_weight=weight)
        texts: list[tuple[float, str]] = []
        needs: list[tuple[float, tuple[bool, int]]] = []
        for look, rows in zip(looked, self._overlay.rows(ordinal), strict=True):
            for row, kind, words, meaning in look.facts(rows):
                evidence.take(kind, words, meaning)
                if kind == USE:
                    needs.append((words + max(meaning, 0.0), (look is not looked[0], row)))
                if kind in {TOPIC, OPENING, TEXT}:
                    texts.append((words + max(meaning, 0.0), look.segment.anchor(row)))
        most = max((need for need, _ in needs), default=0.0)
        evidence.best_keys = frozenset(place for need, place in needs if need == most > 0)
        # Of a session the turn is wanted, also when its project or outcome says it better.
        texts = [text for text in texts if text[1]] or texts if item.kind == "session" else texts
        evidence.best_text = max((text for text, _ in texts), default=0.0)
        if evidence.best_text:
            evidence.anchor = min(anchor for text, anchor in texts if text == evidence.best_text)
        elif item.kind == "session" and item.parts:
            evidence.anchor = item.parts[0].anchor
        return evidence


def _raise_all(look: Look, best: dict[Route, Scores]) -> None:
    look.raise_to_best(USE, best["use_words"], best["use_meaning"])
    look.raise_to_best(TOPIC, best["topic_words"], best["topic_meaning"])
    look.raise_to_best(OPENING, best["topic_words"], best["topic_meaning"])
    look.raise_to_best(TEXT, best["topic_words"], best["text_meaning"])
