"""The cost model in words and as JSON: every figure with its sum and with what it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from ..output import dim, table
from . import cost as model
from .cost import Prices, Situation, number

COLUMNS: Final = 80

LEFT_OUT: Final = (
    "The fetched text of a search is read again by later calls too (C to F above count it).",
    "Pushes pile up until the context is compacted: each pays for its own later reads, as above, and the context is "
    "longer by them.",
    "A pointer saves something only when it is right and a search would have been made.",
    "Output tokens, saved or spent, count in E only.",
)

FIFTEEN: Final = (
    '"One turn in fifteen": no count at these prices gives exactly 1 in 15. D (1 in 14.7) and E (1 in 14.9) round to '
    "it: D is the design's rounded 11,000 with the 1,500 that the fetched text costs in the 30 later calls, and E says "
    "what the rounding could stand for, a request of 60 tokens from the model (a fit, not a measurement). F is exactly "
    "1 in 15, at a price table without a surcharge for writes. The bare formula says 1 in 12.5."
)


def told(prices: Prices, at: Situation) -> Iterator[str]:
    """The figures, when a list pays, and what is left out, for a terminal."""
    yield f"Base input tokens: 1 is one input token at list price. Cache write {number(prices.write)},"
    yield f"cache read {number(prices.read)}, output {number(prices.output)}; exact unless it says about."
    yield ""
    figures = model.figures(prices, at)
    columns = max(len(number(figure.tokens)) for figure in figures) + 2
    for figure in figures:
        yield f"{number(figure.tokens):>{columns}}  {figure.name} = {figure.sum}"
        yield from small(figure.assumes, columns + 2)
    yield ""
    yield "How seldom may a list spare a search and still pay?"
    yield from table([("  counted", "list", "search", "one in", "share"), *_break_even_rows(prices, at)])
    one = _share(model.BreakEven("", model.pointer(prices, at), model.search(prices, at)))
    yield f"  a single pointer, counted as in A: {one}"
    if _is_the_design(prices, at):
        yield from small(FIFTEEN, 2)
    yield ""
    yield "What the figures leave out"
    for text in LEFT_OUT:
        yield from small(text, 2, "- ")
    yield "`--table`: other price tables. `--transcript FILE`: what a session paid."


def _is_the_design(prices: Prices, at: Situation) -> bool:
    return (prices, at) == (Prices(), model.DESIGN)


def _break_even_rows(prices: Prices, at: Situation) -> Iterator[tuple[str, ...]]:
    for way in model.break_evens(prices, at):
        one_in = "-" if way.one_in is None else "never" if way.one_in < 1 else f"{float(way.one_in):,.1f}"
        yield f"  {way.counted}", number(way.push), number(way.search), one_in, _share(way)


def _share(way: model.BreakEven) -> str:
    return "-" if way.share is None else f"{float(way.share * 100):.1f} %"


def variants(prices: Prices, at: Situation) -> Iterator[str]:
    """The same figures at each price table, and what other places for a push would cost at the given prices."""
    yield f"Price tables, for {number(at.context)} tokens of context and {number(at.later_calls)} later calls"
    head = ("  cache write, read", "pointer", f"list of {number(at.pointers)}", "search", "block that changes")
    tables = _tables(prices)
    rows = [(f"  {_pair(each)}", *(number(value) for value in _row(each, at))) for each in tables]
    yield from table([head, *rows])
    for each in tables:
        yield dim(f"  {_pair(each)}: {each.name}")
    yield ""
    yield f"Other places for a push, at {_pair(prices)}"
    limit, (anyway, more) = model.tail_limit(prices, at), model.expired(prices, at)
    tail = number(model.uncached_tail(at.pointers * at.pointer_tokens, 1))
    for text in (
        f"Taken away after a turn of 8,000 tokens: {number(model.transient(8_000, prices))} a turn, for the turn is "
        f"written again behind it. A list that stays costs {number(model.pointer_list(prices, at))}.",
        f"Behind the last cache mark, sent anew in each call and kept in none: {tail} a call for a list; cheaper than "
        f"one that stays below {number(limit)} calls a turn.",
        f"After the cache ran out the next call costs {number(anyway)} in any case; a list adds {number(more)} to it.",
    ):
        yield from small(text, 2, "- ")


def _tables(prices: Prices) -> list[Prices]:
    known = any((prices.write, prices.read) == (each.write, each.read) for each in model.VARIANTS)
    return [*([] if known else [replace(prices, name="as given")]), *model.VARIANTS]


def _pair(prices: Prices) -> str:
    return f"{number(prices.write)}, {number(prices.read)}"


def _row(prices: Prices, at: Situation) -> tuple[Fraction, ...]:
    return tuple(f(prices, at) for f in (model.pointer, model.pointer_list, model.search, model.moving_block))


def facts(prices: Prices, at: Situation) -> dict[str, Any]:
    """The whole model for these prices, for JSON; numbers that are no decimal are rounded to a float."""
    names = ("pointer", "list", "search", "moving_block")
    return {
        "prices": prices_facts(prices),
        "situation": {name: plain(value) if isinstance(value, Fraction) else value for name, value in vars(at).items()},
        "figures": {
            figure.key: {"tokens": plain(figure.tokens), "sum": figure.sum, "assumes": figure.assumes}
            for figure in model.figures(prices, at)
        },
        "break_even": [
            {
                "counted": way.counted,
                "list": plain(way.push),
                "search": plain(way.search),
                "one_in": way.one_in and plain(way.one_in),
                "share": way.share and plain(way.share),
            }
            for way in model.break_evens(prices, at)
        ],
        "variants": [
            {**prices_facts(p), "for": p.name, **dict(zip(names, map(plain, _row(p, at)), strict=True))}
            for p in _tables(prices)
        ],
        "notes": [*LEFT_OUT, *([FIFTEEN] if _is_the_design(prices, at) else [])],
    }


def prices_facts(prices: Prices) -> dict[str, float]:
    """A price table, for JSON."""
    return {"write": plain(prices.write), "read": plain(prices.read), "output": plain(prices.output)}


def plain(value: Fraction) -> float:
    """A number for JSON: whole ones exactly."""
    return value.numerator if value.denominator == 1 else float(value)


def small(text: str, indent: int, mark: str = "") -> list[str]:
    """A text that explains, wrapped to 80 columns; `mark` stands before its first line."""
    space = " " * indent
    lines = textwrap.wrap(
        text, COLUMNS, initial_indent=space + mark, subsequent_indent=space + " " * len(mark), break_long_words=False
    )
    return [dim(line) for line in lines]
