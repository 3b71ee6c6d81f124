-- Raises windows to at least the given counts, so that many may tell the same; buckets stay.
-- runs    plan, how many, then per rule the least a and b
-- answer  per call: 0, and per rule a and b after it
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  for _ = 1, tonumber(ARGV[c + 1]) do
    told = told + 1
    answer[told] = 0
    for r = 1, #rules do
      local rule, a, b, next = rules[r], look(rules[r], key)
      local leastA, leastB = tonumber(ARGV[c + 2 * r]), tonumber(ARGV[c + 2 * r + 1])
      if rule[1] == 1 and leastA > a then
        call('SET', KEYS[key], leastA, 'PX', rule[5])
        a, written[KEYS[key]] = leastA, leastA
      end
      if rule[1] ~= 3 and leastB > b then a, b = change(rule, KEYS[next - 1], a, b, leastB - b) end
      tell(rule, a, b)
      key = next
    end
  end
  c = c + 2 + 2 * #rules
end
return answer
