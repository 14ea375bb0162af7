"""`audit` on a real log: part of it archived, and nothing running but the server that keeps it."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from instant_recall import Client
from instant_recall.api.service import Service
from instant_recall.events.connect import open_log
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.events.settings import Settings
from instant_recall.events.types import ItemForgotten, ItemOpened, NoteRecorded, PushServed, ReaderGranted
from instant_recall.ops import embedded
from instant_recall.ops.cli import main
from instant_recall.tests.running import recall
from instant_recall.workers.archiving import archive_log
from instant_recall.workers.erasing import erase
from instant_recall.workers.jobs import build_snapshot

from tests.api_stand_in import serving
from tests.helpers import FixedClock
from tests.small_world import encoder


def audit(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", "--home", str(home), *arguments])


def lines(said: Result) -> list[dict[str, object]]:
    assert said.exit_code == 0, said.output
    return [json.loads(line) for line in said.stdout.splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven accesses, four of them archived; then the server was stopped."""
    with tempfile.TemporaryDirectory(prefix="ir-") as home:
        settings = Settings(home=Path(home))
        embedded.ensure_running(settings)
        try:
            log = open_log(settings)
            log.append([draft(NoteRecorded(item="note:1", text="a lens")), draft(ReaderGranted(reader="scout"))])
            push = PushServed(reader="scout", session="s", items=("note:2", "note:1"), request="which lens?")
            log.append([draft(push)])
            log.append([draft(ItemOpened(item="note:1", reader="scout", anchor=f"L{n}")) for n in range(3)])
            build_snapshot(home)
            archive_log(home, "", "owner", 0, 0, at_least=1)
            assert log.trimmed() > START
            later = ItemOpened(item="note:1", reader="owner"), ItemOpened(item="note:2", reader="scout")
            log.append([draft(one) for one in (*later, PushServed(reader="scout", request="nothing"))])
        finally:
            embedded.stop(settings)
        shutil.rmtree(settings.home / "run", ignore_errors=True)
        return Path(shutil.copytree(home, tmp_path_factory.mktemp("made") / "home"))


@pytest.fixture
def settings(home: Path, made: Path) -> Settings:
    """A copy of it."""
    shutil.copytree(made, home, dirs_exist_ok=True)
    return Settings(home=home)


def test_an_audit_reads_archive_and_stream_as_one_and_leaves_nothing_running(settings: Settings) -> None:
    everything = lines(audit(settings.home, "--reader", "scout", "--json"))
    assert [one["route"] for one in everything] == ["push", "open", "open", "open", "open", "push"]
    assert everything[0]["items"] == ["note:2", "note:1"]
    assert not any("lens" in json.dumps(one) for one in everything)
    assert not embedded.is_running(settings)

    who = lines(audit(settings.home, "--item", "note:1", "--json", "--requests"))
    assert [one["reader"] for one in who] == ["scout"] * 4 + ["owner"]
    assert who[0]["request"] == "which lens?"


def test_a_person_reads_it_newest_first_and_page_by_page(settings: Settings) -> None:
    first = audit(settings.home, "--reader", "scout", "--limit", "4").stdout.splitlines()
    assert "(nothing)" in first[0]
    assert "note:2" in first[1]
    assert "note:1#L2" in first[2]
    assert "There is more: --before" in first[4]
    rest = audit(settings.home, "--reader", "scout", "--limit", "4", "--before", first[4].split()[-1]).stdout
    assert "note:1#L0" in rest
    assert "note:2, note:1" in rest
    assert "There is more" not in rest
    assert "2 accesses (push 1, open 1), 2 items: reader scout" in rest

    who = audit(settings.home, "--item", "note:1", "--requests").stdout
    assert "2. of 2" in who
    assert "asked: which lens?" in who

    totals = audit(settings.home, "--reader", "scout", "--totals").stdout.splitlines()
    assert totals[0].split() == ["reader", "item", "push", "search", "open", "why", "last"]
    assert ["scout", "note:1", "1", "-", "3", "-"] in [line.split()[:6] for line in totals]


def test_what_was_never_heard_of_and_what_is_typed_wrongly_is_said_so(settings: Settings) -> None:
    unknown = audit(settings.home, "--reader", "nobody")
    assert unknown.exit_code == 1
    assert "No reader 'nobody'" in unknown.stderr
    assert audit(settings.home, "--item", "note:none", "--json").exit_code == 1
    assert "No access" in audit(settings.home, "--reader", "scout", "--since", "2036-01-01").stdout
    assert audit(settings.home).exit_code == 2
    assert "Say 7d" in audit(settings.home, "--reader", "scout", "--since", "yore").stderr


def test_after_forgetting_the_ids_stay_and_what_was_asked_is_gone(settings: Settings) -> None:
    embedded.ensure_running(settings)
    open_log(settings).append([draft(ItemForgotten(item="note:1"))])
    assert erase(str(settings.home), "note:1")["outcome"] == "erased"
    who = lines(audit(settings.home, "--item", "note:1", "--json", "--requests"))
    assert len(who) == 5
    assert (who[0]["items"], who[0]["request"], who[0]["erased"]) == (["note:2", "note:1"], "", True)
    assert "asked: (erased)" in audit(settings.home, "--item", "note:1", "--requests").stdout


def test_a_damaged_archive_is_named_and_nothing_is_told_as_if_it_were_all(settings: Settings) -> None:
    [segment] = [one for one in settings.archive_dir.rglob("*.zst") if "payloads" not in one.name]
    segment.write_bytes(segment.read_bytes()[:-10])
    said = audit(settings.home, "--reader", "scout")
    assert said.exit_code == 1
    assert segment.name in said.stderr
    assert said.stdout == ""


def test_it_is_a_command_like_any_other(settings: Settings) -> None:
    said = recall(settings, "audit", "--reader", "nobody", code=1)
    assert said["error"] == "not_found"


def test_a_name_is_understood_where_an_api_runs_and_asking_for_it_is_no_access() -> None:
    clock = FixedClock()
    log = MemoryEventLog(clock=clock)
    with serving(Service(log, encoder(), clock=clock)) as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr("instant_recall.ops.local.log_at_hand", lambda _settings: nullcontext(log))
        client = Client(home, deadline_ms=5_000)
        client.remember("It lies in the harbour", name="Red boat")
        client.remember("Bakes", kind="skill", name="loaf")
        client.open("note:red-boat")
        client.mute("loaf")
        assert "item note:red-boat" in audit(home, "--item", "red boat").output
        assert [one["items"] for one in lines(audit(home, "--item", "Red boat", "--json"))] == [["note:red-boat"]]
        assert "No access: item skill:loaf" in audit(home, "--item", "loaf").output
        unknown = audit(home, "--item", "nosuch")
        assert (unknown.exit_code, "lark" in unknown.output) == (1, False)
        assert "`instant-recall search --json` tells it" in unknown.output
