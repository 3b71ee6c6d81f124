-- Forgets counters.
-- KEYS    the counters
-- answer  how many there were
return redis.call('UNLINK', unpack(KEYS))
