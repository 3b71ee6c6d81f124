-- Notes that a process lives, forgets those that were not heard of for long, and counts the rest.
-- KEYS    the set of processes, by the server's time of their last word
-- ARGV    this process; how long one is believed to live, in ms; 0 when it leaves
-- answer  how many live; 1 when this process had been noted before
local time = redis.call('TIME')
local now, life = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[2])
local known = redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0
if life == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - life)
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], life)
end
return { redis.call('ZCARD', KEYS[1]), known }
