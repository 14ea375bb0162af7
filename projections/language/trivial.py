"""Turns that ask for nothing: no push, whatever their words may resemble."""

from __future__ import annotations

import re
from typing import Final

from .words import heard

_WORD_LIST: Final = """
    ok okay k kk fine great good nice cool perfect super thanks thank thx ty you very much lot yes yep yeah yup no nope
    nah sure right exactly please continue go on ahead next proceed do it that done again stop wait hm hmm hi hello hey
    morning good bye lol wow a the all well so and then just looks lgtm correct agreed merci danke bitte ja nein gracias
    sí si oui non vale weiter cheers s for now today enough later see talk tomorrow tonight
    grazie prego va bene obrigado obrigada sim não gràcies dank je bedankt nee goed verder nej takk tak dzięki tamam
    teşekkürler спасибо да нет хорошо дальше ευχαριστώ ναι όχι شكرا نعم لا
    好 好的 谢谢 謝謝 是 是的 不 不用 可以 继续 はい いいえ ありがとう ありがとうございます 了解 続けて
    네 예 아니요 감사합니다 고마워 좋아 계속
"""
_WORDS: Final = frozenset(_WORD_LIST.split())
_MOST_WORDS: Final = 6
_SLASH_COMMAND = re.compile(r"/[\w:-]+(\s|$)")


def is_trivial(request: str) -> bool:
    """Whether a turn is a bare "ok", "thanks", "continue" or the like, a slash command, or has no letter or digit."""
    request = heard(request)
    if _SLASH_COMMAND.match(request.strip()):
        return True
    words = re.findall(r"\w+", request.casefold())
    return not words or (len(words) <= _MOST_WORDS and all(word in _WORDS for word in words))
