-- First part of every script: reads the plans and all counters at once.
-- KEYS    per call and rule: sliding window: previous, current; fixed window: current; token bucket: its hash
-- ARGV    number of plans; per plan: number of rules, per rule: algorithm (1 sliding, 2 fixed, 3 bucket), limit,
--         window ms (bucket: tokens per ms), elapsed ms (bucket: now), expiry ms, 1 in shadow; then runs of like calls:
--         plan, how many, and what the script says
-- answer  server time (seconds, microseconds), then what the script adds
local KEYS, ARGV, call, tonumber = KEYS, ARGV, redis.call, tonumber
local answer, told, plans, at = call('TIME'), 2, {}, 2
for p = 1, tonumber(ARGV[1]) do
  local rules = {}
  for r = 1, tonumber(ARGV[at]) do
    local rule = {}
    for i = 1, 6 do rule[i] = tonumber(ARGV[at + i]) end
    rule.left, rule.full, rule.expiry = rule[3] - rule[4], rule[2] * rule[3], ARGV[at + 5]
    rules[r], at = rule, at + 6
  end
  plans[p], at = rules, at + 1
end
local read, written = call('MGET', unpack(KEYS)), {}
