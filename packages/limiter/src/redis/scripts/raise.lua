-- Raises windows to at least some counts, and lowers buckets to at most some tokens. Follows counters.lua.
--
-- KEYS     as in plans.lua; before the keys of each call that of its adjustment, a time until which nothing is raised
-- ARGV     runs: plan, number of calls, then for each rule minimal a and b (bucket: maximal tokens, and their time); now
-- returns  for each call 0, then a and b of each rule after it
-- why      a minimum, not a sum, so that any number of processes may restore the same counts
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  for _ = 1, tonumber(ARGV[c + 1]) do
    size = size + 1
    reply[size] = 0
    local is_adjusted = count(key) > tonumber(ARGV[c + 2 + 2 * #rules])
    key = key + 1
    for r = 1, #rules do
      local rule, a, b, next = rules[r], read_counters(rules[r], key)
      local min_a, min_b = tonumber(ARGV[c + 2 * r]), tonumber(ARGV[c + 2 * r + 1])
      -- Counts that an operator adjusted were not lost.
      if not is_adjusted and rule.is_bucket then
        local max = min_a + math.max(0, rule.now - min_b) * rule.refill
        if max < a then a, b = add_amount(rule, KEYS[key], a, b, a - max) end
      elseif not is_adjusted then
        if rule.is_sliding and min_a > a then
          call('SET', KEYS[key], min_a, 'PX', rule.expiry)
          a, written[KEYS[key]] = min_a, min_a
        end
        if min_b > b then a, b = add_amount(rule, KEYS[next - 1], a, b, min_b - b) end
      end
      append_counters(rule, a, b)
      key = next
    end
  end
  c = c + 3 + 2 * #rules
end
return reply
