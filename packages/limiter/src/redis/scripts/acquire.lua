-- Acquires units for a batch of checks; each check acquires from all of its rules or from none. Follows check-rules.lua.
--
-- KEYS     as in plans.lua
-- ARGV     runs: plan, number of checks, cost; cost 0 only reads, and decides on a request of cost 1
-- returns  for each check the bits of the violated rules, then a and b of each rule after the check
-- why      windows are written here and not by `add_amount`, as in check-rules.lua
local key = 1
for c = at, #ARGV, 3 do
  local rules, text, cost = plans[tonumber(ARGV[c])], ARGV[c + 2], tonumber(ARGV[c + 2])
  local checked_cost, rule_count = math.max(1, cost), #rules
  for _ = 1, tonumber(ARGV[c + 1]) do
    local violated, allowed
    violated, allowed, key = check_rules(rules, key, checked_cost)
    size = size + 1
    reply[size] = violated
    for r = 1, rule_count do
      local rule, a, b = rules[r], as[r], bs[r]
      -- A fixed window is incremented first, so it also counts the requests that it rejects itself.
      local counts = cost > 0 and (fits[r] and allowed or not fits[r] and rule.is_fixed)
      if rule.is_bucket then
        if counts then a, b = add_amount(rule, names[r], a, b, cost) end
        append_counters(rule, a, b)
      else
        if counts then
          local name = names[r]
          -- Amount and expiry stay strings: numbers would be formatted again for every command.
          if b == 0 then call('SET', name, text, 'PX', rule.expiry) else call('INCRBY', name, text) end
          b = b + cost
          written[name] = b
        end
        reply[size + 1], reply[size + 2], size = a, b, size + 2
      end
    end
  end
end
return reply
