"""The command line, `instant-recall`: what a person, a script or a harness without Python types.

Exit codes: 0 done, 1 it failed (one line says why and what to do), 2 it was typed wrongly. With --json standard output
holds exactly one JSON object (`audit`: one a line, for each access), for an error too: `{"error": CODE, "message":
TEXT}`; CODE is `usage` with exit code 2.
Modules that take long to load are imported by the commands that need them: a `push` from a hook has to start at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .. import __version__
from ..events.errors import RecallError
from .cli_archiving import archive
from .cli_asking import open_, push, search, why
from .cli_audience import audience
from .cli_audit import audit
from .cli_cost import cost
from .cli_data import correct, forget, import_, remember, snapshot
from .cli_eval import eval_
from .cli_keeping import backup, doctor, export, restore
from .cli_keys import keys
from .cli_measure import bench, demo
from .cli_mutes import mute, mutes, unmute
from .cli_options import Invocation, root_options
from .cli_quarantine import quarantine
from .cli_reactor import dead_letters, reactor
from .cli_readers import reader
from .cli_rebuilding import replay, snapshots
from .cli_running import down, status, up
from .cli_tuning import bar, refit

JSON_WANTED = "instant_recall.json_wanted"


@contextmanager
def _json_for_what_was_typed_wrongly(ctx: click.Context) -> Iterator[None]:
    """With --json one object and exit code 2; without it click shows the usage and exits with 2 itself."""
    try:
        yield
    except click.UsageError as error:
        if not (ctx.meta[JSON_WANTED] or ctx.ensure_object(Invocation).as_json):
            raise
        click.echo(json.dumps({"error": "usage", "message": error.format_message()}, ensure_ascii=False))
        ctx.exit(2)


class RecallGroup(click.Group):
    """Lists commands in the order in which they are met, and turns what can go wrong into one line and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order in which they were added, not by the alphabet."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether JSON is wanted before anything that was typed wrongly can end the parsing."""
        ctx.meta[JSON_WANTED] = "--json" in args
        with _json_for_what_was_typed_wrongly(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a RecallError, or a file or folder that cannot be used, ends it with exit code 1."""
        try:
            with _json_for_what_was_typed_wrongly(ctx):
                return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads on (`| head`): click ends quietly
            raise
        except OSError as error:
            ctx.ensure_object(Invocation).output.error(_unusable(error))
            ctx.exit(1)
        except RecallError as error:
            ctx.ensure_object(Invocation).output.error(error)
            ctx.exit(1)


def _unusable(error: OSError) -> RecallError:
    where = f"{error.filename} cannot be used" if error.filename else "A file or folder cannot be used"
    return RecallError(
        f"{where} ({error.strerror or type(error).__name__}). "
        "Mend its rights, free some space, or choose another data folder with --home."
    )


@click.group(
    cls=RecallGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with `demo`. For your own: `up` in one window, `import skills PATH` in another. With a token in "
    "INSTANT_RECALL_TOKEN you ask as its reader; what works on the data itself (up, import, audit, backup, ...) is the "
    "owner's and refuses then.",
)
@root_options
@click.version_option(__version__, prog_name="instant-recall")
def main() -> None:
    """Finds what an agent's owner already has, before every turn."""


for _command in (
    *(demo, up, down, status),
    *(import_, remember, correct, forget, keys),
    *(push, why, search, open_),
    *(bar, refit),
    reader,
    *(audience, mute, unmute, mutes, quarantine),
    audit,
    *(snapshot, snapshots, replay, archive),
    *(doctor, reactor, dead_letters),
    *(backup, restore, export),
    *(bench, eval_, cost),
):
    main.add_command(_command)

if __name__ == "__main__":
    main()
