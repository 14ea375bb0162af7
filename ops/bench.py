"""`bench`: how fast it is, measured on the real server, the real API process and the client that harnesses use.

What the figures mean:

* `append_per_s`: events per second that one writer stores durably, in appends of 100 events (each append is one fsync).
* `snapshot_s`: building, verifying and publishing the first snapshot of all items, in seconds.
* `incremental_s`: the same for the next snapshot, after CHANGES items were recorded anew with other words, in seconds.
* `replay_per_s`: events per second read from the log and folded into items from zero, without making any vectors.
* `push_ms`: a push as the harness waits for it, through the client and the Unix socket, on the warm snapshot.
* `visible_ms`: from the moment a correction is acknowledged to the answer of the push that shows the item.
* `push_one_scope_ms`, `push_most_scopes_ms` (with scopes): the same push for a reader of one scope and of all but one,
  who take turns with the owner; `..._ratio`: that divided by the owner's.
* `rss_mb`: resident memory of the API process after all that, in MiB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..api.client import Client
from ..events.connect import open_log
from ..events.envelope import EventDraft, draft
from ..events.errors import LogUnavailable, NotRunning, RecallError
from ..events.log import EventLog
from ..events.settings import Settings
from ..events.types import AssetRecorded, ReaderGranted
from ..projections.policy.eligibility import OWNER_NAME
from ..projections.state import State
from ..workers.jobs import build_snapshot
from . import embedded
from .corpus import make_drafts, make_requests, make_words, scope
from .figures import percentiles

Progress = Callable[[str, int, int], None]
"""Told (what is being measured, steps done, steps in all)."""

BATCH = 100
CORRECTIONS = 200
CHANGES = 1_000
WARM_UP = 50
"""Pushes before the clock starts: the first ones load pages and fill caches."""
DEADLINE_MS = 10_000.0
"""High, so that a slow push is measured and not cut off."""
READY_S = 120.0
_OWNERS_OWN = ("REDIS_URL", "INSTANT_RECALL_HOME", "INSTANT_RECALL_OWNER", "INSTANT_RECALL_ENCODER")
"""Variables that must not lead the bench to the owner's own data."""


def run(
    items: int, *, seed: int = 0, pushes: int = 1_000, scopes: int = 0, on_progress: Progress | None = None
) -> dict[str, Any]:
    """Make `items` items in a throw-away data folder, measure, and leave nothing behind.

    Args:
        items: how many items to make, at least 1.
        seed: the same seed makes the same items and requests.
        pushes: how many pushes are timed, for each reader.
        scopes: over how many scopes the items are spread, for readers beside the owner; 0: none, the owner alone asks.
        on_progress: told how far each step is.

    Raises:
        RecallError: something did not start, a push failed, or a correction did not show.
    """
    tell = on_progress or (lambda _step, _done, _total: None)
    with tempfile.TemporaryDirectory(prefix="ir-bench-") as folder:
        settings = Settings(home=Path(folder))
        embedded.ensure_running(settings)
        try:
            drafts = list(make_drafts(items, seed=seed, scopes=scopes))
            return _measure(settings, drafts, seed, pushes, _readers(scopes), tell)
        finally:
            embedded.stop(settings)


def _readers(scopes: int) -> dict[str, ReaderGranted]:
    """The readers beside the owner, by the name of their figure."""
    labels = [scope(number) for number in range(scopes)]
    held = {"one_scope": labels[:1], "most_scopes": labels[1:]} if scopes > 1 else {}
    return {name: ReaderGranted(reader=f"sub:{name}", scopes=tuple(mine)) for name, mine in held.items()}


def _measure(
    settings: Settings,
    drafts: Sequence[EventDraft],
    seed: int,
    pushes: int,
    readers: dict[str, ReaderGranted],
    tell: Progress,
) -> dict[str, Any]:
    log = open_log(settings)
    append_per_s = _append(log, drafts, tell)
    if readers:
        log.append([draft(grant) for grant in readers.values()])
    replay_per_s = _replay(log, len(drafts), tell)
    snapshot_s = _build(settings, tell)
    _append(log, _changed(drafts[:CHANGES]), tell)
    incremental_s = _build(settings, tell)
    with _api_process(settings) as (client, pid):
        requests = make_requests(WARM_UP + pushes, drafts, seed=seed)
        taken = _push_all(client, requests, [OWNER_NAME, *(grant.reader for grant in readers.values())], tell)
        visible_ms = _correct_all(client, drafts, seed, tell)
        rss_mb = _resident_mb(pid)
    push_ms = taken.pop(OWNER_NAME)
    return {
        "items": len(drafts),
        "push_ms": percentiles(push_ms),
        **_beside_the_owner(push_ms, {name: taken[grant.reader] for name, grant in readers.items()}),
        "append_per_s": round(append_per_s),
        "visible_ms": percentiles(visible_ms, (50, 99)),
        "snapshot_s": round(snapshot_s, 3),
        "incremental_s": round(incremental_s, 3),
        "replay_per_s": round(replay_per_s),
        "rss_mb": round(rss_mb, 1),
    }


def _append(log: EventLog, drafts: Sequence[EventDraft], tell: Progress) -> float:
    taken = 0.0
    for first in range(0, len(drafts), BATCH):
        batch = drafts[first : first + BATCH]
        started = time.perf_counter()
        log.append(batch)
        taken += time.perf_counter() - started
        tell("append", first + len(batch), len(drafts))
    return len(drafts) / taken


def _build(settings: Settings, tell: Progress) -> float:
    tell("snapshot", 0, 1)
    started = time.perf_counter()
    build_snapshot(str(settings.home))
    tell("snapshot", 1, 1)
    return time.perf_counter() - started


def _changed(drafts: Sequence[EventDraft]) -> list[EventDraft]:
    """The same items with their words in another order, so that every text has to be embedded anew."""
    changed = []
    for made in drafts:
        field = "description" if isinstance(made.event, AssetRecorded) else "text"
        text = " ".join(reversed(getattr(made.event, field).split()))
        changed.append(draft(msgspec.structs.replace(made.event, **{field: text}), audience=made.audience))
    return changed


def _replay(log: EventLog, total: int, tell: Progress) -> float:
    state = State()
    done = 0
    started = time.perf_counter()
    while events := log.read(state.position):
        for event in events:
            state.apply(event)
        done += len(events)
        tell("replay", done, total)
    return done / (time.perf_counter() - started)


def _beside_the_owner(owner: list[float], others: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """The figures of the other readers, and how much of the owner's time they take."""
    figures: dict[str, dict[str, float]] = {}
    mine = percentiles(owner)
    for name, taken in others.items():
        figures[f"push_{name}_ms"] = theirs = percentiles(taken)
        figures[f"push_{name}_ratio"] = {each: round(theirs[each] / mine[each], 3) for each in mine}
    return figures


def _push_all(
    client: Client, requests: Sequence[str], readers: Sequence[str], tell: Progress
) -> dict[str, list[float]]:
    """By reader, milliseconds of each push behind the warm-up. Fails on the first one that was not answered.

    They take turns, each of them as often first, so that whatever else the machine does meets all of them alike.
    """
    taken: dict[str, list[float]] = {reader: [] for reader in readers}
    for number, request in enumerate(requests, 1):
        first = number % len(readers)
        for reader in (*readers[first:], *readers[:first]):
            started = time.perf_counter()
            answer = client.push(request, reader=reader)
            taken[reader].append((time.perf_counter() - started) * 1_000)
            if answer.reason in {"unreachable", "error", "deadline", "refused"} or answer.stale:
                failed = f"Push {number} failed ({answer.reason or 'stale'})."
                raise RecallError(f"{failed} Run the bench on an idle machine, or report it.")
        tell("push", number, len(requests))
    return {reader: found[WARM_UP:] for reader, found in taken.items()}


def _correct_all(client: Client, drafts: Sequence[EventDraft], seed: int, tell: Progress) -> list[float]:
    """Milliseconds from each acknowledged correction to the push that shows its item."""
    words = make_words(seed)
    rng = np.random.default_rng([seed, 3])
    assets = [made.event.item for made in drafts if isinstance(made.event, AssetRecorded)]
    owned = assets or [made.event.subjects()[0] for made in drafts]
    taken: list[float] = []
    for number in range(1, CORRECTIONS + 1):
        item = owned[int(rng.integers(len(owned)))]
        request = " ".join(words.draw_rare(rng, 6))
        client.correct(request, item)
        started = time.perf_counter()
        _until_shown(client, request, item)
        taken.append((time.perf_counter() - started) * 1_000)
        tell("visible", number, CORRECTIONS)
    return taken


def _until_shown(client: Client, request: str, item: str) -> None:
    for _ in range(100):
        if any(pointer.item == item for pointer in client.push(request).pointers):
            return
    raise RecallError(f"A correction to {item} was acknowledged, but 100 pushes did not show it. Please report this.")


@contextmanager
def _api_process(settings: Settings) -> Iterator[tuple[Client, int]]:
    """The API as `up` starts it, ready and with its snapshot taken over; ended when the block is left."""
    environment = {name: value for name, value in os.environ.items() if name not in _OWNERS_OWN}
    command = [sys.executable, "-m", "instant_recall.ops.processes", "api", "--follow", "--home", str(settings.home)]
    log_file = settings.home / "api.log"
    with log_file.open("wb") as written:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=written, stderr=written, env=environment)
    client = Client(settings.home, deadline_ms=DEADLINE_MS)
    try:
        _wait_until_warm(client, process, log_file)
        yield client, process.pid
    finally:
        client.close()
        process.terminate()
        process.communicate()


def _wait_until_warm(client: Client, process: subprocess.Popen[bytes], log_file: Path) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.status().generation > 0:
                return
        except (NotRunning, LogUnavailable):
            pass
        time.sleep(0.02)
    said = log_file.read_text(errors="replace").strip().splitlines()[-3:]
    how = f"did not get ready within {READY_S:g} s" if process.poll() is None else f"ended (code {process.returncode})"
    raise RecallError(f"The API process {how}. The end of its log: {' / '.join(said)}")


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        kilobytes = next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    else:
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, text=True)
        kilobytes = shown.stdout
    return int(kilobytes) / 1_024
