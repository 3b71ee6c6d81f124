-- Claims deferred deliveries that are due, with their notifications.
-- $1 bucket int
-- $2 limit int: in a subquery, so that a planner without statistics walks the index instead of sorting all that waits
-- $3 lease_ms int
-- $4 now timestamptz

WITH due AS MATERIALIZED (
  SELECT id FROM notify.deferred
   WHERE bucket = $1 AND resume_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY resume_at LIMIT (SELECT $2::integer) FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE notify.deferred d SET lease_until = now() + $3::integer * interval '1 millisecond'
   WHERE d.bucket = $1 AND d.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING d.id, d.notification_id, d.user_id, d.channels, d.reason
)
SELECT c.id, c.notification_id, c.user_id, c.channels, c.reason,
       n.event, n.data, n.dedup_key, n.requested, n.sensitive, n.accepted_at, n.expires_at
  FROM claimed c CROSS JOIN LATERAL (
    SELECT * FROM notify.notification WHERE bucket = $1 AND id = c.notification_id LIMIT 1) AS n
 ORDER BY c.id
