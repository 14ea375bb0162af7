"""What an operator does, on a cluster: every command keeps to the one slot of its owner."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from instant_recall.events.connect import connect, open_log
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.events.subscription import Changes, Subscription
from instant_recall.ops.corpus import make_drafts
from instant_recall.tests.cluster import Node, keys_by_node
from instant_recall.tests.running import recall


@pytest.fixture
def settings(cluster_settings: Settings, home: Path, owner: str) -> Settings:
    """An owner with sixty things in the log."""
    made = replace(cluster_settings, home=home, owner=owner)
    open_log(made).append(list(make_drafts(60)))
    return made


def assert_on_one_slot(nodes: list[Node], owner: str) -> None:
    held = keys_by_node(nodes, owner)
    [at] = [n for n, keys in enumerate(held) if keys]
    with nodes[at].client() as client:
        assert len({client.execute_command("CLUSTER KEYSLOT", key) for key in held[at]}) == 1


def test_a_log_is_archived_and_read_as_one_with_its_archive(settings: Settings, cluster_nodes: list[Node]) -> None:
    before = [one.event for one in open_log(settings).read(START, 1_000)]
    assert recall(settings, "snapshot")["outcome"] == "published"

    archived = recall(settings, "archive", "--older-than", "0")

    assert len(archived["segments"]) == 1
    with connect(settings) as client:
        assert client.xlen(f"ir:{{{settings.owner}}}:log") < len(before)
    assert [one.event for one in open_log(settings).read(START, len(before))] == before
    assert recall(settings, "replay")["same"]
    assert_on_one_slot(cluster_nodes, settings.owner)


def test_a_log_is_exported_backed_up_and_restored_to_the_same_positions(
    settings: Settings, cluster_nodes: list[Node], tmp_path: Path
) -> None:
    before = open_log(settings).read(START, 1_000)
    recall(settings, "export", "events", str(tmp_path / "events.jsonl"))
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == len(before)
    recall(settings, "backup", str(tmp_path / "kept.tar.zst"))
    open_log(settings).append(list(make_drafts(3, seed=2)))

    recall(settings, "restore", "--replace", str(tmp_path / "kept.tar.zst"))

    assert open_log(settings).read(START, 1_000) == before
    assert_on_one_slot(cluster_nodes, settings.owner)


def test_the_doctor_looks_at_a_cluster_and_finds_nothing_broken(settings: Settings) -> None:
    recall(settings, "snapshot")
    told = recall(settings, "doctor")

    assert "BAD" not in json.dumps(told)


def test_a_subscription_is_delivered_everything_once_and_stays_on_the_slot(
    settings: Settings, cluster_client: redis.Redis, cluster_nodes: list[Node]
) -> None:
    events = RedisEventLog(cluster_client, settings.owner)
    expected = [one.position for one in events.read(START, 1_000)]
    delivered = []
    for _ in range(2):  # the second one begins where the first committed
        subscription = Subscription(cluster_client, events, "reactor", ("effects",))
        subscription.open()
        while batch := subscription.next_batch(25, 1):
            handled = [one.position for one in batch]
            assert subscription.commit(handled, Changes(put={"effects": {str(handled[-1]): "done"}}))
            delivered += handled

    assert delivered == expected
    assert_on_one_slot(cluster_nodes, settings.owner)
