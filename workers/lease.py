"""A lease in the server: who may do a piece of work for a while, so that two builders do not do it twice.

A lease saves work; it is no lock to rely on. A holder that was paused for longer than its lease goes on working beside
the next one. What must happen once is made safe where it happens (see `SnapshotStore.publish`).
"""

from __future__ import annotations

import secrets
import threading
import time
from types import TracebackType

import redis
import structlog
from redis.exceptions import RedisClusterException

log = structlog.get_logger()

DEFAULT_TTL_MS = 60_000
"""How long a lease outlives a holder that was killed. It is renewed three times in that while."""

_LOOK_AGAIN_S = 0.5
"""How often a waiting one looks whether the lease has ended."""

RENEW = """
-- KEYS[1] the lease; ARGV[1] the holder's token; ARGV[2] milliseconds. Returns 1, or 0 when somebody else holds it.
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
"""

RELEASE = """
-- KEYS[1] the lease; ARGV[1] the holder's token. Returns 1, or 0 when somebody else holds it.
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class Lease:
    """A lease on `name` for one owner. As a context manager it is renewed in the background until the end.

        with Lease(client, owner, "snapshot") as held:
            if held:
                ...

    `wait_ms`: how long entering waits for somebody else's lease to end; that of a holder who was killed ends by itself.

    Raises (on entering): redis.RedisError when the server cannot be reached. Losing the server or the lease later is
    logged and does not stop the work.
    """

    def __init__(
        self, client: redis.Redis, owner: str, name: str, *, ttl_ms: int = DEFAULT_TTL_MS, wait_ms: int = 0
    ) -> None:
        self._client = client
        self._key = f"ir:{{{owner}}}:lease:{name}"
        self._ttl_ms = ttl_ms
        self._wait_ms = wait_ms
        self._token = secrets.token_hex(16)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self) -> bool:
        """Take the lease if nobody holds it; False when somebody does."""
        return bool(self._client.set(self._key, self._token, nx=True, px=self._ttl_ms))

    def renew(self) -> bool:
        """Make the lease last its full time from now; False when it is no longer ours."""
        return bool(self._client.eval(RENEW, 1, self._key, self._token, str(self._ttl_ms)))

    def release(self) -> bool:
        """Give the lease back; False when it was no longer ours, and then nothing is changed."""
        return bool(self._client.eval(RELEASE, 1, self._key, self._token))

    def __enter__(self) -> bool:
        """Take the lease; False when somebody else holds it (still, after `wait_ms`)."""
        deadline = time.monotonic() + self._wait_ms / 1_000
        while not self.take():
            if time.monotonic() >= deadline:
                return False
            time.sleep(min(_LOOK_AGAIN_S, self._wait_ms / 1_000))
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._thread.start()
        return True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Give the lease back, if it was taken."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        try:
            self.release()
        except (redis.RedisError, RedisClusterException) as problem:  # it runs out by itself
            log.warning("lease.not_released", key=self._key, reason=str(problem))

    def _keep(self) -> None:
        while not self._stop.wait(self._ttl_ms / 3_000):
            try:
                if not self.renew():
                    log.warning("lease.lost", key=self._key)
                    return
            except (redis.RedisError, RedisClusterException) as problem:
                log.warning("lease.not_renewed", key=self._key, reason=str(problem))
