"""The scripts that run on the server, each as one step that nothing comes in between.

Numbers are sent as text. Each script consists of the parts that it needs; see layout.py for the names of
keys. The first key is ``id``, and the first two arguments are the identity of the index and the prefix of
its keys.
"""

from __future__ import annotations

from .script_parts import BEGIN, BUCKETS, DOCUMENTS, OLDER

#: Read buckets. ARGV: how many are of keys that have to be equal, the tag of each; at most how many bytes to
#: read of one of the others, and for each of these how many bytes are known, and the last known entry.
#: Returns the last number that was given to a document; for each bucket of the first kind the numbers with
#: the tag; for each of the second where what is not known begins, what it is, and 1 if it stands in place of
#: what was known.
LOOK = (
    BEGIN
    + BUCKETS
    + """
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

local equal = tonumber(ARGV[3])
local parts, at, most = {tonumber(redis.call('GET', prefix .. 'n'))}, 5 + equal, tonumber(ARGV[4 + equal])
local old = contents(2, 1 + equal, older)
for each, new in ipairs(contents(2, #KEYS, newer)) do
  if each > equal then
    parts[1 + each] = unknown(KEYS[1 + each], new or '', tonumber(ARGV[at]), ARGV[at + 1], most)
    at = at + 2
  else
    parts[1 + each] = numbers_of({old[each], new}, ARGV[3 + each], -1)
  end
end
return parts
"""
)

#: File a document unless others are filed in buckets that were looked at. ARGV: its value, lease and window
#: in milliseconds; its epoch; the last number that was given when the buckets were read; how many of them
#: are of keys that have to be equal, how many of others; the tags of the first; then the entries. KEYS: those
#: buckets, then those of the entries. Returns its number, 0 if there were others, -1 if another epoch has
#: begun.
FILE = (
    BEGIN
    + DOCUMENTS
    + BUCKETS
    + """
local window, since, equal, near = tonumber(ARGV[5]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local newest = tonumber(redis.call('GET', prefix .. 'n'))
if math.floor((newest + 1) / 16777216) ~= tonumber(ARGV[6]) then return -1 end
if newest < since then return 0 end  -- a replica has taken over, and may have others instead
if newest > since then
  for each = 2, 1 + equal + near do
    if has_grown(KEYS[each], since) then
      if each > 1 + equal then return 0 end
      local parts = {redis.call('GET', older(KEYS[each])), redis.call('GET', KEYS[each])}
      if numbers_of(parts, ARGV[8 + each], since - start_of(KEYS[each])) ~= '' then return 0 end
    end
  end
end

-- Forget the groups of documents that were all filed longer ago than 'window'; return the first number that
-- is left.
local function expire()
  if window == 0 then return 0 end
  local groups = redis.call('ZRANGE', prefix .. 't', 0, 1, 'WITHSCORES')
  -- A group ends when the next one begins.
  while groups[3] and tonumber(groups[4]) < now() - window do
    local group = prefix .. 'd' .. groups[1]
    local gone = redis.call('LLEN', group) - redis.call('LREM', group, 0, '')
    redis.call('UNLINK', group)
    redis.call('DECRBY', prefix .. 'count', gone)
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

local number = redis.call('INCR', prefix .. 'n')
local group, slot = place(number)
local filed = redis.call('LLEN', group)
if filed > slot then return redis.error_reply('the documents are not numbered as they are filed') end
if filed == 0 then
  redis.call('ZADD', prefix .. 't', 'NX', now(), string.format('%.0f', math.floor(number / 1024)))
end
for each = filed + 1, slot do redis.call('RPUSH', group, '') end
redis.call('RPUSH', group, ARGV[3])
redis.call('INCR', prefix .. 'count')
if ARGV[4] ~= '0' then
  redis.call('ZADD', prefix .. 'p', now() + ARGV[4], string.format('%.0f', number))
end

local first = expire()
local low = struct.pack('<I3', number % 16777216)
local key, at = 2 + equal + near, 10 + equal
if first > 0 then
  for each = key, #KEYS do
    local width, least = #ARGV[at + each - key] + 3, first - start_of(KEYS[each])
    cut(older(KEYS[each]), width, least)
    cut(KEYS[each], width, least)
  end
end
-- Parts of a bucket are written anew, because a string that grows has room for as much again. So the older
-- entries stay as they are until there are some hundred bytes of newer ones; not all buckets have their turn
-- at the same time.
local set, new = {}, {}
for each, before in ipairs(contents(key, #KEYS, newer)) do
  local bucket, entry = KEYS[key + each - 1], ARGV[at + each - 1] .. low
  before = new[bucket] or before or ''
  if #before > 512 + 2 * string.byte(bucket, -1) then
    redis.call('SET', older(bucket), (redis.call('GET', older(bucket)) or '') .. before)
    before = ''
  end
  new[bucket] = before .. entry
  set[#set + 1] = bucket
  set[#set + 1] = new[bucket]
end
if #set > 0 then redis.call('MSET', unpack(set)) end
if window > 0 then
  for each = key, #KEYS do
    redis.call('PEXPIRE', KEYS[each], window)
    redis.call('PEXPIRE', older(KEYS[each]), window)
  end
end
return number
"""
)

#: Return the value of each document of ARGV, and how its lease is: see `lease_of`.
FETCH = (
    BEGIN
    + DOCUMENTS
    + """
local answers, time = {}, now()
for each = 3, #ARGV do
  local value = value_of(ARGV[each])
  answers[each - 2] = {value or false, lease_of(ARGV[each], value, time)}
end
return answers
"""
)

#: Return how the lease of each document of ARGV is.
LEASES = (
    BEGIN
    + DOCUMENTS
    + """
local answers, time = {}, now()
for each = 3, #ARGV do answers[each - 2] = lease_of(ARGV[each], value_of(ARGV[each]), time) end
return answers
"""
)

#: Have the leases of documents last so many milliseconds (ARGV[3]) from now on, but for those that have run
#: out.
RENEW = (
    BEGIN
    + DOCUMENTS
    + """
local time = now()
for each = 4, #ARGV do
  if lease_of(ARGV[each], value_of(ARGV[each]), time) > 0 then
    redis.call('ZADD', prefix .. 'p', 'XX', time + ARGV[3], ARGV[each])
  end
end
return 0
"""
)

#: Confirm a pending document (ARGV[3]) whose value begins with ARGV[4], and give it another value unless
#: ARGV[5] is empty. Returns whether it was there: if not, its lease had run out, or a replica without it has
#: taken over and has given its number to another one.
CONFIRM = (
    BEGIN
    + DOCUMENTS
    + """
if not begins_with(value_of(ARGV[3]), ARGV[4]) then return 0 end
redis.call('ZREM', prefix .. 'p', ARGV[3])  -- first, because a full server lets nothing else begin
if ARGV[5] ~= '' then
  local group, slot = place(tonumber(ARGV[3]))
  redis.call('LSET', group, slot, ARGV[5])
end
return 1
"""
)

#: Remove a document (ARGV[3]) whose value begins with ARGV[4], and its entries; if ARGV[5] is 1, only if its
#: lease has run out.
REMOVE = (
    BEGIN
    + DOCUMENTS
    + OLDER
    + """
local value = value_of(ARGV[3])
if not begins_with(value, ARGV[4]) then return 0 end
if ARGV[5] == '1' and lease_of(ARGV[3], value, now()) ~= 0 then return 0 end
local group, slot = place(tonumber(ARGV[3]))
redis.call('ZREM', prefix .. 'p', ARGV[3])  -- first, because a full server lets nothing else begin
redis.call('LSET', group, slot, '')
redis.call('DECR', prefix .. 'count')

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

local low = struct.pack('<I3', tonumber(ARGV[3]) % 16777216)
for each = 2, #KEYS do
  take_out(KEYS[each], ARGV[4 + each] .. low)
  take_out(older(KEYS[each]), ARGV[4 + each] .. low)
end
return 1
"""
)
