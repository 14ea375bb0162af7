"""Where the demo plays: a throw-away data folder, the processes of `up`, and the demo's files, imported."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

from ..api.client import Client
from ..events.envelope import Actor, EventDraft, Source, draft, now_ms
from ..events.errors import RecallError
from ..events.settings import Settings
from ..events.types import Millis, Role, SessionClosed, TurnRecorded
from ..workers.importing import plan
from ..workers.notes import scan_notes
from ..workers.skills import scan_skills

FILES: Final = Path(__file__).parent / "demo_files"
NOTE_FOLDERS: Final = ("notes", "decisions", "approaches")
DAY_MS: Final = 86_400_000
ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)
STOP_S: Final = 60.0
"""How long `up` may take to stop; it needs a second or two."""


class _Line(msgspec.Struct, frozen=True):
    """A line of a session's file: the first names the session, the last says how it ended, each other one is a turn."""

    session: str = ""
    project: str = ""
    role: Role = "owner"
    text: str = ""
    at: datetime | None = None
    used: tuple[str, ...] = ()
    helped: tuple[str, ...] = ()
    outcome: str = ""


@contextmanager
def stage(home: Path | None = None) -> Iterator[Client]:
    """Start everything in a throw-away folder, and take all of it away again, however the scene ends.

    Args:
        home: a folder that is empty or does not exist; None takes a temporary one.

    Raises:
        RecallError: the folder is in use, or something did not start.
    """
    if home is not None and home.exists() and any(home.iterdir()):
        raise RecallError(f"{home} is not empty, and the demo forgets all that is in its folder. Choose another one.")
    folder = Path(tempfile.mkdtemp(prefix="ir-demo-")) if home is None else home.absolute()
    settings = Settings(home=folder)
    process = None
    with _terminated_like_interrupted():
        try:
            process = _up(settings)
            _await_ready(process)
            yield Client(folder, deadline_ms=2_000)
        finally:
            _away(settings, process)


def fill(client: Client) -> None:
    """Put the demo's files in: skills and notes through the importers, sessions as a harness publishes them."""
    client.publish(plan(scan_skills(FILES / "skills"), {}).drafts)
    for folder in NOTE_FOLDERS:
        client.publish(plan(scan_notes(FILES / folder), {}).drafts)
    client.publish(past_sessions(FILES / "sessions", now_ms()))


def past_sessions(folder: Path, now: Millis) -> list[EventDraft]:
    """The sessions of a folder as events, in order of time.

    All are moved by the same number of days, so that the latest was yesterday or so and the demo does not grow old.
    """
    events = [event for path in sorted(folder.glob("*.jsonl")) for event in _session(path)]
    events.sort(key=lambda event: event.occurred_at)
    days = (now - events[-1].occurred_at) // DAY_MS - 1
    return [msgspec.structs.replace(event, occurred_at=event.occurred_at + days * DAY_MS) for event in events]


def _session(path: Path) -> Iterator[EventDraft]:
    first, *turns, last = (msgspec.json.decode(line, type=_Line) for line in path.read_bytes().splitlines())
    session, project, at = first.session, first.project, 0
    for number, line in enumerate(turns, start=1):
        at = int(line.at.timestamp() * 1000) if line.at else at
        said = TurnRecorded(session=session, turn=number, role=line.role, text=line.text, project=project)
        yield draft(said, occurred_at=at, actor=Actor(line.role), source=Source(harness="demo", session=session))
    closed = SessionClosed(session=session, project=project, used=last.used, helped=last.helped, outcome=last.outcome)
    yield draft(closed, occurred_at=at, actor=Actor("agent"), source=Source(harness="demo", session=session))


def _up(settings: Settings) -> subprocess.Popen[str]:
    """`instant-recall up`, just started. Nothing of the owner's environment points it elsewhere."""
    ours = {"REDIS_URL", *(name for name in os.environ if name.startswith("INSTANT_RECALL_"))}
    program = "from instant_recall.ops.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, "--home", str(settings.home), "--json", "up"],
        env={name: value for name, value in os.environ.items() if name not in ours},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the demo alone, which then stops `up` in order
    )


def _await_ready(process: subprocess.Popen[str]) -> None:
    """Until `up` says that it is ready, in one line of JSON, or ends and says why not."""
    line = process.stdout.readline() if process.stdout else ""
    if '"ready"' not in line:
        said = (line + process.communicate()[1]).strip().splitlines()
        raise RecallError(f"The demo's `up` did not start: {said[-1] if said else 'it gave no reason'}")


def _away(settings: Settings, process: subprocess.Popen[str] | None) -> None:
    """Stop `up`, then remove the folder. A second Ctrl-C does not leave half of it behind."""
    kept = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *ENDINGS)}
    try:
        if process is not None:
            process.terminate()
            try:
                process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        shutil.rmtree(settings.home, ignore_errors=True)
        shutil.rmtree(settings.api_socket.parent, ignore_errors=True)  # elsewhere when the home's path is very long
    finally:
        _restore(kept)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM and a closed terminal end the demo as Ctrl-C does, with everything taken away."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    kept = {number: signal.signal(number, interrupt) for number in ENDINGS}
    try:
        yield
    finally:
        _restore(kept)


def _restore(kept: Mapping[signal.Signals, Any]) -> None:
    for number, handler in kept.items():
        signal.signal(number, handler)
