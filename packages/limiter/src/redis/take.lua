-- Takes for many checks at once; each check takes from all of its rules or from none.
-- runs    plan, how many, cost; cost 0 only looks, as a request of cost 1 would
-- answer  per check: bits of the violated rules, and per rule a and b after the check
local key, as, bs, last, fit = 1, {}, {}, {}, {}
for c = at, #ARGV, 3 do
  local rules, taken = plans[tonumber(ARGV[c])], tonumber(ARGV[c + 2])
  local cost, count = math.max(1, taken), #rules
  for _ = 1, tonumber(ARGV[c + 1]) do
    local bits, allowed = 0, true
    for r = 1, count do
      local rule = rules[r]
      local a, b, next = look(rule, key)
      as[r], bs[r], last[r], key = a, b, KEYS[next - 1], next
      fit[r] = fits(rule, a, b, cost)
      if not fit[r] then
        bits = bits + 2 ^ (r - 1)
        allowed = allowed and rule[6] == 1
      end
    end
    told = told + 1
    answer[told] = bits
    for r = 1, count do
      local rule = rules[r]
      -- A fixed window is incremented first, so it counts also what it rejects itself.
      if taken > 0 and (fit[r] and allowed or not fit[r] and rule[1] == 2) then
        as[r], bs[r] = change(rule, last[r], as[r], bs[r], taken)
      end
      tell(rule, as[r], bs[r])
    end
  end
end
return answer
