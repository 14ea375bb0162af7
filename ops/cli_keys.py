"""`keys`: the phrases that say when a thing helps, seen, added, removed, and filled in where they lack."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from .cli_asking import client_for
from .cli_options import Invocation, option, pass_invocation, root_options
from .output import count, dim, one_line, table

if TYPE_CHECKING:
    from ..api.key_messages import AddKeysResponse, Key, KeysResponse, KeysTodoResponse

SHOWN = 56
"""Characters of a phrase in a table; --json has all of it."""


@click.group()
@root_options
def keys() -> None:
    """See and change when a thing is thought of.

    A use key is a short phrase: a situation in which an item helps, or does not. ITEM is always an id, an address or a
    name.
    """


@keys.command("list")
@root_options
@click.argument("item")
@option("--reader", default="owner", metavar="NAME", help="Ask as this reader: it sees only what it may.")
@pass_invocation
def list_(invocation: Invocation, item: str, reader: str) -> None:
    """List the use keys of an item."""
    answer = client_for(invocation, reader).keys(item, reader=reader)
    rows = [(_phrase(key), key.source, dim(key.key)) for key in answer.keys]
    invocation.output.message(answer, [*_head(answer), *table(rows, indent="  ")])


@keys.command("why")
@root_options
@click.argument("item")
@click.argument("request", default="")
@option("--reader", default="owner", metavar="NAME", help="Ask as this reader: it sees only what it may.")
@pass_invocation
def why(invocation: Invocation, item: str, request: str, reader: str) -> None:
    """Say where each key comes from, and how well it fits.

    With a REQUEST it tells how well each key fits it, by its words (0 to 1) and by its meaning (-1 to 1), and marks the
    best one. The first part of a key's id is the id of the event that it came from.
    """
    answer = client_for(invocation, reader).keys(item, request, reader=reader)
    invocation.output.message(answer, [*_head(answer), *_explained(answer, compared=bool(request.strip()))])


def _head(answer: KeysResponse) -> list[str]:
    name = f"  {one_line(answer.name)}" if answer.name else ""
    told = count(len(answer.keys), "use key") if answer.keys else "no use key: `instant-recall keys add` gives it one"
    return [f"{one_line(answer.item)}{dim(name)}: {told}"]


def _explained(answer: KeysResponse, *, compared: bool) -> list[str]:
    if not answer.keys:
        return []
    fits = ["words", "meaning"] if compared else []
    titles = ["", "phrase", "from", "since", "weight", "its pointers", "seen by", *fits, "key"]
    rows = [titles, *(_row(key, answer.best, compared=compared) for key in answer.keys)]
    found = "  (* fits best)" if answer.best else "  (none fits)"
    return ["", *table(rows, indent=" "), *([dim(found)] if compared else [])]


def _row(key: Key, best: str, *, compared: bool) -> list[str]:
    fits = ["-" if fit is None else f"{fit:.2f}" for fit in (key.words, key.meaning)] if compared else []
    since = datetime.fromtimestamp(key.since / 1_000, UTC).strftime("%Y-%m-%d")
    source = f"{key.source} x{key.support}" if key.support > 1 else key.source
    seen_by = one_line(", ".join(key.audience)) or "-"
    marked = "*" if key.key == best else " "
    return [marked, _phrase(key), source, since, f"{key.weight:.2f}", _became(key), seen_by, *fits, key.key]


def _became(key: Key) -> str:
    """What became of the pointers that a key brought in, when it was last weighed."""
    counts = {what: getattr(key, what) for what in ("opened", "helped", "rejected")}
    return ", ".join([f"{key.shown} shown", *(f"{n} {what}" for what, n in counts.items() if n)]) if key.shown else "-"


def _phrase(key: Key) -> str:
    phrase = one_line(key.phrase)
    phrase = phrase if len(phrase) <= SHOWN else phrase[: SHOWN - 1].rstrip() + "…"
    return f"not for: {phrase}" if key.not_for else phrase


@keys.command("add")
@root_options
@click.argument("item")
@click.argument("phrase", nargs=-1, required=True)
@option("--not-for", is_flag=True, help="It does not help there: such a request is to push it down.")
@pass_invocation
def add(invocation: Invocation, item: str, phrase: tuple[str, ...], not_for: bool) -> None:
    """Say when an item helps.

    PHRASE is what you would type when you need it, without naming it; give several if you like. The very next push
    knows it.
    """
    use_when, against = ((), phrase) if not_for else (phrase, ())
    answer = invocation.client().add_keys(item, use_when, not_for=against)
    invocation.output.message(answer, _added(answer))


@keys.command("remove")
@root_options
@click.argument("item")
@click.argument("key")
@pass_invocation
def remove(invocation: Invocation, item: str, key: str) -> None:
    """Take a key away from an item.

    KEY is its id, or the whole phrase. A key that stands in an imported file comes back when that file changes: take
    it out there as well.
    """
    answer = invocation.client().remove_key(item, key)
    again = ", which was done before" if answer.duplicate else ""
    text = f"Removed from {one_line(answer.item)}{again}  {dim(f'position {answer.position}')}"
    invocation.output.message(answer, [text])


@keys.command("todo")
@root_options
@option("--out", default="", metavar="FILE", help="Write them to a file for your agent to fill in (`-`: print it).")
@option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), metavar="N", help="At most so many.")
@pass_invocation
def todo(invocation: Invocation, out: str, limit: int) -> None:
    """List what has no use key yet.

    Skills, tools and machines come first, notes last. With --out it is a file that says in its first lines how it is to
    be filled in; `keys fill` reads it back.
    """
    answer = invocation.client().keys_todo(limit)
    if out:
        from .exporting import writing  # noqa: PLC0415
        from .key_file import written  # noqa: PLC0415

        with writing(out) as file:
            file.writelines(written(answer.items))
        if out == "-":
            return
    invocation.output.message(answer, _todo(answer, out), **({"file": out} if out else {}))


def _todo(answer: KeysTodoResponse, out: str) -> list[str]:
    if not answer.items:
        return ["Everything you have has a use key."]
    left = answer.total - len(answer.items)
    more = f"; {left:,} more with a higher --limit" if left else ""
    if out:
        told = f"{count(len(answer.items), 'item')} without a use key{more}"
        return [f"Wrote {one_line(out)}: {told}.", f"Let your agent fill it in, then: instant-recall keys fill {out}"]
    rows = [(each.kind, one_line(each.name) or one_line(each.item), dim(_short(each.purpose))) for each in answer.items]
    return [*table(rows), dim(f"{count(answer.total, 'item')} without a use key{more}")]


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= 80 else text[:79].rstrip() + "…"


@keys.command("fill")
@root_options
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@pass_invocation
def fill(invocation: Invocation, file: str) -> None:
    """Add the keys that a file of `keys todo` was given.

    All of them, or none when anything in it is wrong. What is there already is not added again, so do it as often as
    you like. `-` reads standard input.
    """
    from .exporting import reading  # noqa: PLC0415
    from .key_file import read  # noqa: PLC0415

    with reading(file) as source:
        entries = read(source)
    answer = invocation.client().fill_keys(entries)
    invocation.output.message(answer, _added(answer))


@keys.command("weigh")
@root_options
@pass_invocation
def weigh(invocation: Invocation) -> None:
    """Weigh the keys by what became of what they brought in.

    Every night by itself, and now. A key gains when pointers were opened or helped, and loses when they were ignored
    again and again or rejected. It counts the last 90 days anew each time, so that doing it twice changes nothing.
    """
    from .processes import quiet_libraries  # noqa: PLC0415

    quiet_libraries()
    from ..workers.weighing import weigh_keys  # noqa: PLC0415
    from . import logs  # noqa: PLC0415
    from .local import log_at_hand  # noqa: PLC0415

    logs.configure("warning")
    settings = invocation.settings
    with log_at_hand(settings):
        facts = weigh_keys(str(settings.home), settings.redis_url, settings.owner, settings.encoder)
    invocation.output.result(facts, _weighed(facts))


def _weighed(facts: dict[str, Any]) -> list[str]:
    if facts["outcome"] == "busy":
        return ["The keys are being weighed already."]
    if not facts["keys"]:
        return ["Nothing to weigh yet: nothing tells what became of pointers that use keys brought in."]
    told = (
        f"{count(facts['pointers'], 'pointer')} of the last 90 days, {count(facts['keys'], 'key')} that brought some in"
    )
    return [f"{told}: {count(facts['changed'], 'weight')} changed.", dim("`keys why ITEM` shows them.")]


def _added(answer: AddKeysResponse) -> list[str]:
    if not answer.items:
        return ["Nothing to add: no phrase was filled in."]
    rows = [
        (one_line(each.item), f"{count(each.added, 'key')} added", f"{each.known:,} known" if each.known else "")
        for each in answer.items
    ]
    added, known = (sum(getattr(each, field) for each in answer.items) for field in ("added", "known"))
    had = f"; {known:,} {'was' if known == 1 else 'were'} there already" if known else ""
    filled = [each.item for each in answer.items if each.added]
    if not added:
        return [f"Nothing new: {count(known, 'key')} {'was' if known == 1 else 'were'} there already."]
    if len(answer.items) == 1:
        return [f"Added {count(added, 'key')} to {one_line(filled[0])}{had}."]
    return [*table(rows, indent="  "), f"Added {count(added, 'key')} to {count(len(filled), 'item')}{had}."]
