"""What the steps that run on the server have in common. See layout.py for the names of keys."""

from __future__ import annotations

#: Refuses an index that is not the one which the caller means.
BEGIN = """
local prefix, step = ARGV[2], {}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('NEARDUPGONE the index is not there, or another one is')
end
"""

#: The time, the documents, and how long their leases hold.
DOCUMENTS = """
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
local function lease_of(number, value)
  if not value then return -2 end
  local score = redis.call('ZSCORE', prefix .. 'p', number)
  if not score then return -1 end
  return math.max(0, tonumber(score) - now())
end
"""

#: What is in buckets.
BUCKETS = """
-- The key of the older entries of a bucket.
local function older(bucket)
  return prefix .. 'a' .. string.sub(bucket, #prefix + 2)
end

-- The first number of the epoch of a bucket, which its name says.
local function start_of(bucket)
  return struct.unpack('>I4', bucket, #prefix + 4) * 16777216
end

-- What some keys hold, in their order: false where nothing is.
local function contents(names)
  if #names == 0 then return {} end
  if #names <= 1000 then return redis.call('MGET', unpack(names)) end
  local all = {}
  for start = 1, #names, 1000 do
    for _, value in ipairs(redis.call('MGET', unpack(names, start, math.min(start + 999, #names)))) do
      all[#all + 1] = value
    end
  end
  return all
end
"""

#: Does each of the steps that are asked for. ARGV, after the first two: for each its name, how many keys and
#: how many arguments it has, and these. Returns the answer of each; an error is that of one step alone.
END = """
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
