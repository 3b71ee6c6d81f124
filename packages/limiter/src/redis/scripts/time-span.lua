-- Ends a script that runs too early or too late, before it changes anything. First part of such a script.
--
-- ARGV     at the end: from when and until when the script may run, in Unix ms by this server's clock
-- returns  outside of that span the server time alone (seconds, microseconds)
-- why      a check that was rejected for want of a response must not be counted later
do
  local time = redis.call('TIME')
  local now, last = time[1] * 1000 + time[2] / 1000, tonumber(table.remove(ARGV))
  local first = tonumber(table.remove(ARGV))
  if now < first or now > last then return time end
end
