"""`quarantine`: what is held back because it may give orders in somebody else's name; looked at, let go, held."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from ..api.quarantine_messages import HeldBack, QuarantineResponse

PASSAGE = 72
"""Characters of a passage in the list; `show` has all of the text."""
_SAID_BY = {"web": "a web page", "tool": "a tool", "import": "an imported file", "agent": "an agent", "owner": "you"}


@click.group()
@root_options
def quarantine() -> None:
    """See what is held back, and let it go.

    What web pages, tools and imported files say is held back when it hides something, or gives an assistant orders that
    are not yours. Until you have looked at it, it is in no push, no search, and cannot be opened.
    """


@quarantine.command("list")
@root_options
@pass_invocation
def list_(invocation: Invocation) -> None:
    """List what is held back, with the reason and the passage."""
    answer = invocation.client().quarantine()
    invocation.output.message(answer, _listed(answer))


@quarantine.command("show")
@root_options
@click.argument("item")
@pass_invocation
def show(invocation: Invocation, item: str) -> None:
    """Show all that a held item says.

    What cannot be seen is named instead, like <U+200B>. ITEM is as it is listed.
    """
    answer = invocation.client().quarantine(item)
    (held,) = answer.held
    head = [*_head(held), ""]
    invocation.output.message(answer, [*head, *(f"  {one_line(line)}" for line in held.text.splitlines())])


@quarantine.command("release")
@root_options
@click.argument("item")
@pass_invocation
def release(invocation: Invocation, item: str) -> None:
    """Let something go: it is like anything else from now on.

    ITEM is as it is listed. A file that changes is looked through again when it is imported.
    """
    answer = invocation.client().release(item)
    invocation.output.message(answer, [f"Released {one_line(answer.item)}  {dim(f'position {answer.position}')}"])


@quarantine.command("add")
@root_options
@click.argument("item")
@option("--reason", default="", metavar="TEXT", help="Why, for your own record.")
@pass_invocation
def add(invocation: Invocation, item: str, reason: str) -> None:
    """Hold an item back until you release it.

    ITEM is an id, an address or a name.
    """
    answer = invocation.client().hold_back(item, reason)
    told = f"Held back {one_line(answer.item)}; `instant-recall quarantine release` lets it go"
    invocation.output.message(answer, [f"{told}  {dim(f'position {answer.position}')}"])


def _listed(answer: QuarantineResponse) -> list[str]:
    if not answer.held:
        return ["Nothing is held back."]
    lines = [
        f"{count(len(answer.held), 'thing')} held back until you have looked at "
        f"{'it' if len(answer.held) == 1 else 'them'}:"
    ]
    for held in answer.held:
        lines += ["", *_head(held)]
    return [*lines, "", dim("`quarantine show ITEM` shows all of one, `quarantine release ITEM` lets it go.")]


def _head(held: HeldBack) -> list[str]:
    since = datetime.fromtimestamp(held.since / 1_000).astimezone().strftime("%Y-%m-%d %H:%M")
    name = f"  {one_line(held.name)}" if held.name else ""
    passage = one_line(held.passage)
    rows = [
        ("since", f"{since}, said by {_SAID_BY.get(held.said_by, 'somebody')}"),
        ("why", one_line(held.reason) or "no reason was given"),
        ("passage", passage if len(passage) <= PASSAGE else passage[: PASSAGE - 1] + "…"),
        *([("from", one_line(held.source_uri))] if held.source_uri else []),
    ]
    return [f"{one_line(held.item)}{dim(name)}", *table(rows, indent="  ")]
