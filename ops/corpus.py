"""A made-up owner of any size, for `bench`: the same seed gives the same items, word for word.

Words follow Zipf's law as those of real notes do, so that posting lists have the right lengths: a few words stand in
nearly every item, most in hardly any. The frequent ones are English function words, the rest are made of syllables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ..events.envelope import OWNER_ONLY, EventDraft, draft
from ..events.types import AssetKind, AssetRecorded, NoteRecorded

_FUNCTION_WORDS = (
    "the of and to a in is that it for was on with as be at by this are from or have an they which one had not but "
    "what all were when we there can your has more if out so up about into than them only some could other then do"
)
_FUNCTION_COUNT = len(_FUNCTION_WORDS.split())
VOCABULARY = 40_000
ASSET_SHARE = 5
"""Every fifth item is an asset, the others are notes."""

_ONSETS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
)
_VOWELS = ("a", "e", "i", "o", "u", "ea")
_ENDINGS = ("", "n", "r", "l", "t", "nd", "ck", "ning", "ter", "rs")


@dataclass(frozen=True)
class Words:
    """A vocabulary, most frequent first, and how it is drawn from."""

    words: tuple[str, ...]
    cumulative: np.ndarray[tuple[int], np.dtype[np.float64]]

    def draw(self, rng: np.random.Generator, count: int) -> list[str]:
        """`count` words by frequency."""
        last = len(self.words) - 1
        return [self.words[min(int(at), last)] for at in np.searchsorted(self.cumulative, rng.random(count))]

    def draw_rare(self, rng: np.random.Generator, count: int) -> list[str]:
        """`count` words, each as likely as the other, none of them a function word."""
        return [self.words[int(at)] for at in rng.integers(_FUNCTION_COUNT, len(self.words), count)]


def make_words(seed: int = 0, size: int = VOCABULARY) -> Words:
    """A vocabulary of `size` distinct words."""
    rng = np.random.default_rng(seed)
    made = dict.fromkeys(_FUNCTION_WORDS.split())
    while len(made) < size:
        made.setdefault(_word(rng))
    weights = 1.0 / (np.arange(1, len(made) + 1) + 2.7) ** 1.05
    return Words(tuple(made), np.cumsum(weights / weights.sum()))


def make_drafts(items: int, *, seed: int = 0, scopes: int = 0) -> Iterator[EventDraft]:
    """Events for `items` items: four notes of 40 to 100 words, then an asset with name, description and a use key.

    With `scopes` each item is for one or two of that many (see `scope`); without, for the owner alone.
    """
    words = make_words(seed)
    rng = np.random.default_rng([seed, 1])
    labels = np.random.default_rng([seed, 4])
    for number in range(items):
        event = _asset(number, words, rng) if number % ASSET_SHARE == ASSET_SHARE - 1 else _note(number, words, rng)
        drawn = sorted(set(labels.integers(scopes, size=int(labels.integers(1, 3))).tolist())) if scopes else []
        yield draft(event, audience=tuple(map(scope, drawn)) or OWNER_ONLY)


def scope(number: int) -> str:
    """The label of one of the made-up scopes, from 0."""
    return f"scope-{number + 1:02d}"


def make_requests(count: int, drafts: Sequence[EventDraft], *, seed: int = 0) -> list[str]:
    """Requests of 3 to 12 words: words of some item among others, and one time in ten an asset's name too."""
    words = make_words(seed)
    rng = np.random.default_rng([seed, 2])
    made: list[str] = []
    for number in range(count):
        event = drafts[int(rng.integers(len(drafts)))].event
        picked = words.draw(rng, int(rng.integers(2, 6)))
        said = _said(event)
        if said:
            picked += [said[int(at)] for at in rng.integers(len(said), size=int(rng.integers(1, 5)))]
        rng.shuffle(picked)
        if number % 10 == 0 and isinstance(event, AssetRecorded):
            picked += ["use", *event.name.split("-")]
        made.append(" ".join(picked))
    return made


def _said(event: object) -> list[str]:
    match event:
        case NoteRecorded(text=text) | AssetRecorded(description=text):
            return text.split()
    return []


def _note(number: int, words: Words, rng: np.random.Generator) -> NoteRecorded:
    text = " ".join(words.draw(rng, int(rng.integers(40, 101)))) + "."
    heading = " ".join(words.draw_rare(rng, 2)).capitalize()
    path = f"notes/{number // 20:05d}.md#{number}"
    return NoteRecorded(item=f"note:{path.removeprefix('notes/')}", name=heading, text=text, address=path)


def _asset(number: int, words: Words, rng: np.random.Generator) -> AssetRecorded:
    kinds = get_args(AssetKind)
    kind: AssetKind = kinds[number // ASSET_SHARE % len(kinds)]
    name = "-".join(words.draw_rare(rng, 2))
    return AssetRecorded(
        item=f"{kind}:{name}-{number}",
        kind=kind,
        name=name,
        description=" ".join(words.draw(rng, int(rng.integers(12, 31)))).capitalize() + ".",
        address=f"{kind}s/{name}-{number}",
        use_when=(" ".join(words.draw(rng, 8)),),
    )


def _word(rng: np.random.Generator) -> str:
    """Two or three open syllables and an ending, as in `malotter`."""
    parts = [_ONSETS, _VOWELS] * int(rng.integers(2, 4)) + [_ENDINGS]
    return "".join(part[int(at)] for part, at in zip(parts, rng.integers([len(part) for part in parts]), strict=True))
