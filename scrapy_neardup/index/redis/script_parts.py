"""What scripts that run on the server have in common. See layout.py for the names of keys."""

from __future__ import annotations

#: Refuses an index that is not the one which the caller means.
BEGIN = """
local prefix = ARGV[2]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('NEARDUPGONE the index is not there, or another one is')
end
"""

#: The time, the documents, and how long their leases hold.
DOCUMENTS = """
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Documents are kept in lists of 1024: these have less room for a length than a server for a key.
local function place(number)
  return prefix .. 'd' .. string.format('%.0f', math.floor(number / 1024)), number % 1024
end

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
local function lease_of(number, value, time)
  if not value then return -2 end
  local score = redis.call('ZSCORE', prefix .. 'p', number)
  if not score then return -1 end
  return math.max(0, tonumber(score) - time)
end
"""

#: Where the older entries of a bucket are.
OLDER = """
-- The key of the older entries of a bucket.
local function older(bucket)
  return prefix .. 'a' .. string.sub(bucket, #prefix + 2)
end
"""

#: What is in buckets.
BUCKETS = (
    OLDER
    + """
-- The first number of the epoch of a bucket, which its name says.
local function start_of(bucket)
  return struct.unpack('>I4', bucket, #prefix + 4) * 16777216
end

-- What is in the keys that 'of' names for the buckets from KEYS[first] to KEYS[last]: false where nothing is.
local function contents(first, last, of)
  local names, all = {}, {}
  for each = first, last do names[#names + 1] = of(KEYS[each]) end
  for start = 1, #names, 1000 do
    for _, value in ipairs(redis.call('MGET', unpack(names, start, math.min(start + 999, #names)))) do
      all[#all + 1] = value
    end
  end
  return all
end

local function newer(bucket) return bucket end

-- The numbers above 'least' in two parts of a bucket, of documents that have a key of this tag, 3 bytes each.
local function numbers_of(parts, tag, least)
  local found = {}
  for each = 1, 2 do
    local data = parts[each]
    local at = data and string.find(data, tag, 1, true)
    while at do
      if at % 5 == 1 and struct.unpack('<I3', data, at + 2) > least then
        found[#found + 1] = string.sub(data, at + 2, at + 4)
      end
      at = string.find(data, tag, at + 1, true)
    end
  end
  return table.concat(found)
end

-- Whether a bucket has a number above 'since'.
local function has_grown(bucket, since)
  local last = redis.call('GETRANGE', bucket, -3, -1)
  if last == '' then last = redis.call('GETRANGE', older(bucket), -3, -1) end
  return last ~= '' and struct.unpack('<I3', last) > since - start_of(bucket)
end
"""
)
