-- Raises windows to at least the given counts, so that many may tell the same; buckets stay.
-- calls   per call: plan, then per rule the least a and b
-- answer  per call: 0, and per rule a and b after it
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  answer[#answer + 1] = 0
  for r = 1, #rules do
    local rule, a, b, next = rules[r], look(rules[r], key)
    local least = { tonumber(ARGV[c + 2 * r - 1]), tonumber(ARGV[c + 2 * r]) }
    if rule[1] == 1 and least[1] > a then
      redis.call('SET', KEYS[key], least[1], 'PX', rule[5])
      a, written[KEYS[key]] = least[1], least[1]
    end
    if rule[1] ~= 3 and least[2] > b then a, b = change(rule, KEYS[next - 1], a, b, least[2] - b) end
    tell(rule, a, b)
    key = next
  end
  c = c + 1 + 2 * #rules
end
return answer
