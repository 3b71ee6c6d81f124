-- Notes that counters were given back, so that nobody raises them again.
-- KEYS    the note
-- ARGV    until when it holds, in Unix ms; how long it is kept, in ms
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
