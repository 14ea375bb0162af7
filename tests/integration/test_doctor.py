"""The doctor names what is wrong and the command that mends it; what it is told here is really broken."""

from __future__ import annotations

import fcntl
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner
from instant_recall.events.connect import connect, open_log
from instant_recall.events.envelope import draft, now_ms
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemMuted, NoteRecorded, PushServed
from instant_recall.ops import embedded
from instant_recall.ops.checks import Finding
from instant_recall.ops.cli import main
from instant_recall.ops.doctor import examine
from instant_recall.ops.processes import processes_lock
from instant_recall.projections.meaning.encoders import load_encoders
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import encoder
from instant_recall.workers.archiving import archive_log
from instant_recall.workers.jobs import build_snapshot


@pytest.fixture(autouse=True)
def _the_encoder_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a third of a second, and every doctor and every build loads it."""
    for module in ("projections.meaning.encoders", "ops.checks_snapshots"):
        monkeypatch.setattr(f"instant_recall.{module}.load_encoders", LOADED)


LOADED = cache(load_encoders)


@pytest.fixture
def folder(embedded_settings: Settings, owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A data folder of an owner with three notes and a snapshot, in the session's server as an external one."""
    monkeypatch.setenv("REDIS_URL", f"unix://{embedded_settings.server_socket}")
    monkeypatch.setenv("INSTANT_RECALL_OWNER", owner)
    settings = Settings.from_env(tmp_path / "home")
    settings.home.mkdir()
    log = open_log(settings)
    log.append([draft(NoteRecorded(item=f"note:{n}", text="the long lens")) for n in range(3)])
    build(settings)
    log.append([draft(ItemMuted(item="note:1")), draft(PushServed(reader="owner", items=("note:1",)))])
    return settings


def build(settings: Settings, full: bool = False) -> None:
    build_snapshot(str(settings.home), settings.redis_url, settings.owner, settings.encoder, full)


def found(settings: Settings, *levels: str) -> list[Finding]:
    return [one for one in examine(str(settings.home)) if one.level in (levels or ("BAD",))]


def only(settings: Settings, *levels: str) -> Finding:
    (one,) = found(settings, *levels)
    return one


def type_it(remedy: str) -> None:
    """Type one of our own commands, as the doctor says it."""
    words = shlex.split(remedy)
    assert words[0] == "instant-recall"
    said = CliRunner().invoke(main, words[1:])
    assert said.exit_code == 0, said.output


def test_where_all_is_well_nothing_is_bad_and_nothing_is_left_behind(
    folder: Settings, embedded_client: redis.Redis
) -> None:
    findings = examine(str(folder.home))
    assert [one for one in findings if one.level == "BAD"] == []
    assert {one.check for one in findings} >= {
        *("running", "processes", "disk", "server", "clock", "write", "archive", "reactor", "dead letter"),
        *("snapshot", "encoder", "activity"),
    }
    told = {one.check: one.says for one in findings}
    assert re.fullmatch(r"last write \d seconds ago, last push \d seconds ago", told["activity"])
    assert not list(embedded_client.scan_iter(match="ir:{doctor-*"))


def test_where_nothing_is_the_doctor_says_so_and_makes_nothing(home: Path) -> None:
    findings = examine(str(home))
    assert {(one.check, one.level) for one in findings} >= {("running", "warn"), ("log", "warn")}
    assert not [one for one in findings if one.level == "BAD"]
    assert list(home.iterdir()) == []
    said = CliRunner().invoke(main, ["doctor", "--home", str(home)])
    assert said.exit_code == 0
    assert f"-> instant-recall up --home {home}" in said.stdout


def test_a_server_that_does_not_run_is_started_for_the_checks_and_stopped_again(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    embedded.stop(settings)
    findings = examine(str(home))
    assert "write" in {one.check for one in findings}
    assert not [one for one in findings if one.level == "BAD"]
    assert not embedded.is_running(settings)


def test_a_damaged_current_snapshot_is_bad_and_a_new_one_mends_it(folder: Settings) -> None:
    (folder.snapshots_dir / "gen-000001" / "items.bin").write_bytes(b"damaged")
    bad = only(folder)
    assert (bad.check, "items.bin" in bad.says) == ("snapshot", True)
    type_it(bad.remedy)
    assert found(folder) == []
    assert not (folder.snapshots_dir / "gen-000001").exists()


@pytest.mark.parametrize("harm", ["garbage", "missing", "half-deleted"])
def test_a_current_that_leads_nowhere_is_bad_and_a_new_snapshot_mends_it(folder: Settings, harm: str) -> None:
    if harm == "garbage":
        (folder.snapshots_dir / "CURRENT").write_bytes(b"\xff")
    elif harm == "missing":
        (folder.snapshots_dir / "CURRENT").unlink()
    else:
        (folder.snapshots_dir / "gen-000001" / "manifest.json").unlink()
    bad = only(folder)
    assert bad.check == "snapshot"
    type_it(bad.remedy)
    assert found(folder) == []


def test_a_snapshot_by_another_encoder_is_bad_and_a_new_one_mends_it(folder: Settings) -> None:
    manifest = folder.snapshots_dir / "gen-000001" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(encoder().fingerprint, "static-of-old"))
    bad = only(folder)
    assert (bad.check, "static-of-old" in bad.says) == ("encoder", True)
    type_it(bad.remedy)
    assert found(folder) == []


def test_an_encoder_that_is_not_there_is_named(folder: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSTANT_RECALL_ENCODER", "/nowhere")
    assert [(one.check, one.remedy) for one in found(folder)] == [("encoder", "unset INSTANT_RECALL_ENCODER")]


@pytest.mark.parametrize("grown", [False, True], ids=["shorter", "grown past it since"])
def test_a_snapshot_of_a_log_that_was_rewound_is_bad_and_a_full_rebuild_mends_it(
    folder: Settings, embedded_client: redis.Redis, grown: bool
) -> None:
    key, at = f"ir:{{{folder.owner}}}:log", SnapshotStore(folder.snapshots_dir).manifest(1).position
    embedded_client.xtrim(key, maxlen=0)
    embedded_client.delete(key)
    embedded_client.xadd(key, {"id": "other", "e": b"x"}, id="5-0")
    if grown:
        embedded_client.xadd(key, {"id": "another", "e": b"x"}, id=f"{at.ms + 1}-0")
    bad = only(folder)
    assert (bad.check, str(at) in bad.says) == ("snapshot", True)
    type_it(bad.remedy)
    assert found(folder) == []
    assert [one.check for one in found(folder, "warn")] == ["running", "snapshot"], "the older one is named still"


def test_an_archive_with_a_damaged_or_missing_file_is_bad(folder: Settings) -> None:
    archive_log(str(folder.home), folder.redis_url, folder.owner, 0, 1, at_least=1)
    (one,) = [one for one in examine(str(folder.home)) if one.check == "archive"]
    assert (one.level, one.says.startswith("1 segment")) == ("ok", True)
    segment = next(path for path in folder.archive_dir.glob("*.zst") if "payloads" not in path.name)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-3])
    bad = only(folder)
    assert (bad.check, segment.name in bad.says) == ("archive", True)
    segment.unlink()
    bad = only(folder)
    assert (bad.check, "missing" in bad.says) == ("archive", True)
    segment.write_bytes(whole)
    assert found(folder) == []


def test_a_dead_letter_is_named_with_the_command_that_tries_it_again(
    folder: Settings, embedded_client: redis.Redis
) -> None:
    letter = {"event_id": "e-1", "position": [5, 0], "type": "item_muted", "error": "KeyError", "deliveries": 3}
    embedded_client.hset(f"ir:{{{folder.owner}}}:reactor:dead", "e-1", json.dumps(letter))
    bad = only(folder)
    assert (bad.check, "e-1" in bad.says, "KeyError" in bad.says) == ("dead letter", True, True)
    type_it(bad.remedy)


def test_a_reactor_ahead_of_the_log_is_bad_and_starting_over_mends_it(
    folder: Settings, embedded_client: redis.Redis
) -> None:
    embedded_client.hset(f"ir:{{{folder.owner}}}:reactor", "checkpoint", f"{now_ms() + 86_400_000}-0")
    bad = only(folder)
    assert bad.check == "reactor"
    type_it(bad.remedy)
    assert found(folder) == []


def test_a_log_that_ends_in_the_future_says_that_the_clock_was_set_back(
    folder: Settings, embedded_client: redis.Redis
) -> None:
    embedded_client.xadd(f"ir:{{{folder.owner}}}:log", {"id": "x", "e": b"x"}, id=f"{now_ms() + 7_300_000}-0")
    bad = only(folder)
    assert (bad.check, "2 hours ahead" in bad.says) == ("clock", True)


@contextmanager
def configured(client: redis.Redis, name: str, value: str) -> Iterator[None]:
    before = client.config_get(name)[name]
    client.config_set(name, value)
    try:
        yield
    finally:
        client.config_set(name, str(before))


def test_a_server_that_may_lose_events_is_bad(folder: Settings, embedded_client: redis.Redis) -> None:
    with configured(embedded_client, "appendfsync", "everysec"):
        bad = only(folder)
    assert (bad.check, bad.remedy) == ("server", 'redis-cli -u "$REDIS_URL" CONFIG SET appendfsync always')
    with (
        configured(embedded_client, "maxmemory-policy", "allkeys-lru"),
        configured(embedded_client, "maxmemory", str(1 << 33)),
    ):
        assert "evicts" in only(folder).says
    with configured(embedded_client, "maxmemory", "1"):
        assert "memory limit" in "".join(one.says for one in found(folder))


def test_a_socket_that_others_can_open_is_bad(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    settings.server_socket.chmod(0o666)
    bad = only(settings)
    assert (bad.check, bad.remedy) == ("socket", f"chmod 600 {settings.server_socket}")
    settings.server_socket.chmod(0o600)
    assert found(settings) == []


def test_processes_without_a_supervisor_are_bad(folder: Settings) -> None:
    path = processes_lock(folder)
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        bad = only(folder)
    assert (bad.check, bad.remedy) == ("processes", f"instant-recall down --home {folder.home}")
    assert found(folder) == []


def test_a_server_that_does_not_start_is_bad_and_the_snapshots_are_looked_at_all_the_same(home: Path) -> None:
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    open_log(settings).append([draft(ItemMuted(item="note:1"))])
    build(settings)
    embedded.stop(settings)
    for path in (settings.log_dir / "appendonlydir").glob("*.aof"):
        path.write_bytes(b"garbage" + path.read_bytes())
    findings = examine(str(home))
    assert [(one.check, one.remedy) for one in findings if one.level == "BAD"] == [
        ("server", f"tail -n 5 {settings.log_dir}/server.log")
    ]
    assert {"snapshot", "encoder"} <= {one.check for one in findings}


def test_an_external_server_that_is_away_is_bad_and_its_password_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:geheim@127.0.0.1:1/0")
    findings = examine(str(tmp_path))
    assert [one.check for one in findings if one.level == "BAD"] == ["server"]
    assert "geheim" not in str(findings)


def test_settings_that_cannot_be_used_are_a_finding_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSTANT_RECALL_OWNER", "a/b")
    (bad,) = examine(str(home))
    assert (bad.check, bad.level) == ("settings", "BAD")
    monkeypatch.delenv("INSTANT_RECALL_OWNER")
    monkeypatch.setenv("XDG_RUNTIME_DIR", f"/{'x' * 120}")
    (bad,) = examine(str(home / ("y" * 100)))
    assert "XDG_RUNTIME_DIR" in bad.says


def test_a_full_disk_is_told_with_what_takes_the_room(folder: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=1_000)
    monkeypatch.setattr("instant_recall.ops.checks.shutil.disk_usage", lambda _: usage)
    bad = only(folder)
    assert (bad.check, bad.remedy) == ("disk", f"du -sh {folder.home}/*")


def test_the_command_prints_aligned_lines_or_one_object_and_fails_when_something_is_bad(folder: Settings) -> None:
    (folder.snapshots_dir / "CURRENT").write_bytes(b"\xff")
    said = CliRunner().invoke(main, ["doctor", "--home", str(folder.home)])
    assert said.exit_code == 1
    bad = next(line for line in said.stdout.splitlines() if line.startswith("BAD"))
    assert bad.startswith("BAD   snapshot")
    told = CliRunner().invoke(main, ["doctor", "--json", "--home", str(folder.home)])
    assert told.exit_code == 1
    facts = json.loads(told.stdout)
    assert (facts["well"], [one["check"] for one in facts["checks"] if one["level"] == "BAD"]) == (False, ["snapshot"])


def test_the_doctor_reads_no_text(folder: Settings) -> None:
    with closing(connect(folder)) as client:
        client.delete(f"ir:{{{folder.owner}}}:payloads")
    assert found(folder) == []


def test_what_a_killed_restore_left_behind_is_named(folder: Settings) -> None:
    left = folder.home / ".restore-x1"
    left.mkdir()
    assert [one.remedy for one in found(folder, "warn") if one.check == "leftovers"] == [f"rm -r {left}"]
