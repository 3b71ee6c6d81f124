-- Second part of every script: what a rule's counters are and how they change. Twin of ../../algorithms.
-- `a` and `b` are the counts of the previous and the current window; for a bucket its tokens, refilled, and their time.
local function count(key)
  return tonumber(written[KEYS[key]] or read[key] or 0)
end

-- Answers a, b and the number of the key behind the rule's last one.
local function look(rule, key)
  if rule[1] == 1 then return count(key), count(key + 1), key + 2 end
  if rule[1] == 2 then return 0, count(key), key + 1 end
  local held = call('HMGET', KEYS[key], 'tokens', 'ts')
  local tokens, ts = tonumber(held[1] or rule[2]), tonumber(held[2] or rule[4])
  return math.min(rule[2], tokens + math.max(0, rule[4] - ts) * rule[3]), math.max(rule[4], ts), key + 1
end

-- Counts `cost` under the rule's last key; a counter gets its expiry in the very command that makes it.
local function change(rule, name, a, b, cost)
  if rule[1] == 3 then
    a = math.min(rule[2], a - cost)
    call('HSET', name, 'tokens', string.format('%.17g', a), 'ts', string.format('%.0f', b))
    call('PEXPIRE', name, rule.expiry)
    return a, b
  end
  if b == 0 then call('SET', name, cost, 'PX', rule.expiry) else call('INCRBY', name, cost) end
  written[name] = b + cost
  return a, b + cost
end

local function tell(rule, a, b)
  answer[told + 1] = rule[1] == 3 and string.format('%.17g', a) or a
  answer[told + 2] = b
  told = told + 2
end
