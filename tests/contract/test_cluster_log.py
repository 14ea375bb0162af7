"""The contract on a cluster of three nodes, and what only a cluster can do wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
import redis
from instant_recall.events.connect import connect, open_log
from instant_recall.events.errors import LogUnavailable, RecallError
from instant_recall.events.log import EventLog
from instant_recall.events.position import START
from instant_recall.events.redis_log import RedisEventLog
from instant_recall.events.settings import Settings
from instant_recall.tests.cluster import HOST, Node, cluster_url, free_ports, keys_by_node, three_nodes
from instant_recall.tests.contract.event_log import EventLogContract, names, note
from instant_recall.tests.helpers import wait_until
from structlog.testing import capture_logs

HOUSEKEEPING = {
    "info",
    "ping",
    "cluster|slots",
    "cluster|keyslot",
    "cluster|info",
    "keys",
    "command",
    "client|setinfo",
    "hello",
}


class TestOnTheCluster(EventLogContract):
    @pytest.fixture(autouse=True)
    def _connect(self, cluster_client: redis.Redis) -> None:
        self.client = cluster_client

    def make_log(self, owner: str) -> EventLog:
        return RedisEventLog(self.client, owner)

    def store_raw(self, log: EventLog, event_id: str, envelope: bytes, payload: bytes) -> None:
        self.client.xadd(f"ir:{{{log.owner}}}:log", {"id": event_id, "e": envelope})
        if payload:
            self.client.hset(f"ir:{{{log.owner}}}:payloads", event_id, payload)

    def test_a_cluster_that_forgot_the_scripts_is_told_them_again(self, log: EventLog) -> None:
        log.append([note("a")])
        self.client.script_flush()
        log.append([note("b")])
        self.client.script_flush()

        assert names(log.read(START)) == ["a", "b"]


def owners_on_every_node(client: redis.Redis, nodes: list[Node], prefix: str) -> dict[int, str]:
    """For each node (by its place in `nodes`) an owner whose keys it serves."""
    found: dict[int, str] = {}
    for number in range(1_000):
        owner = f"{prefix}-{number}"
        slot = cast("Any", client).keyslot(f"ir:{{{owner}}}:log")
        at = next(n for n, node in enumerate(nodes) if node.first <= slot <= node.last)
        found.setdefault(at, owner)
        if len(found) == len(nodes):
            return found
    raise AssertionError("the slots of a thousand owners are all on two nodes")


def data_calls(node: Node) -> Counter[str]:
    """How often this node was asked to read or write; what a cluster and its client say among themselves left out."""
    return Counter({name: calls for name, calls in node.calls().items() if name not in HOUSEKEEPING})


def move_slot(slot: int, source: Node, target: Node) -> None:
    """What `valkey-cli --cluster reshard` does for one slot, while nobody writes to it."""
    with source.client() as here, target.client() as there:
        ids = [client.execute_command("CLUSTER MYID").decode() for client in (here, there)]
        there.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[0])
        here.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[1])
        for key in here.execute_command("CLUSTER GETKEYSINSLOT", slot, 100):
            here.execute_command("MIGRATE", HOST, target.port, key, 0, 5_000)
        for client in (there, here):
            client.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[1])


def use_all_of(log: EventLog) -> None:
    """Every operation of a log once or more."""
    drafts = [note(str(n), text="text") for n in range(20)]
    log.append(drafts)
    log.append(drafts)
    log.read(START)
    log.last_position()
    log.erase_payload(drafts[0].event_id)


def test_all_keys_of_an_owner_are_on_one_slot_of_one_node(
    cluster_client: redis.Redis, cluster_nodes: list[Node], owner: str
) -> None:
    for at, each in owners_on_every_node(cluster_client, cluster_nodes, owner).items():
        use_all_of(RedisEventLog(cluster_client, each))

        held = keys_by_node(cluster_nodes, each)
        assert held[at] >= {f"ir:{{{each}}}:{part}" for part in ("log", "ids", "payloads")}
        assert [keys for n, keys in enumerate(held) if n != at] == [set(), set()]
        with cluster_nodes[at].client() as client:
            slots = {client.execute_command("CLUSTER KEYSLOT", key) for key in held[at]}
        assert len(slots) == 1


def test_only_the_node_of_an_owner_gets_its_commands(
    cluster_client: redis.Redis, cluster_nodes: list[Node], owner: str
) -> None:
    for at, each in owners_on_every_node(cluster_client, cluster_nodes, owner).items():
        before = [data_calls(node) for node in cluster_nodes]
        use_all_of(RedisEventLog(cluster_client, each))
        rose = [data_calls(node) - was for node, was in zip(cluster_nodes, before, strict=True)]

        assert rose[at]["xadd"] == 20
        assert [calls for n, calls in enumerate(rose) if n != at] == [Counter(), Counter()]


def test_an_owner_on_a_living_node_goes_on_without_scripts_known_while_another_node_is_down(home: Path) -> None:
    with three_nodes(home) as nodes, connect(Settings(home, cluster_url(nodes))) as client:
        for node in nodes:
            with node.client() as alone:
                alone.config_set("cluster-require-full-coverage", "no")
        owners = owners_on_every_node(client, nodes, "owner")
        dead, living = RedisEventLog(client, owners[2]), RedisEventLog(client, owners[1])
        dead.append([note("before")])
        nodes[2].kill()

        living.append([note("a")])
        assert names(living.read(START)) == ["a"]
        with pytest.raises(LogUnavailable, match=r"cluster\) cannot be reached|CLUSTERDOWN"):
            dead.append([note("lost")])

        nodes[2].start()
        wait_until(nodes[2].is_ready, 30, "the agreement of all three")
        dead.append([note("after")])
        assert names(dead.read(START)) == ["before", "after"]


def test_an_owners_slot_may_move_to_another_node_while_the_log_is_in_use(
    cluster_client: redis.Redis, cluster_nodes: list[Node], owner: str
) -> None:
    [(_, mine), *_] = owners_on_every_node(cluster_client, cluster_nodes, owner).items()
    log = RedisEventLog(cluster_client, mine)
    log.append([note("before")])
    slot = cast("Any", cluster_client).keyslot(f"ir:{{{mine}}}:log")
    here = next(node for node in cluster_nodes if node.first <= slot <= node.last)
    there = next(node for node in cluster_nodes if node is not here)
    move_slot(slot, here, there)
    try:
        log.append([note("after")])
        assert names(log.read(START)) == ["before", "after"]
        with there.client() as client:
            assert client.exists(f"ir:{{{mine}}}:log")
    finally:
        move_slot(slot, there, here)
    assert names(log.read(START)) == ["before", "after"]


def test_a_cluster_is_opened_like_any_server_and_every_node_is_looked_at(
    cluster_settings: Settings, cluster_nodes: list[Node], owner: str
) -> None:
    with cluster_nodes[2].client() as client:
        client.config_set("maxmemory", "1gb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with capture_logs() as lines:
                log = open_log(Settings(cluster_settings.home, cluster_settings.redis_url, owner=owner))
        finally:
            client.config_set("maxmemory", 0)
            client.config_set("maxmemory-policy", "noeviction")

    assert [(line["event"], line["server"]) for line in lines] == [
        ("log.server_evicts", f"{HOST}:{cluster_nodes[2].port}")
    ]
    log.append([note("a")])
    assert names(log.read(START)) == ["a"]


def test_one_node_of_a_cluster_taken_for_a_plain_server_is_told(cluster_nodes: list[Node], tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable, match=r"node of a cluster.*redis\+cluster://"):
        open_log(Settings(tmp_path, redis_url=f"redis://{HOST}:{cluster_nodes[0].port}/0"))


def test_a_plain_server_taken_for_a_cluster_is_told(installed_settings: Settings, tmp_path: Path) -> None:
    with connect(installed_settings) as client, free_ports(1) as [port]:
        client.config_set("port", port)
        try:
            with pytest.raises(LogUnavailable, match=r"(?i)cluster that REDIS_URL names.*cluster mode is not enabled"):
                open_log(Settings(tmp_path, redis_url=f"redis+cluster://{HOST}:{port}"))
        finally:
            client.config_set("port", 0)


def test_a_cluster_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable, match="cluster that REDIS_URL names cannot be reached") as refused:
        open_log(Settings(tmp_path, redis_url=f"redis+cluster://:hunter2@{HOST}:1"))
    assert "hunter2" not in str(refused.value)


def test_an_address_of_a_cluster_that_is_none_is_told_by_its_variable(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match="REDIS_URL cannot be used"):
        connect(Settings(tmp_path, redis_url="redis+cluster://host:port"))
