"""The step on the server that files a document. See layout.py for the names of keys."""

from __future__ import annotations

#: File a document unless others that it would have met were filed since it was looked up. Arguments: its
#: value, lease and window in milliseconds; its epoch; the last number that was given when it was looked up;
#: for each bucket of the keys an entry but for its number, after two bytes: in how many bits an entry that is
#: met may differ, 255 if none is met; and 1 if the entry is to be filed there. Returns its number, 0 if there
#: were others, -1 if another epoch has begun.
FILE = """
-- In how many bits two strings differ.
local function differ(one, other)
  local count = 0
  for each = 1, #one do
    local left = bit.bxor(string.byte(one, each), string.byte(other, each))
    while left > 0 do left, count = bit.band(left, left - 1), count + 1 end
  end
  return count
end

-- Whether 'data', the end of a part of a bucket, has an entry above the number 'least' that differs from
-- 'entry' in few enough bits; false if it has none and has older ones, nothing if all that it has are newer.
local function is_met(data, entry, distance, least)
  local width = #entry
  for at = #data - width - 2, 1, -width - 3 do
    local one, two, three = string.byte(data, at + width, at + width + 2)
    if one + 256 * two + 65536 * three <= least then return false end
    local other = string.sub(data, at, at + width - 1)
    if other == entry or distance > 0 and differ(other, entry) <= distance then return true end
  end
end

-- Whether a bucket, whose newer part is given, has such an entry, or so many new ones that this is not known.
local function was_met(bucket, data, entry, distance, since)
  local least = since - start_of(bucket)
  if least >= 16777215 then return false end  -- its epoch has ended
  local met = is_met(data or '', entry, distance, least)
  if met ~= nil then return met end
  local some = 64 * (#entry + 3)
  data = redis.call('GETRANGE', older(bucket), -some, -1)
  met = is_met(data, entry, distance, least)
  return met or met == nil and #data == some
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
    for place = 0, 1023 do numbers[place + 1] = string.format('%.0f', groups[1] * 1024 + place) end
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
  if filed == 0 then
    redis.call('ZADD', prefix .. 't', 'NX', now(), string.format('%.0f', math.floor(number / 1024)))
  end
  for each = filed + 1, slot do redis.call('RPUSH', group, '') end
  redis.call('RPUSH', group, value)
  redis.call('INCR', prefix .. 'count')
  if lease ~= '0' then
    redis.call('ZADD', prefix .. 'p', now() + lease, string.format('%.0f', number))
  end
  return number
end

function step.file(keys, args)
  local window, since, last = tonumber(args[3]), tonumber(args[5]), newest()
  if math.floor((last + 1) / 16777216) ~= tonumber(args[4]) then return -1 end
  if last < since then return 0 end  -- a replica has taken over, and may have others instead
  local names, entries, before = {}, {}, contents(keys)
  for each, bucket in ipairs(keys) do
    local distance, is_filed = string.byte(args[5 + each], 1, 2)
    local entry = string.sub(args[5 + each], 3)
    if last > since and distance < 255 and was_met(bucket, before[each], entry, distance, since) then
      return 0
    end
    if is_filed == 1 then names[bucket], entries[each] = before[each] or '', entry end
  end

  local number = put(args[1], args[2])
  local first, low = expire(window), struct.pack('<I3', number % 16777216)
  if first > 0 then
    for each, entry in pairs(entries) do
      local width, least = #entry + 3, first - start_of(keys[each])
      cut(older(keys[each]), width, least)
      cut(keys[each], width, least)
      names[keys[each]] = redis.call('GET', keys[each]) or ''
    end
  end
  -- Parts of a bucket are written anew, because a string that grows has room for as much again. So the older
  -- entries stay as they are until there are some hundred bytes of newer ones; not all buckets have their
  -- turn at the same time.
  local set = {}
  for each, entry in pairs(entries) do
    local bucket = keys[each]
    local part = names[bucket]
    if #part > 512 + 2 * string.byte(bucket, -1) then
      redis.call('SET', older(bucket), (redis.call('GET', older(bucket)) or '') .. part)
      part = ''
    end
    names[bucket] = part .. entry .. low
  end
  for bucket, part in pairs(names) do
    set[#set + 1] = bucket
    set[#set + 1] = part
  end
  if #set > 0 then redis.call('MSET', unpack(set)) end
  if window > 0 then
    for bucket in pairs(names) do
      redis.call('PEXPIRE', bucket, window)
      redis.call('PEXPIRE', older(bucket), window)
    end
  end
  return number
end
"""
