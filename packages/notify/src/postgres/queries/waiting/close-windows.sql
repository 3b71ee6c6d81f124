-- Closes the windows that are due; a closed one whose flusher died is found again when its lease ends. The ids of the closed
-- windows are left in the settings `notify.closed` and `notify.summed` for the statements that follow in the transaction.
-- $1 bucket int
-- $2 limit int: in a subquery, so that a planner without statistics walks the index instead of sorting all that waits
-- $3 lease_ms int
-- $4 now timestamptz

WITH due AS MATERIALIZED (
  SELECT id FROM notify.pending_window
   WHERE bucket = $1 AND flush_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY flush_at LIMIT (SELECT $2::integer) FOR UPDATE SKIP LOCKED
), closed AS (
  UPDATE notify.pending_window w SET state = 'closed', lease_until = now() + $3::integer * interval '1 millisecond'
   WHERE w.bucket = $1 AND w.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING w.id, w.user_id, w.event, w.individual
), named AS MATERIALIZED (
  SELECT set_config('notify.closed', coalesce(array_agg(id)::text, ''), true),
         set_config('notify.summed', coalesce(array_agg(id) FILTER (WHERE NOT individual)::text, ''), true) FROM closed
)
SELECT c.id, c.user_id, c.event FROM closed c CROSS JOIN named
