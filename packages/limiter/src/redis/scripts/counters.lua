-- Functions that read and change the counters of a rule; the same algorithms as in ../../algorithms. Follows plans.lua.
-- `a` and `b` are the counts of the previous and the current window; for a bucket its refilled tokens and their time.
--
-- KEYS     as in plans.lua; `key` is a number in KEYS, `name` one of its strings
-- returns  nothing by itself
-- why      a counter gets its expiry in the command that creates it, so none is ever without
local function count(key)
  return tonumber(written[KEYS[key]] or read[key] or 0)
end

-- Returns a, b and the number of the key that follows those of the rule.
local function read_counters(rule, key)
  if rule.is_sliding then return count(key), count(key + 1), key + 2 end
  if rule.is_fixed then return 0, count(key), key + 1 end
  local fields = call('HMGET', KEYS[key], 'tokens', 'ts')
  local tokens, ts = tonumber(fields[1] or rule.limit), tonumber(fields[2] or rule.now)
  -- Further ahead than the bucket takes to fill, and than clocks differ or calls are late (10 s, as in token-bucket.ts):
  -- written before the clock moved back. It refills from now on, which is kept even if the check is rejected, or each
  -- check would keep it from refilling.
  if ts - rule.now > math.max(rule.limit / rule.refill, 10000) then
    ts = rule.now
    call('HSET', KEYS[key], 'ts', string.format('%.0f', ts))
    call('PEXPIRE', KEYS[key], rule.expiry)
  end
  return math.min(rule.limit, tokens + math.max(0, rule.now - ts) * rule.refill), math.max(rule.now, ts), key + 1
end

-- Adds `amount` to the count, or takes it from the bucket, and returns a and b after that.
local function add_amount(rule, name, a, b, amount)
  if rule.is_bucket then
    a = math.min(rule.limit, a - amount)
    call('HSET', name, 'tokens', string.format('%.17g', a), 'ts', string.format('%.0f', b))
    call('PEXPIRE', name, rule.expiry)
    return a, b
  end
  if b == 0 then call('SET', name, amount, 'PX', rule.expiry) else call('INCRBY', name, amount) end
  written[name] = b + amount
  return a, b + amount
end

local function append_counters(rule, a, b)
  reply[size + 1] = rule.is_bucket and string.format('%.17g', a) or a
  reply[size + 2] = b
  size = size + 2
end
