"""`up`, `down`, `status`: starting, stopping, and how things stand."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import precision
from .cli_asking import as_of_option, past
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, table

if TYPE_CHECKING:
    from ..api.messages import StatusResponse
    from ..api.tcp import Tcp
    from .supervisor import Ready


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@root_options
@option("--tcp", type=click.IntRange(1, 65_535), metavar="PORT", help="Answer on 127.0.0.1:PORT too, with a token.")
@option("--tcp-host", metavar="ADDRESS", help="With --tcp: answer on this address. Other machines need TLS.")
@option("--tls-cert", type=_FILE, metavar="FILE", help="With --tcp: speak TLS, with this certificate (PEM).")
@option("--tls-key", type=_FILE, metavar="FILE", help="Its key, when that is in a file of its own.")
@option("--without-tls", is_flag=True, help="Let other machines in without TLS: tokens and texts go in clear.")
@option("--new-token", is_flag=True, help="With --tcp: make a new token; the old one ends.")
@option("--no-worker", is_flag=True, help="Start no worker, cron or reactor: they run elsewhere.")
@pass_invocation
def up(invocation: Invocation, /, tcp: int | None, new_token: bool, no_worker: bool, **how: Any) -> None:
    """Start everything, and keep it running.

    The server, the API, cron, reactor and one worker. It stays in the foreground; Ctrl-C stops all of them.
    """
    from . import logs  # noqa: PLC0415
    from .supervisor import Supervisor  # noqa: PLC0415

    where = _tcp(tcp, **how)

    # Who watches wants to hear of what goes wrong; a file of lines is for finding out later what happened when.
    logs.configure("warning" if sys.stderr.isatty() else "info")
    settings = invocation.settings

    def announce(ready: Ready) -> None:
        facts = {"ready": True, **dataclasses.asdict(ready)}
        invocation.output.result(facts, ready_lines(ready))

    Supervisor(settings, tcp=where, new_token=new_token, worker=not no_worker).run(announce)
    if not invocation.as_json:
        click.echo("Stopped.")


def _tcp(
    port: int | None, tcp_host: str | None, tls_cert: Path | None, tls_key: Path | None, without_tls: bool
) -> Tcp | None:
    from ..api.tcp import LOOPBACK, Tcp  # noqa: PLC0415

    if port is None and (tcp_host or tls_cert or tls_key or without_tls):
        raise click.UsageError("Say on which port, with --tcp PORT.")
    return Tcp(port, tcp_host or LOOPBACK, tls_cert, tls_key, without_tls) if port is not None else None


def ready_lines(ready: Ready) -> list[str]:
    """What `up` tells a person once everything answers: each place on a line of its own, to be copied."""
    places = [("data", ready.home), ("socket", ready.socket), ("url", ready.url), ("token", ready.token)]
    lines = [
        f"{click.style('Ready', fg='green')} in {ready.took_s:.1f} s. Ctrl-C stops everything.",
        *table([place for place in places if place[1]], indent="  "),
    ]
    if ready.token:
        lines.append("Keep the token: it is told only now. `up --tcp PORT --new-token` makes another.")
    return lines


@click.command()
@root_options
@pass_invocation
def down(invocation: Invocation) -> None:
    """Stop everything that `up` started.

    From any window. Nothing is left running, and nothing is lost.
    """
    from . import logs, supervisor  # noqa: PLC0415

    logs.configure("warning")
    found = supervisor.down(invocation.settings)
    if found.stopped_pid:
        text = f"Stopped (process {found.stopped_pid})."
    elif found.stopped_server:
        text = "Stopped a server that was left without its `up`."
    else:
        text = f"Nothing was running for {invocation.settings.home}."
    invocation.output.result(dataclasses.asdict(found), [text])


@click.command()
@root_options
@as_of_option
@pass_invocation
def status(invocation: Invocation, as_of: str) -> None:
    """Show what runs, and what it knows."""
    answer = invocation.client().status(as_of=as_of)
    lines = [*past(answer.as_of), *_lines(invocation, answer)]
    invocation.output.message(answer, lines, running=True, home=str(invocation.place.home))


def _lines(invocation: Invocation, answer: StatusResponse) -> list[str]:
    total = sum(answer.items.values())
    kinds = ", ".join(count(n, kind) for kind, n in sorted(answer.items.items(), key=lambda kn: -kn[1]) if n)
    behind = "" if answer.applied == answer.position else f" (read up to {answer.applied})"
    snapshot = f"{answer.generation}, up to {answer.snapshot_position}" if answer.generation else "none yet"
    return table(
        [
            ("running", f"version {answer.version}, for {_duration(answer.uptime_s)}"),
            ("data", f"{invocation.place.home}" + ("" if answer.owner == "owner" else f", owner {answer.owner}")),
            (
                "items",
                f"{total:,}" + (f"  {dim(kinds)}" if kinds else f"  {dim('start with `instant-recall import`')}"),
            ),
            ("log", f"{answer.server}, last position {answer.position}{behind}"),
            ("snapshot", f"{snapshot}; {count(answer.overlay_items, 'item')} newer than it"),
            ("encoder", answer.encoder),
            ("bar", _bar(answer)),
            ("pushes", f"{answer.pushes:,} since the start"),
            *precision.told(answer.precision),
            *([("held back", f"{count(answer.held, 'thing')}; see `quarantine list`")] if answer.held else []),
        ]
    )


def _bar(answer: StatusResponse) -> str:
    if answer.bar is None or answer.bar_default is None:
        return "-"  # an older server
    bar = f"{answer.bar:g}, the default"
    if answer.bar != answer.bar_default:
        bar = f"your bar is {answer.bar:g}; the default is {answer.bar_default:g}"
    told = {"in_force": "the ranker is refitted to you", "outdated": "your refit waits for tonight's"}
    return bar + (f"  {dim(told[answer.refit])}" if answer.refit in told else "")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
