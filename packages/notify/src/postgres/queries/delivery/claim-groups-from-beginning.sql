-- Every group with its first row: a loose scan from the beginning of the index to its end. Part of claim.sql.

present AS (
  (SELECT priority, event, due_at, delivery_id
     FROM notify.delivery_queue WHERE bucket = $1 AND channel = $2 ORDER BY priority, event, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM present p CROSS JOIN LATERAL (
    SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
     WHERE w.bucket = $1 AND w.channel = $2 AND (w.priority, w.event) > (p.priority, p.event)
     ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1) AS next
)
