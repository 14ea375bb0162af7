"""What all commands share: the two root options, before or after the command, and one way to declare an option."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from ..events.errors import Refused
from ..events.settings import TOKEN_VARIABLE, Settings
from .output import Output

if TYPE_CHECKING:
    from ..api.client import Client

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Invocation:
    """What was said on the command line beside the command itself."""

    home: str | None = None
    """The data folder as given by `--home`; None: from the environment, or the platform's own."""
    as_json: bool = False

    @property
    def settings(self) -> Settings:
        """Where things are, for a command that works on them itself: for the owner, and nobody else.

        Raises:
            Refused: there is a token in the environment.
            RecallError: an environment variable has a value that cannot be used.
        """
        self.for_the_owner()
        return self.place

    @property
    def place(self) -> Settings:
        """Where things are, for a command that asks the API. Raises RecallError as `settings` does."""
        return Settings.from_env(self.home)

    def for_the_owner(self) -> None:
        """Refuse a command that takes no token where there is one: it would answer as the owner all the same."""
        if TOKEN_VARIABLE in os.environ:
            raise Refused(
                f"{TOKEN_VARIABLE} is set, and this command takes no token: it works on the owner's own data. "
                f"As the owner, unset it: `env -u {TOKEN_VARIABLE} instant-recall ...`."
            )

    def client(self) -> Client:
        """A client of the API that runs for this data folder, with the patience of a person at a terminal.

        It is the reader whose token is in INSTANT_RECALL_TOKEN, and else the owner.
        """
        from ..api.client import Client  # noqa: PLC0415 - `up` and `--help` do without

        return Client(self.place.home, deadline_ms=10_000, timeout_s=30)

    @property
    def output(self) -> Output:
        """How this call prints."""
        return Output(as_json=self.as_json)


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)


def _take(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    # Said twice, the later one wins. A default, or a variable against what was said before, never does.
    source = ctx.get_parameter_source(param.name or "")
    if source is ParameterSource.COMMANDLINE or (source is ParameterSource.ENVIRONMENT and value):
        # Kept at the root, where the group looks when an error ends the command.
        setattr(ctx.find_root().ensure_object(Invocation), param.name or "", value)


def root_options(command: Command) -> Command:
    """Give a command `--home` and `--json`. Every command has them, and so has the word `instant-recall` itself."""
    home = click.option(
        "--home",
        metavar="DIR",
        type=click.Path(file_okay=False),
        expose_value=False,
        callback=_take,
        # Settings read the variable: read here as well, it would win over a --home said before the command.
        help="The data folder; else the platform's own.  [env var: INSTANT_RECALL_HOME]",
    )
    as_json = click.option(
        "--json",
        "as_json",
        is_flag=True,
        expose_value=False,
        callback=_take,
        envvar="INSTANT_RECALL_JSON",
        show_envvar=True,
        help="Print one JSON object instead of text.",
    )
    return home(as_json(command))


def option(name: str, *more: str, **settings: Any) -> Callable[[Command], Command]:
    """An option whose environment variable is INSTANT_RECALL_ and its long name, told in the help."""
    variable = "INSTANT_RECALL_" + name.removeprefix("--").upper().replace("-", "_")
    return click.option(name, *more, envvar=variable, show_envvar=True, **settings)
