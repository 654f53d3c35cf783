"""The script that runs on the server: several steps at a time, and nothing comes in between.

`packed` says what the script is given, `layout` what it works on.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import NamedTuple

from .layout import FIRST_MORE, GONE, SMALLEST


class Call(NamedTuple):
    """One step of the script in a part of the index, or a command, in capitals, that files nothing there."""

    part: int
    step: str
    keys: list[bytes]
    arguments: Sequence[bytes | str | int] = ()


def packed(identity: str, prefixes: Sequence[bytes], calls: Sequence[Call]) -> list[bytes | str | int]:
    """Return the number of keys, the keys and the arguments of a run with the steps *calls* of one part."""
    part = calls[0].part
    keys = [prefixes[part] + b"id"]
    arguments: list[bytes | str | int] = [identity, prefixes[part], len(prefixes), part]
    for _, step, more, of_step in calls:
        keys += more
        arguments += (step, len(more), len(of_step), *of_step)
    return [len(keys), *keys, *arguments]


#: Refuses another index than the one meant, and does each of the steps. A step is told behind which of all
#: keys and arguments its own stand, and how many keys it has.
_STEPS = """
local KEYS, ARGV, call = KEYS, ARGV, redis.call  -- what is local is found sooner
local prefix, parts, part, step = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), {}
if call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('NEARDUPGONE the index is not there, or another one is')
end

-- A number as text: those of documents have too many digits for Lua to write them out by itself.
local function text(number) return string.format('%.0f', number) end

-- Whether the value of a document begins in one way: if not, it is gone, or its number is another one's.
local function is_there(value, start) return string.sub(value or '', 1, #start) == start end

-- Forget the groups of documents that were all filed before a time.
local function expire(before)
  local groups, first = call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES'), nil
  -- A group ends when the next one begins.
  while groups[3] and tonumber(groups[4]) < before do
    local group, numbers = prefix .. 'd' .. groups[1], {}
    for _, nothing in ipairs({'', GONE}) do call('LREM', group, 0, nothing) end
    call('DECRBY', prefix .. 'count', call('LLEN', group))
    call('UNLINK', group)
    for slot = 0, 127 do numbers[slot + 1] = text((groups[1] * 128 + slot) * parts + part) end
    call('ZREM', prefix .. 'p', unpack(numbers))
    call('ZREM', prefix .. 't', groups[1])
    first = groups[3] * 128 * parts
    groups = call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  end
  if not first then return end
  local known = call('GET', prefix .. 'g')
  for start in string.gmatch(known, ' (%d+)') do
    if tonumber(start) <= first then known = string.match(known, ' (.*)') end
  end
  call('MSET', prefix .. 'o', text(first), prefix .. 'g', known)
end

-- Begin a generation after those that are 'known': what this part files from now on is of it.
local function begin(known, start, more, last)
  known = known .. ' ' .. text(start) .. ':' .. more
  call('MSET', prefix .. 'n', text(math.max(start - 1, last)), prefix .. 'g', known)
  return known
end

-- Begin another generation after a number if the last of those that are 'known' has as many documents as its
-- buckets are made for, or twice as many as are left. Numbers of several parts have gaps, and other parts
-- may have given higher ones already.
local function grow(known, number, count)
  local start, more = string.match(known, '(%d+):(%d+)$')
  local filed, most = (number + 1 - start) * 2 / (parts + 1), math.max(SMALLEST / 4, 2 * count * parts)
  -- Of a number the last 32 bits are kept.
  if filed < math.min(SMALLEST * 2 ^ more, most) and number - start < 2 ^ 31 then return end
  more = FIRST_MORE
  while SMALLEST * 2 ^ more <= count * parts do more = more + 4 end
  begin(known, number + 1 + 65536 * math.min(parts - 1, 1), more, number)
end

-- Where a bucket has an entry, or what one begins with, in entries of so many bytes.
local function find(bucket, entry, bytes)
  local at = string.find(bucket, entry, 1, true)
  while at and (at - 1) % bytes ~= 0 do at = string.find(bucket, entry, at + 1, true) end
  return at
end

-- File a document in buckets, which are the keys: who files a like one later reads it there. Arguments: its
-- value in the part that gives it a number, else empty; when its lease ends, the time, and the window, all in
-- milliseconds; the generations that the crawler knows; its number, 0 if it has none; one that this exceeds;
-- the generation that it is filed in, which the part begins if it is behind; 1 if it is not filed beside one
-- with its first entry, else 0; for each bucket an entry but for its number.
-- Returns its number, 0 if it is not filed. A part that knows other generations only returns these.
function step.file(key, keys, at)
  local value, ends, now, window, known, number, after = unpack(ARGV, at + 1, at + 7)
  local start, more, stops, entry = tonumber(ARGV[at + 8]), unpack(ARGV, at + 9, at + 11)
  local state = call('MGET', prefix .. 'n', prefix .. 'g', prefix .. 'w', prefix .. 'count')
  local last, count = tonumber(state[1]), tonumber(state[4] or 0)
  if state[2] ~= known then return state[2] end
  if stops == '1' and find(call('GET', KEYS[key + 1]) or '', entry, #entry + 4) then return 0 end
  if tonumber(string.match(known, '(%d+):%d+$')) < start then
    known, last = begin(known, start, more, last), math.max(start - 1, last)
  end
  local gives = value ~= ''
  number = tonumber(number)
  if gives then
    number = math.max(last, tonumber(after)) + 1
    number = number + (part - number) % parts
    count = count + 1
  end
  -- First, because a full server lets nothing else begin.
  call('MSET', prefix .. 'n', text(math.max(last + 1, number)), prefix .. 'count', count)
  if window ~= '0' and tonumber(window) < tonumber(state[3] or math.huge) then
    call('SET', prefix .. 'w', window)
  end
  if gives then
    local place = (number - part) / parts
    local slot = place % 128
    local group = text((place - slot) / 128)
    -- Documents are kept in lists: these have less room for a length than a server for a key.
    local documents = prefix .. 'd' .. group
    local filed = call('LLEN', documents)
    if filed > slot then error('the documents are not numbered as they are filed') end
    if filed == 0 then call('ZADD', prefix .. 't', 'NX', now, group) end
    for each = filed + 1, slot do call('RPUSH', documents, '') end
    call('RPUSH', documents, value)
    call('ZADD', prefix .. 'p', ends, text(number))
  end
  local low = struct.pack('<I4', number % 4294967296)
  for each = 1, keys do
    call('APPEND', KEYS[key + each], ARGV[at + 10 + each] .. low)
    if window ~= '0' then call('PEXPIRE', KEYS[key + each], window) end
  end
  if gives then
    grow(known, number, count)
    if window ~= '0' then expire(now - window) end
  end
  return number
end

-- Confirm a pending document, and give it another value unless that is empty. Its group is the key.
-- Arguments: its number, its place in the group, how its value begins, the other value. Returns whether it
-- was there, or is gone although it was confirmed before: who got no answer to that asks again. Otherwise its
-- lease has run out, or a replica without it has given its number to another one.
function step.confirm(key, keys, at)
  local group, number, slot, start, other = KEYS[key + 1], unpack(ARGV, at + 1, at + 4)
  local value = call('LINDEX', group, slot)
  if value == GONE then return 1 end
  if not is_there(value, start) then return 0 end
  call('ZREM', prefix .. 'p', number)  -- first, because a full server lets nothing else begin
  if other ~= '' then call('LSET', group, slot, other) end
end

-- Take the entries of a document out of the buckets, which are the keys.
function step.take_out(key, keys, at)
  for each = 1, keys do
    local bucket, entry = KEYS[key + each], ARGV[at + each]
    local old = call('GET', bucket)
    local start = old and find(old, entry, #entry)
    local new = start and string.sub(old, 1, start - 1) .. string.sub(old, start + #entry)
    if new == '' then call('DEL', bucket) elseif new then call('SET', bucket, new, 'KEEPTTL') end
  end
end

-- Remove a document and its entries. The keys are its group and the buckets. Arguments: its number, its place
-- in the group, how its value begins, the time if only a lease that has run out by then lets it go, else 0;
-- then the entry in each bucket. Returns whether it is gone; if not, it holds, or its number is another's.
function step.remove(key, keys, at)
  local group, number, slot, start, now = KEYS[key + 1], unpack(ARGV, at + 1, at + 4)
  local value, ends = call('LINDEX', group, slot), call('ZSCORE', prefix .. 'p', number)
  if is_there(value, start) then
    if now ~= '0' and tonumber(ends or math.huge) > tonumber(now) then return 0 end
    call('ZREM', prefix .. 'p', number)  -- first, because a full server lets nothing else begin
    call('LSET', group, slot, ends and '' or GONE)
    call('DECR', prefix .. 'count')
  elseif value ~= '' and value ~= GONE then
    return 0
  end
  step.take_out(key + 1, keys - 1, at + 4)
end

-- Returns the answer of each step, 1 if it has none; an error is that of one step alone.
local answers, key, at = {}, 1, 4
while at < #ARGV do
  local name, keys, args = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local done, answer = pcall(step[name], key, keys, at + 3)
  if not done and type(answer) ~= 'table' then answer = redis.error_reply(tostring(answer)) end
  answers[#answers + 1] = answer or 1
  key, at = key + keys, at + 3 + args
end
return answers
"""

#: The script, and the name under which a server keeps it.
SCRIPT = f"local GONE, SMALLEST, FIRST_MORE = '{GONE.decode()}', {SMALLEST}, {FIRST_MORE}{_STEPS}"
DIGEST = sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
