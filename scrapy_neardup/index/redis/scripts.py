"""The script that runs on the server: several steps at a time, and nothing comes in between.

`packed` says what the script is given, `layout` what it works on.
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


#: Refuses another index than the one meant. A step is told behind which of all keys and arguments its own
#: stand, and how many these are.
_BEGIN = """
local prefix, step = ARGV[2], {}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('NEARDUPGONE the index is not there, or another one is')
end

-- A number as text: those of documents have too many digits for Lua to write them out by itself.
local function text(number) return string.format('%.0f', number) end

-- Whether the value of a document begins in one way: if not, it is gone, or its number is another one's.
local function is_there(group, slot, start)
  return string.sub(redis.call('LINDEX', group, slot) or '', 1, #start) == start
end
"""

#: File a document unless others that it may have met were filed since it was looked up. Arguments: its
#: value; when its lease ends, 0 if it has none; the time, and the window, all in milliseconds; the
#: generations as they are known; the last number that was given when it was looked up, 0 if it was not; for
#: each of the first buckets of the keys an entry but for its number. In the other buckets it was looked up
#: only. Returns its number, 0 if there are others, -1 if another generation has begun.
_FILE = """
-- Forget the groups of documents that were all filed before a time.
local function expire(before)
  local groups, first = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES'), nil
  -- A group ends when the next one begins.
  while groups[3] and tonumber(groups[4]) < before do
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

-- Begin another generation after a number if the last of those that are 'known' has as many documents as its
-- buckets are made for, or twice as many as are left.
local function grow(known, number, count)
  local start, more = string.match(known, '(%d+):(%d+)$')
  if number + 1 - start < math.min(262144 * 2 ^ more, math.max(262144, 2 * count)) then return end
  more = 2
  while 262144 * 2 ^ more <= count do more = more + 4 end
  redis.call('APPEND', prefix .. 'g', ' ' .. text(number + 1) .. ':' .. more)
end

function step.file(key, keys, at, args)
  local value, ends, now, window, known, newest = unpack(ARGV, at + 1, at + 6)
  local state = redis.call('MGET', prefix .. 'n', prefix .. 'g')
  local since, last = tonumber(newest), tonumber(state[1])
  if state[2] ~= known then return -1 end
  if last < since then return 0 end  -- a replica has taken over, and may have others instead
  for each = key + 1, last > since and since > 0 and key + keys or 0 do
    local newest = redis.call('GETRANGE', KEYS[each], -4, -1)
    if #newest == 4 and (struct.unpack('<I4', newest) - since - 1) % 4294967296 < 2147483648 then return 0 end
  end
  local number, slot = last + 1, (last + 1) % 128
  local named, group = text(number), text((number - slot) / 128)
  local documents, low = prefix .. 'd' .. group, struct.pack('<I4', number % 4294967296)
  -- Documents are kept in lists: these have less room for a length than a server for a key.
  local filed = redis.call('LLEN', documents)
  if filed > slot then error('the documents are not numbered as they are filed') end
  redis.call('INCR', prefix .. 'n')
  local count = redis.call('INCR', prefix .. 'count')
  if filed == 0 then redis.call('ZADD', prefix .. 't', 'NX', now, group) end
  for each = filed + 1, slot do redis.call('RPUSH', documents, '') end
  redis.call('RPUSH', documents, value)
  if ends ~= '0' then redis.call('ZADD', prefix .. 'p', ends, named) end
  for each = 1, args - 6 do
    redis.call('APPEND', KEYS[key + each], ARGV[at + 6 + each] .. low)
    if window ~= '0' then redis.call('PEXPIRE', KEYS[key + each], window) end
  end
  grow(known, number, count)
  if window ~= '0' then expire(now - window) end
  return number
end
"""

#: Confirm a pending document, and give it another value unless that is empty. Its group is the key.
#: Arguments: its number, its place in the group, how its value begins, the other value. Returns whether it
#: was there: its lease may have run out, or a replica without it has given its number to another one.
_CONFIRM = """
function step.confirm(key, keys, at)
  local group, number, slot, start, other = KEYS[key + 1], unpack(ARGV, at + 1, at + 4)
  if not is_there(group, slot, start) then return 0 end
  redis.call('ZREM', prefix .. 'p', number)  -- first, because a full server lets nothing else begin
  if other ~= '' then redis.call('LSET', group, slot, other) end
  return 1
end
"""

#: Remove a document and its entries. The keys are its group and the buckets. Arguments: its number, its place
#: in the group, how its value begins, the time if only a lease that has run out by then lets it go, else 0;
#: then the entry in each bucket.
_REMOVE = """
local function take_out(bucket, entry)
  local old = redis.call('GET', bucket)
  local start = old and string.find(old, entry, 1, true)
  while start and (start - 1) % #entry ~= 0 do start = string.find(old, entry, start + 1, true) end
  if not start then return end
  local new = string.sub(old, 1, start - 1) .. string.sub(old, start + #entry)
  if new == '' then redis.call('DEL', bucket) else redis.call('SET', bucket, new, 'KEEPTTL') end
end

function step.remove(key, keys, at)
  local group, number, slot, start, now = KEYS[key + 1], unpack(ARGV, at + 1, at + 4)
  if not is_there(group, slot, start) then return 0 end
  local ends = redis.call('ZSCORE', prefix .. 'p', number)
  if now ~= '0' and (not ends or tonumber(ends) > tonumber(now)) then return 0 end
  redis.call('ZREM', prefix .. 'p', number)  -- first, because a full server lets nothing else begin
  redis.call('LSET', group, slot, '')
  redis.call('DECR', prefix .. 'count')
  for each = 1, keys - 1 do take_out(KEYS[key + 1 + each], ARGV[at + 4 + each]) end
  return 1
end
"""

#: Does each of the steps. Returns the answer of each; an error is that of one step alone.
_END = """
local answers, key, at = {}, 1, 2
while at < #ARGV do
  local name, keys, args = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local done, answer = pcall(step[name], key, keys, at + 3, args)
  if not done and type(answer) ~= 'table' then answer = redis.error_reply(tostring(answer)) end
  answers[#answers + 1] = answer
  key, at = key + keys, at + 3 + args
end
return answers
"""

#: The script, and the name under which a server keeps it.
SCRIPT = f"{_BEGIN}{_FILE}{_CONFIRM}{_REMOVE}{_END}"
DIGEST = sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
