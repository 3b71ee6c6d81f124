-- Before the parts of a script that must not run late: outside of its span it does nothing.
-- ARGV    at the end: from when and until when it may run, in Unix ms by this server's clock
-- answer  outside of the span: the server's time alone (seconds, microseconds)
do
  local time = redis.call('TIME')
  local now, last = time[1] * 1000 + time[2] / 1000, tonumber(table.remove(ARGV))
  local first = tonumber(table.remove(ARGV))
  if now < first or now > last then return time end
end
