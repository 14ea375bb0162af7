"""`archive`: moving the older part of the log into files."""

from __future__ import annotations

from typing import Any

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim


@click.command()
@root_options
@option(
    "--older-than",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="Move the events of at least this age; 30 when not given.",
)
@option(
    "--keep-bytes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Move the oldest while events take more of the server's memory than this; 268435456 when not given.",
)
@pass_invocation
def archive(invocation: Invocation, older_than: int | None, keep_bytes: int | None) -> None:
    """Move the older part of the log into files.

    The worker of `up` does it every night. What a kept snapshot or a consumer still needs stays in the server, and
    nothing leaves it before the files are verified. The log is read as one with its archive: nothing is lost.
    """
    from ..workers.archiving import archive_log  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("warning")
    settings = invocation.settings
    with log_at_hand(settings):
        facts = archive_log(
            str(settings.home),
            settings.redis_url,
            settings.owner,
            settings.older_than if older_than is None else older_than,
            settings.keep_bytes if keep_bytes is None else keep_bytes,
            at_least=1,
        )
    invocation.output.result(facts, _archived(facts))


def _archived(facts: dict[str, Any]) -> list[str]:
    sizes = f"{facts['log_bytes'] / 1e6:.1f} MB in the server, {facts['archive_bytes'] / 1e6:.1f} MB in the archive"
    took = f"{facts['seconds']:.1f} s"
    if not facts["segments"]:
        head = "Nothing to archive"
    else:
        head = f"Archived {count(len(facts['segments']), 'segment')}, up to {facts['through']}"
    return [
        f"{head}  {dim(f'{sizes}, {took}')}",
        dim(f"It may go up to {facts['limit']}: {facts['held_by']}"),
    ]
