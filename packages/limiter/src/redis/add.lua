-- Adds to counters, whatever their limits; below zero gives back.
-- runs    plan, how many, then per rule the amount
-- answer  per call: 0, and per rule a and b after it
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  for _ = 1, tonumber(ARGV[c + 1]) do
    told = told + 1
    answer[told] = 0
    for r = 1, #rules do
      local a, b, next = look(rules[r], key)
      local amount = tonumber(ARGV[c + 1 + r])
      if amount ~= 0 then a, b = change(rules[r], KEYS[next - 1], a, b, amount) end
      tell(rules[r], a, b)
      key = next
    end
  end
  c = c + 2 + #rules
end
return answer
