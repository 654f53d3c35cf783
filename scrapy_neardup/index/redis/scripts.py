"""The scripts that run on the server, each as one step that nothing comes in between.

Numbers are sent as text. What several scripts need stands in `_COMMON`; see layout.py for the names of keys.
The first key is ``id``, and the first two arguments are the identity of the index and the prefix of its keys.
"""

from __future__ import annotations

_COMMON = """
local prefix = ARGV[2]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('NEARDUPGONE the index is not there, or another one is')
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Documents are kept in groups of 1024: a hash has less room for a name than a server for a key.
local function place(number)
  return prefix .. 'd' .. string.format('%.0f', math.floor(number / 1024)), struct.pack('<I2', number % 1024)
end

-- The part of a bucket that somebody does not know who knows so many bytes of it, the last of which are an
-- entry. If he knows nothing, or what he knows has gone: the last 'most' bytes, marked by a third value.
local function unknown(bucket, known, last, most)
  if known > 0 then
    local rest = redis.call('GETRANGE', bucket, known - #last, -1)
    if rest == last then return {known, ''} end
    if string.sub(rest, 1, #last) == last then return {known, string.sub(rest, #last + 1)} end
  end
  local all = redis.call('GETRANGE', bucket, -most, -1)
  if known == 0 and all == '' then return {0, ''} end
  return {#all < most and 0 or redis.call('STRLEN', bucket) - #all, all, 1}
end

-- Look at 'count' buckets from KEYS[2] on, of each of which three arguments from 'at' on say what is known.
local function look(count, at)
  local parts, changed = {}, false
  for each = 1, count do
    local known = tonumber(ARGV[at])
    local part = unknown(KEYS[1 + each], known, ARGV[at + 1], tonumber(ARGV[at + 2]))
    changed = changed or part[3] ~= nil or part[2] ~= ''
    parts[each] = part
    at = at + 3
  end
  return parts, changed, at
end

-- Add an entry to a bucket. Short ones are written anew, because a string that grows has room for as much
-- again. Entries of documents from before 'floor' are at the front, and go.
local function append(bucket, entry, number, window, floor)
  local size = #entry == 6 and 6 or 5
  entry = entry .. struct.pack('<I' .. size, number)
  local width = #entry
  local old = redis.call('GETRANGE', bucket, 0, 511)
  local first = 0
  if floor > 0 and old ~= '' then
    local function number_at(offset)
      local bytes = redis.call('GETRANGE', bucket, offset + width - size, offset + width - 1)
      return (struct.unpack('<I' .. size, bytes))
    end
    if number_at(0) < floor then
      local low, high = 0, redis.call('STRLEN', bucket) / width
      while low < high do
        local middle = math.floor((low + high) / 2)
        if number_at(middle * width) < floor then low = middle + 1 else high = middle end
      end
      first = low * width
    end
  end
  if first > 0 then
    redis.call('SET', bucket, redis.call('GETRANGE', bucket, first, -1) .. entry)
  elseif #old < 512 then
    redis.call('SET', bucket, old .. entry)
  else
    redis.call('APPEND', bucket, entry)
  end
  if window > 0 then redis.call('PEXPIRE', bucket, window) end
end

-- Forget the groups of documents that were all filed longer ago than 'window'; return the first number that
-- is left.
local function expire(window)
  if window == 0 then return 0 end
  local groups = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  -- A group ends when the next one begins.
  while groups[3] and tonumber(groups[4]) < now() - window do
    local gone = redis.call('HLEN', prefix .. 'd' .. groups[1])
    redis.call('UNLINK', prefix .. 'd' .. groups[1])
    redis.call('DECRBY', prefix .. 'count', gone)
    redis.call('ZREM', prefix .. 't', groups[1])
    groups = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  end
  return groups[1] and tonumber(groups[1]) * 1024 or 0
end

-- File a document under 'count' entries: their buckets from KEYS[key] on, the entries from ARGV[at] on.
local function file(count, key, at, value, lease, window)
  local floor = 0
  local number = redis.call('INCR', prefix .. 'n')
  local group, field = place(number)
  if redis.call('EXISTS', group) == 0 then
    redis.call('ZADD', prefix .. 't', 'NX', now(), string.format('%.0f', math.floor(number / 1024)))
  end
  floor = expire(window)
  for each = 0, count - 1 do append(KEYS[key + each], ARGV[at + each], number, window, floor) end
  redis.call('HSET', group, field, value)
  redis.call('INCR', prefix .. 'count')
  if lease > 0 then redis.call('ZADD', prefix .. 'p', now() + lease, string.format('%.0f', number)) end
  return number
end

-- Take the entries of a document out of 'count' buckets: from KEYS[key] on, the entries from ARGV[at] on.
local function remove(number, count, key, at)
  redis.call('ZREM', prefix .. 'p', number)
  local group, field = place(tonumber(number))
  if redis.call('HDEL', group, field) == 0 then return end
  redis.call('DECR', prefix .. 'count')
  for each = 0, count - 1 do
    local bucket, entry = KEYS[key + each], ARGV[at + each]
    entry = entry .. struct.pack('<I' .. (#entry == 6 and 6 or 5), tonumber(number))
    local old = redis.call('GET', bucket)
    local start = old and string.find(old, entry, 1, true)
    while start and (start - 1) % #entry ~= 0 do start = string.find(old, entry, start + 1, true) end
    if start then
      local left = redis.call('PTTL', bucket)
      local new = string.sub(old, 1, start - 1) .. string.sub(old, start + #entry)
      if new == '' then redis.call('DEL', bucket) else redis.call('SET', bucket, new) end
      if new ~= '' and left > 0 then redis.call('PEXPIRE', bucket, left) end
    end
  end
end

-- How many milliseconds the lease of a document still holds: -1 of one that is confirmed, -2 of one that is
-- gone.
local function lease_of(number, time)
  local group, field = place(tonumber(number))
  if redis.call('HEXISTS', group, field) == 0 then return -2 end
  local score = redis.call('ZSCORE', prefix .. 'p', number)
  if not score then return -1 end
  return math.max(0, tonumber(score) - time)
end
"""

#: Read buckets. ARGV: for each known bytes, last known entry, most bytes. Returns for each where what
#: is not known begins, what it is, and 1 if it stands in place of what was known.
LOOK = (
    _COMMON
    + """
local parts = look(#KEYS - 1, 3)
return parts
"""
)

#: File a document if buckets have not changed. ARGV: its value, lease and window in milliseconds, how many
#: buckets to look at, three arguments for each as in LOOK, then the entries. KEYS: those buckets, then those
#: of the entries. Returns {number}, or {0, what LOOK returns}.
FILE = (
    _COMMON
    + """
local count = tonumber(ARGV[6])
local parts, changed, at = look(count, 7)
if changed then return {0, parts} end
return {file(#KEYS - 1 - count, 2 + count, at, ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]))}
"""
)

#: Return the value of each document of ARGV, and how its lease is: see `lease_of`.
FETCH = (
    _COMMON
    + """
local answers, time = {}, now()
for each = 3, #ARGV do
  local group, field = place(tonumber(ARGV[each]))
  answers[each - 2] = {redis.call('HGET', group, field), lease_of(ARGV[each], time)}
end
return answers
"""
)

#: Return how the lease of each document of ARGV is.
LEASES = (
    _COMMON
    + """
local answers, time = {}, now()
for each = 3, #ARGV do answers[each - 2] = lease_of(ARGV[each], time) end
return answers
"""
)

#: Have the leases of documents last so many milliseconds (ARGV[3]) from now on, but for those that have run
#: out.
RENEW = (
    _COMMON
    + """
local time = now()
for each = 4, #ARGV do
  if lease_of(ARGV[each], time) > 0 then
    redis.call('ZADD', prefix .. 'p', 'XX', time + ARGV[3], ARGV[each])
  end
end
return 0
"""
)

#: Confirm a pending document (ARGV[3]), and give it another value unless ARGV[4] is empty. Returns whether it
#: was there: if not, its lease had run out.
CONFIRM = (
    _COMMON
    + """
local group, field = place(tonumber(ARGV[3]))
if redis.call('HEXISTS', group, field) == 0 then return 0 end
if ARGV[4] ~= '' then redis.call('HSET', group, field, ARGV[4]) end
redis.call('ZREM', prefix .. 'p', ARGV[3])
return 1
"""
)

#: Remove a document (ARGV[3]) and its entries; only if its lease has run out, if ARGV[4] is 1.
REMOVE = (
    _COMMON
    + """
if ARGV[4] == '1' and lease_of(ARGV[3], now()) ~= 0 then return 0 end
remove(ARGV[3], #KEYS - 1, 2, 5)
return 1
"""
)
