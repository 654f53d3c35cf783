"""The script that runs on the server: several steps at a time, and nothing comes in between.

Numbers are sent as text. See layout.py for the names of keys. The first key is ``id``, and the first two
arguments are the identity of the index and the prefix of its keys; then come the steps: of each its name, how
many keys and how many arguments it has, and these.
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
    """Return the number of keys, the keys and the arguments of a run of the script that makes *calls*."""
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

-- The last number that was given to a document.
local function newest() return tonumber(redis.call('GET', prefix .. 'n')) end

-- A number as text: those of documents have too many digits for Lua to write them out by itself.
local function text(number) return string.format('%.0f', number) end

-- Documents are kept in lists of 1024: these have less room for a length than a server for a key.
local function place(number) return prefix .. 'd' .. text(math.floor(number / 1024)), number % 1024 end

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

-- The key of the older entries of a bucket.
local function older(bucket) return prefix .. 'a' .. string.sub(bucket, #prefix + 2) end

-- The first number of the epoch of a bucket, which its name says.
local function start_of(bucket) return struct.unpack('>I4', bucket, #prefix + 4) * 16777216 end

-- What some keys hold, in their order: false where nothing is.
local function contents(names)
  local all = {}
  for start = 1, #names, 1000 do
    for _, value in ipairs(redis.call('MGET', unpack(names, start, math.min(start + 999, #names)))) do
      all[#all + 1] = value
    end
  end
  return all
end
"""

#: Read buckets. Arguments: how many are of keys that have to be equal, the tag of each; at most how many
#: bytes to read of the older entries of one of the others; and for each of these how many bytes are known,
#: and the last known entry. Returns the last number that was given to a document; for each bucket of the
#: first kind the numbers with the tag; for each of the second where what is not known begins, what it is, and
#: 1 if it stands in place of what was known.
_LOOK = """
-- The numbers in two parts of a bucket of documents that have a key of this tag, 3 bytes each.
local function numbers_of(tag, ...)
  local found = {}
  for each = 1, 2 do
    local data = select(each, ...)
    local at = data and string.find(data, tag, 1, true)
    while at do
      if at % 5 == 1 then found[#found + 1] = string.sub(data, at + 2, at + 4) end
      at = string.find(data, tag, at + 1, true)
    end
  end
  return table.concat(found)
end

-- If nothing is known of a bucket, or what is known has gone, these are its last bytes, 'most' of the older.
local function unknown(bucket, new, known, last, most)
  local rest
  if known > 0 then
    local at = known - #last
    rest = redis.call('GETRANGE', older(bucket), at, -1) .. new
    if #rest == #new then rest = string.sub(new, at - redis.call('STRLEN', older(bucket)) + 1) end
    if string.sub(rest, 1, #last) == last then return {known, string.sub(rest, #last + 1)} end
  end
  rest = redis.call('GETRANGE', older(bucket), -most, -1)
  local passed = #rest < most and 0 or redis.call('STRLEN', older(bucket)) - #rest
  rest = rest .. new
  if known == 0 and rest == '' then return {0, ''} end
  return {passed, rest, 1}
end

function step.look(keys, args)
  local equal, names = tonumber(args[1]), {}
  local parts, at, most = {newest()}, 3 + equal, tonumber(args[2 + equal])
  for each = 1, equal do names[each] = older(keys[each]) end
  local old = contents(names)
  for each, new in ipairs(contents(keys)) do
    if each > equal then
      parts[1 + each] = unknown(keys[each], new or '', tonumber(args[at]), args[at + 1], most)
      at = at + 2
    else
      parts[1 + each] = numbers_of(args[1 + each], old[each], new)
    end
  end
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

#: File a document unless others that it would have met were filed since it was looked up. Arguments: its
#: value, lease and window in milliseconds; its epoch; the last number that was given when it was looked up;
#: for each bucket of the keys an entry but for its number, after two bytes: in how many bits an entry that is
#: met may differ, 255 if none is met; and 1 if the entry is to be filed there. Returns its number, 0 if there
#: were others, -1 if another epoch has begun.
_FILE = """
-- In how many bits two strings differ.
local function differ(one, other)
  local count = 0
  for each = 1, #one do
    local left = bit.bxor(string.byte(one, each), string.byte(other, each))
    while left > 0 do left, count = bit.band(left, left - 1), count + 1 end
  end
  return count
end

-- Whether a bucket, whose newer part is 'data', has an entry above the number 'since' that differs from
-- 'entry' in few enough bits, or so many new ones that this is not known.
local function was_met(bucket, data, entry, distance, since)
  local width, least = #entry, since - start_of(bucket)
  if least >= 16777215 then return false end  -- its epoch has ended
  local some = 64 * (width + 3)
  for part = 1, 2 do
    for at = #data - width - 2, 1, -width - 3 do
      local one, two, three = string.byte(data, at + width, at + width + 2)
      if one + 256 * two + 65536 * three <= least then return false end
      local other = string.sub(data, at, at + width - 1)
      if other == entry or distance > 0 and differ(other, entry) <= distance then return true end
    end
    if part == 1 then data = redis.call('GETRANGE', older(bucket), -some, -1) end
  end
  return #data == some
end

-- Forget the groups of documents that were all filed longer ago than 'window'; return the first number that
-- is left.
local function expire(window)
  if window == 0 then return 0 end
  local groups = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  -- A group ends when the next one begins.
  while groups[3] and tonumber(groups[4]) < now() - window do
    local group = prefix .. 'd' .. groups[1]
    local gone = redis.call('LLEN', group) - redis.call('LREM', group, 0, '')
    redis.call('UNLINK', group)
    redis.call('DECRBY', prefix .. 'count', gone)
    local numbers = {}
    for slot = 0, 1023 do numbers[slot + 1] = text(groups[1] * 1024 + slot) end
    redis.call('ZREM', prefix .. 'p', unpack(numbers))
    redis.call('ZREM', prefix .. 't', groups[1])
    groups = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  end
  return groups[1] and tonumber(groups[1]) * 1024 or 0
end

-- Take the entries below 'least' out of a part of a bucket: they are at the front.
local function cut(part, width, least)
  local function number_at(offset)
    return (struct.unpack('<I3', redis.call('GETRANGE', part, offset + width - 3, offset + width - 1)))
  end
  local low, high = 0, redis.call('STRLEN', part) / width
  if high == 0 or number_at(0) >= least then return end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if number_at(middle * width) < least then low = middle + 1 else high = middle end
  end
  redis.call('SET', part, redis.call('GETRANGE', part, low * width, -1))
end

-- Put a document behind the others; return its number.
local function put(value, lease)
  local number = redis.call('INCR', prefix .. 'n')
  local group, slot = place(number)
  local filed = redis.call('LLEN', group)
  if filed > slot then error('the documents are not numbered as they are filed') end
  if filed == 0 then redis.call('ZADD', prefix .. 't', 'NX', now(), text(math.floor(number / 1024))) end
  for each = filed + 1, slot do redis.call('RPUSH', group, '') end
  redis.call('RPUSH', group, value)
  redis.call('INCR', prefix .. 'count')
  if lease ~= '0' then redis.call('ZADD', prefix .. 'p', now() + lease, text(number)) end
  return number
end

function step.file(keys, args)
  local window, since, last = tonumber(args[3]), tonumber(args[5]), newest()
  if math.floor((last + 1) / 16777216) ~= tonumber(args[4]) then return -1 end
  if last < since then return 0 end  -- a replica has taken over, and may have others instead
  local parts, entries, before = {}, {}, contents(keys)
  for each, bucket in ipairs(keys) do
    local distance, is_filed = string.byte(args[5 + each], 1, 2)
    local entry = string.sub(args[5 + each], 3)
    if last > since and distance < 255 and was_met(bucket, before[each] or '', entry, distance, since) then
      return 0
    end
    if is_filed == 1 then parts[bucket], entries[each] = before[each] or '', entry end
  end

  local number = put(args[1], args[2])
  local first, low = expire(window), struct.pack('<I3', number % 16777216)
  if first > 0 then
    for each, entry in pairs(entries) do
      local width, least = #entry + 3, first - start_of(keys[each])
      cut(older(keys[each]), width, least)
      cut(keys[each], width, least)
      parts[keys[each]] = redis.call('GET', keys[each]) or ''
    end
  end
  -- Parts of a bucket are written anew, because a string that grows has room for as much again. So the older
  -- entries stay as they are until there are some hundred bytes of newer ones; not all buckets have their
  -- turn at the same time.
  for each, entry in pairs(entries) do
    local bucket = keys[each]
    local part = parts[bucket]
    if #part > 512 + 2 * string.byte(bucket, -1) then
      redis.call('SET', older(bucket), (redis.call('GET', older(bucket)) or '') .. part)
      part = ''
    end
    parts[bucket] = part .. entry .. low
  end
  local set = {}
  for bucket, part in pairs(parts) do
    set[#set + 1] = bucket
    set[#set + 1] = part
  end
  if #set > 0 then redis.call('MSET', unpack(set)) end
  if window > 0 then
    for bucket in pairs(parts) do
      redis.call('PEXPIRE', bucket, window)
      redis.call('PEXPIRE', older(bucket), window)
    end
  end
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
local function take_out(part, entry)
  local old = redis.call('GET', part)
  local start = old and string.find(old, entry, 1, true)
  while start and (start - 1) % #entry ~= 0 do start = string.find(old, entry, start + 1, true) end
  if not start then return end
  local left = redis.call('PTTL', part)
  local new = string.sub(old, 1, start - 1) .. string.sub(old, start + #entry)
  if new == '' then redis.call('DEL', part) else redis.call('SET', part, new) end
  if new ~= '' and left > 0 then redis.call('PEXPIRE', part, left) end
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
  local low = struct.pack('<I3', tonumber(number) % 16777216)
  for each, bucket in ipairs(keys) do
    take_out(bucket, args[3 + each] .. low)
    take_out(older(bucket), args[3 + each] .. low)
  end
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
