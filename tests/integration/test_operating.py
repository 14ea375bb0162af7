"""The operator's commands as a person types them, on a real server: replay and snapshots."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from instant_recall.events.connect import open_log
from instant_recall.events.envelope import draft
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemMuted, NoteRecorded
from instant_recall.ops import embedded
from instant_recall.ops.cli import main


def run(home: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run one command in this process; what it printed with --json."""
    said = CliRunner().invoke(main, ["--home", str(home), "--json", *map(str, arguments)])
    assert said.exit_code == code, said.output
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer


@pytest.fixture
def filled(home: Path) -> Iterator[Path]:
    """A data folder with five notes, a muted one, and two snapshots; its server runs."""
    settings = Settings(home=home)
    embedded.ensure_running(settings)
    log = open_log(settings)
    log.append([draft(NoteRecorded(item=f"note:{n}", name=f"lens {n}", text="the long lens")) for n in range(5)])
    run(home, "snapshot")
    log.append([draft(ItemMuted(item="note:4"))])
    run(home, "snapshot")
    yield home


def test_snapshots_are_listed_verified_and_rolled_back(filled: Path) -> None:
    listed = run(filled, "snapshots", "list")["generations"]
    assert [(g["generation"], g["current"], g["items"], g["problem"]) for g in listed] == [
        (1, False, 5, ""),
        (2, True, 5, ""),
    ]
    assert run(filled, "snapshots", "verify")["good"]
    said = CliRunner().invoke(main, ["snapshots", "verify", "--home", str(filled)]).stdout
    assert said.endswith("2 snapshots verified, every byte: good.\n")
    assert run(filled, "snapshots", "rollback", 1) == {
        "generation": 1,
        "before": 2,
        "position": listed[0]["position"],
    }
    assert [g["current"] for g in run(filled, "snapshots", "list")["generations"]] == [True, False]
    replayed = run(filled, "replay", "--compare")
    assert (replayed["same"], replayed["generation"]) == (True, 1)
    assert run(filled, "snapshot")["generation"] == 3
    assert [g["generation"] for g in run(filled, "snapshots", "list")["generations"]] == [1, 3]


def test_a_damaged_generation_is_named_and_no_rollback_leads_to_it(filled: Path) -> None:
    folder = Settings(home=filled).snapshots_dir / "gen-000001"
    (folder / "items.bin").write_bytes(b"damaged")
    found = run(filled, "snapshots", "verify", code=1)
    assert [bool(g["problem"]) for g in found["generations"]] == [True, False]
    assert "items.bin" in found["generations"][0]["problem"]
    assert run(filled, "snapshots", "verify", 2)["good"]
    assert run(filled, "snapshots", "rollback", 1, code=1)["error"] == "corrupt_snapshot"
    assert run(filled, "snapshots", "rollback", 7, code=1)["error"] == "not_found"
    shutil.rmtree(folder.parent / "gen-000002")
    assert [(g["generation"], g["current"]) for g in run(filled, "snapshots", "list")["generations"]] == [
        (1, False),
        (2, True),
    ]


def test_a_snapshot_by_another_encoder_is_no_way_back(filled: Path) -> None:
    manifest = Settings(home=filled).snapshots_dir / "gen-000001" / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(told | {"encoder": "static-of-old"}))
    refused = run(filled, "snapshots", "rollback", 1, code=1)
    assert refused["error"] == "incompatible_snapshot"
    assert "static-of-old" in refused["message"]


def test_a_replay_can_stop_early_start_late_and_be_kept(filled: Path, tmp_path: Path) -> None:
    whole = run(filled, "replay")
    first, second = (g["position"] for g in run(filled, "snapshots", "list")["generations"])
    then = run(filled, "replay", "--to", first, "--compare", "--into", tmp_path / "then")
    assert (then["events"], then["generation"], then["same"]) == (5, 1, True)
    assert (tmp_path / "then" / "CURRENT").read_text() == "gen-000001\n"
    assert then["digest"] != whole["digest"]
    later = run(filled, "replay", "--from", first)
    assert (later["events"], later["generation"]) == (whole["events"] - 5, 0)
    assert run(filled, "replay", "--into", tmp_path / "then", code=1)["error"] == "error"
    for wrong in (["--from", "yesterday"], ["--from", first, "--compare"], ["--from", first, "--into", "x"]):
        assert CliRunner().invoke(main, ["--home", str(filled), "replay", *wrong]).exit_code == 2
    assert second > first


def test_a_person_reads_what_is_there_in_aligned_lines(filled: Path) -> None:
    said = CliRunner().invoke(main, ["--home", str(filled), "snapshots", "list"])
    lines = said.stdout.splitlines()
    assert [line[:3] for line in lines] == ["  1", "* 2"]
    assert "5 items" in lines[0]
