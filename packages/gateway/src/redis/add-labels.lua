-- Adds counts of labels to one step. KEYS: the step. ARGV: lifetime in ms, then label and count of each.
for i = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
