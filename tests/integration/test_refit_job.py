"""The nightly refit, from the queue to the next push; and what the commands say to the person who types them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from instant_recall.api.client import Client
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.connect import connect, connect_queue, open_log
from instant_recall.events.envelope import draft, now_ms
from instant_recall.events.errors import InvalidEvent, RecallError, Refused
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.ops.cli import main
from instant_recall.projections.ranker import model
from instant_recall.tests.api_stand_in import serving
from instant_recall.tests.lives import Life
from instant_recall.tests.small_world import encoder
from instant_recall.workers.queue import enqueue_refit, queue
from rq import SimpleWorker
from rq.job import Job
from rq.serializers import JSONSerializer
from structlog.testing import capture_logs


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    settings = Settings(home=tmp_path / "home")
    embedded.ensure_running(settings)
    yield settings
    embedded.stop(settings)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The server's lines stay out of what the commands print: here both are one process."""
    with capture_logs():
        yield


def said(home: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, ["--home", str(home), *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_what_the_job_of_the_night_adopts_is_in_force_in_every_process(settings: Settings) -> None:
    events = Life().lives().events(now_ms())
    with closing(connect(settings)) as client, closing(connect_queue(settings)) as connection:
        log = RedisEventLog(client, settings.owner)
        log.append(events)
        service = Service(log, encoder())
        before = service.status().refit
        enqueue_refit(settings, job_id="tonight")
        SimpleWorker(
            [queue(connection, settings.owner)], connection=connection, serializer=JSONSerializer
        ).work(burst=True)  # fmt: skip
        facts = Job.fetch("tonight", connection=connection, serializer=JSONSerializer).return_value()
        told = [one for one in log.read(START, 10_000) if isinstance(one.event, ev.RankerRefitted)]

    assert json.loads(json.dumps(facts)) == facts
    assert (facts["outcome"], facts["requests"], facts["held_back"]) == ("adopted", 168, 84)
    assert [(one.actor.kind, one.audience) for one in told] == [("system", ("owner",))]
    assert (before, Service(open_log(settings), encoder()).status().refit) == ("none", "in_force")


def test_refit_says_what_it_found_and_why_it_was_adopted_or_not(settings: Settings) -> None:
    assert "Not adopted: Not enough to go on: it takes 60 requests with an outcome; there are 0." in said(
        settings.home, "refit"
    )
    open_log(settings).append(Life().lives().events(now_ms()))
    first, again = said(settings.home, "refit"), said(settings.home, "refit")

    assert first.startswith("Adopted: It did better on days that it had not seen.")
    assert "of these held back" in first
    assert again.startswith("Not adopted: Not better on the days held back: its loss is")


def test_refit_show_and_undo_say_how_it_stands() -> None:
    log = MemoryEventLog()
    told = ev.RankerRefitted(
        base=model().fingerprint, features=model().features, weights=model().weights, bias=-3.5, requests=60,
        held_back=20, loss_before=0.5, loss_after=0.25, false_before=4, false_after=3, right_before=8, right_after=9,
    )  # fmt: skip
    with serving(Service(log, encoder())) as home:
        assert "The ranker is the default one" in said(home, "refit", "show")
        assert "There is nothing to take back" in said(home, "refit", "undo")
        log.append([draft(told), draft(told)])
        shown = said(home, "refit", "show")
        assert "The ranker is refitted to you, since" in shown
        assert "0.5000 before, 0.2500 after" in shown
        assert [line.split() for line in shown.splitlines() if "bias" in line] == [
            ["bias", f"{model().bias:+.3f}", "-3.500"]
        ]
        assert "the ranker is refitted to you" in said(home, "status")
        assert said(home, "refit", "undo") == "Taken back. The one before it counts again.\n"
        assert said(home, "refit", "undo", "--all") == "Taken back. The default ranker counts again.\n"


def test_the_bar_is_moved_and_told_in_words() -> None:
    with serving(Service(MemoryEventLog(), encoder())) as home:
        assert f"Your bar is {model().bar:g}, the default" in said(home, "bar")
        assert "more than by default" in said(home, "bar", "more")
        assert "It was " in said(home, "bar", "less")
        assert "nothing is pushed but what you name" in said(home, "bar", "1")
        assert "It was so already" in said(home, "bar", "1")
        assert "It cannot go any further" in said(home, "bar", "less")
        assert f"your bar is 1; the default is {model().bar:g}" in said(home, "status")
        assert json.loads(said(home, "--json", "bar", "default"))["is_default"]
        for wrong in ("2", "-0.1", "loud", "nan"):
            result = CliRunner().invoke(main, ["--home", str(home), "bar", wrong])
            assert result.exit_code == 1
            assert "Say more, less, default, or a number from 0 to 1." in result.stderr


def test_the_client_moves_the_bar_for_the_owner_only() -> None:
    with serving(Service(MemoryEventLog(), encoder())) as home:
        owner, other = Client(home), Client(home, reader="sub:lab")
        assert owner.bar(0.5).bar == 0.5
        assert owner.refit().fate == "none"
        for asked in (other.bar, other.refit):
            with pytest.raises(Refused):
                asked()
        with pytest.raises(RecallError):
            owner.bar("louder")
        with pytest.raises(InvalidEvent):
            owner.refit("everything")
        assert owner.bar("default").is_default
