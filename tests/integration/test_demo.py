"""The demo as a newcomer runs it: a process of its own, judged by its JSON, its text, and what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from instant_recall.events.types import SessionClosed, TurnRecorded
from instant_recall.ops.demo_stage import FILES, NOTE_FOLDERS, past_sessions
from instant_recall.workers.notes import scan_notes
from instant_recall.workers.skills import scan_skills

DEMO = (sys.executable, "-P", "-c", "from instant_recall.ops.cli import main; main()", "demo")
README = Path(__file__).parents[2] / "README.md"
HELPER = "skill:portal-helper"
DAY_MS = 86_400_000


def environment(folder: Path) -> dict[str, str]:
    """An owner with a data folder and a server of their own, which the demo must not touch."""
    mine = {"INSTANT_RECALL_HOME": str(folder / "mine"), "REDIS_URL": "redis://127.0.0.1:1", "TMPDIR": str(folder)}
    return os.environ | mine


def processes_naming(text: str) -> list[str]:
    """Command lines of live processes that hold the text (of this machine; one that ends meanwhile is passed over)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [line] if text in line else []
    return found


def without_figures(text: str) -> str:
    """The text without the times that differ from run to run."""
    return re.sub(r"[\d.]+ (ms|s)\b", r"N \1", text)


def assert_nothing_is_left(folder: Path) -> None:
    assert not processes_naming(str(folder))
    assert list(folder.iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "t"
    made.mkdir()
    return made


@pytest.mark.timeout(120)
def test_the_demo_misses_is_corrected_hits_and_stays_silent_where_nothing_fits(folder: Path) -> None:
    began = time.monotonic()
    ran = subprocess.run(
        [*DEMO, "--json"], env=environment(folder), check=False, capture_output=True, text=True, timeout=100
    )
    took_s = time.monotonic() - began
    report = json.loads(ran.stdout)
    missed, after, named, last_time, unrelated, thanks = report["scenes"]

    assert HELPER not in missed["items"]
    assert missed["corrected"]
    assert HELPER in after["items"]
    assert "[skill] portal-helper" in after["block"]
    assert named["items"][0] == "machine:petrel"
    assert {"session:kelp-cover-14", "approach:freeze-then-thaw"} & set(last_time["items"])
    for silent in (unrelated, thanks):
        assert (silent["items"], silent["block"], silent["tokens"]) == ([], "", 0)
    assert (report["ok"], ran.returncode, ran.stderr) == (True, 0, "")
    assert took_s < 60
    assert_nothing_is_left(folder)


def test_the_demo_fits_a_terminal_of_100_columns_and_is_plain_text_in_a_pipe(folder: Path) -> None:
    ran = subprocess.run(DEMO, env=environment(folder), check=False, capture_output=True, text=True, timeout=100)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, ran.stdout
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in ran.stdout
    assert [line[0] for line in lines if line[:2] in {f"{n}." for n in range(1, 10)}] == list("123456")
    assert "instant-recall import skills ~/.claude/skills" in ran.stdout
    shown = README.read_text(encoding="utf-8").split("```\n")[1]
    assert without_figures(shown) in without_figures(ran.stdout), "paste the demo's output into README.md anew"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_interrupted_takes_everything_away(folder: Path, number: signal.Signals) -> None:
    demo = subprocess.Popen(
        DEMO, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        end = time.monotonic() + 60
        while len(processes_naming(str(folder))) < 2:
            assert time.monotonic() < end
            assert demo.poll() is None
            time.sleep(0.02)
        demo.send_signal(number)
        _, errors = demo.communicate(timeout=60)
    finally:
        if demo.poll() is None:
            demo.kill()
            demo.wait()
    assert demo.returncode != 0
    assert b"Traceback" not in errors
    assert_nothing_is_left(folder)


def test_the_demo_tells_when_a_promise_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from instant_recall.ops import demo

    monkeypatch.setattr(
        demo, "ACTS", (demo.Act("Nothing is there", "check the camera on the moon", "hit", ("skill:none",)),)
    )
    assert demo.run() == 1
    assert "NOT AS PROMISED" in capsys.readouterr().out


def test_the_demo_refuses_a_folder_that_holds_something(folder: Path) -> None:
    from instant_recall.events.errors import RecallError
    from instant_recall.ops import demo

    (folder / "precious.txt").write_text("keep me")
    with pytest.raises(RecallError, match="not empty"):
        demo.run(folder)
    assert (folder / "precious.txt").read_text() == "keep me"


def test_every_file_of_the_demo_is_imported() -> None:
    scans = [scan_skills(FILES / "skills"), *(scan_notes(FILES / name) for name in NOTE_FOLDERS)]
    assert [skip for scan in scans for skip in scan.skipped] == []
    kinds = [draft.event.subjects()[0].partition(":")[0] for scan in scans for draft in scan.drafts]
    assert {kind: kinds.count(kind) for kind in ("skill", "machine", "decision", "approach")} == {
        "skill": 13, "machine": 4, "decision": 3, "approach": 2,
    }  # fmt: skip


def test_the_helper_of_the_first_request_shares_no_word_with_it_but_its_name() -> None:
    from instant_recall.ops.demo import MISSED

    helper = (FILES / "skills" / "portal-helper" / "SKILL.md").read_text(encoding="utf-8")
    said = helper.replace("portal-helper", "").lower()
    for word in ("download", "quarter", "report", "company", "portal"):
        assert word in MISSED
        assert word not in said


def test_past_sessions_keep_their_spacing_and_end_the_day_before(now: int = 2_000_000_000_000) -> None:
    events = past_sessions(FILES / "sessions", now)
    times = [event.occurred_at for event in events]
    assert times == sorted(times)
    assert 1 * DAY_MS <= now - times[-1] < 2 * DAY_MS
    assert {type(event.event) for event in events} == {TurnRecorded, SessionClosed}
    assert len({event.event_id for event in events}) == len(events)


def test_the_ten_lines_of_the_readme_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from instant_recall.ops.demo_stage import fill, stage

    program = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert program
    monkeypatch.setenv("INSTANT_RECALL_HOME", str(tmp_path / "home"))
    lines: dict[str, Any] = {}
    with stage(tmp_path / "home") as client:
        fill(client)
        exec(program[1], lines)  # noqa: S102 - it is our own README
        before_turn = lines["before_turn"]
        assert "petrel" in before_turn("is petrel busy?", "s1")
        assert before_turn("thanks", "s1") == "thanks"
        lines["after_turn"]("s1", 1, "owner", "is petrel busy?")
        lines["owner_says_you_have_this"]("fetch the ferry times", "skill:tide-heights", "you have tide-heights")
        assert "tide-heights" in before_turn("fetch the ferry times", "s2")
        assert "is petrel busy?" in client.open("session:s1#t1").text
