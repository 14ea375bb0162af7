"""A cluster of three nodes on this machine's loopback, made of the embedded server's program."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import redis
from instant_recall.ops import embedded
from instant_recall.tests.helpers import wait_until

SLOTS = 16_384
HOST = "127.0.0.1"


@dataclass
class Node:
    """One server of a cluster; it can be killed and started again on its data."""

    folder: Path
    port: int
    bus: int
    first: int
    last: int
    """The slots that it serves, both included."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start it; returns when it answers."""
        options = {"port": self.port, "bind": HOST, "cluster-enabled": "yes", "cluster-port": self.bus}
        more = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
        self.process = subprocess.Popen(
            [str(embedded.server_binary()), *embedded.server_arguments(self.folder, self.folder / "s.sock"), *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
        )
        wait_until(self._answers, what=f"the start of the node on port {self.port}")

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def client(self) -> redis.Redis:
        """A client of this node alone; close it."""
        return redis.Redis(host=HOST, port=self.port, socket_timeout=5)

    def calls(self) -> dict[str, int]:
        """How often each command was called here since the start, by clients and from within scripts."""
        with self.client() as client:
            stats = cast("dict[str, Any]", client.info("commandstats"))
        return {name.removeprefix("cmdstat_"): int(about["calls"]) for name, about in stats.items()}

    def is_ready(self) -> bool:
        """Whether this node knows that every slot is served."""
        with self.client() as client:
            about = cast("dict[str, str]", client.execute_command("CLUSTER INFO"))
        return about["cluster_state"] == "ok" and about["cluster_known_nodes"] == "3"

    def _answers(self) -> bool:
        with self.client() as client, contextlib.suppress(redis.RedisError):
            return bool(client.ping())
        return False


@contextlib.contextmanager
def three_nodes(folder: Path) -> Iterator[list[Node]]:
    """Three nodes that share all slots, no replicas. All are ended with the block."""
    edges = [SLOTS * part // 3 for part in range(4)]
    with free_ports(6) as ports, contextlib.ExitStack() as ended:
        nodes = [
            Node(folder / str(port), port, bus, first, behind - 1)
            for port, bus, (first, behind) in zip(ports[:3], ports[3:], pairwise(edges), strict=True)
        ]
        for node in nodes:
            node.folder.mkdir()
            ended.callback(node.kill)
            node.start()
            with node.client() as client:
                client.execute_command("CLUSTER ADDSLOTSRANGE", node.first, node.last)
        for node in nodes[1:]:
            with nodes[0].client() as client:
                client.execute_command("CLUSTER MEET", HOST, node.port, node.bus)
        wait_until(lambda: all(node.is_ready() for node in nodes), 30, "the cluster's agreement")
        yield nodes


def cluster_url(nodes: list[Node]) -> str:
    """What REDIS_URL has to be."""
    return f"redis+cluster://{HOST}:{nodes[0].port}"


def keys_by_node(nodes: list[Node], owner: str) -> list[set[str]]:
    """Which keys with this owner's name in them each node holds."""
    held = []
    for node in nodes:
        with node.client() as client:
            held.append({key.decode() for key in cast("list[bytes]", client.keys(f"*{owner}*"))})
    return held


@contextlib.contextmanager
def free_ports(count: int) -> Iterator[list[int]]:
    """Ports that nobody listens on, and that nobody else is given within the block."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for taken in sockets:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((HOST, 0))
        yield [taken.getsockname()[1] for taken in sockets]
