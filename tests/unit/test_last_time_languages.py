"""Requests that point back in further languages, and the times that they name."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from instant_recall.events import types as ev
from instant_recall.projections.past.last_time import points_back
from instant_recall.projections.past.periods import periods_in
from instant_recall.tests.small_world import World


def at(month: int, day: int, year: int = 2026) -> int:
    return int(datetime(year, month, day, 12, tzinfo=UTC).timestamp() * 1000)


NOW = at(9, 15)

BACK = """
fallo come l'ultima volta
la stessa cosa che in primavera
usa il modello che abbiamo usato per il museo
come a giugno, di nuovo
lo script che hai scritto per l'archivio
rifai lo stesso ordine della settimana scorsa
doe het zoals de vorige keer
hetzelfde als in juni
gebruik de methode die we voor het dak hebben gebruikt
nog een keer zoals in het voorjaar
hoe hebben we de printer toen gerepareerd
het script dat je had geschreven voor het archief
faz como da última vez
o mesmo que na primavera
usa o modelo que usámos para o museu
outra vez como em março
o script que você fez para o arquivo
de novo o mesmo relatório de junho
fes-ho com l'última vegada
el mateix que a la primavera
fes servir la plantilla que vam fer per al museu
una altra vegada com al març
com vam arreglar la bomba
像上次那样做
用上次的那个
用我们之前用过的方法
和三月一样的设置
再来一次，跟以前一样
我們上次用的那個
前回と同じようにやって
この前使った方法で
六月と同じ設定でもう一度
去年の夏に使ったやつ
いつものやり方でお願い
지난번처럼 해줘
в прошлый раз мы делали иначе, сделай так же
gör som förra gången
geçen seferki gibi yap
""".strip().split("\n")

AHEAD = """
scrivi una lettera al padrone di casa
che tempo fa a giugno
accendi di nuovo la luce
dove abita mio fratello
quanto costa la stessa
metti un'altra sveglia
schrijf een brief aan de huisbaas
wat voor weer wordt het in juni
doe het licht weer aan
heb je tijd vandaag
zeg me wat je nodig hebt
zet de wekker op zeven
escreve uma carta ao senhorio
como está o tempo em junho
acende a luz de novo
põe a música outra vez
o que temos hoje
qual é a última versão
põe outro alarme
qué vamos a comer hoy
escriu una carta al propietari
quin temps fa al juny
encén el llum una altra vegada
on és la meva bicicleta
what packages come in june
open github.com al once
the estate of the old man
the last version of the report
come to the office in may
我的车在哪里
六月的天气怎么样
再开一次灯
找出相同的照片
明天提醒我开会
来週の会議を予約して
六月の天気は
もう一度電気をつけて
내일 알람 맞춰 줘
включи свет снова
skicka det senast fredag
""".strip().split("\n")


@pytest.mark.parametrize("request_", BACK)
def test_a_request_that_points_back_is_known_in_further_languages(request_: str) -> None:
    assert points_back(request_, NOW) is not None


@pytest.mark.parametrize("request_", AHEAD)
def test_a_request_that_merely_has_such_words_points_nowhere(request_: str) -> None:
    assert points_back(request_, NOW) is None


@pytest.mark.parametrize(
    ("said", "inside", "outside"),
    [
        ("a giugno", at(6, 20), at(8, 1)),
        ("in juni", at(6, 20), at(8, 1)),
        ("em junho", at(6, 20), at(8, 1)),
        ("al juny", at(6, 20), at(8, 1)),
        ("em março de 2025", at(3, 10, 2025), at(3, 10)),
        ("in mei", at(5, 20), at(8, 1)),
        ("al gener", at(1, 20), at(8, 1)),
        ("a ottobre", at(10, 20, 2025), at(8, 1)),
        ("la settimana scorsa", at(9, 8), at(8, 25)),
        ("vorige week", at(9, 8), at(8, 25)),
        ("semana passada", at(9, 8), at(8, 25)),
        ("la setmana passada", at(9, 8), at(8, 25)),
        ("il mese scorso", at(8, 10), at(6, 10)),
        ("vorige maand", at(8, 10), at(6, 10)),
        ("mês passado", at(8, 10), at(6, 10)),
        ("el mes passat", at(8, 10), at(6, 10)),
        ("l'anno scorso", at(5, 10, 2025), at(5, 10)),
        ("vorig jaar", at(5, 10, 2025), at(5, 10)),
        ("ano passado", at(5, 10, 2025), at(5, 10)),
        ("l'any passat", at(5, 10, 2025), at(5, 10)),
        ("ieri", at(9, 14), at(9, 11)),
        ("gisteren", at(9, 14), at(9, 11)),
        ("ontem", at(9, 14), at(9, 11)),
        ("ahir", at(9, 14), at(9, 11)),
        ("l'estate", at(7, 15), at(2, 15)),
        ("in de zomer", at(7, 15), at(2, 15)),
        ("no verão", at(7, 15), at(2, 15)),
        ("l'estiu", at(7, 15), at(2, 15)),
        ("in autunno", at(9, 10), at(4, 15)),
        ("herfst", at(9, 10), at(4, 15)),
        ("outono", at(9, 10), at(4, 15)),
        ("la tardor", at(9, 10), at(4, 15)),
        ("venerdì", at(9, 11), at(9, 7)),
        ("vrijdag", at(9, 11), at(9, 7)),
        ("sexta-feira", at(9, 11), at(9, 7)),
        ("divendres", at(9, 11), at(9, 7)),
        ("due mesi fa", at(7, 17), at(4, 1)),
        ("twee maanden geleden", at(7, 17), at(4, 1)),
        ("há dois meses", at(7, 17), at(4, 1)),
        ("fa dos mesos", at(7, 17), at(4, 1)),
        ("三月", at(3, 10), at(5, 20)),
        ("在3月", at(3, 10), at(5, 20)),
        ("十一月的", at(11, 10, 2025), at(5, 20)),
        ("2025年4月", at(4, 10, 2025), at(4, 10)),
        ("去年四月", at(4, 10, 2025), at(4, 10)),
        ("4月3日", at(4, 3), at(4, 9)),
        ("上周", at(9, 8), at(8, 25)),
        ("先週の", at(9, 8), at(8, 25)),
        ("上个月", at(8, 10), at(6, 10)),
        ("先月", at(8, 10), at(6, 10)),
        ("去年", at(5, 10, 2025), at(5, 10)),
        ("去年的夏天", at(7, 15, 2025), at(2, 1)),
        ("去年の夏に", at(7, 15, 2025), at(7, 15)),
        ("春天", at(4, 15), at(8, 15)),
        ("昨日", at(9, 14), at(9, 11)),
        ("两个月前", at(7, 17), at(4, 1)),
        ("三週間前", at(8, 25), at(6, 1)),
        ("2ヶ月前", at(7, 17), at(4, 1)),
    ],
)
def test_a_time_that_is_named_is_the_last_one_of_its_name(said: str, inside: int, outside: int) -> None:
    periods, _ = periods_in(said, NOW)

    assert max(period.fits(np.array([inside]))[0] for period in periods) == 1.0
    assert min(period.fits(np.array([outside]))[0] for period in periods) == 0.0


@pytest.mark.parametrize(
    "said",
    ["real estate", "la mei ling", "青春", "夏目漱石", "月亮", "any help", "due to a mess", "una lente", "十分前途"],
)
def test_words_that_only_look_like_times_are_none(said: str) -> None:
    assert periods_in(said, NOW) == ((), [])


def lived() -> World:
    """Three sessions over the year, each in a language of its own."""
    world = World()
    for name, when, asked in (
        ("boiler", at(2, 3), "haal de jaarrekening van het waterbedrijf op uit het portaal"),
        ("roof", at(4, 20), "fai il preventivo per il tetto della casa di mio zio"),
        ("server", at(6, 12), "把实验室的服务器搬到新的机柜里"),
    ):
        world.happens(
            ev.TurnRecorded(session=name, turn=1, role="owner", text=asked),
            ev.SessionClosed(session=name, outcome="done"),
            at=when,
        )
    return world


@pytest.mark.parametrize(
    ("request_", "session"),
    [
        ("doe het met de jaarrekeningen zoals de vorige keer", "boiler"),
        ("hetzelfde als in februari", "boiler"),
        ("rifai il preventivo del tetto come l'ultima volta", "roof"),
        ("la stessa cosa che ad aprile, come prima", "roof"),
        ("像上次搬服务器那样", "server"),
        ("六月と同じようにもう一度", "server"),
    ],
)
def test_the_session_that_is_meant_is_found_in_its_language(request_: str, session: str) -> None:
    found = max(lived().searcher(now=NOW).find(request_), key=lambda evidence: evidence.last_time)

    assert found.item.id == f"session:{session}"
