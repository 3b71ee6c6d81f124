-- Every part of a group that is marked or has a row, with its first row, if any: marked ones are read from their marks on,
-- the others are found by loose scans between those. (A row comparison with < does not end a scan where its two sides are
-- equal.) Part of claim.sql.
-- $10 buckets smallint[]: of the marks
-- $11 priorities smallint[]
-- $12 events text[]
-- $13 due_at timestamptz[]
-- $14 delivery_ids uuid[]

marked AS MATERIALIZED (
  SELECT * FROM unnest($10::smallint[], $11::smallint[], $12::text[], $13::timestamptz[], $14::uuid[])
         AS m (bucket, priority, event, due_at, delivery_id)
), gaps AS MATERIALIZED (
  SELECT bucket, priority, event, lead(event) OVER (PARTITION BY bucket, priority ORDER BY event) AS to_event
    FROM (SELECT bucket, priority, event FROM marked
          UNION ALL SELECT v.bucket, r.priority, '' FROM visited v CROSS JOIN rules r) AS places
), unmarked AS (
  SELECT g.bucket, next.*, g.to_event FROM gaps g CROSS JOIN LATERAL (
    (SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
      WHERE w.bucket = g.bucket AND w.channel = $2 AND w.priority = g.priority
        AND w.event > g.event AND w.event < g.to_event
      ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1)
    UNION ALL
    (SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
      WHERE w.bucket = g.bucket AND w.channel = $2 AND w.priority = g.priority
        AND w.event > g.event AND g.to_event IS NULL
      ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1)) AS next
  UNION ALL
  SELECT u.bucket, next.*, u.to_event FROM unmarked u CROSS JOIN LATERAL (
    (SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
      WHERE w.bucket = u.bucket AND w.channel = $2 AND w.priority = u.priority
        AND w.event > u.event AND w.event < u.to_event
      ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1)
    UNION ALL
    (SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
      WHERE w.bucket = u.bucket AND w.channel = $2 AND w.priority = u.priority
        AND w.event > u.event AND u.to_event IS NULL
      ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1)) AS next
), present AS MATERIALIZED (
  SELECT bucket, priority, event, due_at, delivery_id FROM unmarked
  UNION ALL
  SELECT m.bucket, m.priority, m.event, first.due_at, first.delivery_id FROM marked m LEFT JOIN LATERAL (
    SELECT w.due_at, w.delivery_id FROM notify.delivery_queue w
     WHERE w.bucket = m.bucket AND w.channel = $2 AND w.priority = m.priority AND w.event = m.event
       AND (w.due_at, w.delivery_id) >= (m.due_at, m.delivery_id)
     ORDER BY w.due_at, w.delivery_id LIMIT 1) AS first ON true
)
