"""Whether what a file says of itself is an order to the assistant that reads it: then its name alone is told. Pure.

It is about the common wordings in a few languages, and sees through the common disguises; it cannot be complete. An
ordinary "Use when a report is due" is none: it says what the thing is for.
"""

from __future__ import annotations

import re
from typing import Final

from .policy.disguises import read, undressed

_DO: Final = (
    "(?:use|call|invoke|run|execute|do|open|ask|load|apply|send|forward|post|read|follow|start|begin|trigger|consult)"
)
_ANSWER: Final = (
    "(?:you |any |each |every |the |your |a |other )*(?:answer|reply|respon|anything|any other|doing|speak|say|user)"
)
_ENGLISH: Final = (
    r"(?<!when )(?<!if )(?<!whenever )\b(?:you|assistants?|ai|agents?|models?|llms?) (?:must|should|need to"
    r"|needs to|have to|has to|are to|shall|will)\b",
    rf"\b(?:always|never|only|first|immediately) {_DO}\b",
    rf"\b{_DO} (?:this|it|the|that|me)\b.{{0,30}}?\b(?:first|before (?:you|any|all|every)|immediately|at once"
    rf"|every time)\b",
    r"\bmust (?:be )?(?:used?|called?|invoked?|run|executed?|loaded?|read)\b",
    r"\b(?:ignore|disregard) (?:all|any|every|previous|prior|the|your|other|what)\b|^\s*(?:ignore|disregard)\b"
    r"|\bmandatory\b",
    rf"\bbefore {_ANSWER}\w*\b",
    rf"\b(?:make sure|be sure|remember|ensure) (?:to |that you |you )(?:\w+ ){{0,2}}?{_DO}\b",
    r"\b(?:do not|don['’]?t|never) (?:\w+ )?(?:tell|mention|inform|reveal|disclose|show|let|notify|warn)\b"
    r" (?:\w+ ){0,3}(?:users?|owner|human|anyone|anybody|them|him|her|people|it|this|that)\b",
    r"\b(?:tell|inform) (?:no ?body|no one)\b|\bwithout (?:telling|informing|asking|notifying)\b",
    r"\bkeep (?:this|it|these|that) (?:\w+ )?(?:secret|hidden|confidential|quiet)\b",
    r"\b(?:whatever|no matter what) the user\b|\binstead of (?:any |all )?(?:other|answering)\b",
)
_OTHERS: Final = (
    # German
    r"\b(?:immer|stets|zuerst|unbedingt|niemals)\b.{0,30}\b(?:auf|aus|verwend\w*|nutz\w*|benutz\w*|ruf\w*"
    r"|fuhr\w*|send\w*|offn\w*)\b",
    r"\b(?:ruf|rufe|rufen|verwende|verwenden|nutze|benutze|fuhre|sende|schicke|offne)\b.{0,30}\b(?:immer|stets"
    r"|zuerst|zunachst|unbedingt|niemals)\b",
    r"\bbevor (?:du|sie|ihr)\b|\b(?:niemandem|keinem)\b|\bvor (?:jeder|der) antwort\b|\b(?:du|sie) (?:musst"
    r"|mussen|sollst|sollten)\b",
    # French
    r"\b(?:toujours|jamais|d'abord|imperativement)\b.{0,12}\b\w+(?:er|ez|ir|re)\b|\b\w+(?:ez|e|s"
    r"|er) (?:toujours|d'abord|imperativement)\b",
    r"\bavant (?:de |toute )?(?:repon|quoi que|chaque)\w*|\b(?:a personne|ne dites|ne dis)\b|\b(?:vous devez"
    r"|tu dois)\b",
    # Spanish, Portuguese, Italian
    r"\b(?:siempre|nunca|sempre|mai|primero|primeiro)\b.{0,12}\b(?:us|llam|invoc|ejecut|envi|abr|execut|cham"
    r"|esegu|chiam|apri|invi)\w+",
    r"\b(?:us|llam|invoc|ejecut|envi|abr|execut|cham|esegu|chiam|apri|invi)\w+ (?:siempre|primero|sempre"
    r"|primeiro|prima)\b",
    r"\b(?:antes de|prima di) (?:respon|rispon|cualquier|qualquer|qualsiasi)\w*|\bantes de que\b|\b(?:a nadie"
    r"|a ninguem|a nessuno)\b",
    r"\b(?:debes|tienes que|voce deve|devi) \w+",
    # Dutch, Polish, Russian, Turkish, Chinese, Japanese, Korean
    r"\b(?:altijd|eerst) (?:aan|uit|deze|dit|gebruik\w*|roep\w*)\b|\bvoordat (?:je|u)\b|\baan niemand\b",
    r"\b(?:zawsze|najpierw) (?:uzyj|uzywaj|wywol|uruchom|wyslij)\w*|\bzanim odpowi\w*|\bnikomu\b",
    r"\b(?:всегда|сначала|никогда)\b.{0,20}\b(?:использу|вызыва|вызов|запуска|запусти|отправ|открыва)\w*"
    r"|\bникому\b|\b(?:прежде чем|перед тем как)\b",
    r"\b(?:her zaman|once) (?:bu|cagir|kullan|calistir)\w*|\bkimseye\b|\bcevap vermeden\b",
    r"(?:始终|必须|總是|总是|务必|首先).{0,6}(?:使用|调用|調用|运行|執行|执行|发送)|(?:回答|回复|回覆).{0,4}(?:之前|前)|不要告诉|别告诉",
    r"(?:必ず|常に|最初に|まず).{0,20}(?:呼び出|使用し|使って|実行)|(?:答える|回答する|返答する)前に|誰にも",
    r"(?:항상|먼저|반드시).{0,20}(?:호출|사용|실행)|답하기 전에",
)
_LOOKED_AT: Final = 1_500
"""Characters of it that are looked at: a pointer shows less."""
_ORDER = re.compile("|".join((*_ENGLISH, *_OTHERS)))


def gives_orders(said: str) -> bool:
    """Whether a sentence tells its reader what to do before, instead or in secret, rather than what a thing is for."""
    plain = undressed(said[:_LOOKED_AT])
    return _ORDER.search(plain) is not None or _ORDER.search(read(plain)) is not None
