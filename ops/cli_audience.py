"""`audience`: who may see what you have, shown and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .cli_options import Invocation, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from ..api.policy_messages import AudienceResponse, ChangeAudienceResponse, LabelCount

OWNER = "owner"


@click.group()
@root_options
def audience() -> None:
    """See and change who may see a thing.

    You see everything. A reader (a sub-agent, a tool) sees what carries one of its labels; what carries `owner` alone
    is for nobody else. A LABEL is 1 to 64 letters, digits and -_.:/ . ITEM is always an id, an address or a name.
    """


@audience.command("show")
@root_options
@click.argument("item")
@pass_invocation
def show(invocation: Invocation, item: str) -> None:
    """Show who may see an item."""
    answer = invocation.client().audience(item)
    invocation.output.message(answer, _shown(answer))


@audience.command("set")
@root_options
@click.argument("item")
@click.argument("label", nargs=-1, required=True)
@pass_invocation
def set_(invocation: Invocation, item: str, label: tuple[str, ...]) -> None:
    """Say who may see an item.

    The labels take the place of those it has; `owner` stands for you alone. It counts from the very next push on, and
    stays whatever is imported or recorded later, until you change it.
    """
    answer = invocation.client().set_audience(item, label)
    invocation.output.message(answer, _changed(answer))


@audience.command("add")
@root_options
@click.argument("item")
@click.argument("label", nargs=-1, required=True)
@pass_invocation
def add(invocation: Invocation, item: str, label: tuple[str, ...]) -> None:
    """Let more see an item."""
    answer = invocation.client().add_audience(item, label)
    invocation.output.message(answer, _changed(answer))


@audience.command("remove")
@root_options
@click.argument("item")
@click.argument("label", nargs=-1, required=True)
@pass_invocation
def remove(invocation: Invocation, item: str, label: tuple[str, ...]) -> None:
    """Let fewer see an item; with its last label gone, you alone."""
    answer = invocation.client().remove_audience(item, label)
    invocation.output.message(answer, _changed(answer))


@audience.command("labels")
@root_options
@pass_invocation
def labels(invocation: Invocation) -> None:
    """List the labels there are.

    With each: how many items carry it, and which readers have it.
    """
    answer = invocation.client().labels()
    rows = [(one_line(each.label), count(each.items, "item"), _readers(each)) for each in answer.labels]
    invocation.output.message(
        answer, table(rows) if rows else ["Nothing has a label yet: everything is for you alone."]
    )


def _readers(each: LabelCount) -> str:
    if each.label == OWNER:
        return dim("you")
    return one_line(", ".join(each.readers)) if each.readers else dim("no reader")


def _who(labels: tuple[str, ...]) -> str:
    others = [label for label in labels if label != OWNER]
    return f"you, and readers with {one_line(' or '.join(others))}" if others else "you alone"


def _named(item: str, name: str) -> str:
    return f"{one_line(item)}{dim(f'  {one_line(name)}')}" if name else one_line(item)


def _shown(answer: AudienceResponse) -> list[str]:
    lines = [f"{_named(answer.item, answer.name)}: {_who(answer.audience)}."]
    lines.append(dim("Set by hand." if answer.by_hand else "As it was recorded."))
    if answer.keys_for_fewer:
        fewer = count(answer.keys_for_fewer, "of its use keys is", "of its use keys are")
        lines.append(dim(f"{fewer} for fewer: `keys why ITEM` shows for whom."))
    return lines


def _changed(answer: ChangeAudienceResponse) -> list[str]:
    lines = [f"{_named(answer.item, answer.name)}: {_who(answer.audience)}."]
    if answer.before != answer.audience:
        lines.append(dim(f"It was {_who(answer.before)}."))
    return lines
