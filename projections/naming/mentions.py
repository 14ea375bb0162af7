"""Mentions: words of a request that spell a name, and what English says of them by what stands around them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from rapidfuzz.distance import OSA

from ..items import Item
from ..language.languages import LATIN, languages_of
from . import english
from . import grammar as g
from .sentence import Token, tokens

_FEW: Final = 2
"""Words that are too few to tell a language by."""
_TELLING: Final = 24
"""Words before and behind that are enough."""
_ADJECTIVES: Final = 2
"""Words between a determiner and its noun that are looked past."""


class Mention:
    """Words `first` to `last` (exclusive) of a sentence that spell a name of an item, and what stands around them."""

    def __init__(
        self, sentence: Sequence[Token], first: int, last: int, item: Item, spelled: frozenset[int] = frozenset()
    ) -> None:
        self.sentence, self.first, self.last, self.item = sentence, first, last, item
        self._spelled = spelled
        self.words = [token.word for token in sentence[first:last]]
        self.typed = "".join(self.words)
        self.names = {"".join(t.word for t in tokens(name)) for name in (item.name, *item.aliases)}

    def around(self, most: int) -> list[str]:
        """The words of its sentence that spell no name, from at most so many on each side."""
        first, last = self.first, self.last
        while first > max(self.first - most, 0) and not self.sentence[first].starts:
            first -= 1
        while last < min(self.last + most, len(self.sentence)) and not self.sentence[last].starts:
            last += 1
        near = (*range(first, self.first), *range(self.last, last))
        return [self.sentence[at].word for at in near if at not in self._spelled]

    @cached_property
    def meant(self) -> str:
        """The name that was meant: the closest to what was typed."""
        return min(sorted(self.names), key=lambda name: OSA.distance(name, self.typed))

    @cached_property
    def article(self) -> bool:
        """Whether the name itself begins with an article ("the rover")."""
        return len(self.words) > 1 and self.words[0] in g.DETERMINERS

    @cached_property
    def ordinary(self) -> bool:
        """Whether what was typed, or what it is a slip of, is an ordinary word: only then evidence is needed."""
        if len(self.words) - self.article > 1:
            return english.is_word(self.typed)
        return english.is_word(self.words[-1]) or english.is_word(self.meant)

    @cached_property
    def foreign(self) -> bool:
        """Whether the sentence is not in English, whose grammar is the only one known here."""
        others = self.around(_TELLING)
        if 0 < len(languages_of(others)) < len(LATIN):
            return True
        return len(others) > _FEW and sum(map(english.is_common, others)) * 2 < len(others)

    @cached_property
    def before(self) -> str:
        """The word in front within the same part of the sentence; empty when there is none."""
        return "" if self.first == 0 or self.begins else self.sentence[self.first - 1].word

    @cached_property
    def after(self) -> str:
        """The word behind within the same part of the sentence; empty when there is none."""
        return self._word(self.last)

    @property
    def begins(self) -> bool:
        """Whether a part of the sentence begins with it."""
        return self.first == 0 or self.sentence[self.first].begins

    @property
    def owns(self) -> bool:
        """Whether something of it is spoken of: "heron's lens", and "herons lens" as it is often typed."""
        herons = self.plural and self.before not in g.PLURAL_AUXILIARIES and self._noun(self.last)
        return self.sentence[self.last - 1].owns or herons

    @cached_property
    def plural(self) -> bool:
        """Whether it has the -s of a plural which the name itself has not."""
        one = (self.typed[:-1], self.typed[:-2]) if self.typed.endswith("es") else (self.typed[:-1],)
        return self.typed.endswith("s") and self.typed not in self.names and bool(self.names.intersection(one))

    @cached_property
    def determiner(self) -> str:
        """The determiner, number or possessor in front, adjectives looked past; empty when it stands bare."""
        if self.article or self.before in self._kinds:
            return ""
        for at in range(self.first - 1, max(self.first - 2 - _ADJECTIVES, -1), -1):
            if self.sentence[at + 1].begins:
                return ""
            token = self.sentence[at]
            if token.owns and token.word in g.FUNCTION:
                return ""  # "what's" and "where's" are no possessors
            if token.word in g.DETERMINERS or token.word.isdigit() or token.owns:
                return token.word
            if token.word in g.FUNCTION or self._verb(at):
                return ""
        return ""

    @property
    def bare(self) -> bool:
        """Whether it stands without determiner, as a proper name does."""
        return not self.determiner and not self.article

    @cached_property
    def qualified(self) -> bool:
        """Whether an adjective or a noun in front says which one: "sweet popcorn"."""
        at = self.first - 1
        return bool(self.before) and self.before not in g.FUNCTION and not self.before.isdigit() and not self._verb(at)

    @property
    def run(self) -> bool:
        """Whether something is done or asked that makes sense with such a thing alone: "reboot the heron"."""
        at = self.first - (2 if self.before in g.DETERMINERS else 1)
        return self.after in g.HAS or (at >= 0 and bool(self.before) and self.sentence[at].word in g.RUNS)

    @cached_property
    def acts(self) -> bool:
        """Whether it does something in the sentence: "is heron up", "heron shows"."""
        if self.plural:
            return self.before in g.SINGULAR_AUXILIARIES - g.PLURAL_AUXILIARIES
        asked = self.before in g.SINGULAR_AUXILIARIES or (bool(self.before) and self.sentence[self.first - 1].owns)
        return asked or self._finite(self.last)

    @cached_property
    def qualifies(self) -> bool:
        """Whether it says what sort the noun behind it is: "percolator coffee"."""
        return not self.owns and not self._asked_about and self._noun(self.last)

    @property
    def _asked_about(self) -> bool:
        """Whether an auxiliary stands in front of it and its determiner: what follows is then a verb."""
        at = self.first - (2 if self.before in g.DETERMINERS else 1)
        return at >= 0 and self.sentence[at].word in g.AUXILIARIES

    @property
    def operated(self) -> bool:
        """Whether the owner does something with it: "ask heron", "look at heron"."""
        at = self.first - (2 if self.before in {"at", "on", "off", "up"} else 1)
        return at >= 0 and bool(self.before) and self.sentence[at].word in g.OPERATES

    @property
    def verb(self) -> bool:
        """Whether it is an ordinary verb in the place of one: "nudge the picnic", "want to nudge her"."""
        if not any(map(english.is_common, _past_forms(self.typed))):
            return False
        object_follows = self.after in g.DETERMINERS | g.PRONOUNS
        return self.before in g.VERB_SLOT or (object_follows and (self.begins or self.before in g.JOINS | g.ADVERBS))

    @property
    def derived(self) -> bool:
        """Whether it is another ordinary word made of the name: "sandbagging"."""
        ending = self.typed.endswith(("ed", "ing", "er", "ers"))
        return ending and self.typed not in self.names and not self.plural and english.is_word(self.words[-1])

    @property
    def kind_beside(self) -> bool:
        """Whether what it is called besides stands next to it: "the heron machine", "the skill heron"."""
        return self.after in self._kinds or self.before in self._kinds

    @property
    def _kinds(self) -> frozenset[str]:
        return g.THINGS | g.KIND_WORDS.get(self.item.kind, frozenset())

    @property
    def capital(self) -> bool:
        """Whether a capital sets it off from its sentence."""
        before = self.sentence[max(self.first - _TELLING, 0) : self.first]
        others = [token.written for token in (*before, *self.sentence[self.last : self.last + _TELLING])]
        return (
            self.sentence[self.first].written[0].isupper()
            and (not self.begins or self.sentence[self.first].written.isupper())
            and any(word[0].islower() for word in others)
            and sum(word[0].isupper() for word in others) * 2 < len(others)
        )

    @property
    def quoted(self) -> bool:
        """Whether the name stands in quotation marks."""
        return (
            self.typed in self.names
            and self.sentence[self.first].opens_quote
            and self.sentence[self.last - 1].closes_quote
        )

    @property
    def whole(self) -> bool:
        """Whether nothing else was typed."""
        return self.last - self.first == len(self.sentence)

    @property
    def asked_for(self) -> bool:
        """Whether the word itself is what is asked for: "what does squint mean"."""
        return self.before in g.ABOUT_WORDS or self.after in {"mean", "means", "meaning", "definition"}

    @property
    def chosen_among(self) -> bool:
        """Whether it is one of several goods: "badger or fox"."""
        return bool({self.before, self.after} & {"or", "nor", "vs", "versus"})

    @property
    def described(self) -> bool:
        """Whether what follows tells which sort is meant: "jigsaw with 1000 pieces"."""
        return self.begins and self.after in {"with", "without", "of", "made"}

    @property
    def measured(self) -> bool:
        """Whether it is a stuff, or one of its sort: "a bag of popcorn"."""
        return self.before == "of" and self.sentence[self.first - 2].word in g.MEASURES if self.first > 1 else False

    def _word(self, at: int) -> str:
        return "" if at >= len(self.sentence) or self.sentence[at].begins else self.sentence[at].word

    def _noun(self, at: int) -> bool:
        """Whether a word is neither one that holds the sentence together nor a verb with its ending."""
        word = self._word(at)
        progressive = word.endswith("ing") and not self.begins
        other = word in g.FUNCTION | g.STATES or word.isdigit() or progressive or self._finite(at)
        return bool(word) and not other

    def _finite(self, at: int) -> bool:
        """Whether a word is a verb of which a single thing is the subject."""
        word = self._word(at)
        if word in g.SINGULAR_AUXILIARIES or word in g.IRREGULAR or (word.endswith("ed") and len(word) > 4):
            return True
        return word.endswith("s") and (
            bool(g.DOES.intersection((word[:-1], word[:-2]))) or self._word(at + 1) in g.DETERMINERS
        )

    def _verb(self, at: int) -> bool:
        """Whether a word in front is a verb: by its ending, or by standing where verbs do."""
        word = self.sentence[at].word
        if word in g.OPERATES or word in g.IRREGULAR or (word.endswith(("ed", "ing")) and len(word) > 4):
            return True
        if word.endswith("s") and g.DOES.intersection((word[:-1], word[:-2])):
            return True
        if at > 0 and self.sentence[at - 1].word in g.SUBJECTS and not self.sentence[at].begins:
            return True
        starts = at == 0 or self.sentence[at].begins or self.sentence[at - 1].word in g.VERB_SLOT | g.JOINS | g.ADVERBS
        return starts and any(map(english.is_common, _past_forms(word)))


def _past_forms(word: str) -> tuple[str, str, str]:
    return word + "ed", word + "d", word + word[-1:] + "ed"
