-- Takes for many checks at once; each check takes from all of its rules or from none. Twin of `admits` in ../../algorithms.
-- Windows are read and written in place instead of by `look` and `change`: this is every check's path, and calls are dear.
-- runs    plan, how many, cost; cost 0 only looks, as a request of cost 1 would
-- answer  per check: bits of the violated rules, and per rule a and b after the check
local key, as, bs, names, fit = 1, {}, {}, {}, {}
for c = at, #ARGV, 3 do
  local rules, amount, taken = plans[tonumber(ARGV[c])], ARGV[c + 2], tonumber(ARGV[c + 2])
  local more, count = math.max(1, taken), #rules
  for _ = 1, tonumber(ARGV[c + 1]) do
    local bits, allowed = 0, true
    for r = 1, count do
      local rule = rules[r]
      local kind, a, ok = rule[1], 0, nil
      if kind == 3 then
        a, bs[r] = look(rule, key)
        ok, names[r] = a >= more, KEYS[key]
      else
        if kind == 1 then
          a, key = (written[KEYS[key]] or read[key] or 0) + 0, key + 1
        end
        local name = KEYS[key]
        local b = (written[name] or read[key] or 0) + 0
        if kind == 1 then
          ok = a * rule.left + (b + more - 1) * rule[3] < rule.full
        else
          ok = b + more <= rule[2]
        end
        bs[r], names[r] = b, name
      end
      as[r], fit[r], key = a, ok, key + 1
      if not ok then
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
        if rule[1] == 3 then
          as[r], bs[r] = change(rule, names[r], as[r], bs[r], taken)
        else
          local name, b = names[r], bs[r]
          -- Amount and expiry go on as the texts they came as: numbers would be printed anew for every command.
          if b == 0 then call('SET', name, amount, 'PX', rule.expiry) else call('INCRBY', name, amount) end
          bs[r], written[name] = b + taken, b + taken
        end
      end
      if rule[1] == 3 then
        tell(rule, as[r], bs[r])
      else
        answer[told + 1], answer[told + 2], told = as[r], bs[r], told + 2
      end
    end
  end
end
return answer
