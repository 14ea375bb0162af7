"""The schedule while its server is away."""

from __future__ import annotations

import redis
from instant_recall.events.errors import LogUnavailable
from instant_recall.tests.helpers import wait_until
from instant_recall.workers.schedule import _Cron
from structlog.testing import capture_logs


def test_what_could_not_be_asked_for_while_the_server_was_away_is_asked_for_again(
    embedded_client: redis.Redis, owner: str
) -> None:
    calls: list[str] = []

    def ask() -> None:
        calls.append("asked")
        if len(calls) == 1:
            raise LogUnavailable

    cron = _Cron(embedded_client, logging_level="WARNING")
    cron.register(ask, owner, cron="* * * * * *", name=owner)

    with capture_logs() as lines:
        wait_until(lambda: cron.enqueue_jobs() or calls, what="the first time that it is due")
        wait_until(cron.enqueue_jobs, what="the second try")

    assert calls == ["asked", "asked"]
    assert [line["event"] for line in lines] == ["cron.not_asked"]
