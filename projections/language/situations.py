"""Situations: what a description itself says about when a thing helps ("Use when ..."), taken out as phrases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 300
"""Characters of one phrase."""
MOST: Final = 16
"""Phrases of one description. A longer list is one of features."""
READ: Final = 8_000
"""Characters of a description that are read."""

FEW: Final = 2
"""So many phrases in quotation marks are examples of what is asked, and not a word that is spoken of."""

_BEGINS = re.compile(
    r"\b(?:"
    r"(?:use[ds]?|invoke[ds]?|activate[ds]?|apply|applies|triggers?|call(?:ed)?|run)"
    r"(?: (?:this|it|the|me))?(?: (?:skill|tool|machine|approach))?(?: (?:proactively|automatically|only|also))?,?"
    r" (?:when(?:ever)?|for|if)"
    r"|(?:useful|helpful|handy|helps|good|best|ideal|perfect|needed|required|meant|made)(?: only)?"
    r" (?:when(?:ever)?|if|for)"
    r"|when to use(?: (?:this|it))?(?: skill)?(?=:)|use cases?(?=:)|trigger (?:phrases|words)(?=:)"
    r"|triggers? (?:on|includes?)|(?<![^.!?] )(?<![^.!? ])when(?= (?:the |an? )?(?:user|owner)s?\b)"
    r"|(?:verwende[nt]?|nutze[nt]?|benutze[nt]?)(?: (?:dies\w*|es|sie|ihn))?,? (?:wenn|falls|für)"
    r"|(?:à )?utilise[rz]?(?: (?:ceci|cela|le|la))? (?:quand|lorsque|pour|si)"
    r"|usar?(?:lo|la)? (?:cuando|para|si)"
    r")\b|(?:^|[.!?]\s+|\n\s*)for(?=:)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?][\"'\u201d\u2019)]?(?=\s+[^a-z\s]|\s*$)|\n\s*\n")
_REFUSED = re.compile(r"(?:\b(?:not|never|nicht|jamais|pas|no|nunca)|n['\u2019]t)\s+(?:be\s+)?$", re.IGNORECASE)
_APART = re.compile(r";\s+|\s*\n\s*[-*\u2022]\s+|(?:^|[,:;]?\s+)(?:(?:and|or) )?\(?\d{1,2}\)\s+")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{2,80}'(?!\w)|[\u201c\u2018][^\u201c\u201d\n]{1,80}[\u201d\u2019](?!\w)"
)
_HEADING = re.compile(
    r"^#{1,4}[ \t]+when to use(?: this| it)?(?: skill)?(?: \([^)\n]*\))?[ \t:]*$", re.IGNORECASE | re.MULTILINE
)
_NEXT_HEADING = re.compile(r"^(?:#{1,6}[ \t]|```)", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+\u2022]|\d{1,2}[.)])[ \t]+(.+)$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_MARKS: Final = " \t\n.,;:!?-*\u2022\"'\u2018\u2019\u201c\u201d"
_WHO = re.compile(
    r"(?:(?:and|or|things like|such as|asked (?:to|for|about))\b\W*)*"
    r"(?:(?:(?:(?:the |an? )?(?:user|owner|agent|assistant|claude|person|customer)s?|you|somebody|someone|people) )?"
    r"(?:explicitly |specifically )?"
    r"(?:(?:ask|want|need|request|wish|would like)(?:s|ed|ing)?(?: (?:you|claude))?"
    r" (?:to|for help with|for|about|help with)|mention(?:s|ed|ing)?|says?)\b\W*)?"
    r"(?:(?:and|or|things like)\b\W*)*",
    re.IGNORECASE,
)
"""How such a sentence begins that nobody types: "the user asks to"."""


def situations(description: str, text: str = "") -> tuple[str, ...]:
    """The situations that sentences such as "Use when ..." name, in order; what "do not use when" names is left out.

    A list in such a sentence gives a phrase each, and so do several examples in quotation marks.

    Args:
        description: where such sentences are looked for.
        text: Markdown, in which a list below the heading "When to use" is looked for.
    """
    said = [part for sentence in _sentences(description[:READ]) for part in _parts(sentence)]
    phrases = map(_phrase, [*said, *_listed(text)])
    return tuple(dict.fromkeys(phrase for phrase in phrases if any(map(str.isalpha, phrase))))[:MOST]


_HINTS: Final = (
    *("when", "for:", "use case", "trigger", " for", " if", " wenn", " falls", " für", " quand", " lorsque", " pour"),
    *(" si", " cuando", " para"),
)
"""One of these is in whatever `_BEGINS` finds. To look for them first takes a tenth of the time."""


def _sentences(text: str) -> Iterator[str]:
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return
    for begin in _BEGINS.finditer(text):
        if not _REFUSED.search(text[max(begin.start() - 16, 0) : begin.start()]):
            rest = text[begin.end() :].lstrip(" :,\t")
            end = _ENDS.search(rest)
            yield rest[: end.start()] if end else rest


def _listed(text: str) -> Iterator[str]:
    heading = _HEADING.search(text)
    if heading is None:
        return
    section = text[heading.end() : heading.end() + READ]
    end = _NEXT_HEADING.search(section)
    for bullet in _BULLET.finditer(section[: end.start()] if end else section):
        yield from _parts(_EMPHASIS.sub("", bullet[1]))


def _parts(sentence: str) -> Iterator[str]:
    for part in _APART.split(sentence):
        quoted = _QUOTED.findall(part)
        if len(quoted) < FEW:
            yield part
            continue
        yield from quoted
        left = _QUOTED.split(part)[-1]
        if len(_phrase(left).split()) >= FEW:
            yield left


def _phrase(part: str) -> str:
    line = " ".join(part.split()).strip(_MARKS)
    begin = _WHO.match(line)
    line = line[begin.end() :] if begin else line
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "\u2026"
