-- Every part of a group with its first row: a loose scan of each bucket from its beginning to its end. Part of claim.sql.

present AS (
  SELECT v.bucket, first.* FROM visited v CROSS JOIN LATERAL (
    SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
     WHERE w.bucket = v.bucket AND w.channel = $2
     ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1) AS first
  UNION ALL
  SELECT p.bucket, next.* FROM present p CROSS JOIN LATERAL (
    SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
     WHERE w.bucket = p.bucket AND w.channel = $2 AND (w.priority, w.event) > (p.priority, p.event)
     ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1) AS next
)
