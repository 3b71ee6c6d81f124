-- Deletes the counters of an identifier, and records the adjustment.
--
-- KEYS     the counters, then the adjustment
-- ARGV     until when the adjustment holds, in Unix ms; its expiry in ms
-- returns  how many counters there were
-- why      without the record, other processes would take the deleted counts for lost and raise them again
redis.call('SET', KEYS[#KEYS], ARGV[1], 'PX', ARGV[2])
return redis.call('UNLINK', unpack(KEYS, 1, #KEYS - 1))
