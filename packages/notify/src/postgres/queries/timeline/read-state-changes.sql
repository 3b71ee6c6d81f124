-- State changes after a number, and where the log begins and ends: one statement, and so one snapshot.
-- $1 after bigint
-- $2 scan int: changes that are looked at
-- $3 limit int: changes that are returned
-- $4 event text or null for any
-- $5 state text or null for any
-- $6 channel_digit text or null for any: of the delivery's id

WITH position AS (
  SELECT max(sequence) FILTER (WHERE name = 'last') AS last,
         max(sequence) FILTER (WHERE name = 'removed') AS removed,
         max(sequence) FILTER (WHERE name = 'published') AS published
    FROM notify.state_change_position
), scanned AS MATERIALIZED (
  SELECT sequence, id, delivery_id, at, user_id, event, state, ended FROM notify.state_change WHERE sequence > $1 ORDER BY sequence LIMIT $2
), matching AS (
  SELECT * FROM scanned
   WHERE ($4::text IS NULL OR event = $4) AND ($5::text IS NULL OR state = $5)
     AND ($6::text IS NULL OR substr(delivery_id::text, 32, 1) = $6)
   ORDER BY sequence LIMIT $3
)
SELECT p.last, p.removed, p.published, s.count AS scanned, s.through, m.sequence, m.id,
       m.delivery_id, m.at, m.user_id, m.event, m.state, m.ended
  FROM position p CROSS JOIN (SELECT count(*) AS count, max(sequence) AS through FROM scanned) s
  LEFT JOIN matching m ON true ORDER BY m.sequence
