"""The nightly weighing, from the queue to the next push and into the snapshot after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from instant_recall.events import types as ev
from instant_recall.events.connect import connect, connect_queue
from instant_recall.events.envelope import draft, now_ms
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.ops.cli import main
from instant_recall.projections.snapshot import latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import encoder, skill
from instant_recall.workers.jobs import build_snapshot
from instant_recall.workers.queue import enqueue_weighing, queue
from instant_recall.workers.weighing import weigh_keys
from rq import SimpleWorker
from rq.job import Job
from rq.serializers import JSONSerializer

REPORT = "download the quarterly report from the portal"
DAY = 86_400_000


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    settings = Settings(home=tmp_path / "home")
    embedded.ensure_running(settings)
    yield settings
    embedded.stop(settings)


def test_a_key_that_was_ignored_is_lighter_after_the_night_and_in_the_next_snapshot(settings: Settings) -> None:
    at = now_ms() - 2 * DAY
    with closing(connect(settings)) as client:
        log = RedisEventLog(client, settings.owner)
        log.append([draft(skill("lark", "Drives a browser", use_when=(REPORT,)), occurred_at=at - DAY)])
        for n in range(8):
            shown = ev.PushServed(
                reader="owner", session=f"s{n}", items=("skill:lark",), seen=("1-0",), request=REPORT, turn="1"
            )
            opened = ev.ItemOpened(item="note:other", reader="owner", session=f"s{n}")
            log.append([draft(event, occurred_at=at) for event in (shown, opened)])
        with closing(connect_queue(settings)) as connection:
            enqueue_weighing(settings, job_id="tonight")
            jobs = queue(connection, settings.owner)
            SimpleWorker([jobs], connection=connection, serializer=JSONSerializer).work(burst=True)
            facts = Job.fetch("tonight", connection=connection, serializer=JSONSerializer).return_value()
        told = [one for one in log.read(START, 1_000) if isinstance(one.event, ev.KeyWeighed)]
        again = weigh_keys(str(settings.home))
        typed = CliRunner().invoke(main, ["keys", "weigh", "--home", str(settings.home)], env={"REDIS_URL": ""})
        build_snapshot(str(settings.home))

    assert typed.output.startswith("8 pointers of the last 90 days, 1 key that brought some in: 0 weights changed.")
    item = latest_base(SnapshotStore(settings.snapshots_dir), encoder()).state.get("skill:lark")
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["pointers"], facts["keys"], facts["changed"], again["changed"]) == (8, 1, 1, 0)
    assert [one.actor.kind for one in told] == ["system"]
    weights = [one.event.weight for one in told if isinstance(one.event, ev.KeyWeighed)]
    assert item is not None
    assert [item.keys[0].weight] == weights
    assert item.keys[0].weight < 1
    assert item.keys[0].shown == 8
