-- Adds to counters, whatever their limits; below zero gives back.
-- calls   per call: plan, then per rule the amount
-- answer  per call: 0, and per rule a and b after it
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  answer[#answer + 1] = 0
  for r = 1, #rules do
    local a, b, next = look(rules[r], key)
    local amount = tonumber(ARGV[c + r])
    if amount ~= 0 then a, b = change(rules[r], KEYS[next - 1], a, b, amount) end
    tell(rules[r], a, b)
    key = next
  end
  c = c + 1 + #rules
end
return answer
