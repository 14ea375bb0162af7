"""`push`, `search`, `why`, `open`: what a harness asks, for a person or a script to try."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from ..events.errors import LogUnavailable, NotFound, RecallError
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, printable, table

if TYPE_CHECKING:
    from ..api.client import Client
    from ..api.messages import OpenResponse, PushResponse, SearchResponse, WhyResponse

PUSH_MS = 5_000
"""Longer than any push takes, and as long as somebody who typed one should wait to be told that none comes."""

WHY_EMPTY = {
    "nothing_fits": "Nothing is pushed: nothing you have clears the bar for this request.",
    "trivial_turn": "Nothing is pushed: there is nothing to look for in this turn.",
    "already_shown": "Nothing is pushed: all that fits was shown in this session and has not changed.",
}

REMEDIES = {
    "not_indexed": "`remember` or `import` brings it in.",
    "wrong_key": "`correct` gives it this request as a key.",
    "drowned": "`correct` gives it this request as a key.",
}
"""What mends it, by gate."""
ROUTES = {
    "use_words": "the words of its use keys",
    "use_meaning": "the meaning of its use keys",
    "topic_words": "the words of what it says",
    "topic_meaning": "the meaning of what it is",
    "text_meaning": "the meaning of what it says",
}

reader_option = option(
    "--reader", default="owner", metavar="NAME", help="Ask as this reader: it sees only what it may."
)
as_of_option = option(
    "--as-of",
    default="",
    metavar="TIME|POSITION",
    help="Answer as of a past moment: a time (of this machine's clock, unless it has a zone), a date, or a position.",
)
session_option = option("--session", default="", metavar="ID", help="The session to which this belongs.")
project_option = option("--project", default="", metavar="NAME", help="The project in which the request is made.")
recent_option = option(
    "--recent", multiple=True, metavar="LINE", help="A line said just before, oldest first; may be given again."
)


def client_for(invocation: Invocation, *readers: str) -> Client:
    """The client that asks as these readers, or about them.

    Raises:
        NotFound: one of them was never granted anything. The list of readers is the owner's to know: somebody with a
            token is told by the API what it tells anybody.
    """
    client = invocation.client()
    named = {*readers} - {"", "owner"}
    if not named or client.has_token:
        return client
    if unknown := named - {known.name for known in client.readers(ended=True).readers}:
        name = one_line(min(unknown))
        raise NotFound(f"No reader {name!r:.80} was ever granted anything. `instant-recall reader list` shows who was.")
    return client


@click.command()
@root_options
@click.argument("request")
@reader_option
@session_option
@as_of_option
@project_option
@recent_option
@pass_invocation
def push(
    invocation: Invocation, request: str, reader: str, session: str, as_of: str, project: str, recent: tuple[str, ...]
) -> None:
    """Show what the model would be shown for a request.

    That is at most five pointers, or nothing when nothing fits.
    """
    client = client_for(invocation, reader)
    ask = partial(client.push, reader=reader, session=session, project=project, recent=recent, as_of=as_of)
    answer = ask(request, deadline_ms=None if as_of else PUSH_MS)
    if answer.reason == "deadline":
        raise LogUnavailable("The push failed: no answer came in time. `instant-recall doctor` says what is wrong.")
    if not answer.pointers and answer.reason and answer.reason not in WHY_EMPTY:
        client.status(reader=reader, as_of=as_of)  # a push never raises; this says what is wrong
        raise RecallError(f"The push failed ({answer.reason}). The logs in {invocation.place.logs_dir} tell more.")
    invocation.output.message(answer, [*past(answer.as_of), *_pushed(answer)])


def _pushed(answer: PushResponse) -> list[str]:
    if not answer.pointers:
        return [WHY_EMPTY.get(answer.reason, "Nothing is pushed.")]
    scores = [(f"{pointer.score:.2f}", pointer.route, one_line(pointer.item)) for pointer in answer.pointers]
    late = ", as of an older position: the log could not be read to its end" if answer.stale else ""
    size = f"{count(len(answer.pointers), 'pointer')}, about {count(answer.tokens, 'token')}"
    return [
        printable(answer.block).rstrip(),
        "",
        *(dim(line) for line in table(scores)),
        dim(f"{size}, {answer.took_ms:.1f} ms{late}"),
    ]


@click.command()
@root_options
@click.argument("query")
@reader_option
@session_option
@as_of_option
@project_option
@recent_option
@option("--limit", default=20, show_default=True, type=click.IntRange(1, 1_000), metavar="N", help="At most so many.")
@option("--kind", multiple=True, metavar="KIND", help="Only this kind (skill, note, machine, ...); may be given again.")
@pass_invocation
def search(
    invocation: Invocation,
    query: str,
    reader: str,
    session: str,
    as_of: str,
    project: str,
    recent: tuple[str, ...],
    limit: int,
    kind: tuple[str, ...],
) -> None:
    """Find all that may fit, best first.

    Every line ends with an address, which `open` takes.
    """
    ask = partial(client_for(invocation, reader).search, reader=reader, session=session, project=project, recent=recent)
    answer = ask(query, limit=limit, kinds=kind, as_of=as_of)
    invocation.output.message(answer, [*past(answer.as_of), *_found(answer)])


def _found(answer: SearchResponse) -> list[str]:
    if not answer.found:
        return ["Nothing found."]
    lines: list[str] = []
    for found in answer.found:
        name = one_line(found.name)
        lines.append(f"{found.score:.2f}  [{found.kind}] {name}{'  ' if name else ''}{dim(one_line(found.address))}")
        if found.mark:
            lines.append("      " + click.style(one_line(found.mark), fg="yellow"))
        if found.purpose:
            lines.append("      " + _cut(one_line(found.purpose), 110))
    return [*lines, dim(f"{count(len(answer.found), 'item')}, {answer.took_ms:.1f} ms")]


@click.command()
@root_options
@click.argument("request")
@click.argument("item")
@reader_option
@option("--for", "for_reader", default="", metavar="NAME", help="As the owner, ask about what this reader is shown.")
@session_option
@as_of_option
@project_option
@recent_option
@pass_invocation
def why(
    invocation: Invocation,
    request: str,
    item: str,
    reader: str,
    for_reader: str,
    session: str,
    as_of: str,
    project: str,
    recent: tuple[str, ...],
) -> None:
    """Say why an item is, or is not, pushed for a request.

    ITEM is an id, an address or a name. Of the gates at which it can fail (not indexed, nobody asked, filtered out,
    wrong key, drowned) the first is told, with its place on every route. Only the owner is told what filters it out.
    Give it the session, project and lines before that the push had, and it tells of that very push.
    """
    ask = partial(
        client_for(invocation, reader, for_reader).why, reader=reader, session=session, project=project, recent=recent
    )
    answer = ask(request, item, for_reader=for_reader, as_of=as_of)
    invocation.output.message(answer, [*past(answer.as_of), *_explained(answer)])


def _explained(answer: WhyResponse) -> list[str]:
    gate = answer.gate.replace("_", " ") + (f" ({answer.rule.replace('_', ' ')})" if answer.rule else "")
    gate = click.style(gate, fg="green" if answer.gate == "found" else "yellow")
    told = [f"{one_line(answer.item)}: {gate}. {one_line(answer.words)} {REMEDIES.get(answer.gate, '')}".rstrip()]
    if answer.stale:
        told.append(dim("As of an older position: the log could not be read to its end."))
    if answer.probability is None:
        return told
    rows = [(f"by {ROUTES[route]}", str(place or "-")) for route, place in answer.ranks.items() if route in ROUTES]
    rows.append(("all together", f"{answer.rank or '-'}  with a probability of {answer.probability:.3f}"))
    return [*told, "", *table([("its place", ""), *rows], indent="  "), "", dim(_bar(answer))]


def _bar(answer: WhyResponse) -> str:
    if answer.bar_default is None or answer.bar == answer.bar_default:
        return f"The bar is {answer.bar:g}, the default."
    return f"Your bar is {answer.bar:g}; the default is {answer.bar_default:g}."


@click.command("open")
@root_options
@click.argument("address")
@reader_option
@session_option
@as_of_option
@pass_invocation
def open_(invocation: Invocation, address: str, reader: str, session: str, as_of: str) -> None:
    """Print the exact text behind an address.

    ADDRESS is what stands after "Open:" in a pointer or at the end of a line of `search`; or an item's id, or a name
    that only one item has.
    """
    answer = client_for(invocation, reader).open(address, reader=reader, session=session, as_of=as_of)
    invocation.output.message(answer, [*past(answer.as_of), *_opened(answer)])


def _opened(answer: OpenResponse) -> list[str]:
    head = [dim(f"[{answer.kind}] {one_line(answer.name)}  {one_line(answer.address)}")]
    if answer.mark:
        where = f": open {one_line(answer.replaced_by)}" if answer.replaced_by else ""
        head.insert(0, click.style(f"This is {one_line(answer.mark)}{where}", fg="yellow"))
    body = answer.text or answer.description or answer.purpose
    return [*head, "", printable(body).rstrip() or "(no text)"]


def past(as_of: str) -> list[str]:
    """The line that says that an answer is about the past; none for the present."""
    if not as_of:
        return []
    try:
        when = datetime.fromisoformat(as_of).astimezone().isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        when = one_line(as_of)
    return [click.style(f"As of {when}, not of now; without what was forgotten since.", fg="yellow")]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
