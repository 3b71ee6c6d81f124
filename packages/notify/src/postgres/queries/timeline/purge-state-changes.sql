-- Removes the oldest rows of state changes, and records up to where. Starts behind what was removed before, so that it
-- never reads over removed rows; one row that is not old is enough to know that nothing is. A row has the number of its
-- last change: what is removed reaches up to the last old row, and not up to the next one.
-- $1 before timestamptz: what was recorded then or later stays
-- $2 only_published bool: keep what the stream has not published
-- $3 limit int: rows, which are of many changes each

WITH begin AS MATERIALIZED (
  SELECT sequence FROM notify.state_change_position WHERE name = 'removed'
), old AS MATERIALIZED (
  SELECT c.sequence, c.recorded_at FROM notify.state_change c
   WHERE c.sequence > (SELECT sequence FROM begin)
     AND (NOT $2::boolean
          OR c.sequence <= (SELECT sequence FROM notify.state_change_position WHERE name = 'published'))
   ORDER BY c.sequence LIMIT $3
), reach AS MATERIALIZED (
  SELECT max(sequence) AS through FROM old
   WHERE NOT EXISTS (SELECT FROM old young WHERE young.sequence <= old.sequence AND young.recorded_at >= $1::timestamptz)
), gone AS (
  DELETE FROM notify.state_change c
   WHERE c.sequence > (SELECT sequence FROM begin) AND c.sequence <= (SELECT through FROM reach) RETURNING 1
), moved AS (
  UPDATE notify.state_change_position p SET sequence = r.through FROM reach r
   WHERE p.name = 'removed' AND r.through > p.sequence RETURNING 1
)
SELECT count(*) AS removed FROM gone
