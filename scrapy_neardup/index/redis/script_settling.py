"""The steps on the server that renew, confirm and remove documents. See layout.py for the names of keys."""

from __future__ import annotations

#: Have the leases of documents last so many milliseconds (the first argument) from now on, but for those that
#: have run out.
RENEW = """
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
CONFIRM = """
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
REMOVE = """
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
