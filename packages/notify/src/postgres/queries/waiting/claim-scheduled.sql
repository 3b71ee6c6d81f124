-- Claims scheduled events that are due.
-- $1 bucket int
-- $2 limit int: in a subquery, so that a planner without statistics walks the index instead of sorting all that waits
-- $3 lease_ms int
-- $4 now timestamptz

WITH due AS MATERIALIZED (
  SELECT id FROM notify.scheduled
   WHERE bucket = $1 AND fire_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY fire_at LIMIT (SELECT $2::integer) FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE notify.scheduled s SET lease_until = now() + $3::integer * interval '1 millisecond'
   WHERE s.bucket = $1 AND s.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING s.id, s.fire_at, s.payload, s.source, s.occurred_at
)
SELECT id, fire_at, payload, source, occurred_at FROM claimed ORDER BY fire_at
