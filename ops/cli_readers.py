"""`reader`: who may ask besides the owner, for which scopes, and until when."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from ..events.errors import NotFound, RecallError, Refused
from ..events.settings import TOKEN_VARIABLE
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from ..api.client import Client
    from ..api.reader_messages import GrantResponse, KnownReader
    from ..events.types import ReaderKind

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _seconds(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Seconds from `90s`, `30m`, `8h` or `2d`."""
    if value is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})([smhd])", value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no span of time. Say it as 90s, 30m, 8h or 2d.")
    return int(found[1]) * _UNITS[found[2]]


_scope = option("--scope", "scopes", multiple=True, metavar="LABEL", help="What it sees carries this; say it again.")
_expires = option("--expires", callback=_seconds, metavar="SPAN", help="When it ends: 90s, 30m, 8h, 2d.")


@click.group()
@root_options
def reader() -> None:
    """Say who may ask, for what, and until when.

    A reader sees what carries one of its scopes, and nothing else: not a line, not a count. What you store carries the
    label `owner` unless another is said, and that is for you alone.
    """


@reader.command("grant")
@root_options
@click.argument("name")
@_scope
@option(
    "--kind",
    type=click.Choice(["sub_agent", "tool", "owner"]),
    default="sub_agent",
    show_default=True,
    help="`owner`: another device of yours, which may do all that you may.",
)
@_expires
@option("--no-token", is_flag=True, help="Make none: your own software names the reader instead.")
@option("--reason", default="", metavar="TEXT", help="Kept with it.")
@pass_invocation
def grant(
    invocation: Invocation,
    name: str,
    scopes: tuple[str, ...],
    kind: ReaderKind,
    expires: int | None,
    no_token: bool,
    reason: str,
) -> None:
    """Let a reader in, and make its token.

    A grant of the same name that was there before ends, and so do all that were made out of it.
    """
    answer = invocation.client().grant(
        name,
        scopes=scopes,
        kind=kind,
        expires_s=expires,
        token=not no_token,
        reason=reason,
    )
    invocation.output.message(answer, _granted(answer))


@reader.command("narrow")
@root_options
@click.argument("name")
@_scope
@_expires
@option("--kind", type=click.Choice(["sub_agent", "tool"]), help="As whose grant it is made out of, when not given.")
@option("--of", "holder", metavar="READER", help="For the owner: out of whose grant.")
@option("--token-stdin", is_flag=True, help=f"Read the holder's token from standard input, not {TOKEN_VARIABLE}.")
@option("--url", metavar="URL", help="Where the API is, when not on this machine's socket.")
@pass_invocation
def narrow(
    invocation: Invocation,
    name: str,
    scopes: tuple[str, ...],
    expires: int | None,
    kind: str | None,
    holder: str | None,
    token_stdin: bool,
    url: str | None,
) -> None:
    """Make a token that sees less, out of another's.

    The new reader is called PARENT/NAME: `narrow task-7` out of `scout` makes `scout/task-7`, by which it is listed and
    revoked. Whoever has a token may do so: give it in INSTANT_RECALL_TOKEN or on standard input, never as an argument,
    where every process of the machine can read it. It is never wider and never lives longer than the one it is made out
    of.
    """
    from ..api.asking import checked  # noqa: PLC0415
    from ..api.reader_messages import NarrowRequest  # noqa: PLC0415

    token = sys.stdin.readline().strip() if token_stdin else os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token and (token_stdin or TOKEN_VARIABLE in os.environ):
        where = "standard input" if token_stdin else TOKEN_VARIABLE
        raise RecallError(f"There is no token in {where}. Give one, or be the owner and say --of READER alone.")
    if not token and holder is None:
        raise click.UsageError(
            f"Say out of whose grant: by a token in {TOKEN_VARIABLE}, --token-stdin, or --of READER."
        )
    if token and holder is not None:
        raise click.UsageError("The token says out of whose grant. Leave --of away.")
    client = _client(invocation, token, url)
    fields = {"kind": kind or "", "reader": holder or "owner"}
    asked = checked(NarrowRequest, name=name, scopes=scopes, expires_s=expires, **fields)
    answer = client.narrowed(asked)
    invocation.output.message(answer, _granted(answer))


@reader.command("revoke")
@root_options
@click.argument("name")
@pass_invocation
def revoke(invocation: Invocation, name: str) -> None:
    """End a reader's grant, and all made out of it.

    From the next request on. A request that is being answered at this moment still may be. NAME is as it is listed; of
    one that was made by `narrow` it is PARENT/NAME.
    """
    client = invocation.client()
    try:
        answer = client.revoke(name)
    except NotFound as error:
        meant = [one_line(full) for full in _ending_with(client, name)]
        if not meant:
            raise
        raise NotFound(f"{error} Did you mean {' or '.join(meant)}?") from error
    lines = [f"Ended: {', '.join(answer.ended)}."] if answer.ended else [f"{name} had ended before."]
    invocation.output.message(answer, lines)


@reader.command("list")
@root_options
@option("--all", "everyone", is_flag=True, help="Those whose grant has ended, too.")
@pass_invocation
def list_(invocation: Invocation, everyone: bool) -> None:
    """Show who may ask, for what, and until when."""
    answer = invocation.client().readers(ended=everyone)
    if answer.readers:
        lines = table([("reader", "kind", "sees", "until", ""), *map(_row, answer.readers)])
    else:
        lines = ["Nobody but you. `reader grant NAME --scope LABEL` lets somebody in."]
    if answer.ended and not everyone:
        lines.append(dim(f"{count(answer.ended, 'grant')} ended; --all shows them."))
    invocation.output.message(answer, lines)


def _ending_with(client: Client, name: str) -> list[str]:
    """Full names of the readers that were made under this one, as far as the caller may list them."""
    try:
        known = client.readers(ended=True).readers
    except Refused:
        return []
    return [each.name for each in known if each.name.endswith(f"/{name}")][:3]


def _client(invocation: Invocation, token: str, url: str | None) -> Client:
    if not token and not url:
        return invocation.client()
    from ..api.client import Client  # noqa: PLC0415

    return Client(invocation.place.home, url=url, token=token or None, timeout_s=30)


def _granted(answer: GrantResponse) -> list[str]:
    sees = "everything" if answer.kind == "owner" else ", ".join(answer.scopes)
    end = f"until {_moment(answer.expires_at)}" if answer.expires_at else "until it is revoked"
    lines = [f"{click.style('Granted', fg='green')}: {answer.reader} ({_kind(answer.kind)}) sees {sees}, {end}."]
    if answer.unused:
        lines.append(dim(f"Nothing carries {', '.join(answer.unused)} as yet."))
    if answer.token:
        lines += table([("token", answer.token)], indent="  ")
        lines.append("Keep it: it is told only now. `Client(token=...)` is that reader, and so is a Bearer header.")
    return lines


def _row(known: KnownReader) -> tuple[str, ...]:
    sees = "everything" if known.kind == "owner" else ", ".join(known.sees or known.scopes)
    until = _moment(known.expires_at) if known.expires_at else "no end"
    marks = [known.state] if known.state != "active" else []
    marks += [] if known.has_token or known.state != "active" else ["no token"]
    return known.name, _kind(known.kind), sees, until, dim(", ".join(marks)) if marks else ""


def _kind(kind: str) -> str:
    return kind.replace("_", "-")


def _moment(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1_000, UTC):%Y-%m-%d %H:%M} UTC"
