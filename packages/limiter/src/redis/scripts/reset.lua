-- Forgets counters, and notes that they were not lost.
-- KEYS    the counters, then the note
-- ARGV    until when it holds, in Unix ms; how long it is kept, in ms
-- answer  how many there were
redis.call('SET', KEYS[#KEYS], ARGV[1], 'PX', ARGV[2])
return redis.call('UNLINK', unpack(KEYS, 1, #KEYS - 1))
