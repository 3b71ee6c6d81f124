-- Raises windows to at least the given counts and leaves buckets no fuller than given, so that many may tell the same.
-- KEYS    per call first the note: until the time in it nothing is raised
-- runs    plan, how many, then per rule the least a and b; for a bucket the most tokens, and their time; then now
-- answer  per call: 0, and per rule a and b after it
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  for _ = 1, tonumber(ARGV[c + 1]) do
    told = told + 1
    answer[told] = 0
    local noted = count(key) > tonumber(ARGV[c + 2 + 2 * #rules])
    key = key + 1
    for r = 1, #rules do
      local rule, a, b, next = rules[r], look(rules[r], key)
      local givenA, givenB = tonumber(ARGV[c + 2 * r]), tonumber(ARGV[c + 2 * r + 1])
      if noted then
        -- Given back or reset: what the teller misses was not lost.
      elseif rule[1] == 3 then
        local most = givenA + math.max(0, rule[4] - givenB) * rule[3]
        if most < a then a, b = change(rule, KEYS[key], a, b, a - most) end
      else
        if rule[1] == 1 and givenA > a then
          call('SET', KEYS[key], givenA, 'PX', rule.expiry)
          a, written[KEYS[key]] = givenA, givenA
        end
        if givenB > b then a, b = change(rule, KEYS[next - 1], a, b, givenB - b) end
      end
      tell(rule, a, b)
      key = next
    end
  end
  c = c + 3 + 2 * #rules
end
return answer
