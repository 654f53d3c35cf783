"""The steps on the server that read: buckets, documents, leases. See layout.py for the names of keys."""

from __future__ import annotations

#: Read buckets. Arguments: how many are of keys that have to be equal, the tag of each; at most how many
#: bytes to read of one of the others, and for each of these how many bytes are known, and the last known
#: entry. Returns the last number that was given to a document; for each bucket of the first kind the numbers
#: with the tag; for each of the second where what is not known begins, what it is, and 1 if it stands in
#: place of what was known.
LOOK = """
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
FETCH = """
function step.fetch(keys, args)
  local answers = {}
  for each, number in ipairs(args) do
    local value = value_of(number)
    answers[each] = {value or false, lease_of(number, value)}
  end
  return answers
end
"""

#: Return how the lease of each document of the arguments is.
LEASES = """
function step.leases(keys, args)
  local answers = {}
  for each, number in ipairs(args) do answers[each] = lease_of(number, value_of(number)) end
  return answers
end
"""
