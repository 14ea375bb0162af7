"""What the pushes and the searches of one real session cost, from the usage that its transcript holds.

Each call is charged as it was billed: what was read from the cache at the read price, what was written at the write
price. Two things are estimates: the tokens of a single text (`projections.pointers.tokens`, which errs on the high
side), and whether a push spared a search, of which a transcript can only tell the most that is possible.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from .cost import DESIGN, Prices, search_and_rereads
from .transcripts import Call, Pointed, Push, ToolUse, Transcript

Outcome = Literal["used", "searched", "unused"]
"""What came of a push in its turn: what it pointed at was used, with no search before; a search came first; neither."""


@dataclass(frozen=True)
class Carried:
    """What it cost to have some tokens in the context from one call on."""

    tokens: int
    calls: int = 0
    """Whose context held them."""
    read: int = 0
    """Calls that read them from the cache."""
    rewritten: int = 0
    """Calls, after the first, that had to take them in again: the cache had run out, or what stands before changed."""
    first: Fraction = Fraction(0)
    """Cost in the first call."""
    later: Fraction = Fraction(0)
    """Cost in the calls behind it."""


@dataclass(frozen=True)
class PushCost:
    """One push of the session."""

    push: Push
    carried: Carried
    outcome: Outcome
    search: Fraction
    """What a search in its place would have cost, later reads of the fetched text included."""

    @property
    def cost(self) -> Fraction:
        """All that it cost; 0 when no call followed."""
        return self.carried.first + self.carried.later


@dataclass(frozen=True)
class SearchCost:
    """One search of the session."""

    tool: ToolUse
    call: Fraction
    """Its share of the call that came after it; the tools that were asked for together share that call."""
    carried: Carried
    """What it fetched; the first call is in `call` already."""

    @property
    def cost(self) -> Fraction:
        """All that it cost; 0 when no call followed."""
        return self.call + self.carried.later


@dataclass(frozen=True)
class Audit:
    """What one session cost, in base input tokens."""

    input: Fraction
    """What went in, over all calls."""
    output: Fraction
    pushes: Sequence[PushCost]
    searches: Sequence[SearchCost]
    fetched: Fraction
    """Tokens that a spared search is taken to bring: the session's mean, or the design's 500 when it has no search."""

    def those(self, outcome: Outcome) -> list[PushCost]:
        """The pushes of which this came."""
        return [push for push in self.pushes if push.outcome == outcome]


def audit(transcript: Transcript, prices: Prices) -> Audit:
    """Charge a transcript with these prices."""
    together = Counter(tool.call for tool in transcript.tools.values())
    searched = [tool for tool in transcript.tools.values() if tool.is_search]
    searches = [_search(transcript, tool, prices, together[tool.call]) for tool in searched]
    answered = [search.carried.tokens for search in searches if search.carried.calls]
    fetched = Fraction(sum(answered), len(answered)) if answered else Fraction(DESIGN.fetched)
    calls = transcript.calls.values()
    return Audit(
        input=sum((bill(call, prices) for call in calls), Fraction(0)),
        output=sum((prices.output * call.output for call in calls), Fraction(0)),
        pushes=[_push(transcript, push, prices, round(fetched)) for push in transcript.pushes],
        searches=searches,
        fetched=fetched,
    )


def bill(call: Call, prices: Prices) -> Fraction:
    """The input side of one call."""
    written = prices.write * call.write_5m + prices.write_1h * call.write_1h
    return call.input + written + prices.read * call.read


def _push(transcript: Transcript, push: Push, prices: Prices, fetched: int) -> PushCost:
    calls = transcript.calls_behind(push.line, push.chain)
    instead = Fraction(0)
    if calls:
        here = replace(DESIGN, context=calls[0].prompt, later_calls=len(calls) - 1, fetched=fetched)
        instead = search_and_rereads(_as_billed(calls[0], prices), here)
    return PushCost(push, _carried(push.tokens, calls, prices), _outcome(transcript, push), instead)


def _search(transcript: Transcript, tool: ToolUse, prices: Prices, together: int) -> SearchCost:
    calls = transcript.calls_behind(tool.line, tool.chain)
    share = bill(calls[0], prices) / together if calls else Fraction(0)
    return SearchCost(tool, share, _carried(transcript.results.get(tool.id, 0), calls, prices))


def _carried(tokens: int, calls: Sequence[Call], prices: Prices) -> Carried:
    if not calls:
        return Carried(tokens)
    first, *later = calls
    # All that the first call left in the cache is read, or the tokens at its end are not among what is read.
    hits = [call.read >= first.prompt - first.input > 0 for call in later]
    spent = sum(
        (prices.read if hit else _taking_in(c, prices) for c, hit in zip(later, hits, strict=True)), Fraction(0)
    )
    return Carried(
        tokens=tokens,
        calls=len(calls),
        read=sum(hits),
        rewritten=len(hits) - sum(hits),
        first=tokens * _taking_in(first, prices),
        later=tokens * spent,
    )


def _taking_in(call: Call, prices: Prices) -> Fraction:
    """What a token costs that this call does not find in the cache."""
    if not (call.write_5m or call.write_1h):
        return Fraction(1)
    return prices.write_1h if call.write_1h > call.write_5m else prices.write


def _as_billed(call: Call, prices: Prices) -> Prices:
    """The prices in force in a session, as one of its calls shows them; without a cache everything costs 1."""
    cached = call.read or call.write_5m or call.write_1h
    return replace(prices, write=_taking_in(call, prices), read=prices.read if cached else Fraction(1))


def _outcome(transcript: Transcript, push: Push) -> Outcome:
    for tool in transcript.tools.values():
        if (tool.turn, tool.chain) == (push.turn, push.chain) and tool.line > push.line:
            if tool.is_search:
                return "searched"
            if any(_names(tool.said, pointed) for pointed in push.pointers):
                return "used"
    return "unused"


def _names(said: str, pointed: Pointed) -> bool:
    """Whether what a tool was called with has the pointer's name, its address, or the path or slug in that."""
    address = re.sub(r"(?:#.*|:L\d+(?:-L?\d+)?)$", "", pointed.address)
    words = {pointed.name, address, address.partition(":")[2]}
    return any(
        len(word) > 2 and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said, re.IGNORECASE) for word in words
    )
