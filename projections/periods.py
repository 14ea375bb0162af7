"""Periods: the times of the past that a text names ("in june", "letzte Woche", "en primavera"), seen from a moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events.types import Millis

_MONTHS: Final = (
    "january|januar|jänner|janvier|enero",
    "february|februar|feber|février|fevrier|febrero",
    "march|märz|maerz|mars|marzo",
    "april|avril|abril",
    "may|mai|mayo",
    "june|juni|juin|junio",
    "july|juli|juillet|julio",
    "august|août|aout|agosto",
    "september|septembre|septiembre|setiembre",
    "october|oktober|octobre|octubre",
    "november|novembre|noviembre",
    "december|dezember|décembre|decembre|diciembre",
)
_SEASONS: Final = (
    ("spring|frühling|frühjahr|printemps|primavera", 3),
    ("summer|sommer|été|verano", 6),
    ("autumn|herbst|automne|otoño", 9),
    ("winter|hiver|invierno", 12),
)
"""With the first month of each, north of the equator."""
_DAYS: Final = (
    "monday|montag|lundi|lunes",
    "tuesday|dienstag|mardi|martes",
    "wednesday|mittwoch|mercredi|miércoles",
    "thursday|donnerstag|jeudi|jueves",
    "friday|freitag|vendredi|viernes",
    "saturday|samstag|sonnabend|samedi|sábado",
    "sunday|sonntag|dimanche|domingo",
)
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip
_IN: Final = r"(?:in|since|from|of|im|seit|vom|en|au|de|del|depuis|desde|last|letzte[nrms]?|this|diese[nrms]?) "
"""What stands before "may" and "mars" when they are a month."""
_AMBIGUOUS: Final = frozenset({"may", "march", "mars", "mai", "spring", "august", "april", "june", "été"})
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
    rules = [*_month_rules(), *_named_rules(), *_counted_rules()]
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
        ("yesterday|gestern|ayer|hier soir", lambda now: _span(_midnight(now) - _ONE_DAY, _ONE_DAY)),
        (
            "last week|letzte woche|vorige woche|la semaine dernière|la semaine passée|la semana pasada",
            lambda now: _span(_midnight(now) - timedelta(days=now.weekday()) - _WEEK, _WEEK),
        ),
        (
            "last month|letzten monat|vorigen monat|le mois dernier|el mes pasado",
            lambda now: _months(now.year, now.month - 1, 1),
        ),
        (
            "last year|letztes jahr|voriges jahr|l'an dernier|l'année dernière|el año pasado",
            lambda now: _months(now.year - 1, 1, 12),
        ),
        (
            "the other day|recently|neulich|kürzlich|l'autre jour|récemment|el otro día|hace poco",
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
    day = rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)|(?P<word>{'|'.join(_ORDINALS)}))"
    yield "on the |of the ", rf"\b(?:on|of) the {day}\b(?=\s*(?:[,.;:?!]|$))", _day


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
        return _months(year, first, 3)

    return resolve


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
    "una": 1, "unos": 3, "unas": 3, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
}  # fmt: skip
_UNITS: Final = {
    "day": 1, "tag": 1, "jour": 1, "día": 1, "week": 7, "woche": 7, "semaine": 7, "semana": 7,
    "month": 30, "monat": 30, "mois": 30, "mes": 30, "year": 365, "jahr": 365, "an": 365, "año": 365,
}  # fmt: skip
"""In days."""


def _ago(match: re.Match[str], now: datetime) -> Period | None:
    said = match["n"]
    days = (int(said) if said.isdecimal() else _COUNTS[said]) * _UNITS[match["unit"]]
    if days > _LONG_AGO:
        return None
    slack = max(days / 4, 1)
    return _span(now - timedelta(days=days + slack), timedelta(days=2 * slack))
