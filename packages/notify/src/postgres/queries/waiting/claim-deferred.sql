-- Claims deferred deliveries that are due, bucket by bucket, with their notifications.
-- $1 buckets smallint[]
-- $2 limit int: in a subquery, so that a planner without statistics walks the index instead of sorting all that waits
-- $3 lease_ms int
-- $4 now timestamptz

WITH due AS MATERIALIZED (
  SELECT first.bucket, first.id FROM unnest($1::smallint[]) AS b (bucket) CROSS JOIN LATERAL (
    SELECT d.bucket, d.id FROM notify.deferred d
     WHERE d.bucket = b.bucket AND d.resume_at <= $4 AND (d.lease_until IS NULL OR d.lease_until < now())
     ORDER BY d.resume_at LIMIT (SELECT $2::integer) FOR NO KEY UPDATE SKIP LOCKED) AS first
   LIMIT (SELECT $2::integer)
), claimed AS (
  UPDATE notify.deferred d SET lease_until = now() + $3::integer * interval '1 millisecond'
    FROM due WHERE d.bucket = due.bucket AND d.id = due.id
  RETURNING d.bucket, d.id, d.notification_id, d.user_id, d.channels, d.reason, d.letter
)
SELECT c.bucket, c.id, c.notification_id, c.user_id, c.channels, c.reason, c.letter,
       n.event, n.data, n.dedup_key, n.requested, n.sensitive, n.accepted_at, n.expires_at
  FROM claimed c CROSS JOIN LATERAL (
    SELECT * FROM notify.notification WHERE bucket = c.bucket AND id = c.notification_id LIMIT 1) AS n
 ORDER BY c.id
