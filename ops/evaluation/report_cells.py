"""How figures stand in the tables of a report."""

from __future__ import annotations

from .report_page import Html
from .suite_result import AskedCase, CaseRow, Mean, Rate, SuiteResult


def rate(found: Rate) -> Html | str:
    """A rate in percent with its interval; a dash for a rate of nothing."""
    if not found.of:
        return "-"
    return _with_range(f"{100 * found.rate:.0f}", f"{100 * found.low:.0f}", f"{100 * found.high:.0f}")


def mean(found: Mean, digits: int) -> Html | str:
    """A mean with its interval, where there is one."""
    if found.interval is None:
        return f"{found.mean:.{digits}f}"
    return _with_range(*(f"{value:.{digits}f}" for value in (found.mean, *found.interval)))


def by_item(found: Mean, of: int) -> str:
    """The interval that counts all cases about one item as one, in percent."""
    if found.interval is None or not of:
        return "-"
    return f"{100 * found.interval.low:.0f}\N{EN DASH}{100 * found.interval.high:.0f}"


def percent(share: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.0f}"


def points(gain: float) -> str:
    """A difference of two shares, in points, with its sign."""
    return f"{100 * gain:+.1f}".replace("-", "\N{MINUS SIGN}") if gain else "0"


def p_value(value: float) -> str:
    """A p, as exact as anybody needs it."""
    return "< 0.001" if value < 0.001 else "1" if value > 0.9995 else f"{value:.3f}"


def mark(case: AskedCase, row: CaseRow) -> str:
    """What came of one case in one setup, as one sign."""
    if row.forbidden:
        return "\N{BALLOT X}"
    if not case.expect:
        return "\N{MIDDLE DOT}" if row.pushed else "\N{CHECK MARK}"
    return "\N{CHECK MARK}1" if row.hit1 else "\N{CHECK MARK}" if row.hit5 else "\N{MIDDLE DOT}"


def rows_of(result: SuiteResult, name: str) -> list[CaseRow]:
    """The rows of a setup or of another make."""
    return result.setups.get(name) or result.baselines.get(name) or []


def _with_range(value: str, low: str, high: str) -> Html:
    return Html(f'{value} <span class="range">{low}\N{EN DASH}{high}</span>')
