"""Periods: the times of the past that a text names ("in june", "letzte Woche", "en primavera"), seen from a moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...events.types import Millis

_MONTHS: Final = (
    "january|januari|januar|jänner|janvier|enero|gennaio|janeiro|gener",
    "february|februari|februar|feber|février|fevrier|febrero|febbraio|fevereiro|febrer",
    "march|märz|maerz|mars|marzo|maart|março|març",
    "april|avril|abril|aprile",
    "may|mai|mayo|maggio|mei|maio|maig",
    "june|juni|juin|junio|giugno|junho|juny",
    "july|juli|juillet|julio|luglio|julho|juliol",
    "august|août|aout|agosto|augustus|agost",
    "september|septembre|septiembre|setiembre|settembre|setembro|setembre",
    "october|oktober|octobre|octubre|ottobre|outubro",
    "november|novembre|noviembre|novembro",
    "december|dezember|décembre|decembre|diciembre|dicembre|dezembro|desembre",
)
_SEASONS: Final = (
    ("spring|frühling|frühjahr|printemps|primavera|voorjaar|in de lente|vorige lente|afgelopen lente", 3),
    ("summer|sommer|été|verano|l'estate|d'estate|scorsa estate|zomer|verão|estiu", 6),
    ("autumn|herbst|automne|otoño|autunno|herfst|najaar|outono|tardor", 9),
    ("winter|hiver|invierno|inverno|hivern", 12),
)
"""With the first month of each, north of the equator."""
_DAYS: Final = (
    "monday|montag|lundi|lunes|lunedì|maandag|segunda-feira|dilluns",
    "tuesday|dienstag|mardi|martes|martedì|dinsdag|terça-feira|dimarts",
    "wednesday|mittwoch|mercredi|miércoles|mercoledì|woensdag|quarta-feira|dimecres",
    "thursday|donnerstag|jeudi|jueves|giovedì|donderdag|quinta-feira|dijous",
    "friday|freitag|vendredi|viernes|venerdì|vrijdag|sexta-feira|divendres",
    "saturday|samstag|sonnabend|samedi|sábado|sabato|zaterdag|dissabte",
    "sunday|sonntag|dimanche|domingo|domenica|zondag|diumenge",
)
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip
_IN: Final = (
    r"(?:in|since|from|of|im|seit|vom|en|au|de|del|depuis|desde|van|em|al|di|"
    r"last|letzte[nrms]?|vorige|this|diese[nrms]?) "
)
"""What stands before "may" and "mars" when they are a month."""
_AMBIGUOUS: Final = frozenset({"may", "march", "mars", "mai", "spring", "august", "april", "june", "été", "mei"})
_LONG_AGO: Final = 36_500
"""Days before which nothing is looked for."""
_ONE_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_BARE_YEAR: Final = re.compile(r"(?<![\w.,-])20\d\d(?![\w-]|[.,]\d)")


class Period(NamedTuple):
    """A stretch of time, in milliseconds UTC, the end left out."""

    start: Millis
    end: Millis

    def fits(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """For each time 1 inside; beside it less and less, over a quarter of its own length and at least a day."""
        slack = max((self.end - self.start) / 4, 86_400_000)
        away = np.maximum(np.maximum(self.start - times, times - self.end), 0)
        return np.maximum(1 - away / slack, 0.0)


def periods_in(text: str, now: Millis) -> tuple[tuple[Period, ...], list[tuple[int, int]]]:
    """The periods that a lower-case text names, and where in it. A year or day named with a month narrows it."""
    moment = datetime.fromtimestamp(now / 1_000, UTC)
    found: list[Period] = []
    spans: list[tuple[int, int]] = []
    for hints, pattern, resolve in _patterns():
        for match in pattern.finditer(text) if any(hint in text for hint in hints) else ():
            if any(match.start() < last and first < match.end() for first, last in spans):
                continue
            period = resolve(match, moment)
            if period is not None:
                spans.append(match.span())
                found.append(period)
    return tuple(found), spans


def years_in(text: str, taken: Sequence[tuple[int, int]] = ()) -> tuple[list[Period], list[tuple[int, int]]]:
    """The years that stand by themselves in a text, and where; none inside one of the places that are taken."""
    matches = [m for m in _BARE_YEAR.finditer(text) if not any(m.start() < end and at < m.end() for at, end in taken)]
    return [_months(int(match[0]), 1, 12) for match in matches], [match.span() for match in matches]


Resolve = Callable[[re.Match[str], datetime], "Period | None"]
_UNTIL: Final = "beginning|start|early|middle|mid|end|late|anfang|mitte|ende|début|fin|principios|finales"
_YEAR: Final = r"(?: (?:of |de )?(?P<year>20\d\d))?"


@cache
def _patterns() -> list[tuple[tuple[str, ...], re.Pattern[str], Resolve]]:
    """For each rule what a text must hold for it to be tried at all, its pattern, and what a match means."""
    rules = [*_month_rules(), *_named_rules(), *_counted_rules(), *_chinese_and_japanese_rules()]
    return [(tuple(hints.split("|")), re.compile(pattern), resolve) for hints, pattern, resolve in rules]


def _month_rules() -> Iterator[tuple[str, str, Resolve]]:
    part = rf"(?:(?P<part>{_UNTIL})[ -](?:(?:of|de|du) |d'|)?)?"
    word = "|".join(_ORDINALS)
    day = rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of |de )?|(?P<word>{word}) (?:of )?)?"
    for number, names in enumerate(_MONTHS, 1):
        for name in names.split("|"):
            before = (
                rf"(?:{_IN}|(?=\d)|(?=(?:{word}) of )|(?=(?:{_UNTIL})\b)|(?=\w+'s\b))" if name in _AMBIGUOUS else ""
            )
            yield name, rf"\b{before}{part}{day}{name}(?:'s)?{_YEAR}\b", _month(number)


def _named_rules() -> Iterator[tuple[str, str, Resolve]]:
    for names, first in _SEASONS:
        yield names, rf"\b(?:{_IN})?(?:the |le |la |l'|el )?(?:{names})\b{_YEAR}", _season(first)
    for number, names in enumerate(_DAYS):
        yield names, rf"\b(?:on |last |am |letzten |le |el )?(?:{names})(?: dernier| pasado)?\b", _weekday(number)
    for names, resolve in (
        (
            "yesterday|gestern|ayer|hier soir|ieri|gisteren|ontem|ahir",
            lambda now: _span(_midnight(now) - _ONE_DAY, _ONE_DAY),
        ),
        (
            "last week|letzte woche|vorige woche|la semaine dernière|la semaine passée|la semana pasada|"
            "settimana scorsa|scorsa settimana|vorige week|afgelopen week|semana passada|setmana passada",
            lambda now: _span(_midnight(now) - timedelta(days=now.weekday()) - _WEEK, _WEEK),
        ),
        (
            "last month|letzten monat|vorigen monat|le mois dernier|el mes pasado|mese scorso|scorso mese|vorige maand|"
            "afgelopen maand|mês passado|mes passat",
            lambda now: _months(now.year, now.month - 1, 1),
        ),
        (
            "last year|letztes jahr|voriges jahr|l'an dernier|l'année dernière|el año pasado|anno scorso|scorso anno|"
            "vorig jaar|afgelopen jaar|ano passado|any passat",
            lambda now: _months(now.year - 1, 1, 12),
        ),
        (
            "the other day|recently|neulich|kürzlich|l'autre jour|récemment|el otro día|hace poco|l'altro giorno|"
            "di recente|onlangs|outro dia|recentemente|l'altre dia|fa poc",
            lambda now: _span(now - 3 * _WEEK, 3 * _WEEK),
        ),
    ):
        yield names, rf"\b(?:{names})\b", _whenever(resolve)


def _counted_rules() -> Iterator[tuple[str, str, Resolve]]:
    counts = rf"(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)})"
    yield " ago", rf"\b{counts} (?P<unit>day|week|month|year)s? ago\b", _ago
    yield "vor ", rf"\bvor {counts} (?P<unit>tag|woche|monat|jahr)\w*\b", _ago
    yield "il y a ", rf"\bil y a {counts} (?P<unit>jour|semaine|mois|an)s?\b", _ago
    yield "hace ", rf"\bhace {counts} (?P<unit>día|semana|mes|año)\w*\b", _ago
    yield " fa", rf"\b{counts} (?P<unit>giorn|settiman|mes|ann)\w* fa\b", _ago
    yield " geleden", rf"\b{counts} (?P<unit>dag|week|weken|maand|jaar)\w* geleden\b", _ago
    yield "há ", rf"\bhá {counts} (?P<unit>dia|semana|mes|mês|ano)\w*\b", _ago
    yield "fa ", rf"\bfa {counts} (?P<unit>dia|dies|setman|mes|any)\w*\b", _ago
    day = rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)|(?P<word>{'|'.join(_ORDINALS)}))"
    yield "on the |of the ", rf"\b(?:on|of) the {day}\b(?=\s*(?:[,.;:?!]|$))", _day


def _chinese_and_japanese_rules() -> Iterator[tuple[str, str, Resolve]]:
    """No spaces stand between their words. The hints come last: a month takes its year with it."""
    year = r"(?:(?P<year>20\d\d)年|(?P<ago>去年|昨年)の?)?"
    numeral = "|".join(_NUMERALS)
    yield "月", rf"{year}(?P<month>1[0-2]|[1-9]|{numeral})月(?:(?P<day>\d{{1,2}})[日号號])?", _numbered_month
    for letter, first in (("春", 3), ("夏", 6), ("秋", 9), ("冬", 12)):
        yield letter, rf"{year}{letter}(?:天|季|(?=[にのはと]))", _season(first)
    for names, resolve in (
        ("昨天|昨日", lambda now: _span(_midnight(now) - _ONE_DAY, _ONE_DAY)),
        (
            "上周|上週|上星期|上个星期|上個星期|先週",
            lambda now: _span(_midnight(now) - timedelta(days=now.weekday()) - _WEEK, _WEEK),
        ),
        ("上个月|上個月|先月", lambda now: _months(now.year, now.month - 1, 1)),
        ("去年|昨年", lambda now: _months(now.year - 1, 1, 12)),
        ("前几天|前幾天|前些天|先日|最近", lambda now: _span(now - 3 * _WEEK, 3 * _WEEK)),
    ):
        yield names, names, _whenever(resolve)
    unit = r"(?P<unit>天|日|周|週|个月|個月|[ヶケか]月|年)"
    yield "前", rf"(?P<n>\d{{1,3}}|{numeral}){unit}間?(?:之|以)?前", _ago


def _whenever(resolve: Callable[[datetime], Period]) -> Resolve:
    return lambda _match, now: resolve(now)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _span(start: datetime, length: timedelta) -> Period:
    return Period(round(start.timestamp() * 1_000), round((start + length).timestamp() * 1_000))


def _months(year: int, month: int, count: int) -> Period:
    """`count` months from one on; a month below 1 is one of the year before."""
    first, last = year * 12 + month - 1, year * 12 + month - 1 + count
    start, end = (datetime(n // 12, n % 12 + 1, 1, tzinfo=UTC) for n in (first, last))
    return _span(start, end - start)


def _month(number: int) -> Callable[[re.Match[str], datetime], Period | None]:
    def resolve(match: re.Match[str], now: datetime) -> Period | None:
        year = int(match["year"]) if match["year"] else now.year - (number > now.month)
        month = _months(year, number, 1)
        start = datetime.fromtimestamp(month.start / 1_000, UTC)
        day = _number_of_day(match)
        if day:
            return _span(start + (day - 1) * _ONE_DAY, _ONE_DAY)
        part = match["part"]
        if part in {"beginning", "start", "early", "anfang", "début", "principios"}:
            return _span(start, 10 * _ONE_DAY)
        if part in {"end", "late", "ende", "fin", "finales"}:
            return _span(start + 19 * _ONE_DAY, 11 * _ONE_DAY)
        return _span(start + 9 * _ONE_DAY, 12 * _ONE_DAY) if part else month

    return resolve


def _season(first: int) -> Callable[[re.Match[str], datetime], Period | None]:
    def resolve(match: re.Match[str], now: datetime) -> Period | None:
        year = int(match["year"]) if match["year"] else now.year - (first > now.month)
        return _months(year - (match.groupdict().get("ago") is not None and year == now.year), first, 3)

    return resolve


def _numbered_month(match: re.Match[str], now: datetime) -> Period:
    number = _number(match["month"])
    year = int(match["year"]) if match["year"] else now.year - (number > now.month or match["ago"] is not None)
    month = _months(year, number, 1)
    if not match["day"]:
        return month
    start = datetime.fromtimestamp(month.start / 1_000, UTC)
    return _span(start + (min(int(match["day"]), 31) - 1) * _ONE_DAY, _ONE_DAY)


def _weekday(number: int) -> Callable[[re.Match[str], datetime], Period | None]:
    def resolve(_match: re.Match[str], now: datetime) -> Period | None:
        back = (now.weekday() - number) % 7 or 7
        return _span(_midnight(now) - back * _ONE_DAY, _ONE_DAY)

    return resolve


def _number_of_day(match: re.Match[str]) -> int:
    if match["day"]:
        return min(int(match["day"]), 31)
    return _ORDINALS.index(match["word"]) + 1 if match["word"] else 0


def _day(match: re.Match[str], now: datetime) -> Period | None:
    day = _number_of_day(match)
    month = _months(now.year, now.month - (day > now.day), 1)
    start = datetime.fromtimestamp(month.start / 1_000, UTC)
    return _span(start + (day - 1) * _ONE_DAY, _ONE_DAY) if day else None


_COUNTS: Final = {
    "a few": 3, "a couple of": 2, "an": 1, "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "ein paar": 3, "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "une": 1, "un": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "quelques": 3,
    "qualche": 3, "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "sei": 6,
    "een paar": 3, "een": 1, "twee": 2, "drie": 3, "vijf": 5, "zes": 6,
    "alguns": 3, "algumas": 3, "uma": 1, "um": 1, "dois": 2, "duas": 2, "três": 3,
    "uns": 3, "unes": 3, "dues": 2, "cinc": 5, "sis": 6,
    "una": 1, "unos": 3, "unas": 3, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
}  # fmt: skip
_UNITS: Final = {
    "day": 1, "tag": 1, "jour": 1, "día": 1, "week": 7, "woche": 7, "semaine": 7, "semana": 7,
    "month": 30, "monat": 30, "mois": 30, "mes": 30, "year": 365, "jahr": 365, "an": 365, "año": 365,
    "giorn": 1, "dag": 1, "dia": 1, "dies": 1, "settiman": 7, "weken": 7, "setman": 7,
    "天": 1, "日": 1, "周": 7, "週": 7, "个月": 30, "個月": 30, "ヶ月": 30, "ケ月": 30, "か月": 30, "年": 365,
    "maand": 30, "mês": 30, "ann": 365, "jaar": 365, "ano": 365, "any": 365,
}  # fmt: skip
"""In days."""


_NUMERALS: Final = {
    "十二": 12, "十一": 11, "十": 10, "九": 9, "八": 8, "七": 7, "六": 6, "五": 5, "四": 4, "三": 3, "二": 2, "两": 2,
    "兩": 2, "一": 1,
}  # fmt: skip


def _number(said: str) -> int:
    return int(said) if said.isdecimal() else (_COUNTS | _NUMERALS)[said]


def _ago(match: re.Match[str], now: datetime) -> Period | None:
    said = match["n"]
    days = _number(said) * _UNITS[match["unit"]]
    if days > _LONG_AGO:
        return None
    slack = max(days / 4, 1)
    return _span(now - timedelta(days=days + slack), timedelta(days=2 * slack))
