"""Trains the ranker: `python -m instant_recall.ops.evaluation.train FOLDER ...` writes `projections/ranker.json`.

Needs the extra `eval` (scipy). The product itself only ever reads the file, which a person can read too.

The bar is set on requests for which nothing is right: it is the lowest chance of help at which at most `MOST_FALSE` of
them would be answered, judged by models that had not seen the items in question.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...events.errors import RecallError
from ...projections.bar import PLAIN, PushOdds, chance, reaches
from ...projections.meaning.encoders import load_encoders
from ...projections.pointers import MOST
from ...projections.ranker import FEATURES, WEIGHTS
from .reliability import BestFive, calibration
from .train_data import Asked, read_all
from .train_fit import Table, calibrate_pushes, fit

FOLDS: Final = 5
MOST_FALSE: Final = 0.15
"""Share of requests with nothing to find that may get a push."""
SETS: Final = 0.3
"""What sets of public requests weigh together, against the worlds together: they know nothing of an owner's notes, use
keys or past, but their tools describe themselves as real ones do."""
SILENT_KINDS: Final = ("none",)
"""Kinds in which nothing is right and nothing is hidden. Without any such: all requests that expect nothing."""

Floats = NDArray[np.float64]


def run(folders: Sequence[Path], *, out: Path = WEIGHTS, seed: int = 0, encoder: str = "") -> dict[str, Any]:
    """Ask every request in or below the folders, fit the model, set the bar, write the file; returns what was written.

    Raises:
        RecallError: there is nothing to train on, or scipy is missing.
    """
    asked = read_all(folders, load_encoders(encoder), seed=seed, tell=_tell)
    table = make_table(asked)
    unseen = cross_validate(table, asked, seed)
    final = fit(table)
    push = push_odds(asked, table, unseen)
    fives = best_fives(asked, table, unseen)
    bar = choose_bar(asked, unseen, push)
    sources = ", ".join(dict.fromkeys(one.source for one in asked))
    written = {
        "features": list(FEATURES),
        "weights": [round(float(weight), 4) for weight in final.weights],
        "bias": round(final.bias, 4),
        "bar": bar,
        "push": push,
        "data": sources,
        "seed": seed,
        "cases": len(asked),
        "calibration": calibration([five for _, five in fives], [push.of(one.words) for one, _ in fives]),
        "cross_validated": judge(asked, table, unseen, bar, push),
    }
    out.write_bytes(msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n")
    return written


def make_table(asked: Sequence[Asked]) -> Table:
    """Lay all candidates out as rows. Requests without a candidate have none."""
    requests = Counter((one.world, one.source) for one in asked)
    sources = Counter(world for world, _ in requests)
    share = {
        key: (1.0 if key[0] else SETS) * len(asked) / len(sources) / sources[key[0]] / count
        for key, count in requests.items()
    }
    rows = [row for one in asked for row in one.rows]
    sizes = [len(one.rows) for one in asked]
    weights = [share[one.world, one.source] for one in asked]
    return Table(
        features=np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES)),
        right=np.array([right for one in asked for right in one.right], dtype=np.bool_),
        request=np.repeat(np.arange(len(asked)), sizes),
        weight=np.repeat(np.array(weights), sizes),
    )


def cross_validate(table: Table, asked: Sequence[Asked], seed: int) -> Floats:
    """Each row's probability from a model that saw no request about the same item."""
    abouts = sorted({one.about for one in asked})
    folds = dict(zip(abouts, np.random.default_rng(seed).permutation(len(abouts)) % FOLDS, strict=True))
    fold = np.array([folds[one.about] for one in asked])[table.request]
    unseen = np.zeros(len(table.right))
    for number in range(FOLDS):
        held_back = fold == number
        if held_back.any():
            unseen[held_back] = fit(table.where(~held_back)).probabilities(table.features[held_back])
    return unseen


def push_odds(asked: Sequence[Asked], table: Table, probabilities: Floats) -> PushOdds:
    """What makes of the chance that a push helps, as if its pointers were independent, one that holds on the whole."""
    answered = [(one, five) for one, five in best_fives(asked, table, probabilities) if five]
    return calibrate_pushes(
        np.array([chance([pointer for pointer, _ in five]) for _, five in answered]),
        np.array([one.words for one, _ in answered], dtype=np.int64),
        np.array([any(right for _, right in five) for _, five in answered], dtype=np.bool_),
    )


def together(asked: Sequence[Asked], probabilities: Floats, push: PushOdds) -> Floats:
    """For each request the chance that its push would help, without what it names; see bar.chance."""
    ends = np.cumsum([0, *(len(one.rows) for one in asked)])
    return np.array(
        [
            chance(sorted(probabilities[start:end].tolist(), reverse=True), push.of(one.words))
            for one, (start, end) in zip(asked, itertools.pairwise(ends.tolist()), strict=True)
        ]
    )


def choose_bar(asked: Sequence[Asked], probabilities: Floats, push: PushOdds = PLAIN) -> float:
    """The lowest bar that lets through at most MOST_FALSE of the requests with nothing to find."""
    silent = [n for n, one in enumerate(asked) if one.kind in SILENT_KINDS] or [
        n for n, one in enumerate(asked) if not one.expecting
    ]
    if not silent:
        raise RecallError("Every request has something to find, so no bar can be set. Add requests that have nothing.")
    tops = together(asked, probabilities, push)
    # A name is pushed whatever the bar is, so those requests have used up their share of it.
    by_score = sorted((float(tops[n]) for n in silent if not asked[n].named), reverse=True)
    may_pass = max(0, int(MOST_FALSE * len(silent)) - (len(silent) - len(by_score)))
    first_to_stop = by_score[may_pass] if by_score else 0.0
    # The next number with four digits, since the file has four.
    return math.floor(first_to_stop * 10_000 + 1) / 10_000


def judge(
    asked: Sequence[Asked], table: Table, probabilities: Floats, bar: float, push: PushOdds = PLAIN
) -> dict[str, dict[str, float]]:
    """By source and kind: how many expect something, have it first or among five above the bar, or get any push.

    Hits are those of the model alone: what a request names is in no row.
    """
    figures: dict[str, dict[str, float]] = {}
    ends = np.cumsum([0, *(len(one.rows) for one in asked)])
    for number, one in enumerate(asked):
        rows = slice(ends[number], ends[number + 1])
        best = np.argsort(-probabilities[rows], kind="stable")
        reached = reaches(probabilities[rows][best].tolist(), push.of(one.words))[:MOST]
        order = [n for n, reach in zip(best, reached, strict=False) if reach >= bar]
        found = figures.setdefault(
            f"{one.source}/{one.kind}", {"cases": 0, "expecting": 0, "hit1": 0, "hit5": 0, "pushed": 0}
        )
        hits = [bool(table.right[rows][n]) for n in order]
        found["cases"] += 1
        found["expecting"] += one.expecting
        found["hit1"] += any(hits[:1])
        found["hit5"] += any(hits)
        found["pushed"] += bool(order) or one.named
    return figures


def best_fives(asked: Sequence[Asked], table: Table, probabilities: Floats) -> list[tuple[Asked, BestFive]]:
    """Of each request that names nothing its best five candidates, as reliability.py looks at them.

    Where there are worlds, of theirs alone: a set's requests are not those of somebody's day.
    """
    worlds = any(one.world for one in asked)
    ends = np.cumsum([0, *(len(one.rows) for one in asked)])
    found: list[tuple[Asked, BestFive]] = []
    for one, start, end in zip(asked, ends, ends[1:], strict=False):
        if not one.named and one.world >= worlds:
            rows = start + np.argsort(-probabilities[start:end], kind="stable")[:MOST]
            found.append((one, [(float(probabilities[row]), bool(table.right[row])) for row in rows]))
    return found


def _tell(source: str, asked: int) -> None:
    sys.stderr.write(f"{source}: {asked} requests\n")


def main(arguments: list[str] | None = None) -> int:
    """The command line; its exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.train", description="Train the ranker.")
    parser.add_argument("folders", type=Path, nargs="+", help="worlds and sets, or folders that hold some")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the weights go (default: into the package)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--encoder", default="", help="folder of a model2vec model (default: the bundled one)")
    chosen = parser.parse_args(arguments)
    try:
        written = run(chosen.folders, out=chosen.out, seed=chosen.seed, encoder=chosen.encoder)
    except RecallError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(written), indent=2).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
