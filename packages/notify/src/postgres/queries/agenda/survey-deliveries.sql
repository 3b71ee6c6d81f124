-- When something of a bucket's delivery queue is due first, for each channel: a loose scan over its groups, each the rows of
-- one priority and event type. Of a channel that has something due now the other groups are passed over. Part of the survey.
-- $1 now timestamptz
-- {bucket} the bucket
-- {front} the first time at which something of the group `g` is due

WITH RECURSIVE fronts AS (
  SELECT g.channel, g.priority, g.event, front.due_at FROM (
    SELECT w.channel, w.priority, w.event FROM notify.delivery_queue w
     WHERE w.bucket = {bucket} ORDER BY w.channel, w.priority, w.event LIMIT 1) AS g
   CROSS JOIN LATERAL ({front}) AS front
  UNION ALL
  SELECT g.channel, g.priority, g.event, front.due_at FROM fronts f CROSS JOIN LATERAL (
    SELECT w.channel, w.priority, w.event FROM notify.delivery_queue w
     WHERE w.bucket = {bucket} AND (w.channel, w.priority, w.event)
           > (f.channel, CASE WHEN f.due_at <= $1 THEN 32767::smallint ELSE f.priority END, f.event)
     ORDER BY w.channel, w.priority, w.event LIMIT 1) AS g
   CROSS JOIN LATERAL ({front}) AS front
)
SELECT 'deliver ' || channel AS kind, min(due_at) AS due_at FROM fronts GROUP BY channel
