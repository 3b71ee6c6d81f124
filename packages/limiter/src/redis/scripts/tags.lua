-- Agrees on the number of groups of a cluster: the first process stores it, all others read it.
--
-- KEYS     the number of groups
-- ARGV     groups for each primary; the number where the server does not report its primaries
-- returns  the number of groups
-- why      stored where the counters are, so that no two processes count an identifier in different groups
local known = tonumber(redis.call('GET', KEYS[1]))
if known then return known end
local ranges, seen, primaries = redis.pcall('CLUSTER', 'SLOTS'), {}, 0
if not ranges.err then
  for _, range in ipairs(ranges) do
    local id = range[3][3]
    if not seen[id] then seen[id], primaries = true, primaries + 1 end
  end
end
local groups = primaries > 0 and math.min(1024, primaries * tonumber(ARGV[1])) or tonumber(ARGV[2])
redis.call('SET', KEYS[1], groups)
return groups
