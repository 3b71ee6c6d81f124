-- Adds counts of callers to one step and one outcome, and drops the rarest callers above a maximum.
-- KEYS: counts, times of the last request, what is missed; all of one slot.
-- ARGV: outcome, maximum of callers, lifetime in ms, missed, then key, count and time of each caller.
local counts, times, missed = KEYS[1], KEYS[2], KEYS[3]
local outcome, max, lifetime = ARGV[1], tonumber(ARGV[2]), ARGV[3]
redis.call('HINCRBY', missed, outcome, ARGV[4])
for i = 5, #ARGV, 3 do
  redis.call('ZINCRBY', counts, ARGV[i + 1], ARGV[i])
  redis.call('ZADD', times, 'GT', ARGV[i + 2], ARGV[i])
end
local excess = redis.call('ZCARD', counts) - max
if excess > 0 then
  local last = redis.call('ZRANGE', counts, excess - 1, excess - 1, 'WITHSCORES')
  redis.call('HINCRBY', missed, outcome, math.ceil(tonumber(last[2])))
  redis.call('ZREMRANGEBYRANK', counts, 0, excess - 1)
end
local old = redis.call('ZCARD', times) - 2 * max
if old > 0 then redis.call('ZREMRANGEBYRANK', times, 0, old - 1) end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, lifetime) end
