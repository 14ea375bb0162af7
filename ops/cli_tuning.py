"""`bar` and `refit`: how sure a pointer has to be, and what the ranker has learned from what its owner opened."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import dim, table

if TYPE_CHECKING:
    from ..api.messages import RefitResponse


@click.command(context_settings={"ignore_unknown_options": True})  # so that -0.1 is told to be no probability
@root_options
@click.argument("change", required=False, default="", metavar="[more|less|NUMBER|default]")
@pass_invocation
def bar(invocation: Invocation, change: str) -> None:
    """See or set how sure a pointer has to be.

    `more` speaks more and `less` speaks less: each a step that changes the odds by 1.65. A NUMBER from 0 to 1 is the
    least probability itself: 0 pushes all that is found, as far as there is room, 1 only what is named. It counts from
    the very next push.
    """
    answer = invocation.client().bar(change)
    lines = [answer.words]
    if change and not answer.position:
        at_its_end = change.lower() in {"more", "less"} and answer.before == answer.bar
        lines.append(dim("It cannot go any further." if at_its_end else "It was so already."))
    elif change:
        lines.append(dim(f"It was {answer.before:g} before."))
    invocation.output.message(answer, lines)


@click.group(invoke_without_command=True)
@root_options
@click.pass_context
def refit(ctx: click.Context) -> None:
    """Fit the ranker to what you opened.

    It learns from what was pushed and then opened or not, and from corrections; every night by itself, and now without
    a further word. What it learned is taken over only when it does better on days that were held back from it.
    """
    if ctx.invoked_subcommand is None:
        _run(ctx.ensure_object(Invocation))


def _run(invocation: Invocation) -> None:
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from ..workers.refitting import refit_ranker  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("warning")
    settings = invocation.settings
    with log_at_hand(settings):
        facts = refit_ranker(str(settings.home), settings.redis_url, settings.owner, settings.encoder)
    invocation.output.result(facts, [*_outcome(facts), *_scores(facts)])


def _outcome(facts: dict[str, Any]) -> list[str]:
    if facts["outcome"] == "busy":
        return ["A refit is under way already: `refit show` tells what came of it."]
    head = click.style("Adopted", fg="green") if facts["outcome"] == "adopted" else "Not adopted"
    return [f"{head}: {facts['why']}"]


def _scores(facts: dict[str, Any]) -> list[str]:
    seen = [
        ("requests with an outcome", f"{facts.get('requests', 0):,}  {dim(_span(facts))}"),
        ("of these held back", f"{facts.get('held_back', 0):,}"),
    ]
    if "loss_before" in facts:
        seen += [
            ("loss a request", f"{facts['loss_before']:.4f} before, {facts['loss_after']:.4f} after"),
            ("answered with something of use", f"{facts['right_before']} before, {facts['right_after']} after"),
            ("answered with nothing of use", f"{facts['false_before']} before, {facts['false_after']} after"),
        ]
    return ["", *table(seen, indent="  ")] if "requests" in facts else []


def _span(facts: dict[str, Any]) -> str:
    if not facts.get("until"):
        return ""
    first, last = (datetime.fromtimestamp(facts[name] / 1_000, UTC) for name in ("since", "until"))
    return f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}"


@refit.command("show")
@root_options
@pass_invocation
def show(invocation: Invocation) -> None:
    """Show whether one is in force, and what it changed."""
    answer = invocation.client().refit()
    invocation.output.message(answer, _shown(answer))


def _shown(answer: RefitResponse) -> list[str]:
    if answer.fate == "none" or answer.refit is None:
        return ["The ranker is the default one: no refit was adopted, or all were taken back."]
    if answer.fate == "outdated":
        head = "A refit was made for another default ranker than today's. It does not count until the next night's."
    else:
        when = datetime.fromtimestamp((answer.adopted_at or 0) / 1_000, UTC)
        head = f"The ranker is refitted to you, since {when:%Y-%m-%d %H:%M} UTC. `refit undo` takes it back."
    facts = {name: getattr(answer.refit, name) for name in answer.refit.__struct_fields__}
    names = dict.fromkeys((*answer.default, *answer.own))
    weights = [(name, _weight(answer.default, name), _weight(answer.own, name)) for name in names]
    return [head, *_scores(facts), "", *table([("weights", "default", "yours"), *weights], indent="  ")]


def _weight(weights: dict[str, float], name: str) -> str:
    return f"{weights[name]:+.3f}" if name in weights else "-"


@refit.command("undo")
@root_options
@option("--all", "everything", is_flag=True, help="Take all of them back: the default counts again.")
@pass_invocation
def undo(invocation: Invocation, everything: bool) -> None:
    """Take back the refit that is in force.

    The one before counts again, or else the default; at once. What you did until now is not learned from again.
    """
    answer = invocation.client().refit("all" if everything else "last")
    if not answer.undone:
        text = "There is nothing to take back: the ranker is the default one."
    elif answer.kept:
        text = "Taken back. The one before it counts again."
    else:
        text = "Taken back. The default ranker counts again."
    invocation.output.message(answer, [text])
