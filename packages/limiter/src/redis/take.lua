-- Takes for many checks at once; each check takes from all of its rules or from none.
-- calls   per check: plan, cost; cost 0 only looks, as a request of cost 1 would
-- answer  per check: bits of the violated rules, and per rule a and b after the check
local key = 1
for c = at, #ARGV, 2 do
  local rules, taken = plans[tonumber(ARGV[c])], tonumber(ARGV[c + 1])
  local as, bs, last, fit, bits, allowed = {}, {}, {}, {}, 0, true
  for r = 1, #rules do
    local rule = rules[r]
    as[r], bs[r], key = look(rule, key)
    last[r], fit[r] = KEYS[key - 1], fits(rule, as[r], bs[r], math.max(1, taken))
    if not fit[r] then
      bits = bits + 2 ^ (r - 1)
      allowed = allowed and rule[6] == 1
    end
  end
  answer[#answer + 1] = bits
  for r = 1, #rules do
    local rule, a, b = rules[r], as[r], bs[r]
    -- A fixed window is incremented first, so it counts also what it rejects itself.
    if taken > 0 and (fit[r] and allowed or not fit[r] and rule[1] == 2) then
      a, b = change(rule, last[r], a, b, taken)
    end
    tell(rule, a, b)
  end
end
return answer
