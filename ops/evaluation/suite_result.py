"""What a run of the suite found, in a form that is written as JSON, read back, compared and drawn."""

from __future__ import annotations

from typing import Any

import msgspec

from .statistics import Interval


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything here. A field that a later version adds is passed over by an earlier one."""


class AskedCase(Record, frozen=True, kw_only=True):
    """A case as it was asked, with its right answers."""

    id: str
    kind: str
    part: str
    """`learnable` or `cold` for `use`, `near` or `far` for `none`; else empty."""
    at: str
    """ISO 8601."""
    reader: str
    request: str
    expect: tuple[str, ...]
    must_not: tuple[str, ...]
    why: str = ""
    """What the case's author says about it; never seen by the product."""


class CaseRow(Record, frozen=True, kw_only=True):
    """What one setup pushed for one case."""

    id: str
    kind: str
    pushed: tuple[str, ...]
    scores: tuple[float, ...]
    tokens: int
    took_ms: float
    hit1: bool
    """A right answer stands first. False where nothing is expected."""
    hit5: bool
    """A right answer is among the five."""
    forbidden: tuple[str, ...] = ()
    """Pushed although it must never be."""
    tokens_to: tuple[int, ...] = ()
    """See Answer."""


class Rate(Record, frozen=True, kw_only=True):
    """So many of so many, with Wilson's 95 % interval."""

    count: int
    of: int
    rate: float
    low: float
    high: float


class Mean(Record, frozen=True, kw_only=True):
    """A mean, with its 95 % interval from a bootstrap by item; None where there are too few items for one."""

    mean: float
    interval: Interval | None = None


class Figures(Record, frozen=True, kw_only=True):
    """The figures of one setup over the cases of one kind."""

    cases: int
    hit1: Rate
    """Among the cases that expect something; so is `hit5`."""
    hit5: Rate
    hit5_by_item: Mean
    """The same rate with the interval that counts cases about one item as one."""
    false_pushes: Rate
    """Anything pushed, among the cases that expect nothing."""
    precision: Rate
    """Pushes with a right pointer, among those with any pointer."""
    forbidden: int
    """Cases in which something was pushed that must never be."""
    pointers: Mean
    """Pointers a turn."""
    tokens: Mean
    """Tokens a turn."""


class Comparison(Record, frozen=True, kw_only=True):
    """Two setups on the same cases."""

    measure: str
    """`hit5` over the cases that expect something, `silence` over those that expect nothing."""
    family: str
    """`baseline` or `predecessor`: what is corrected together."""
    setup: str
    against: str
    pairs: int
    gained: int
    lost: int
    p: float
    """Exact McNemar."""
    p_holm: float
    """Corrected for all of its measure and family."""
    smallest_gain: float | None
    """What so many pairs can find at 80 % power, if 5 % are lost."""


class Power(Record, frozen=True, kw_only=True):
    """How many pairs a plan needs, and what those at hand can find."""

    planned_gain: float
    planned_losses: float
    planned_pairs: int
    formula: str
    pairs: dict[str, int]
    """Cases that expect something, by kind."""
    smallest_gains: dict[str, float | None]


class Point(Record, frozen=True, kw_only=True):
    """What a setup does at one bar."""

    bar: float
    recall: float
    """Cases that get a right pointer, among those that expect something."""
    false_push: float | None
    """Cases of kind `none` that get any pointer; None without such cases."""
    false_push_near: float | None
    """The same for look-alike needs that the owner does not have."""
    false_push_far: float | None
    precision: float | None
    """Pushes with a right pointer, among those with any."""
    pointers: float
    """Pointers of a push that has any, on average."""
    tokens: float
    """Tokens a turn, on average over all cases."""


class Curve(Record, frozen=True, kw_only=True):
    """Silence against recall: one point for each bar, and the points at fixed recalls."""

    points: tuple[Point, ...]
    at_recall: dict[str, Point]
    """By recall in hundredths ("0.50"): the highest bar that reaches it. Recalls that no bar reaches are left out."""


class ReliabilityBin(Record, frozen=True, kw_only=True):
    """A tenth of the pointers or pushes, next to each other by their probability."""

    least: float
    """The lowest probability of them, and the highest."""
    most: float
    predicted: float
    """The mean of their probabilities: so many should be right."""
    observed: Rate
    """So many were."""


class Reliability(Record, frozen=True, kw_only=True):
    """Whether what is said to help in so many of a hundred cases does."""

    of: int
    """So many pointers or pushes."""
    brier: float
    """Mean of (predicted - right) squared; 0 at best."""
    error: float
    """Expected calibration error: mean distance of predicted and observed over the bins; 0 at best."""
    bins: tuple[ReliabilityBin, ...]
    """Ten of the same size; the least likely first."""
    likeliest: tuple[ReliabilityBin, ...]
    """The last of them again, in five."""


class Calibration(Record, frozen=True, kw_only=True):
    """What probabilities are worth: of the best five pointers of each request, and of the push that they make."""

    pointers: Reliability
    pushes: Reliability
    """The chance that one of the five helps: what the bar is held against."""


class ProbeFailure(Record, frozen=True, kw_only=True):
    """A generated request whose answer broke a rule."""

    id: str
    at: str
    reader: str
    request: str
    item: str
    got: tuple[str, ...]


class ProbeTally(Record, frozen=True, kw_only=True):
    """What became of the generated requests of one rule on one route."""

    rule: str
    """`named`: a named thing stands first. `access`: nothing hidden is told."""
    route: str
    """`push`, `search`, `open`, `why`, `keys` or `status`."""
    readers: str = ""
    """Whose requests they were: `owner`, `sub_agent` or `tool`; empty: everybody's."""
    probes: int
    bound: float
    """The share that fails at most, with 95 % confidence: 3 in `probes` when none did."""
    failures: tuple[ProbeFailure, ...] = ()


class SuiteResult(msgspec.Struct, kw_only=True):
    """One run: every answer of every setup, and what follows from them.

    All but `took_ms` and `latency` is the same whenever code, world, setups and seed are.
    """

    commit: str
    """The commit of the code; empty where it does not lie in its own repository."""
    settings: dict[str, Any]
    seeds: dict[str, int]
    world: dict[str, Any]
    """Name, digest and counts."""
    cases: list[AskedCase]
    """In the order in which they were asked; so are the rows of every setup."""
    setups: dict[str, list[CaseRow]]
    figures: dict[str, dict[str, Figures]]
    """By setup (and other make), then kind; `all` comes first."""
    latency: dict[str, dict[str, float]]
    """By setup: milliseconds p50, p95, p99."""
    tests: list[Comparison]
    power: Power
    curves: dict[str, Curve]
    probes: list[ProbeTally] = []
    gates: dict[str, Any] = {}
    """By setup: by which gate its misses failed, a gates.GateTable."""
    calibration: dict[str, Calibration] = {}
    """By `cross-validated` (the training's own cases, judged by models that had not seen them) and by setup."""
    baselines: dict[str, list[CaseRow]] = {}
    """Other makes on the same cases."""
