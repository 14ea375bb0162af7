"""`audit`: who saw an item, what a reader saw."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from ..events.errors import InvalidEvent, LogUnavailable, NotFound, NotRunning, Refused
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..events.log import EventLog
    from .auditing import Access, Span, Subject, Tally

SHOWN = 50
"""Accesses on one page when nothing else is said."""
ITEMS_SHOWN = 5
"""Items of one access that a person is shown; all of them are in the JSON."""


@click.command()
@root_options
@option("--reader", default="", metavar="NAME", help="What this reader saw.")
@option("--item", default="", metavar="ID|NAME", help="Who saw this item; a name does while `up` runs.")
@option(
    "--since", default="", metavar="MOMENT", help="From then on: 7d, 12h, 2026-11-01, 2026-11-01T10:00, a position."
)
@option("--until", default="", metavar="MOMENT", help="Up to then; a date is its first moment.")
@option("--limit", type=click.IntRange(min=1, max=100_000), metavar="N", help="The newest N; 50 when not given.")
@option("--before", default="", metavar="POSITION", help="The page behind the one that ended with this.")
@option("--requests", is_flag=True, help="Tell what was asked as well.")
@option("--totals", is_flag=True, help="Only count, for each item and reader.")
@pass_invocation
def audit(
    invocation: Invocation,
    reader: str,
    item: str,
    since: str,
    until: str,
    limit: int | None,
    before: str,
    requests: bool,
    totals: bool,
) -> None:
    """Say what a reader saw, or who saw an item.

    Every push, search and open is counted, and every `why` of a reader that is not the owner. Newest first; the log is
    read with its archive, whether or not anything runs. --json writes one object a line, oldest first, all of them
    unless there is a --limit. Times are those at which the log took it, in UTC.
    """
    if not reader and not item:
        raise click.UsageError("Say whom or what it is about: --reader NAME, --item ID, or both.")
    from ..events.envelope import now_ms  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .auditing import Subject, Tally, accesses, must_be_known, newest, span  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("error")
    settings = invocation.settings
    subject, tally = Subject(reader, _id_of(invocation, item)), Tally()
    with log_at_hand(settings) as log:
        within = span(log, now_ms(), since, until, before)
        found = accesses(log, subject, within, tally, requests=requests)
        if totals:
            for _ in found:
                pass
            told = _totals(tally) if not invocation.as_json else _counted(tally)
        elif invocation.as_json:
            told = map(_encoded, found if limit is None else reversed(newest(found, limit)[0]))
        else:
            told = _page(*newest(found, limit or SHOWN), subject)
        for line in told:
            click.echo(line)
        if not tally.accesses:
            must_be_known(log, subject)
        _close(invocation, log, subject, within, tally)


def _id_of(invocation: Invocation, item: str) -> str:
    """The id of the item that is called so, if an API runs that knows; else what was typed.

    Raises:
        RecallError: several items are called so.
    """
    if not item or ":" in item:
        return item
    client = invocation.client()
    with suppress(NotRunning, LogUnavailable, Refused, InvalidEvent):
        try:
            return client.keys(item).item
        except NotFound:  # or hidden: `why` knows that one as well; neither of the two is an access
            return client.why("", item).item
    return item


def _encoded(access: Access) -> str:
    import msgspec  # noqa: PLC0415

    return msgspec.json.encode(access).decode()


def _page(page: list[Access], more: bool, subject: Subject) -> Iterable[str]:
    rows = []
    for access in page:
        cells = [_when(access.at), *([] if subject.reader else [one_line(access.reader)]), access.route]
        what = _place(access, subject.item) if subject.item else _items(access)
        rows.append((*cells, what, dim(_session(access))))
        if access.request or access.erased:
            rows.append((*[""] * len(cells), f"  asked: {one_line(access.request) or '(erased)'}", ""))
    yield from table(rows)
    if more:
        yield dim(f"There is more: --before {page[-1].position}")


def _items(access: Access) -> str:
    if not access.items:
        return "(nothing)"
    told = ", ".join(map(one_line, access.items[:ITEMS_SHOWN]))
    more = len(access.items) - ITEMS_SHOWN
    return told + (f"#{one_line(access.anchor)}" if access.anchor else "") + (f" and {more} more" if more > 0 else "")


def _place(access: Access, item: str) -> str:
    if len(access.items) > 1:
        return f"{access.items.index(item) + 1}. of {len(access.items)}"
    return f"#{one_line(access.anchor)}" if access.anchor else ""


def _session(access: Access) -> str:
    return f"in session {one_line(access.session)}" if access.session else ""


def _when(at: str) -> str:
    return at[:19].replace("T", " ")


def _time(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1_000, UTC):%Y-%m-%d %H:%M:%S}"


def _totals(tally: Tally) -> Iterable[str]:
    rows = [("reader", "item", *tally.routes, "last")]
    for (reader, item), (*counts, last) in sorted(tally.seen.items(), key=lambda one: (-one[1][-1], one[0])):
        rows.append((one_line(reader), one_line(item), *(f"{number or '-'}" for number in counts), _time(last)))
    return table(rows) if tally.seen else []


def _counted(tally: Tally) -> Iterable[str]:
    import json  # noqa: PLC0415

    from .exporting import iso  # noqa: PLC0415

    for (reader, item), (*counts, last) in tally.seen.items():
        by_route = dict(zip(tally.routes, counts, strict=True))
        yield json.dumps({"reader": reader, "item": item, **by_route, "last": iso(last)}, ensure_ascii=False)


def _close(invocation: Invocation, log: EventLog, subject: Subject, within: Span, tally: Tally) -> None:
    """The last line for a person, and what must not go unsaid; on standard error where lines are for a program."""
    if not invocation.as_json:
        by_route = ", ".join(f"{route} {number:,}" for route, number in tally.routes.items() if number)
        items = len({item for _, item in tally.seen})
        told = f"{count(tally.accesses, 'access')} ({by_route}), {count(items, 'item')}" if by_route else "No access"
        first = "the beginning" if not within.after.ms else _time(within.after.ms)
        click.echo(
            dim(f"{told}: {one_line(str(subject))}, from {first} to {_time(within.until.ms)} UTC, log {log.owner}")
        )
    if tally.unreadable:
        click.echo(
            f"{count(tally.unreadable, 'event')} in that time cannot be read, and may be accesses. "
            "`instant-recall doctor` tells what is wrong.",
            err=True,
        )
