"""A builder that dies after any step of a publish leaves a complete generation current, and the next one succeeds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from instant_recall.events.position import Position
from instant_recall.projections.snapshot_store import SnapshotStore

BUILDER = """
import os, signal, sys
from pathlib import Path
from instant_recall.events.position import Position
from instant_recall.projections.snapshot_store import SnapshotStore

root, last_step = sys.argv[1:]

def die(step):
    if step == last_step:
        os._exit(9)

def write(directory):
    (directory / "docs").mkdir()
    (directory / "docs" / "items.bin").write_bytes(b"half")
    die("half_written")
    if last_step == "killed_while_writing":
        os.kill(os.getpid(), signal.SIGKILL)
    (directory / "docs" / "items.bin").write_bytes(b"new" * 100_000)
    return {"items": 2}

store = SnapshotStore(Path(root), after_step=die)
store.publish(write, position=Position(20, 0), encoder="e1", started_from=store.current())
os._exit(0)
"""

BEFORE_THE_SWITCH = [
    "killed_while_writing",
    "half_written",
    "written",
    "synced",
    "described",
    "renamed",
    "verified",
    "pointer_written",
]


def _old(directory: Path) -> dict[str, int]:
    (directory / "items.bin").write_bytes(b"old")
    return {"items": 1}


def _build_until(root: Path, last_step: str) -> int:
    return subprocess.run([sys.executable, "-c", BUILDER, root, last_step], check=False, timeout=60).returncode


def _current_position(root: Path) -> Position:
    """The position of CURRENT's generation, which must be there and whole."""
    store = SnapshotStore(root)
    current = store.current()
    assert current is not None
    return store.open(current).manifest.position


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one generation, at position 10-0."""
    root = tmp_path / "snapshots"
    SnapshotStore(root).publish(_old, position=Position(10, 0), encoder="e1", started_from=None)
    return root


def test_a_builder_that_lives_publishes(root: Path) -> None:
    assert _build_until(root, "") == 0
    assert _current_position(root) == Position(20, 0)


@pytest.mark.parametrize("last_step", BEFORE_THE_SWITCH)
def test_a_builder_that_dies_before_the_switch_leaves_the_old_generation(root: Path, last_step: str) -> None:
    assert _build_until(root, last_step) in {9, -signal.SIGKILL}
    assert _current_position(root) == Position(10, 0)


def test_a_builder_that_dies_after_the_switch_leaves_the_new_generation(root: Path) -> None:
    assert _build_until(root, "current") == 9
    assert _current_position(root) == Position(20, 0)


@pytest.mark.parametrize("last_step", [*BEFORE_THE_SWITCH, "current"])
def test_after_any_death_the_next_publish_succeeds_and_nothing_is_left_behind(root: Path, last_step: str) -> None:
    _build_until(root, last_step)
    assert _build_until(root, "") == 0
    assert _current_position(root) == Position(20, 0)
    store = SnapshotStore(root)
    store.collect(keep=1)
    assert {path.name for path in root.iterdir()} - {"CURRENT.tmp"} == {
        "CURRENT",
        "publish.lock",
        f"gen-{store.current():06d}",
    }


@pytest.mark.parametrize("last_step", [*BEFORE_THE_SWITCH, "current"])
def test_a_first_builder_that_dies_leaves_none_or_a_whole_generation(tmp_path: Path, last_step: str) -> None:
    _build_until(tmp_path / "snapshots", last_step)
    store = SnapshotStore(tmp_path / "snapshots")
    opened = store.latest()
    assert (store.current() is None) == (last_step != "current")
    # What was renamed but never made current is whole too, and as good to read when there is nothing else.
    assert (opened is not None) == (last_step in {"renamed", "verified", "pointer_written", "current"})


def test_a_lock_held_by_a_killed_builder_is_free_again(root: Path) -> None:
    """The builder stops inside the lock; killing it must let the next one in at once."""
    script = BUILDER.replace("os._exit(9)", "print('inside', flush=True); signal.pause()")
    with subprocess.Popen([sys.executable, "-c", script, root, "renamed"], stdout=subprocess.PIPE, text=True) as stuck:
        try:
            assert stuck.stdout is not None
            assert stuck.stdout.readline() == "inside\n"
            os.kill(stuck.pid, signal.SIGKILL)
            stuck.wait(timeout=10)
            assert _build_until(root, "") == 0
        finally:
            stuck.kill()
    assert _current_position(root) == Position(20, 0)
