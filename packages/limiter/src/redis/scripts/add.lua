-- Adds to counters, whatever their limits; below zero gives back. Windows are read and written in place, as in acquire.lua:
-- what hybrid gateways tell comes here.
-- runs    plan, how many, then per rule the amount
-- answer  per call: 0, and per rule a and b after it
local key, c = 1, at
while c <= #ARGV do
  local rules = plans[tonumber(ARGV[c])]
  local count, first = #rules, c + 1
  for _ = 1, tonumber(ARGV[first]) do
    told = told + 1
    answer[told] = 0
    for r = 1, count do
      local rule, text = rules[r], ARGV[first + r]
      local kind, amount, a, b = rule[1], text + 0, 0, nil
      if kind == 3 then
        a, b = look(rule, key)
        if amount ~= 0 then a, b = change(rule, KEYS[key], a, b, amount) end
        tell(rule, a, b)
      else
        if kind == 1 then
          a, key = (written[KEYS[key]] or read[key] or 0) + 0, key + 1
        end
        local name = KEYS[key]
        b = (written[name] or read[key] or 0) + 0
        if amount ~= 0 then
          if b == 0 then call('SET', name, text, 'PX', rule.expiry) else call('INCRBY', name, text) end
          b = b + amount
          written[name] = b
        end
        answer[told + 1], answer[told + 2], told = a, b, told + 2
      end
      key = key + 1
    end
  end
  c = c + 2 + count
end
return answer
