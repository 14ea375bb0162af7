"""How processes reach the event log: the embedded server's socket, or the server or cluster that REDIS_URL names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, cast

import redis
import structlog
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from .archive import Archive
from .errors import LogUnavailable, RecallError
from .redis_log import RedisEventLog, driver_errors, place
from .settings import Settings

CONNECT_SECONDS = 2.0
"""For making a connection."""

ANSWER_SECONDS = 2.0
"""For one answer. A large batch on a slow disk takes tenths of a second; a server that needs longer is in trouble."""

OLDEST_SERVER = (7, 0)
"""Redis 7.0 is in Debian 12; before it, streams and scripts behave otherwise. Valkey says 7.2."""

_log = structlog.get_logger()


def connect(settings: Settings) -> redis.Redis:
    """A client for the server that keeps the log. Does no I/O yet, except to a cluster; close it when done.

    It does not retry by itself: RedisEventLog knows which calls may be repeated. For a cluster (`redis+cluster://`, or
    `rediss+cluster://` with TLS) it is a RedisCluster, which has the same commands: each goes to the node of its keys.

    Raises:
        RecallError: REDIS_URL is not a URL of a Redis server.
        LogUnavailable: no node of the cluster can be reached.
    """
    options: dict[str, Any] = {
        "socket_timeout": ANSWER_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "retry": Retry(NoBackoff(), 0),
    }
    if not settings.redis_url:
        return redis.Redis(unix_socket_path=str(settings.server_socket), **options)
    try:
        if is_cluster(settings.redis_url):
            client = _cluster(settings.redis_url.replace("+cluster", "", 1), options)
        else:
            client = redis.Redis.from_url(settings.redis_url, **options)
    except ValueError as error:  # it may quote a piece of a password, so it is not passed on
        raise RecallError(
            "REDIS_URL cannot be used. Give it as redis://HOST:PORT/0, unix:///PATH or redis+cluster://HOST:PORT."
        ) from error
    if client.get_connection_kwargs().get("decode_responses"):
        raise RecallError("REDIS_URL asks for decode_responses, but events are bytes. Take that part out of it.")
    return client


def connect_queue(settings: Settings) -> redis.Redis:
    """A client for the server that keeps the background jobs: the log's, unless INSTANT_RECALL_QUEUE_URL names another.

    Raises:
        RecallError: it is not a URL of a plain Redis server.
    """
    if not settings.queue_url:
        if is_cluster(settings.redis_url):
            raise RecallError(
                "Background jobs cannot be kept in a cluster. Name a plain server for them in INSTANT_RECALL_QUEUE_URL "
                "(redis://HOST:PORT/0), or do without: `up --no-worker`, and `snapshot` from time to time."
            )
        return connect(settings)
    if is_cluster(settings.queue_url):
        raise RecallError("INSTANT_RECALL_QUEUE_URL names a cluster, which cannot keep jobs. Name a plain server.")
    try:
        return connect(dataclasses.replace(settings, redis_url=settings.queue_url))
    except RecallError as error:
        raise RecallError(str(error).replace("REDIS_URL", "INSTANT_RECALL_QUEUE_URL")) from error


def is_cluster(url: str) -> bool:
    """Whether a server's address names a cluster."""
    return url.startswith(("redis+cluster:", "rediss+cluster:"))


def _cluster(url: str, options: dict[str, Any]) -> redis.Redis:
    try:
        return cast("redis.Redis", RedisCluster.from_url(url, **options))
    except (redis.RedisError, RedisClusterException) as error:
        raise LogUnavailable(f"The cluster that REDIS_URL names cannot be reached. {error}") from error


def open_log(settings: Settings, recover: Callable[[], object] | None = None) -> RedisEventLog:
    """The owner's event log, on a server known to be new enough.

    Args:
        settings: which server, which owner.
        recover: called once when the connection fails (start the embedded server), then the call is tried again.

    Raises:
        LogUnavailable: the server cannot be reached or is too old.
    """
    client = connect(settings)
    try:
        nodes = _ask_about(client, recover)
        for where, about in nodes.items():
            refuse_old_server(about, where)
            _refuse_lone_node(client, about, where)
    except BaseException:
        client.close()
        raise
    for where, about in nodes.items():
        _warn_if_forgetful(about, where)
    return log_on(client, settings, recover)


def log_on(client: redis.Redis, settings: Settings, recover: Callable[[], object] | None = None) -> RedisEventLog:
    """The owner's event log on a server that is connected already, read as one with its archive."""
    archive = Archive(settings.archive_dir, settings.owner)
    return RedisEventLog(client, settings.owner, recover=recover, archive=archive)


def refuse_old_server(about: Mapping[str, Any], where: str) -> None:
    """Check the version in a server's INFO.

    Raises:
        LogUnavailable: it is older than OLDEST_SERVER, or does not tell.
    """
    version = str(about.get("redis_version", ""))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST_SERVER:
        raise LogUnavailable(
            f"The server at {where} is Redis {version or 'of unknown version'}; 7.0 or later, or Valkey, is needed. "
            "Update it, or unset REDIS_URL to use the embedded server."
        )


def _refuse_lone_node(client: redis.Redis, about: Mapping[str, Any], where: str) -> None:
    if about.get("cluster_enabled") and not isinstance(client, RedisCluster):
        raise LogUnavailable(
            f"The server at {where} is a node of a cluster. Begin REDIS_URL with redis+cluster:// so that all are used."
        )


def _ask_about(client: redis.Redis, recover: Callable[[], object] | None) -> dict[str, Mapping[str, Any]]:
    """INFO of the server, or of every primary of a cluster, by place."""
    with driver_errors(client):
        if isinstance(client, RedisCluster):
            return cast("dict[str, Mapping[str, Any]]", client.info(target_nodes=RedisCluster.PRIMARIES))
        try:
            about = client.info()
        except (redis.ConnectionError, redis.TimeoutError):
            if recover is None:
                raise
            recover()
            about = client.info()
        return {place(client): cast("Mapping[str, Any]", about)}


def _warn_if_forgetful(about: Mapping[str, Any], where: str) -> None:
    """An external server may be set up as a cache; it is the owner's to decide, but must not pass unseen."""
    if not about.get("aof_enabled"):
        _log.warning(
            "log.server_without_append_only_file", server=where, remedy="set appendonly yes, appendfsync always"
        )
    if about.get("maxmemory") and about.get("maxmemory_policy") != "noeviction":
        _log.warning("log.server_evicts", server=where, remedy="set maxmemory-policy noeviction")
