"""Requests that point back ("the way you got the water one", "same as in june"): what tells them, and what remains.

Only the request and the moment are looked at here; `look_back.py` finds the sessions that are meant. A cue is a pattern
with a weight, and several weak ones make a strong one, so that "again" alone (a lamp is on again) does not count.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import msgspec

from ...events.types import Millis
from ..language.scripts import has_unspaced
from .periods import Period, periods_in

ENOUGH: Final = 0.5
"""Strength from which a request points back."""
NO_DATE: Final = 0.7
"""What a time that is named leaves of the doubt."""
LISTENED: Final = 400
"""Characters of a long request's beginning and of its end that are looked at: what stands between them was pasted."""

_PAST: Final = (
    r"(?:\w{2,}ed|did|made|used|got|had|left|wrote|sent|found|took|gave|built|put|set|went|said|bought|ran|drove|cut|"
    r"chose|kept|sold|told|taught|thought|paid|met|held|saw|slept|brought|drew|read|let|knew|lent|dealt|done|wound|"
    r"hung|broke|spoke|stood|began|lost|won|sat|felt|heard|meant|shot|dug|fed|came|grew|stuck|hid|swept)"
)
_PARTICIPLE: Final = r"(?:\w*ge\w+(?:t|en)|\w+iert|(?:ver|be|ent|er)\w+(?:t|en))"
_BEFORE_WE: Final = "like|as|way|how|same|what|whatever|where|thing|things|trick|one|ones"
_AFTER_LIKE: Final = (
    "with|for|in|on|at|under|after|during|last|those|these|the (?:one|ones|first|last|previous|other|years?|times?)"
)

_ENGLISH: Final = (
    (0.9, r"last time", r"(?:as|like|than|from|one|ones|done|did|used) before", r"back then"),
    (0.7, r"the (?:last|previous|earlier|other) (?:one|ones|batch|round|run|job|chat|session|\w+ one)"),
    (0.6, r"previously", r"the \w+ before"),
    (
        0.9,
        rf"(?:{_BEFORE_WE}) (?:that )?(?:we|you|i)(?: had| have|'d|'ve)?(?: last| just| then| also)? {_PAST}",
    ),
    (0.6, rf"(?:that|the) \w+(?: \w+)? (?:that )?(?:we|you)(?: had| have|'d|'ve)? {_PAST}"),
    (0.7, r"(?:how|what|where|when|which \w+|who|why|at how \w+ \w+)(?: \w+)? (?:did|had) (?:we|you|i)"),
    (0.4, r"(?:did|had) (?:we|you)"),
    (0.6, rf"what (?:\w+ )?{_PAST}"),
    (0.3, rf"what (?:\w+ ){{1,4}}{_PAST}"),
    (0.6, r"(?:the|that|my|our|this) same (?!time\b|day\b|person\b|moment\b)\w+", r"same (?:as|way)"),
    (0.3, r"same(?! time\b)"),
    (0.6, r"^same"),
    (0.5, rf"(?:just |exactly )?(?:as|like) (?:{_AFTER_LIKE})"),
    (0.35, r"the \w+ from", r"(?:how|what) was it (?:that )?(?:we|you|i)", rf"how was it (?:we|you|i) {_PAST}"),
    (0.5, r"(?:once|one) more(?: time)?", r"(?:do|run|play|make|redo|repeat) (?:it|that|this) again"),
    (0.3, r"again"),
    (0.3, r"another", r"this time", r"as well", r"repeat", r"redo", r"reuse"),
)
_GERMAN: Final = (
    (0.9, r"(?:letzte[ns]?|vorige[ns]?) mal", r"damals", r"wie gehabt"),
    (0.9, r"wie (?:schon )?(?:zuvor|vorher|neulich|letztens|immer)"),
    (0.6, r"(?:das|die|den|dem|der)selben? \w+", r"(?:das|die|der|den|dem) gleichen? \w+", r"dasselbe", r"genauso"),
    (0.6, r"wie (?:im|beim|bei|in|an|am|zu|mit|für)"),
    (0.8, rf"(?:wie|was|die|das|den|der|dem|womit|wo) (?:wir|du|ich)\b[^.?!]{{0,60}}\b{_PARTICIPLE}"),
    (0.5, r"(?:haben|hatten) wir", r"(?:hast|hattest) du", r"neulich", r"letztens"),
    (0.4, r"noch ?mal", r"noch einmal", r"nochmals", r"wieder", r"erneut"),
)
_FRENCH: Final = (
    (0.9, r"(?:la|les) (?:dernière|derniere|précédente|autre)s? fois", r"l'autre (?:fois|jour)"),
    (0.9, r"comme (?:avant|d'habitude|la fois|la dernière|l'autre)"),
    (0.6, r"(?:le|la|les|du|au) mêmes?", r"de la même"),
    (0.6, r"comme (?:en|au|aux|pour|avec|à|chez|on|nous|tu|vous)"),
    (0.8, r"(?:comme|où|dont|comment|que|qu')\s?(?:on|nous|tu|vous) (?:a|as|avons|avez|avait|avions|avais)"),
    (0.8, r"(?:comme|où|dont|comment|que) j'(?:ai|avais)"),
    (0.5, r"(?:avons|avait|avions|avais|as|a)[- ](?:nous|t-on|on|tu)"),
    (0.4, r"encore(?: une fois)?", r"de nouveau", r"à nouveau", r"refais", r"refaire"),
)
_NOT_NOW: Final = r"(?!(?:vamos|estamos|necesitamos|precisamos|decimos|damos|tenemos)\b)"
"""Forms that are of the present far more often than of the past."""
_SPANISH: Final = (
    (0.9, r"(?:la|las) (?:última|ultima|otra|anterior|pasada)s? ve(?:z|ces)", r"la vez (?:pasada|anterior)"),
    (0.9, r"como (?:antes|siempre|la otra vez|la vez|aquella)"),
    (0.6, r"(?:el|la|los|las|lo|del|al) mism[oa]s?", r"como (?:en|con|para|el|cuando)"),
    (
        0.8,
        r"(?:como|que|cómo|donde|dónde|qué) (?:lo |la |los |las |le |te |nos )?"
        rf"{_NOT_NOW}(?:\w+(?:amos|imos|aste|iste)|hemos|habíamos)",
    ),
    (0.4, r"otra vez", r"de nuevo", r"nuevamente", r"una vez más"),
)
_ITALIAN: Final = (
    (0.9, r"(?:l'ultima|l'altra) volta", r"(?:la )?volta (?:scorsa|precedente|passata)", r"la scorsa volta"),
    (0.9, r"come (?:prima|sempre|al solito|quella volta|l'ultima|l'altra)"),
    (0.6, r"(?:lo|la|gli|le|i|del|dello|della|allo|alla|nello|nella) stess[oaie] \w+"),
    (0.6, r"come (?:nel|nella|nei|nelle|quando|con il|con la|per il|per la|per le|per i|d'estate)"),
    (
        0.5,
        r"come (?:a|in|di) (?:gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre)",
        r"come (?:a|in|di) (?:novembre|dicembre|primavera|estate|autunno|inverno)",
    ),
    (0.8, r"(?:come|che|cui|dove|cosa) (?:l')?(?:abbiamo|avevamo|hai|avevi|ho|avevo) \w+(?:to|so|sta|ta|te|ti)"),
    (0.4, r"di nuovo", r"ancora una volta", r"un'altra volta", r"rifai", r"rifare"),
)
_DUTCH_PARTICIPLE: Final = r"(?:ge|ver|be|ont)\w+(?:d|t|en)"
_DUTCH: Final = (
    (0.9, r"(?:vorige|laatste|afgelopen|andere|eerdere) keer", r"destijds"),
    (0.9, r"(?:zoals|net als) (?:eerder|vroeger|altijd|toen|laatst|gewoonlijk)"),
    (0.6, r"(?:de|het)zelfde(?! (?:dag|tijd|moment|persoon)\b)", r"(?:zoals|net als) (?:in|bij|met|voor|op|van)"),
    (
        0.8,
        rf"(?:die|dat|wat|hoe|waar|waarmee|zoals) (?:we|wij|je|jij|ik)\b(?=[^.?!]{{0,60}}\b{_DUTCH_PARTICIPLE}\b)"
        r"[^.?!]{0,60}\b(?:hebben|hadden|hebt|heb|had)",
    ),
    (0.8, rf"(?:hebben|hadden) (?:we|wij) [^.?!]{{0,60}}\b{_DUTCH_PARTICIPLE}"),
    (0.4, rf"(?:heb|had) (?:je|jij|ik) [^.?!]{{0,60}}\b{_DUTCH_PARTICIPLE}"),
    (0.4, r"nog een keer", r"nog eens", r"opnieuw"),
)
_PORTUGUESE: Final = (
    (0.9, r"última vez", r"vez passada", r"da (?:vez anterior|outra vez)"),
    (0.9, r"como (?:antes|sempre|daquela vez|da última|da outra)"),
    (0.6, r"(?:o|os|as|do|da|dos|das|no|na|ao|à) mesm[oa]s?", r"a mesma"),
    (0.6, r"como (?:em|na|nos|nas|quando|fizemos|fiz|fizeste)"),
    (0.8, rf"(?:como|que|onde|qual) (?:nós |a gente |você |tu )?{_NOT_NOW}(?:\w+(?:ámos|amos|imos)|fez|usou|fizemos)"),
    (0.4, r"de novo", r"novamente", r"(?:mais uma|outra) vez"),
)
_CATALAN: Final = (
    (0.9, r"(?:l'última|la darrera|l'altra|darrera|última) vegada", r"(?:l'últim|l'altre|el darrer|l'anterior) cop"),
    (0.9, r"la vegada (?:passada|anterior)", r"(?<!\.)com (?:abans|sempre|la vegada|l'altra|l'última)"),
    (0.6, r"(?:el|la|els|les|lo|del|al) mateix(?:a|os|es)?", r"(?<!\.)com (?:al|quan|amb el|amb la|a la|a l')"),
    (0.8, r"(?:com|que|on|què) (?:ho |el |la |els |les |hi )?(?:vam|vàrem|vas|vau|havíem|hem) \w+"),
    (0.4, r"una altra vegada", r"un altre cop", r"de nou", r"altra vegada"),
)
_OTHERS: Final = (
    (0.9, r"förra gången", r"som senast", r"sidste gang", r"forrige gang", r"som (?:förut|sist|før|sidst)"),
    (0.9, r"(?:w )?poprzednim razem", r"ostatnim razem", r"tak jak (?:poprzednio|ostatnio|wtedy)"),
    (0.9, r"в прошлый раз", r"в тот раз", r"как (?:тогда|раньше|обычно)", r"минулого разу"),
    (0.6, r"samma som", r"samme som", r"то же(?: самое)?", r"так же"),
    (0.9, r"geçen sefer", r"geçen seferki", r"(?:τελευταία|προηγούμενη) φορά"),
    (0.9, r"المرة (?:السابقة|الماضية|الأخيرة)"),
)
"""The commonest wordings of some more languages."""
_CUES: Final = (*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, *_ITALIAN, *_DUTCH, *_PORTUGUESE, *_CATALAN, *_OTHERS)
"""What points back: each a weight, and patterns between word boundaries. Languages are not told apart: what is a cue in
one hardly ever occurs in another."""
_UNSPACED_CUES: Final = (
    (0.9, "上次|上一次|上回|上一回|老样子|老樣子"),
    (0.9, "(?:像|跟|和|按|照|用|同)(?:之前|以前|当时|當時|那时|那時|往常)"),
    (0.8, "(?:我们|我們|咱们|咱們|你|我)(?:之前|以前|当时|當時|那时|曾经)?[用做写寫弄选選买買修画建](?:过|過|了)?的"),
    (0.6, "同样的|同樣的|照旧|照舊|一如既往"),
    (0.4, "相同的|一样|一樣|再[^。？！]{0,3}一次|重新|重做"),
    (0.9, "前回|この前の?|このあいだ|こないだ|いつもの(?:よう|やり方|通り)|以前(?:の|と|に|使った|やった)"),
    (0.8, "(?:使った|やった|作った|書いた|決めた|選んだ)(?:やつ|もの|の|方法|やり方|よう|時|とき|設定)"),
    (0.8, "[ただ](?:時|とき)と同じ"),
    (0.6, "同じ(?:よう|やり方|もの|やつ|方法|設定|の)", "同様に"),
    (0.4, "と同じ|もう一度|もう一回|再度|やり直"),
    (0.9, "지난번|저번|예전처럼|전처럼"),
    (0.8, "우리가 [^.?!]{0,10}(?:쓴|썼던|했던|한) "),
    (0.6, "똑같이|같은 방식|같은 방법"),
    (0.4, "다시"),
)
"""The same where words are not set apart by spaces, or endings are written on to them."""

_WHAT_IS_IT_LIKE: Final = re.compile(r"\bwhat(?:'s| is| are| was| were| will)\b[^.?!]{0,80}\blike\b")


class Back(msgspec.Struct, frozen=True):
    """A request that points back."""

    strength: float
    """ENOUGH to 1."""
    rest: str
    """The request without the times that it names: what the thing itself is about."""
    periods: tuple[Period, ...]
    """When it was, as far as the request says; none: at any time."""


@cache
def _patterns() -> list[tuple[float, re.Pattern[str]]]:
    return [(weight, re.compile(rf"\b(?:{'|'.join(cues)})\b")) for weight, *cues in _CUES]


@cache
def _unspaced_patterns() -> list[tuple[float, re.Pattern[str]]]:
    return [(weight, re.compile("|".join(cues))) for weight, *cues in _UNSPACED_CUES]


def points_back(request: str, now: Millis) -> Back | None:
    """What a request that points back leaves to look for; None for a request that does not.

    Args:
        request: what was typed.
        now: the moment to which "june" and "last week" refer.
    """
    text = request if len(request) <= 2 * LISTENED else f"{request[:LISTENED]}\n{request[-LISTENED:]}"
    text = _WHAT_IS_IT_LIKE.sub(" ", text.lower().replace("\u2019", "'"))
    doubt = 1.0
    for weight, pattern in (*_patterns(), *(_unspaced_patterns() if has_unspaced(text) else ())):
        if pattern.search(text):
            doubt *= 1 - weight
    if doubt * NO_DATE > ENOUGH:
        return None
    periods, dated = periods_in(text, now)
    strength = 1 - doubt * (NO_DATE if dated else 1.0)
    return Back(round(strength, 4), _without(text, dated), periods) if strength > ENOUGH - 1e-9 else None


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    letters = list(text)
    for first, last in spans:
        letters[first:last] = " " * (last - first)
    return " ".join("".join(letters).split())
