"""The Lua scripts that run inside the server. Each call is atomic: nobody sees half of one.

They use only commands of Redis 7.0, and every key they touch is passed in KEYS, so they also run on Valkey and on one
shard of a cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError


def run(client: redis.Redis, script: str, keys: Sequence[str], arguments: Sequence[str | bytes | int]) -> Any:
    """Run a script on the server of its keys, and send its text only when that server does not know it yet.

    The driver's own Script would then load it into every node of a cluster, and fail when one of them is down.
    """
    known_as = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
    try:
        return client.evalsha(known_as, len(keys), *keys, *arguments)
    except NoScriptError:
        return client.eval(script, len(keys), *keys, *arguments)


APPEND = """
-- A key of another type would fail after the first write and leave half a batch behind, so all are asked first.
redis.call('XLEN', KEYS[1])
redis.call('HLEN', KEYS[2])
redis.call('HLEN', KEYS[3])
local results = {}
for i = 1, #ARGV, 3 do
  local event_id, envelope, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local known = redis.call('HGET', KEYS[2], event_id)
  if known then
    results[#results + 1] = {known, 1}
  else
    local position = redis.call('XADD', KEYS[1], '*', 'id', event_id, 'e', envelope)
    redis.call('HSET', KEYS[2], event_id, position)
    if #payload > 0 then
      redis.call('HSET', KEYS[3], event_id, payload)
    end
    results[#results + 1] = {position, 0}
  end
end
return results
"""
"""Append events, each event id once.

The server checks its memory limit and its disk before the first write of a script and never again within it, and writes
a script's effects to its append-only file as one transaction, so a batch is stored whole or not at all.

KEYS: the stream; the hash of event id to position; the hash of event id to payload.
ARGV: three per event: event id, envelope, payload (empty: none).
Returns: for each event, in order, its position and 1 if its id was there before (else 0).
"""

READ = """
local entries = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
local budget = tonumber(ARGV[3])
local page = {}
for i, entry in ipairs(entries) do
  local event_id, envelope = '', ''
  local fields = entry[2]
  for f = 1, #fields, 2 do
    if fields[f] == 'id' then
      event_id = fields[f + 1]
    elseif fields[f] == 'e' then
      envelope = fields[f + 1]
    end
  end
  local payload = redis.call('HGET', KEYS[2], event_id)
  page[i] = {entry[1], event_id, envelope, payload}
  budget = budget - #envelope - (payload and #payload or 0)
  if budget < 0 then
    return {page, 1}
  end
end
return {page, 0}
"""
"""Read a page of events with their payloads. Writes nothing.

Payloads are fetched one by one: HMGET would need Lua's `unpack`, which fails at about 8,000 values, and saves little.

KEYS: the stream; the hash of event id to payload.
ARGV: the position to start behind; how many events at most; bytes after which to stop.
Returns: a list of (position, event id, envelope, payload or nil), and 1 if it stopped for the bytes (else 0).
"""
