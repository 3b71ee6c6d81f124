-- A function that checks one request against the rules of its plan, the same as `admits` in ../../algorithms. Follows
-- counters.lua.
--
-- KEYS     as in plans.lua
-- returns  nothing by itself
-- why      windows are read here and not by `read_counters`: every check comes through here, and calls are expensive
local as, bs, names, fits = {}, {}, {}, {}

-- Puts the counters of rule r, the name of its current key and whether `cost` fits in as[r], bs[r], names[r], fits[r].
-- Returns the bits of the violated rules, whether the request is allowed, and the number of the next key.
local function check_rules(rules, key, cost)
  local KEYS, read, written = KEYS, read, written
  local violated, allowed = 0, true
  for r = 1, #rules do
    local rule, a, b, ok = rules[r], 0, nil, nil
    if rule.is_bucket then
      a, b = read_counters(rule, key)
      ok = a >= cost
    else
      if rule.is_sliding then
        a, key = (written[KEYS[key]] or read[key] or 0) + 0, key + 1
      end
      b = (written[KEYS[key]] or read[key] or 0) + 0
      if rule.is_sliding then
        ok = a * rule.left + (b + cost - 1) * rule.window < rule.full
      else
        ok = b + cost <= rule.limit
      end
    end
    as[r], bs[r], names[r], fits[r], key = a, b, KEYS[key], ok, key + 1
    if not ok then
      violated, allowed = violated + 2 ^ (r - 1), allowed and rule.shadow
    end
  end
  return violated, allowed, key
end
