"""The demo: a throw-away home, the real processes, the real importers, and six requests of one morning.

Nothing is staged: each scene prints what the server answered, and the demo fails when that is not what it promises.
The owner's own data folder and server are never touched, whatever the environment says.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

import msgspec

from ..api.client import Client
from ..api.messages import PushResponse
from .demo_stage import fill, stage
from .demo_text import Teller

Promise = Literal["miss", "hit", "first", "empty"]

HELPER = "skill:portal-helper"
MISSED = "download last quarter's report from the company portal"
SAID = "you have this: portal-helper drives my logged-in browser"


@dataclass(frozen=True)
class Act:
    """What the owner types in one scene, and what the demo promises about the push."""

    title: str
    typed: str
    promise: Promise
    items: tuple[str, ...] = ()
    """The items that the promise is about; one of them is enough for `hit` and `first`."""
    session: str = ""
    project: str = ""
    corrected: bool = False
    """The owner corrects the agent after the reply."""


ACTS = (
    Act("A request that sounds nothing like the skill it needs", MISSED, "miss", (HELPER,), "office", corrected=True),
    Act(
        "The very next message, worded differently",
        "fetch the quarterly report from the company's website",
        "hit",
        (HELPER,),
        "office",
    ),
    Act(
        "A thing called by its second name",
        "check the camera on the lab machine",
        "first",
        ("machine:petrel",),
        "wet-lab",
    ),
    Act(
        "Last time, in another project (now: seal-counts, then: kelp-cover)",
        "train it again with the setup we used last time",
        "hit",
        ("session:kelp-cover-14", "approach:freeze-then-thaw"),
        "seals",
        "seal-counts",
    ),
    Act("Nothing the owner has would help", "what's the capital of Mongolia?", "empty", session="chat"),
    Act("Nothing was asked", "thanks", "empty", session="chat"),
)


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One scene as it was played."""

    number: int
    title: str
    typed: str
    promise: str
    block: str
    """Exactly what stands in front of the model, next to the owner's message."""
    items: tuple[str, ...]
    reason: str
    tokens: int
    ms: float
    """From the call to the answer, through the client, milliseconds."""
    kept: bool
    """The promise was kept."""
    corrected: str = ""
    """What the owner then said."""
    correction_ms: float = 0.0
    """Until the correction was durable."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole demo, as `--json` prints it."""

    ok: bool
    imported: dict[str, int]
    start_s: float
    import_s: float
    scenes: tuple[Scene, ...]
    slowest_push_ms: float
    correction_to_hit_ms: float
    """The correction and the next push together, milliseconds."""
    total_s: float


def run(home: Path | None = None, *, as_json: bool = False, out: TextIO | None = None) -> int:
    """Play the demo and clean up after it, also on Ctrl-C.

    Args:
        home: a folder to play in that is empty or does not exist; None takes a temporary one. It is removed at the end.
        as_json: print one JSON object (see `Report`) and nothing else.
        out: where to print; None is standard output.

    Returns:
        0 when every scene kept its promise, else 1.

    Raises:
        RecallError: the folder is in use, or a process did not start.
    """
    teller = Teller(out or sys.stdout, quiet=as_json)
    began = time.monotonic()
    teller.opening()
    with stage(home) as client:
        start_s = time.monotonic() - began
        fill(client)
        import_s = time.monotonic() - began - start_s
        imported = client.status().items
        teller.ready(imported, start_s, import_s)
        scenes = tuple(_play(client, teller))
    report = _report(scenes, imported, (start_s, import_s, time.monotonic() - began))
    teller.closing(report.slowest_push_ms, report.correction_to_hit_ms, report.total_s, ok=report.ok)
    if as_json:
        print(msgspec.json.encode(report).decode(), file=out or sys.stdout)
    return 0 if report.ok else 1


def _play(client: Client, teller: Teller) -> Iterator[Scene]:
    """Play every act against the live server, telling each as it happens."""
    for number, act in enumerate(ACTS, start=1):
        teller.asks(number, act.title, act.typed)
        started = time.perf_counter()
        answer = client.push(act.typed, session=act.session, project=act.project)
        ms = _since(started)
        kept = _kept(act, answer)
        teller.sees(answer.block, answer.reason, ms)
        description = client.open(act.items[0]).description if act.promise == "miss" else ""
        there = [pointer.item for pointer in answer.pointers if pointer.item in act.items]
        teller.verdict(act.promise, there or act.items, kept=kept, description=description)
        correction_ms = _correct(client, teller, act) if act.corrected else 0.0
        yield Scene(
            number=number,
            title=act.title,
            typed=act.typed,
            promise=act.promise,
            block=answer.block,
            items=tuple(pointer.item for pointer in answer.pointers),
            reason=answer.reason,
            tokens=answer.tokens,
            ms=round(ms, 2),
            kept=kept,
            corrected=SAID if act.corrected else "",
            correction_ms=round(correction_ms, 2),
        )


def _correct(client: Client, teller: Teller, act: Act) -> float:
    """The owner says what was missed; returns the milliseconds until that was durable."""
    started = time.perf_counter()
    client.correct(act.typed, act.items[0], said=SAID, session=act.session)
    ms = _since(started)
    teller.corrects(SAID, ms)
    return ms


def _kept(act: Act, answer: PushResponse) -> bool:
    """Whether the push is what the act promises. A push that failed keeps no promise, not even that of silence."""
    if answer.reason not in ("", "nothing_fits", "trivial_turn"):
        return False
    items = [pointer.item for pointer in answer.pointers]
    match act.promise:
        case "miss":
            return not set(act.items) & set(items)
        case "hit":
            return bool(set(act.items) & set(items))
        case "first":
            return bool(items) and items[0] in act.items
        case "empty":
            return not items


def _report(scenes: tuple[Scene, ...], imported: dict[str, int], took_s: tuple[float, float, float]) -> Report:
    """Sum up what was played; `took_s` is start, import and everything."""
    start_s, import_s, total_s = (round(seconds, 2) for seconds in took_s)
    after = {before.number + 1: before.correction_ms for before in scenes if before.corrected}
    return Report(
        ok=all(scene.kept for scene in scenes),
        imported=imported,
        start_s=start_s,
        import_s=import_s,
        scenes=scenes,
        slowest_push_ms=max(scene.ms for scene in scenes),
        correction_to_hit_ms=round(sum(after[scene.number] + scene.ms for scene in scenes if scene.number in after), 2),
        total_s=total_s,
    )


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
