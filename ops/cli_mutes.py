"""`mute`, `unmute` and `mutes`: what is not to be mentioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from ..api.policy_messages import MutedTopic, MuteResponse, MutesResponse, UnmuteResponse


@click.command()
@root_options
@click.argument("item", required=False, default="")
@option("--topic", default="", metavar="PHRASE", help="Instead of an item: anything about these words.")
@option("--session", default="", metavar="ID", help="Only in this session; else for good.")
@option("--reason", default="", metavar="TEXT", help="Why, for your own record.")
@pass_invocation
def mute(invocation: Invocation, item: str, topic: str, session: str, reason: str) -> None:
    """Ask not to be told of something.

    It counts from the very next push on, for you and for every reader, wherever they look. ITEM is an id, an address or
    a name. With --topic it is everything that has all words of the PHRASE, in any form, in its name and description, in
    one of its use keys, or in one piece of its text.
    """
    answer = invocation.client().mute(item, topic=topic, session=session, reason=reason)
    invocation.output.message(answer, _muted(answer))


@click.command()
@root_options
@click.argument("item", required=False, default="")
@option("--topic", default="", metavar="PHRASE", help="Instead of an item: the phrase, or the id of its mute.")
@option("--session", default="", metavar="ID", help="Only the mute for this session; else all of them.")
@pass_invocation
def unmute(invocation: Invocation, item: str, topic: str, session: str) -> None:
    """Take a mute back."""
    answer = invocation.client().unmute(item, topic=topic, session=session)
    invocation.output.message(answer, _unmuted(answer))


@click.command()
@root_options
@pass_invocation
def mutes(invocation: Invocation) -> None:
    """List what is muted."""
    answer = invocation.client().mutes()
    invocation.output.message(answer, _listed(answer))


def _where(session: str) -> str:
    return f"in session {one_line(session)}" if session else "for good"


def _topic(phrase: str) -> str:
    return f'"{one_line(phrase)}"' if phrase else "a topic that cannot be read any more"


def _muted(answer: MuteResponse) -> list[str]:
    already = " It was muted already." if answer.duplicate else ""
    if answer.item:
        return [f"{one_line(answer.item)} is muted {_where(answer.session)}.{already}"]
    holds = f"It holds back {count(answer.items, 'item')} now." if answer.items else "Nothing is about it at present."
    return [f"{_topic(answer.topic)} is muted {_where(answer.session)}.{already}", dim(holds)]


def _unmuted(answer: UnmuteResponse) -> list[str]:
    what = one_line(answer.item) if answer.item else ", ".join(map(_topic, answer.topics[:1]))
    lines = [f"{what} is not muted any more." if not answer.still else f"That mute of {what} is taken back."]
    return [*lines, f"It is still muted {answer.still}."] if answer.still else lines


def _listed(answer: MutesResponse) -> list[str]:
    if not answer.items and not answer.topics:
        return ["Nothing is muted."]
    rows = [(one_line(each.item), one_line(each.name), _where(each.session)) for each in answer.items]
    return [*table(rows), *table([_row(each) for each in answer.topics]), *_unreadable(answer.topics)]


def _row(topic: MutedTopic) -> tuple[str, ...]:
    return f"topic {_topic(topic.phrase)}", _where(topic.session), count(topic.items, "item"), dim(topic.mute)


def _unreadable(topics: tuple[MutedTopic, ...]) -> list[str]:
    lost = next((topic.mute for topic in topics if not topic.phrase), "")
    return [f"Nothing is told until that one is taken back: instant-recall unmute --topic {lost}"] if lost else []
