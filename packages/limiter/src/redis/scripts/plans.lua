-- Reads the plans of a batch and all its counters, before anything changes. First part of every batch script.
--
-- KEYS     for each call and rule: sliding window: previous, current; fixed window: current; token bucket: its hash
-- ARGV     number of plans; for each plan the number of rules; for each rule: algorithm (1 sliding window, 2 fixed
--          window, 3 token bucket), limit, window in ms (bucket: tokens per ms), elapsed ms (bucket: time in Unix ms),
--          expiry in ms, 1 in shadow; then runs of equal calls: plan, number of calls, what the script needs
-- returns  server time (seconds, microseconds), then what the script appends
-- why      one MGET for a batch of about 128 checks instead of a GET for each counter
local KEYS, ARGV, call, tonumber = KEYS, ARGV, redis.call, tonumber
local reply, size, plans, at = call('TIME'), 2, {}, 2
for p = 1, tonumber(ARGV[1]) do
  local rules = {}
  for r = 1, tonumber(ARGV[at]) do
    local algorithm, limit = ARGV[at + 1], tonumber(ARGV[at + 2])
    local rate, time = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    rules[r] = {
      is_sliding = algorithm == '1', is_fixed = algorithm == '2', is_bucket = algorithm == '3',
      limit = limit, expiry = ARGV[at + 5], shadow = ARGV[at + 6] == '1',
      window = rate, left = rate - time, full = limit * rate, -- of windows
      refill = rate, now = time, -- of buckets
    }
    at = at + 6
  end
  plans[p], at = rules, at + 1
end
-- Counters as they were read, by number of the key; counters changed since, by key.
local read, written = call('MGET', unpack(KEYS)), {}
