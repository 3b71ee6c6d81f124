-- Records that an operator adjusted the counters of an identifier.
--
-- KEYS     the adjustment
-- ARGV     until when it holds, in Unix ms; its expiry in ms
-- returns  OK
-- why      without the record, other processes would take the granted units for lost counts and raise them again
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
