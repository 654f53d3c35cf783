"""The script that runs on the server: several steps at a time, and nothing comes in between.

The first key is ``id``, the first two arguments are the identity of the index and the prefix of its keys;
then come the steps: of each its name, how many keys and how many arguments it has, and these. See
layout.py.
"""

from __future__ import annotations

from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Call(NamedTuple):
    """One step with its keys and its arguments."""

    step: str
    keys: Sequence[bytes]
    arguments: Sequence[bytes | str | int]


def packed(identity: str, prefix: bytes, calls: Sequence[Call]) -> list[bytes | str | int]:
    """Return the number of keys, the keys and the arguments of a run that makes *calls*."""
    keys = [prefix + b"id"]
    arguments: list[bytes | str | int] = [identity, prefix]
    for step, more, of_step in calls:
        keys += more
        arguments += (step, len(more), len(of_step), *of_step)
    return [len(keys), *keys, *arguments]


#: Refuses an index that is not the one which the caller means, and says how to get at what is stored.
_BEGIN = """
local prefix, step = ARGV[2], {}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('NEARDUPGONE the index is not there, or another one is')
end

local clock
local function now()
  if not clock then
    local time = redis.call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock
end

-- A number as text: those of documents have too many digits for Lua to write them out by itself.
local function text(number) return string.format('%.0f', number) end

-- Documents are kept in lists: these have less room for a length than a server for a key.
local function place(number) return prefix .. 'd' .. text(math.floor(number / 128)), number % 128 end

-- The value of a document; nothing if it was removed.
local function value_of(number)
  local value = redis.call('LINDEX', place(tonumber(number)))
  if value and value ~= '' then return value end
end

local function begins_with(value, start)
  return value and string.sub(value, 1, #start) == start
end

-- How many milliseconds the lease of a document still holds: -1 of one that is confirmed, -2 of one that is
-- gone.
local function lease_of(number, value)
  if not value then return -2 end
  local score = redis.call('ZSCORE', prefix .. 'p', number)
  if not score then return -1 end
  return math.max(0, tonumber(score) - now())
end
"""

#: Read buckets. Arguments: how many are of keys that have to be equal, the tag of each; at most how many
#: bytes to read of each of the others, from its end. Returns the last number that was given to a document,
#: the generations, the first number that is not too old; for each bucket of the first kind the numbers with
#: the tag, for each of the second what is in it.
_LOOK = """
-- The numbers in a bucket of documents that have a key of this tag, 4 bytes each.
local function numbers_of(tag, data)
  local at = data and string.find(data, tag, 1, true)
  if not at then return '' end
  local found = {}
  while at do
    if at % 6 == 1 then found[#found + 1] = string.sub(data, at + 2, at + 5) end
    at = string.find(data, tag, at + 1, true)
  end
  return table.concat(found)
end

function step.look(keys, args)
  local equal, most = tonumber(args[1]), args[#args]
  local parts = redis.call('MGET', prefix .. 'n', prefix .. 'g', prefix .. 'o')
  for start = 1, equal, 1000 do
    for each, data in ipairs(redis.call('MGET', unpack(keys, start, math.min(start + 999, equal)))) do
      parts[#parts + 1] = numbers_of(args[start + each], data)
    end
  end
  for each = equal + 1, #keys do parts[#parts + 1] = redis.call('GETRANGE', keys[each], -most, -1) end
  return parts
end
"""

#: Return the value of each document of the arguments, and how its lease is: see `lease_of`.
_FETCH = """
function step.fetch(keys, args)
  local answers = {}
  for each, number in ipairs(args) do
    local value = value_of(number)
    answers[each] = {value or false, lease_of(number, value)}
  end
  return answers
end
"""

#: File a document unless others that it may have met were filed since it was looked up. Arguments: its
#: value, lease and window in milliseconds; the generations as they are known; the last number that was given
#: when it was looked up, 0 if it was not; for each of the first buckets of the keys an entry but for its
#: number. In the other buckets it was looked up only. Returns its number, 0 if there are others, -1 if
#: another generation has begun.
_FILE = """
-- Forget the groups of documents that were all filed longer ago than 'window'.
local function expire(window)
  local groups, first = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES'), nil
  -- A group ends when the next one begins.
  while groups[3] and tonumber(groups[4]) < now() - window do
    local group, numbers = prefix .. 'd' .. groups[1], {}
    local gone = redis.call('LLEN', group) - redis.call('LREM', group, 0, '')
    redis.call('UNLINK', group)
    redis.call('DECRBY', prefix .. 'count', gone)
    for slot = 0, 127 do numbers[slot + 1] = text(groups[1] * 128 + slot) end
    redis.call('ZREM', prefix .. 'p', unpack(numbers))
    redis.call('ZREM', prefix .. 't', groups[1])
    first = groups[3] * 128
    groups = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  end
  if not first then return end
  local known = redis.call('GET', prefix .. 'g')
  local second = string.match(known, '^%S+ (%d+)')
  while second and tonumber(second) <= first do
    known = string.match(known, ' (.*)')
    second = string.match(known, '^%S+ (%d+)')
  end
  redis.call('MSET', prefix .. 'o', text(first), prefix .. 'g', known)
end

-- Put a document behind the others, in a group that may have to be begun; return its number.
local function put(value, lease)
  local number = redis.call('INCR', prefix .. 'n')
  local group, slot = place(number)
  local filed = redis.call('LLEN', group)
  if filed > slot then error('the documents are not numbered as they are filed') end
  if filed == 0 then redis.call('ZADD', prefix .. 't', 'NX', now(), text(math.floor(number / 128))) end
  for each = filed + 1, slot do redis.call('RPUSH', group, '') end
  redis.call('RPUSH', group, value)
  if lease ~= '0' then redis.call('ZADD', prefix .. 'p', now() + lease, text(number)) end
  return number
end

-- Begin another generation after a number if the last of those that are 'known' has as many documents as its
-- buckets are made for, or twice as many as are left.
local function grow(known, number, count)
  local start, more = string.match(known, '(%d+):(%d+)$')
  if number + 1 - start < math.min(262144 * 2 ^ more, math.max(262144, 2 * count)) then return end
  more = 0
  while 262144 * 2 ^ more <= count do more = more + 4 end
  redis.call('APPEND', prefix .. 'g', ' ' .. text(number + 1) .. ':' .. more)
end

function step.file(keys, args)
  local window, since = tonumber(args[3]), tonumber(args[5])
  local state = redis.call('MGET', prefix .. 'n', prefix .. 'g')
  local last = tonumber(state[1])
  if state[2] ~= args[4] then return -1 end
  if last < since then return 0 end  -- a replica has taken over, and may have others instead
  for each = 1, last > since and since > 0 and #keys or 0 do
    local newest = redis.call('GETRANGE', keys[each], -4, -1)
    if #newest == 4 and (struct.unpack('<I4', newest) - since - 1) % 4294967296 < 2147483648 then return 0 end
  end
  local number = put(args[1], args[2])
  local low = struct.pack('<I4', number % 4294967296)
  for each = 1, #args - 5 do
    redis.call('APPEND', keys[each], args[5 + each] .. low)
    if window > 0 then redis.call('PEXPIRE', keys[each], window) end
  end
  grow(state[2], number, redis.call('INCR', prefix .. 'count'))
  if window > 0 then expire(window) end
  return number
end
"""

#: Have the leases of documents last so many milliseconds (the first argument) from now on, but for those that
#: have run out.
_RENEW = """
function step.renew(keys, args)
  for each = 2, #args do
    if lease_of(args[each], value_of(args[each])) > 0 then
      redis.call('ZADD', prefix .. 'p', 'XX', now() + args[1], args[each])
    end
  end
  return 0
end
"""

#: Confirm a pending document whose value begins in one way, and give it another value unless that is empty.
#: Arguments: its number, the beginning, the other value. Returns whether it was there: if not, its lease had
#: run out, or a replica without it has taken over and has given its number to another one.
_CONFIRM = """
function step.confirm(keys, args)
  local number, start, other = unpack(args)
  if not begins_with(value_of(number), start) then return 0 end
  redis.call('ZREM', prefix .. 'p', number)  -- first, because a full server lets nothing else begin
  if other ~= '' then
    local group, slot = place(tonumber(number))
    redis.call('LSET', group, slot, other)
  end
  return 1
end
"""

#: Remove a document whose value begins in one way, and its entries. Arguments: its number, the beginning, 1
#: if only a lease that has run out lets it go; then the entry in each bucket of the keys.
_REMOVE = """
local function take_out(bucket, entry)
  local old = redis.call('GET', bucket)
  local start = old and string.find(old, entry, 1, true)
  while start and (start - 1) % #entry ~= 0 do start = string.find(old, entry, start + 1, true) end
  if not start then return end
  local new = string.sub(old, 1, start - 1) .. string.sub(old, start + #entry)
  if new == '' then redis.call('DEL', bucket) else redis.call('SET', bucket, new, 'KEEPTTL') end
end

function step.remove(keys, args)
  local number, start, if_lapsed = unpack(args, 1, 3)
  local value = value_of(number)
  if not begins_with(value, start) then return 0 end
  if if_lapsed == '1' and lease_of(number, value) ~= 0 then return 0 end
  local group, slot = place(tonumber(number))
  redis.call('ZREM', prefix .. 'p', number)  -- first, because a full server lets nothing else begin
  redis.call('LSET', group, slot, '')
  redis.call('DECR', prefix .. 'count')
  local low = struct.pack('<I4', tonumber(number) % 4294967296)
  for each, bucket in ipairs(keys) do take_out(bucket, args[3 + each] .. low) end
  return 1
end
"""

#: Does each of the steps. Returns the answer of each; an error is that of one step alone.
_END = """
local answers, key, at = {}, 1, 3
while at <= #ARGV do
  local name, keys, args = ARGV[at], {}, {}
  for each = 1, tonumber(ARGV[at + 1]) do keys[each] = KEYS[key + each] end
  for each = 1, tonumber(ARGV[at + 2]) do args[each] = ARGV[at + 2 + each] end
  key, at = key + #keys, at + 3 + #args
  local done, answer = pcall(step[name], keys, args)
  if not done and type(answer) ~= 'table' then answer = redis.error_reply(tostring(answer)) end
  answers[#answers + 1] = answer
end
return answers
"""

#: The script, and the name under which a server keeps it.
SCRIPT = f"{_BEGIN}{_LOOK}{_FETCH}{_FILE}{_RENEW}{_CONFIRM}{_REMOVE}{_END}"
DIGEST = sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
