-- Puts rejections before the others. KEYS: the list. ARGV: lifetime in ms, maximum, then the rejections, oldest first.
for i = 3, #ARGV do redis.call('LPUSH', KEYS[1], ARGV[i]) end
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[2]) - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
