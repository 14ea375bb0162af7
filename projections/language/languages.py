"""Languages: in which one a text is written, told by the small words that hold its sentences together.

Only languages in Latin letters need to be told apart here; another script says by itself how a word is stemmed. A vote
of such words is certain for a paragraph and often tied for a phrase ("la luz" is Spanish, Catalan and more): then every
language in the tie counts, and what is made of the text holds for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from ..naming import english
from ..naming.grammar import FUNCTION
from .scripts import LATIN_END, fold

_LISTS: Final = {
    "catalan": (
        "el la els les un una uns unes de del dels al als a amb per que què qui com quan on és són era ha han he hem "
        "va van vam vaig i o no més molt aquest aquesta això allò meu meva seu seva nostre nostra ens em et es li hi "
        "perquè però també sense fins des només cada tot tota tots totes si ja"
    ),
    "danish": (
        "og i at det den de en et er var som på til af med for ikke der jeg du han hun vi han har havde kan skal vil "
        "om sig men eller fra ved hvad hvor hvordan hvornår også nu mig dig os min mit mine din dit når efter være "
        "blev bliver meget hvis kun denne dette disse"
    ),
    "dutch": (
        "de het een en van in is op te dat die voor met niet zijn aan er om ook als maar bij of uit nog naar heeft "
        "hebben had ik je we wij jij hij zij ze u mijn jouw zijn haar ons onze dit deze wat wie waar hoe wanneer "
        "welke kan kun moet wordt worden werd door over geen wel dan toch alleen"
    ),
    "finnish": (
        "ja on ei se että oli joka hän minä sinä me te he mutta kun niin kuin myös ovat olen olet olemme jos tai sen "
        "tämä tämän nämä mitä missä miten milloin mikä kuka minun sinun meidän vain vielä jo nyt sitten koska "
        "ilman kanssa olla ole"
    ),
    "french": (
        "le la les un une des du de d l au aux et est sont était dans que qui quoi pour pas sur avec il elle on nous "
        "vous je tu ils elles ce cette ces mon ma mes ton ta tes son sa ses notre votre leur leurs en y se ne plus par "
        "mais ou où comment quand quel quelle sans sous chez été être ont avons avez fait si aussi c j m n s t qu"
    ),
    "german": (
        "der die das den dem des ein eine einen einem einer eines und oder ist sind war waren nicht ich du er sie es "
        "wir ihr mir mich dir dich uns mein meine meinen meinem meiner dein deine sein seine unser unsere im in am an "
        "auf aus bei beim mit nach von vom zu zum zur für über unter wie was wer wo wann warum welche welcher dass "
        "wenn als auch nur noch schon hat haben habe hatte wird werden wurde kann können muss soll bitte alle ohne"
    ),
    "hungarian": (
        "a az egy és hogy nem is van volt meg de ez ezt azt csak már még mint vagy ha kell el ki be le fel én te mi ti "
        "ők nekem neked hol mikor hogyan milyen melyik minden nincs lesz vannak után előtt alatt nélkül"
    ),
    "italian": (
        "il lo la i gli le un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla in "
        "nel nella nei nelle su sul sulla con per tra fra e o ma non che chi come quando dove è sono era ho hai ha "
        "abbiamo avete hanno mi ti ci vi si mio mia miei tuo tua suo sua nostro questo questa questi quello quella "
        "più anche perché senza cosa quale"
    ),
    "norwegian": (
        "og i at det den de en et er var som på til av med for ikke der jeg du han hun vi har hadde kan skal vil om "
        "seg men eller fra ved hva hvor hvordan når også nå meg deg oss min mitt mine din ditt etter være ble blir "
        "veldig hvis bare denne dette disse"
    ),
    "portuguese": (
        "o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às por pelo pela para com sem e ou mas "
        "não que quem como quando onde é são era foi está estão tem têm ter eu tu ele ela nós você eles meu minha meus "
        "minhas seu sua nosso nossa este esta isso isto esse essa mais também já só se me te lhe até qual"
    ),
    "romanian": (
        "și si în in la de cu pe un o unui unei al ale ai din pentru este sunt era nu că ca ce cine cum când unde mai "
        "sau dar eu tu el ea noi voi ei mea meu ta tău sa său lui lor am ai are avem au fi fost fără până doar acest "
        "această acesta asta să se îmi îți"
    ),
    "spanish": (
        "el la los las lo un una unos unas de del al a en y e o u que qué quién como cómo cuando cuándo donde dónde es "
        "son era está están fue ha han he hemos hay por para con sin sobre no sí más muy pero mi mis tu tus su sus "
        "nuestro nuestra este esta estos estas eso esto ese esa se me te le les nos yo él ella ellos ya también cada "
        "todo todos porque hasta desde cuál"
    ),
    "swedish": (
        "och i att det den de en ett är var som på till av med för inte jag du han hon vi har hade kan ska vill om sig "
        "men eller från vid vad var hur när också nu mig dig oss min mitt mina din ditt efter vara blev blir mycket "
        "bara denna detta dessa där här utan"
    ),
    "turkish": (
        "ve bir bu da de için ile ne mi mı mu mü var yok ben sen o biz siz çok daha en gibi ama değil olan olarak "
        "kadar sonra önce nasıl nerede hangi her şey benim senin bana sana şu ya veya ki"
    ),
}
"""The commonest function words of each language, under its name among Snowball's stemmers."""
LATIN: Final = tuple(_LISTS)
"""Languages that are told apart."""

_ELSEWHERE: Final = frozenset({"al", "de", "la"})
"""Frequent in English texts, and more so elsewhere."""
_FEW: Final = 5
"""Words of a text that are too few to hold a function word for sure."""


@cache
def function_words(language: str) -> frozenset[str]:
    """The function words of one of LATIN."""
    return frozenset(_LISTS[language].split())


@cache
def small_words() -> frozenset[str]:
    """The function words of all LATIN, without accents."""
    return frozenset(fold(word) for language in LATIN for word in function_words(language))


@cache
def _english() -> frozenset[str]:
    """Words that speak for English."""
    return (english.frequent() | FUNCTION) - _ELSEWHERE


@cache
def _telling() -> frozenset[str]:
    """Words of the lists that are not English, too: a text without any of these is English, or tells nothing."""
    return frozenset(word for language in LATIN for word in function_words(language)) - _english()


def languages_of(words: Sequence[str]) -> tuple[str, ...]:
    """In which of LATIN a text may be: none for English, all for a few words that are in no English dictionary.

    Args:
        words: the words of the text, lower case.
    """
    if _telling().isdisjoint(words):
        return LATIN if len(words) <= _FEW and _in_no_english(words) else ()
    said = frozenset(words)
    votes = {language: len(function_words(language) & said) for language in LATIN}
    most = max(votes.values())
    return () if most <= len(_english() & said) else tuple(each for each in LATIN if votes[each] == most)


def _in_no_english(words: Sequence[str]) -> bool:
    """Whether there are words in Latin letters, and none of them is a common English one."""
    latin = [word for word in words if word[0] < LATIN_END and word.isalpha()]
    return bool(latin) and not any(map(english.is_common, latin))
