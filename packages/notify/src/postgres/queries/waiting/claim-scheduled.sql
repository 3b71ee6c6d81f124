-- Claims scheduled events that are due, bucket by bucket.
-- $1 buckets smallint[]
-- $2 limit int: in a subquery, so that a planner without statistics walks the index instead of sorting all that waits
-- $3 lease_ms int
-- $4 now timestamptz

WITH due AS MATERIALIZED (
  SELECT first.bucket, first.id FROM unnest($1::smallint[]) AS b (bucket) CROSS JOIN LATERAL (
    SELECT s.bucket, s.id FROM notify.scheduled s
     WHERE s.bucket = b.bucket AND s.fire_at <= $4 AND (s.lease_until IS NULL OR s.lease_until < now())
     ORDER BY s.fire_at LIMIT (SELECT $2::integer) FOR UPDATE SKIP LOCKED) AS first
   LIMIT (SELECT $2::integer)
), claimed AS (
  UPDATE notify.scheduled s SET lease_until = now() + $3::integer * interval '1 millisecond'
    FROM due WHERE s.bucket = due.bucket AND s.id = due.id
  RETURNING s.bucket, s.id, s.fire_at, s.payload, s.source, s.occurred_at
)
SELECT bucket, id, fire_at, payload, source, occurred_at FROM claimed ORDER BY fire_at
