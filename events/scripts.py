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
local trimmed = redis.call('GET', KEYS[3])
local entries = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
local budget = tonumber(ARGV[3])
local positions, ids, envelopes, payloads = {}, {}, {}, {}
for first = 1, #entries, 100 do
  local chunk = {}
  for i = first, math.min(first + 99, #entries) do
    local event_id, envelope = '', ''
    local fields = entries[i][2]
    for f = 1, #fields, 2 do
      if fields[f] == 'id' then
        event_id = fields[f + 1]
      elseif fields[f] == 'e' then
        envelope = fields[f + 1]
      end
    end
    positions[i], chunk[i - first + 1], envelopes[i] = entries[i][1], event_id, envelope
  end
  local found = redis.call('HMGET', KEYS[2], unpack(chunk))
  for n, event_id in ipairs(chunk) do
    local i = first + n - 1
    ids[i], payloads[i] = event_id, found[n]
    budget = budget - #envelopes[i] - (found[n] and #found[n] or 0)
    if budget < 0 then
      return {1, trimmed, positions, ids, envelopes, payloads}
    end
  end
end
return {0, trimmed, positions, ids, envelopes, payloads}
"""
"""Read a page of events with their payloads. Writes nothing.

Payloads are fetched a hundred at a time: one by one takes a third longer, and `unpack` fails at about 8,000. The
answer is four flat lists because each little table costs the server as much to send as the event in it.

KEYS: the stream; the hash of event id to payload; the position up to which the stream was trimmed.
ARGV: the position to start behind; how many events at most; bytes after which to stop.
Returns: 1 if it stopped for the bytes (else 0); the position up to which the stream was trimmed, or nil; then lists of
positions, event ids, envelopes and payloads (or nil); when it stopped, as many as there are ids count.
"""

TRIM = """
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then
  return {0, {}}
end
local gone = {}
for i = 4, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then
    gone[#gone + 1] = ARGV[i]
  end
end
if #gone > 0 then
  return {1, gone}
end
for first = 4, #ARGV, 100 do
  redis.call('HDEL', KEYS[2], unpack(ARGV, first, math.min(first + 99, #ARGV)))
end
redis.call('XTRIM', KEYS[1], 'MINID', '=', ARGV[3])
redis.call('SET', KEYS[3], ARGV[2])
return {1, {}}
"""
"""Let go of the events that an archive has, with their payloads. Event ids stay (about 90 bytes each):
an event is stored once, however late it is sent again, and an archived one is found by its id.

A payload that was erased since the archive was written is found here, in the same step as the trim: else it would come
back to life in the archive. The trim comes before the SET, so that a server at its memory limit does all of it: it
refuses a script only at its first write, and only when that write needs memory.

KEYS: the stream; the hash of event id to payload; the position up to which the stream was trimmed.
ARGV: the position up to which it was trimmed before (empty: never); the last position to trim; the position right
behind that; the event ids of the payloads that the archive has.
Returns: 1, or 0 if it was trimmed up to another position; and those event ids whose payload is gone. Nothing was
trimmed when there are any.
"""

CLAIM = """
local gone, cursor = {}, '0-0'
repeat
  local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, cursor, 'COUNT', 1000, 'JUSTID')
  cursor = found[1]
  for _, id in ipairs(found[3]) do gone[#gone + 1] = id end
until cursor == '0-0'
repeat
  local handled = redis.call('XPENDING', KEYS[1], ARGV[1], '-', ARGV[3], 1000)
  for _, entry in ipairs(handled) do redis.call('XACK', KEYS[1], ARGV[1], entry[1]) end
until #handled < 1000
return gone
"""
"""Take over what any consumer of a group has pending, and acknowledge what was handled already. Counts no delivery.

KEYS: the stream.
ARGV: the group; the consumer that takes over; the checkpoint.
Returns: the ids of pending entries that are no longer in the stream. They are pending no more.
"""

COMMIT = """
local state = KEYS[2]
local commits = tonumber(redis.call('HGET', state, 'commits') or '0')
local checkpoint = redis.call('HGET', state, 'checkpoint') or '0-0'
if commits ~= tonumber(ARGV[2]) or checkpoint ~= ARGV[3] then
  return 'stale'
end
local handled = cjson.decode(ARGV[5])
if ARGV[4] ~= ARGV[3] then
  local known = {}
  for _, id in ipairs(handled) do known[id] = true end
  for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[3], ARGV[4], 'COUNT', #handled + 1)) do
    if not known[entry[1]] then
      return entry[1]
    end
  end
end
for _, drop in ipairs(cjson.decode(ARGV[6])) do
  for _, field in ipairs(drop[2]) do redis.call('HDEL', KEYS[2 + drop[1]], field) end
end
for _, put in ipairs(cjson.decode(ARGV[7])) do
  for _, pair in ipairs(put[2]) do redis.call('HSET', KEYS[2 + put[1]], pair[1], pair[2]) end
end
redis.call('HSET', state, 'checkpoint', ARGV[4], 'commits', commits + 1)
for _, id in ipairs(handled) do redis.call('XACK', KEYS[1], ARGV[1], id) end
return 'done'
"""
"""Write what a batch of events leads to, move the checkpoint over them, and acknowledge them.

KEYS: the stream; the hash of the subscription's state; its other hashes.
ARGV: the group; how many commits there were before; the checkpoint before; the checkpoint now; and as JSON: the ids
handled; pairs of (number of the hash, fields to remove); pairs of (number of the hash, pairs of field and value).
Returns: `done`; or `stale`: somebody else committed; or the id of an event on the way that was not handled. Nothing was
written then.
"""
