"""The options of `eval` for public sets, plain baselines and packaged peers, and how their figures are told."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .cli_options import option
from .output import count, dim, figure, table

if TYPE_CHECKING:
    from .evaluation.baselines import Makes
    from .evaluation.evaluate import Answer
    from .evaluation.public_sets import PublicSet
    from .evaluation.suite_result import SuiteResult
    from .evaluation.worlds import World
    from .output import Bars

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Sets:
    """Which set is asked instead of a world, with which encoder, and which other makes answer the same cases."""

    folder: Path | None = None
    locomo: Path | None = None
    longmemeval: Path | None = None
    limit: int | None = None
    encoder: str = ""
    baselines: bool = False
    peers: bool = False

    @property
    def sources(self) -> tuple[Path, ...]:
        """What was named to be read; at most one of them makes sense."""
        return tuple(path for path in (self.folder, self.locomo, self.longmemeval) if path is not None)

    @property
    def compared(self) -> bool:
        """Whether any other make is asked."""
        return self.baselines or self.peers

    def read(self, seed: int) -> tuple[PublicSet, int]:
        """The set with the cases that are asked, and how many it has in all.

        Raises:
            BadWorld: it cannot be run; nothing was.
        """
        from .evaluation.public_chats import read_locomo, read_longmemeval  # noqa: PLC0415
        from .evaluation.public_sets import read_set, sample  # noqa: PLC0415

        for path, read in ((self.folder, read_set), (self.locomo, read_locomo), (self.longmemeval, read_longmemeval)):
            if path is not None:
                whole = read(path)
                return sample(whole, self.limit, seed), whole.cases
        raise ValueError("no set was named")

    def makes(self) -> Makes:
        """The other makes that are asked, too. Raises RecallError when a peer is not installed."""
        from .evaluation.baselines import BASELINES  # noqa: PLC0415
        from .evaluation.peers import PEERS, require  # noqa: PLC0415

        if self.peers:
            require()
        return {**(BASELINES if self.baselines else {}), **(PEERS if self.peers else {})}

    def others(self, world: World, bars: Bars) -> dict[str, list[Answer]]:
        """What the other makes push for the cases of a world. Raises RecallError when a peer is not installed."""
        from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415
        from .evaluation.baselines import run_baselines  # noqa: PLC0415

        makes = self.makes()
        tell = _steps(bars, "baselines", len(world.cases))
        return run_baselines(world, load_encoders(self.encoder), makes, tell) if makes else {}


def set_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give `eval` the options of this module; the command gets them as one argument, `sets`."""

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        command(*args, sets=Sets(**{name: kwargs.pop(name) for name in Sets.__dataclass_fields__}), **kwargs)

    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    for declared in (
        option("--peers", is_flag=True, help="Ask packaged peers the same cases (needs the extra `eval-peers`)."),
        option("--baselines", is_flag=True, help="Ask plain searches the same cases: by words, by meaning, by both."),
        option("--encoder", default="", metavar="NAME", help="As INSTANT_RECALL_ENCODER; not for --setups and --own."),
        option("--limit", type=click.IntRange(1), metavar="N", help="At most so many cases of a set, by the seed."),
        option("--longmemeval", type=_FILE, metavar="FILE", help="Ask LongMemEval's published file instead."),
        option("--locomo", type=_FILE, metavar="FILE", help="Ask LoCoMo's published file, locomo10.json, instead."),
        option("--set", "folder", type=folder, metavar="FOLDER", help="Ask a set in uniform rows instead of a world."),
    ):
        call = declared(call)
    return call


def ask_set(sets: Sets, seed: int, bars: Bars) -> dict[str, Any]:
    """The figures of the product, and of the other makes if there are any, on a set.

    Raises:
        BadWorld: the set cannot be run; nothing was.
        RecallError: a peer is not installed.
    """
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415
    from .evaluation.baselines import rank_others  # noqa: PLC0415
    from .evaluation.rankings import PRODUCT, judge_rankings, rank_set  # noqa: PLC0415

    asked, of = sets.read(seed)
    encoders, makes = load_encoders(sets.encoder), sets.makes()
    # The product first: an encoder that was asked the same shortly before answers from memory.
    ranked = {PRODUCT: rank_set(asked, encoders, _steps(bars, "cases", asked.cases))}
    if makes:
        ranked |= rank_others(asked, encoders, makes, _steps(bars, "baselines", asked.cases))
    return {
        "set": asked.name,
        "owners": len(asked.groups),
        "cases": asked.cases,
        "of": of,
        "seed": seed,
        "makes": {name: judge_rankings(rankings) for name, rankings in ranked.items()},
    }


def set_suite(sets: Sets, names: Sequence[str] | None, seed: int, bars: Bars) -> SuiteResult:
    """The suite's result for a set: every setup on every owner, all cases counted together. Raises as `ask_set`."""
    from ..projections.meaning.encoders import load_encoders  # noqa: PLC0415
    from .evaluation.baselines import run_baselines  # noqa: PLC0415
    from .evaluation.public_sets import together  # noqa: PLC0415
    from .evaluation.setups import run_setups  # noqa: PLC0415
    from .evaluation.suite import assemble  # noqa: PLC0415

    asked, _ = sets.read(seed)
    encoders, makes = load_encoders(), sets.makes()
    others: dict[str, list[Answer]] = {}
    answers: dict[str, list[Answer]] = {}
    tell = _steps(bars, "baselines", asked.cases)
    for group in asked.groups if makes else ():
        _extend(others, run_baselines(group.world, encoders, makes, tell))
    done = 0
    for group in asked.groups:
        _extend(answers, run_setups(group.world, names))
        done += len(group.world.cases)
        bars("cases", done, asked.cases)
    return assemble(together(asked), answers, [], seed, name=asked.name, others=others)


def set_lines(facts: Mapping[str, Any], *, verbose: bool = False) -> Iterator[str]:
    """What `ask_set` found, as aligned text; by category when asked."""
    makes: Mapping[str, Any] = facts["makes"]
    columns = [name for name in _COLUMNS if any(_at(found, name) is not None for found in makes.values())]
    heads = ("make", *(_COLUMNS[name] for name in columns))
    yield from table(
        [heads, *((make, *(figure(_at(found, name)) for name in columns)) for make, found in makes.items())]
    )
    if verbose:
        yield ""
        yield from _by_category(makes)
    sampled = f" of {facts['of']:,}, seed {facts['seed']}" if facts["of"] > facts["cases"] else ""
    yield dim(f"{facts['set']}: {count(facts['cases'], 'case')}{sampled}, {count(facts['owners'], 'owner')}")


def baseline_lines(baselines: Mapping[str, Any]) -> Iterator[str]:
    """The other makes on a world, by kind: right pointers first, and among five."""
    kinds = dict.fromkeys(kind for found in baselines.values() for kind in found["kinds"])
    rows = [("kind", *(f"{make} hit1/hit5" for make in baselines), "expecting")]
    for kind in kinds:
        of_kind = [found["kinds"][kind] for found in baselines.values()]
        rows.append((kind, *(f"{found['hit1']}/{found['hit5']}" for found in of_kind), str(of_kind[0]["expecting"])))
    return iter(table(rows))


_COLUMNS = {
    "hit@1": "hit@1",
    "hit@5": "hit@5",
    "mrr@10": "mrr@10",
    "turns@5": "turns@5",
    "turns@10": "turns@10",
    "gate.auroc": "auroc",
    "gate.pushed_at_recall": "pushed at 95 % recall",
    "gate.pushed_at_bar": "pushed at the bar",
    "gate.recall_at_bar": "recall at the bar",
    "latency_ms.p50": "ms p50",
}
"""Figures in the order in which they are told, and what they are called."""


def _by_category(makes: Mapping[str, Any]) -> Iterator[str]:
    columns = ("cases", "hit@1", "hit@5", "false_push_rate")
    rows = [("category", "make", *(name.replace("_", " ") for name in columns))]
    for category in next(iter(makes.values()))["categories"]:
        for make, found in makes.items():
            of_category = found["categories"][category]
            # A make without a bar is never silent: where nothing is expected there is nothing to tell of it.
            if of_category["expecting"] or of_category["false_push_rate"] is not None:
                rows.append((category, make, *(figure(of_category[name]) for name in columns)))
    return iter(table(rows))


def _at(facts: Any, name: str) -> Any:
    """A figure by its dotted name; None when it or its table is not there."""
    for part in name.split("."):
        facts = (facts or {}).get(part)
    return facts


def _extend(answers: dict[str, list[Answer]], more: Mapping[str, list[Answer]]) -> None:
    for name, found in more.items():
        answers.setdefault(name, []).extend(found)


def _steps(bars: Bars, step: str, total: int) -> Callable[[], None]:
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        bars(step, done, total)

    return tell
