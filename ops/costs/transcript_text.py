"""A session's costs in words and as JSON. Neither holds a word of what was said in it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..output import count, dim, one_line
from .cost import Prices, number
from .cost_text import plain, prices_facts, small
from .transcript_cost import Audit
from .transcripts import Transcript


def told(session: Transcript, found: Audit, prices: Prices) -> Iterator[str]:
    """What a session paid, for a terminal."""
    over = f"; {count(session.passed_over, 'line')} passed over" if session.passed_over else ""
    yield (
        f"{count(session.turns, 'turn')}, {count(len(session.calls), 'call')}, "
        f"{count(len(session.compactions), 'compaction')}{over}"
    )
    yield dim(
        f"Base input tokens: cache write {number(prices.write)} (5 min) or {number(prices.write_1h)} (1 h), "
        f"read {number(prices.read)}, output {number(prices.output)}."
    )
    yield f"{number(round(found.input)):>11}  all that went in"
    yield f"{number(round(found.output)):>11}  all that came out"
    yield from _pushes_told(found)
    yield from _searches_told(found)
    yield from _spared_told(found)


def _pushes_told(found: Audit) -> Iterator[str]:
    total = sum((push.cost for push in found.pushes), Fraction(0))
    yield f"{number(round(total)):>11}  {count(len(found.pushes), 'push')}{_percent(total, found.input)}"
    if found.pushes:
        carried = [push.carried for push in found.pushes]
        again = sum(c.rewritten for c in carried)
        text = (
            f"About {sum(c.tokens for c in carried):,} tokens. Each was written to the cache once; they were read "
            f"again {count(sum(c.read for c in carried), 'time')}, and written again {count(again, 'time')} because "
            "the cache had run out or something before them changed."
        )
        yield from small(text, 13)


def _searches_told(found: Audit) -> Iterator[str]:
    total = sum((search.cost for search in found.searches), Fraction(0))
    yield f"{number(round(total)):>11}  {count(len(found.searches), 'search')}{_percent(total, found.input)}"
    if found.searches:
        names = sorted({one_line(search.tool.name) for search in found.searches})
        text = (
            f"{', '.join(names)}: {number(round(total / len(found.searches)))} each on average. The call that came "
            "after, shared among the tools asked for together, and the later reads of what was fetched."
        )
        yield from small(text, 13)


def _spared_told(found: Audit) -> Iterator[str]:
    if not found.pushes:
        yield dim("No push of Instant Recall is in this transcript.")
        return
    used, searched, unused = (found.those(outcome) for outcome in ("used", "searched", "unused"))
    worth = sum((push.search for push in used), Fraction(0))
    total = sum((push.cost for push in found.pushes), Fraction(0))
    mean = sum((push.search for push in found.pushes), Fraction(0)) / len(found.pushes)
    yield "What came of the pushes"
    yield f"{len(used):>11,}  something they pointed at was used, with no search before it"
    yield f"{len(searched):>11,}  a search came first all the same"
    yield f"{len(unused):>11,}  neither"
    yield f"They spared at most {count(len(used), 'search', 'searches')}, worth {number(round(worth))}."
    if mean:
        yield f"All pushes together cost as much as {float(total / mean):,.1f} searches would have."
    text = (
        "At most: whether a search would have been made is not in a transcript. Used means that a tool was called with "
        f"its name or address in the same turn. A spared search would have brought {number(round(found.fetched))} "
        "tokens into the context of that moment, and the calls that came would have read them again. The tokens of "
        "single texts are estimated, high rather than low; what was billed is from the usage fields. The call that "
        "makes a compaction's summary is not in a transcript."
    )
    yield from small(text, 0)


def _percent(part: Fraction, whole: Fraction) -> str:
    return f", {float(part / whole * 100):.1f} % of what went in" if whole and part else ""


def facts(session: Transcript, found: Audit, prices: Prices) -> dict[str, Any]:
    """What a session paid, for JSON: one entry for each push and each search."""
    used = found.those("used")
    return {
        "prices": {**prices_facts(prices), "write_1h": plain(prices.write_1h)},
        "turns": session.turns,
        "calls": len(session.calls),
        "compactions": len(session.compactions),
        "lines": session.lines,
        "passed_over": session.passed_over,
        "input": plain(found.input),
        "output": plain(found.output),
        "pushes": [
            {
                "line": push.push.line,
                "turn": push.push.turn,
                "pointers": len(push.push.pointers),
                "tokens": push.carried.tokens,
                "calls": push.carried.calls,
                "read": push.carried.read,
                "rewritten": push.carried.rewritten,
                "cost": plain(push.cost),
                "outcome": push.outcome,
                "search_instead": plain(push.search),
            }
            for push in found.pushes
        ],
        "searches": [
            {
                "line": search.tool.line,
                "turn": search.tool.turn,
                "tool": search.tool.name,
                "fetched": search.carried.tokens,
                "calls": search.carried.calls,
                "cost": plain(search.cost),
            }
            for search in found.searches
        ],
        "spared_at_most": {"searches": len(used), "tokens": plain(sum((p.search for p in used), Fraction(0)))},
    }
