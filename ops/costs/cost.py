"""What a push costs and what a search costs, in base input tokens, by exact arithmetic (fractions; no floats).

The unit is one uncached input token at the model's list price. Nothing here knows prices in money, and nothing is
estimated: every number follows from `Prices` and `Situation`. See `transcript_cost.py` for what a real session paid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final


@dataclass(frozen=True)
class Prices:
    """A price table, as multiples of an uncached input token."""

    write: Fraction = Fraction(5, 4)
    """A token that is written to the prompt cache (one that lives for 5 minutes)."""
    read: Fraction = Fraction(1, 10)
    """A token that is read from the prompt cache."""
    output: Fraction = Fraction(5)
    """A token that the model writes."""
    write_1h: Fraction = Fraction(2)
    """A token written to a cache that lives for an hour; only transcripts tell the two kinds apart."""
    name: str = ""
    """Whose table it is, for people."""


@dataclass(frozen=True)
class Situation:
    """The session in which a push or a search happens. All but `position` are counts of tokens, pointers or calls."""

    context: int = 100_000
    """Tokens in the context when it happens."""
    later_calls: int = 30
    """Calls that read what was added again, after the call that wrote it to the cache."""
    pointer_tokens: int = 40
    pointers: int = 5
    """In a list."""
    fetched: int = 500
    """Tokens that a search adds to the context."""
    call_tokens: int = 60
    """Tokens that the model writes to ask for a search. A fit, not a measurement: 60 make a search exactly 11,000."""
    position: Fraction = Fraction(1, 5)
    """Where a block that changes stands: 0 at the head of the context, 1 at its end."""


ANTHROPIC: Final = Prices(name="Anthropic 5 min, OpenAI 5.6+")
VARIANTS: Final = (
    ANTHROPIC,
    Prices(write=Fraction(2), name="Anthropic 1 h"),
    Prices(write=Fraction(1), name="Gemini implicit, OpenAI before 5.6"),
)
"""The price tables of November 2026 that differ. Claude Code's main thread on a subscription writes for an hour."""
DESIGN: Final = Situation()
"""The situation of the numbers in the design: 170, 850, about 11,000, 92,000."""


def stored(tokens: int, prices: Prices, later_calls: int) -> Fraction:
    """Tokens added to the end of the context: written to the cache once, then read again by each later call."""
    return tokens * (prices.write + prices.read * later_calls)


def pointer(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """One pointer that stays where it was put."""
    return stored(at.pointer_tokens, prices, at.later_calls)


def pointer_list(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """A whole push: as many pointers as a list has."""
    return at.pointers * pointer(prices, at)


def fetched_text(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """The part of a search that is the text it fetched, written to the cache once."""
    return prices.write * at.fetched


def search(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """One more call because of a search: it reads the whole context again and writes the fetched text."""
    return prices.read * at.context + fetched_text(prices, at)


def search_and_rereads(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """A search on a pointer's terms: the fetched text stays, and the later calls read it again too."""
    return prices.read * at.context + stored(at.fetched, prices, at.later_calls)


def tool_call(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """What the model writes to ask for a search: output once, then part of the context."""
    return prices.output * at.call_tokens + stored(at.call_tokens, prices, at.later_calls)


def moving_block(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """A block inside the context that changes: all that stands behind it is written anew instead of read.

    Per turn, and above what a normal turn costs; `moving_turn` is the whole bill.
    """
    return (prices.write - prices.read) * (1 - at.position) * at.context


def normal_turn(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """The input side of a call whose whole context is read from the cache."""
    return prices.read * at.context


def moving_turn(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """The input side of a call in a turn in which a block changed."""
    return normal_turn(prices, at) + moving_block(prices, at)


def transient(turn_tokens: int, prices: Prices = ANTHROPIC) -> Fraction:
    """A push that is taken away after its turn: the turn's tokens behind it are written again in the next turn."""
    return (prices.write - prices.read) * turn_tokens


def uncached_tail(tokens: int, calls: int) -> Fraction:
    """A push behind the last cache mark, sent anew in each of the turn's calls and kept in none."""
    return Fraction(tokens * calls)


def tail_limit(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> Fraction:
    """The number of calls in a turn below which an uncached tail is cheaper than a push that stays."""
    return prices.write + prices.read * at.later_calls


def expired(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> tuple[Fraction, Fraction]:
    """The next call after the cache ran out: what the context costs in any case, and what a list adds to it."""
    return prices.write * at.context, prices.write * at.pointers * at.pointer_tokens


def about(value: Fraction) -> Fraction:
    """Rounded to two figures, as in "about 11,000"; halves away from zero."""
    if abs(value) < 10:
        return value
    step = Fraction(10) ** (len(str(int(abs(value)))) - 2)
    return (abs(value) / step + Fraction(1, 2)).__floor__() * step * (1 if value > 0 else -1)


@dataclass(frozen=True)
class BreakEven:
    """How seldom a push may spare a search and still pay: one way to count it."""

    counted: str
    push: Fraction
    search: Fraction

    @property
    def share(self) -> Fraction | None:
        """The share of pushes that must spare a search; above 1 it never pays. None: a search costs nothing."""
        return self.push / self.search if self.search else None

    @property
    def one_in(self) -> Fraction | None:
        """The same as "one in N". None: a push costs nothing."""
        return self.search / self.push if self.push else None


def break_evens(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> list[BreakEven]:
    """The ways to count when a list pays, from the bare formula to all that can be charged to the search."""
    spent, rereads = pointer_list(prices, at), prices.read * at.fetched * at.later_calls
    bare, call = search(prices, at), tool_call(prices, at)
    found = [
        BreakEven("A  the formula as it stands", spent, bare),
        BreakEven("B  A, the search rounded to two figures", spent, about(bare)),
        BreakEven("C  A, and the fetched text read again later", spent, bare + rereads),
        BreakEven("D  B, and the fetched text read again later", spent, about(bare) + rereads),
        BreakEven("E  C, and the call that asks for the search", spent, bare + rereads + call),
    ]
    if prices.write != 1:
        free = replace(prices, write=Fraction(1))
        found.append(BreakEven("F  C, where a write costs 1", pointer_list(free, at), search_and_rereads(free, at)))
    return found


@dataclass(frozen=True)
class Figure:
    """One number with what it rests on."""

    key: str
    name: str
    tokens: Fraction
    sum: str
    """The arithmetic, with the numbers put in."""
    assumes: str
    """In words."""


def figures(prices: Prices = ANTHROPIC, at: Situation = DESIGN) -> list[Figure]:
    """The design's numbers, each with its assumptions."""
    return [make(prices, at) for make in _FIGURES]


def _pointer(p: Prices, at: Situation) -> Figure:
    return Figure(
        "pointer",
        "a pointer",
        pointer(p, at),
        f"{number(at.pointer_tokens)} x ({number(p.write)} + {number(p.read)} x {number(at.later_calls)})",
        f"It has {number(at.pointer_tokens)} tokens and stands next to the owner's message, behind all that is "
        f"cached. It is never moved or changed: the cache is written once, and {number(at.later_calls)} later calls "
        "read it.",
    )


def _list(p: Prices, at: Situation) -> Figure:
    return Figure(
        "list",
        f"a list of {number(at.pointers)}",
        pointer_list(p, at),
        f"{number(at.pointers)} x {number(pointer(p, at))}",
        f"The block's opening line is within {number(at.pointers)} x {number(at.pointer_tokens)} tokens. In a session "
        "with m calls a turn and T turns to come, the later calls are m x T.",
    )


def _search(p: Prices, at: Situation) -> Figure:
    return Figure(
        "search",
        f"a search: about {number(about(search(p, at)))}",
        search(p, at),
        f"{number(p.read)} x {number(at.context)} + {number(p.write)} x {number(at.fetched)}",
        f"One more call, which reads the {number(at.context)} tokens of context from the cache and writes what was "
        "fetched. Later calls, and the model's own words, are not in it.",
    )


def _fetched(p: Prices, at: Situation) -> Figure:
    return Figure(
        "fetched",
        "of which fetched text",
        fetched_text(p, at),
        f"{number(p.write)} x {number(at.fetched)}",
        f"A search brings {number(at.fetched)} tokens, written to the cache once.",
    )


def _moving(p: Prices, at: Situation) -> Figure:
    behind = (1 - at.position) * at.context
    return Figure(
        "moving_block",
        "a block that changes, a turn",
        moving_block(p, at),
        f"({number(p.write)} - {number(p.read)}) x {number(behind)}",
        f"It stands {number(at.position * 100)} % of the way into the context, so the {number(behind)} tokens behind "
        f"it are written instead of read. Above a normal turn: {number(moving_turn(p, at))} instead of "
        f"{number(normal_turn(p, at))}.",
    )


_FIGURES: Final[tuple[Callable[[Prices, Situation], Figure], ...]] = (_pointer, _list, _search, _fetched, _moving)


def number(value: Fraction | int) -> str:
    """For people: whole numbers exactly, with commas; others to at most two decimals (four below one)."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return f"{exact.numerator:,}"
    return f"{float(exact):,.{2 if abs(exact) >= 1 else 4}f}".rstrip("0").rstrip(".")
