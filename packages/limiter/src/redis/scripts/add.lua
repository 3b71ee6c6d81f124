-- Adds amounts to counters, whatever their limits; below zero returns units. Follows counters.lua.
--
-- KEYS     as in plans.lua
-- ARGV     runs: plan, number of calls, then for each rule the amount
-- returns  for each call 0, then a and b of each rule after it
-- why      windows are read and written here and not by functions, since calls are expensive: hybrid stores reconcile here
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  local rule_count, first = #rules, c + 1
  for _ = 1, tonumber(ARGV[first]) do
    size = size + 1
    reply[size] = 0
    for r = 1, rule_count do
      local rule, text = rules[r], ARGV[first + r]
      local amount, a, b = text + 0, 0, nil
      if rule.is_bucket then
        a, b = read_counters(rule, key)
        if amount ~= 0 then a, b = add_amount(rule, KEYS[key], a, b, amount) end
        append_counters(rule, a, b)
      else
        if rule.is_sliding then
          a, key = (written[KEYS[key]] or read[key] or 0) + 0, key + 1
        end
        local name = KEYS[key]
        b = (written[name] or read[key] or 0) + 0
        if amount ~= 0 then
          if b == 0 then call('SET', name, text, 'PX', rule.expiry) else call('INCRBY', name, text) end
          b = b + amount
          written[name] = b
        end
        reply[size + 1], reply[size + 2], size = a, b, size + 2
      end
      key = key + 1
    end
  end
  c = c + 2 + rule_count
end
return reply
