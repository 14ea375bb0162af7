"""Whether a word that is somebody's name for a thing is meant as that name, or as the ordinary word that it also is.

"is heron up" and "a heron stands in the pond" hold the same word. English tells them apart: a common noun in the
singular needs a determiner, a proper name stands bare. So each mention gets points for and against, one by each cue of
`CUES` that fits, and counts as the name from `ENOUGH` points:

* bare is one point; an article, a possessive or a number in front takes points away, and needs to be outweighed by
* marks of a name: a capital inside the sentence, quotation marks, the kind of thing next to it ("the heron machine");
* what the rest of the sentence is about: words that it shares with the item, and which it is closer to in meaning, the
  item or the ordinary word;
* uses that a name does not have: a choice of goods ("badger or fox"), one noun telling the sort of the next
  ("percolator coffee"), a common verb ("nudge the picnic"), a question for the word itself.

A name that is no ordinary word (made up, foreign, several words) needs no evidence. Without enough of it a mention is a
word like any other: the item is scored by what it says, as every item is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from ..items import Item
from ..language.words import tokenize
from ..meaning.encoder import FloatArray
from . import english
from . import grammar as g
from .mentions import Mention
from .sentence import Token, tokens

ENOUGH: Final = 1
"""Points from which a mention counts as a name."""
_STEP: Final = 0.12
"""How much more the sentence is about the item than about the ordinary word, as cosines of the bulk encoder, for each
point; the same the other way round takes points away."""
_MOST_STEPS: Final = 2
"""Meaning alone must not outweigh a sentence whose form leaves no doubt."""

_LITERAL: Final = 0.45
"""Cosine of a name's word with the item from which the name says what the thing is."""
_AROUND: Final = 24
"""Words before and behind a mention that say what its sentence is about; a paste may go on for long."""
_COMPARED: Final = 8
"""Mentions of one request that are compared by meaning, some tenths of a millisecond each; those behind go without."""

Encode = Callable[[Sequence[str]], FloatArray]


class Verdict(NamedTuple):
    """Whether a mention counts as a name, and why."""

    counts: bool
    why: str
    unlike: float = 0.0
    """How little the ordinary word has to do with the item, 0 to 1: a "budget" is much like a budget, a machine called
    "toad" little like a toad."""


class Cue(NamedTuple):
    """One thing that speaks for a name, or (with points below zero) against it."""

    points: int
    why: str
    fits: Callable[[Mention], bool]


CUES: Final = (
    Cue(1, "it stands without an article", lambda m: m.bare),
    Cue(-1, "an article stands before it", lambda m: m.determiner in g.DEFINITE),
    Cue(-3, "it is one of many", lambda m: m.determiner in g.INDEFINITE or m.determiner.isdigit()),
    Cue(-2, "it is somebody's", lambda m: bool(m.determiner) and m.determiner not in g.DEFINITE | g.INDEFINITE),
    Cue(3, "nothing else is said", lambda m: m.whole),
    Cue(3, "it is quoted", lambda m: m.quoted),
    Cue(3, "the kind of thing stands next to it", lambda m: m.kind_beside),
    Cue(2, "it has a capital", lambda m: m.capital),
    Cue(2, "it is written apart", lambda m: len(m.words) - m.article > 1),
    Cue(2, "something is done with it", lambda m: not m.determiner and m.operated),
    Cue(2, "only a thing that runs is spoken of so", lambda m: m.run),
    Cue(1, "it does something", lambda m: not m.determiner and m.acts),
    Cue(-1, "it is a plural", lambda m: m.plural and not m.owns),
    Cue(-1, "it tells the sort of the next word", lambda m: m.qualifies and not m.kind_beside),
    Cue(-2, "another word tells its sort", lambda m: not m.determiner and m.qualified and not m.kind_beside),
    Cue(-2, "it is one of a choice", lambda m: m.chosen_among),
    Cue(-3, "what follows tells its sort", lambda m: m.described),
    Cue(-2, "it is a stuff", lambda m: m.measured),
    Cue(-2, "it is a verb", lambda m: m.verb),
    Cue(-2, "it is another word", lambda m: m.derived),
    Cue(-3, "the word itself is asked for", lambda m: m.asked_for),
)
"""Everything that the sentence's form can say; see the module for the reasons."""


class Judge:
    """Decides whether mentions count as names. Made for one request of one reader; knows only what that reader may."""

    def __init__(
        self,
        item: Callable[[str], Item],
        phrases: Callable[[Item], Iterable[str]],
        encode: Encode,
        recent: Sequence[str] = (),
    ) -> None:
        """
        Args:
            item: an item by its id.
            phrases: those use keys of an item that the reader may see.
            encode: texts to rows of meaning.
            recent: the lines of the chat before the request.
        """  # noqa: D205, D212 - nothing to say but the arguments
        self._item, self._phrases, self._encode = item, phrases, encode
        self._recent = [tokens(line) for line in recent]
        self._compared = 0
        self.verdicts: dict[str, Verdict] = {}
        """On each item of which a name was said; one that counts, where there is one."""

    def __call__(
        self, sentence: Sequence[Token], first: int, last: int, item: str, names: frozenset[int] = frozenset()
    ) -> Verdict:
        """Weigh one mention. What was once meant by its name in a request is meant by it again.

        Args:
            sentence: the request.
            first: place of the first word that spells the name.
            last: place behind the last.
            item: whose name it is.
            names: places of all words that spell a name: what they say of each other is no evidence.
        """
        known = self.verdicts.get(item)
        if known is not None and known.counts:
            return known
        verdict = self._weigh(Mention(sentence, first, last, self._item(item), names))
        self.verdicts[item] = verdict
        return verdict

    def _weigh(self, mention: Mention) -> Verdict:
        if not mention.ordinary:
            return Verdict(True, "it is no ordinary word")
        if mention.foreign:
            return Verdict(True, "the sentence is not in English")
        weighed = [(cue.points, cue.why) for cue in CUES if cue.fits(mention)]
        weighed += self._shared(mention)
        if self._said_before(mention):
            weighed.append((2, "it was named just before"))
        unlike = 0.0
        if sum(points for points, _ in weighed) < ENOUGH + _MOST_STEPS:
            meaning, unlike = self._meaning(mention)
            weighed += meaning
        counts = sum(points for points, _ in weighed) >= ENOUGH
        reasons = [why for points, why in sorted(weighed, reverse=counts) if (points > 0) == counts]
        return Verdict(counts, "; ".join(reasons), unlike)

    def _shared(self, mention: Mention) -> list[tuple[int, str]]:
        """Points for words that the sentence shares with the item; those that stand in every text say nothing."""
        told = [word for word in mention.around(_AROUND) if word not in g.FUNCTION and not english.is_frequent(word)]
        asked, own = map(set, tokenize([" ".join(told), self._says(mention)]))
        shared = len(asked & own)
        return [(min(shared + 1, 3), "the sentence shares words with it")] if shared else []

    def _meaning(self, mention: Mention) -> tuple[list[tuple[int, str]], float]:
        """Points for what the sentence is closer to, and how little the ordinary word has to do with the item."""
        self._compared += 1
        if self._compared > _COMPARED:
            return [], 0.0
        texts = [" ".join(mention.words), self._says(mention), " ".join(mention.around(_AROUND))]
        by_word, by_item, request = self._encode(texts)
        found = []
        steps = int(float(np.dot(by_item - by_word, request)) / _STEP)
        if steps:
            why = "the sentence is about what it is for" if steps > 0 else "the sentence is about the ordinary word"
            found.append((max(-_MOST_STEPS, min(_MOST_STEPS, steps)), why))
        alike = max(0.0, float(np.dot(by_word, by_item))) / _LITERAL
        if alike >= 1:
            found.append((2, "the name says what it is"))
        return found, max(0.0, 1 - alike)

    def _says(self, mention: Mention) -> str:
        """What the item says of itself, without its name: many a text begins with what it is about."""
        item = mention.item
        said = " ".join([*item.aliases, item.purpose, item.description, *self._phrases(item)])
        own = {mention.meant, *mention.words}
        return " ".join(token.word for token in tokens(said) if token.word not in own)

    def _said_before(self, mention: Mention) -> bool:
        """Whether one of the lines before names it in a way that leaves no doubt."""
        for line in self._recent:
            for at, token in enumerate(line):
                if token.word in mention.names:
                    earlier = Mention(line, at, at + 1, mention.item)
                    if sum(cue.points for cue in CUES if cue.fits(earlier)) > ENOUGH:
                        return True
        return False
