-- Adds amounts to counters, whatever their limits; below zero returns units. Follows counters.lua.
--
-- KEYS     as in plans.lua
-- ARGV     runs: plan, number of calls, then for each rule the amount
-- returns  server time, then one text of numbers: for each call and rule after it, the count of a fixed window, or a and b
-- why      windows are read and written here and not by functions, since calls are expensive: hybrid stores reconcile
--          here, and one text is much cheaper to read than as many integers
local key, c, values, count_of_values = 1, at, {}, 0
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  local rule_count, first = #rules, c + 1
  for _ = 1, tonumber(ARGV[first]) do
    for r = 1, rule_count do
      local rule, text = rules[r], ARGV[first + r]
      local amount, a, b = text + 0, nil, nil
      if rule.is_bucket then
        a, b = read_counters(rule, key)
        if amount ~= 0 then a, b = add_amount(rule, KEYS[key], a, b, amount) end
        a = string.format('%.17g', a)
      else
        if rule.is_sliding then
          a, key = written[KEYS[key]] or read[key] or 0, key + 1
        end
        local name = KEYS[key]
        b = (written[name] or read[key] or 0) + 0
        if amount ~= 0 then
          if b == 0 then call('SET', name, text, 'PX', rule.expiry) else call('INCRBY', name, text) end
          b = b + amount
          written[name] = b
        end
      end
      if a ~= nil then
        count_of_values = count_of_values + 1
        values[count_of_values] = a
      end
      count_of_values = count_of_values + 1
      values[count_of_values] = b
      key = key + 1
    end
  end
  c = c + 2 + rule_count
end
reply[3] = table.concat(values, ' ')
return reply
