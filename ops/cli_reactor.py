"""`reactor` and `dead-letters`: how the process stands that turns events into jobs, and what it could not handle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, table

if TYPE_CHECKING:
    import redis

    from ..events.log import EventLog
    from ..workers.dead_letters import DeadLetter, ReactorStatus


@contextmanager
def _server(invocation: Invocation) -> Iterator[tuple[redis.Redis, EventLog]]:
    from ..events.connect import connect  # noqa: PLC0415
    from ..events.redis_log import driver_errors  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("error")
    settings = invocation.settings
    with log_at_hand(settings) as log, closing(connect(settings)) as client, driver_errors(client):
        yield client, log


@click.command()
@root_options
@option("--start-over", is_flag=True, help="Let it handle the log from its beginning.")
@pass_invocation
def reactor(invocation: Invocation, start_over: bool) -> None:
    """Show how the process stands that makes jobs of events.

    It asks for a snapshot when much is new, and for the erasure of what was forgotten. --start-over is for a log that
    was restored from an older backup; a job that was done already changes nothing when it is done again.
    """
    from ..workers.dead_letters import let_it_start_over, reactor_status  # noqa: PLC0415

    with _server(invocation) as (client, log):
        if start_over:
            let_it_start_over(client, invocation.settings.owner)
        status = reactor_status(client, invocation.settings.owner, log.last_position())
    invocation.output.result(_facts(status), _lines(status))


def _facts(status: ReactorStatus) -> dict[str, object]:
    positions = {name: str(getattr(status, name)) for name in ("checkpoint", "last", "snapshot")}
    return {name: getattr(status, name) for name in status.__struct_fields__} | positions


def _lines(status: ReactorStatus) -> list[str]:
    behind = "all of the log" if status.checkpoint >= status.last else f"the log ends at {status.last}"
    sessions = f"{status.sessions_closed:,}"
    if status.session_closed_at:
        sessions += f", the last {datetime.fromtimestamp(status.session_closed_at / 1_000, UTC):%Y-%m-%d %H:%M} UTC"
    set_aside = count(status.dead, "event")
    return table(
        [
            ("running", "yes" if status.running else "no (`up` starts it)"),
            ("handled", f"up to {status.checkpoint}  {dim(behind)}"),
            ("new", f"{count(status.touched, 'item')} since the snapshot up to {status.snapshot}"),
            ("jobs", f"{count(status.noted, 'job')} to be put into the queue"),
            ("set aside", set_aside + ("; see `dead-letters list`" if status.dead else "")),
            ("sessions", f"{sessions} closed"),
        ]
    )


@click.group("dead-letters")
def dead_letters() -> None:
    """See and retry events that could not be handled."""


@dead_letters.command("list")
@root_options
@pass_invocation
def list_(invocation: Invocation) -> None:
    """List the events that were set aside.

    By id: what is in them is never shown.
    """
    from ..workers.dead_letters import dead_letters as found  # noqa: PLC0415

    with _server(invocation) as (client, _):
        letters = found(client, invocation.settings.owner)
    rows = table([(one.event_id, _told(one)) for one in letters])
    invocation.output.result({"dead_letters": [_as_facts(one) for one in letters]}, rows or ["None was set aside."])


@dead_letters.command()
@root_options
@click.argument("event_id", metavar="ID")
@pass_invocation
def retry(invocation: Invocation, event_id: str) -> None:
    """Have an event that was set aside handled again.

    The reactor of `up` does so within seconds. If it fails again, it is set aside again.
    """
    from ..workers.dead_letters import release  # noqa: PLC0415

    with _server(invocation) as (client, _):
        letter = release(client, invocation.settings.owner, event_id)
    invocation.output.result(_as_facts(letter), [f"It is handled again when the reactor runs: {_told(letter)}"])


def _as_facts(letter: DeadLetter) -> dict[str, object]:
    return {name: getattr(letter, name) for name in letter.__struct_fields__} | {"position": str(letter.position)}


def _told(letter: DeadLetter) -> str:
    return f"{letter.type} at {letter.position}: {letter.error}, tried {count(letter.deliveries, 'time')}"
