-- Records that a process is alive, removes those that were silent for too long, and counts the others.
--
-- KEYS     the sorted set of processes, by the server's time of their last heartbeat in Unix ms
-- ARGV     this process; its lifetime without a heartbeat in ms, 0 when it leaves
-- returns  how many are alive; 1 when this process was known before
-- why      a process that is unknown here although it sent a heartbeat lately knows that the server lost its data
local time = redis.call('TIME')
local now, lifetime = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[2])
local known = redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0
if lifetime == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - lifetime)
  -- from before the clock went back; whoever lives is back at its next heartbeat
  redis.call('ZREMRANGEBYSCORE', KEYS[1], now + lifetime, '+inf')
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], lifetime)
end
return { redis.call('ZCARD', KEYS[1]), known }
