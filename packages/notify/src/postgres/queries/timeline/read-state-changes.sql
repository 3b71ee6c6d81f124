-- State changes after a number, and where the log begins and ends: one statement, and so one snapshot.
-- $1 after bigint
-- $2 scan int: numbers that are looked at; what had one may be erased
-- $3 limit int: changes that are returned
-- $4 event text or null for any
-- $5 state text or null for any
-- $6 channel_digit text or null for any: of the delivery's id

WITH position AS (
  SELECT max(sequence) FILTER (WHERE name = 'last') AS last,
         max(sequence) FILTER (WHERE name = 'removed') AS removed,
         max(sequence) FILTER (WHERE name = 'published') AS published
    FROM notify.state_change_position
), looked AS MATERIALIZED (
  SELECT after, least(after + $2::integer, last) AS through
    FROM (SELECT greatest($1::bigint, removed) AS after, last FROM position) AS p
), batches AS MATERIALIZED (
  -- the rows from the one with the first of these numbers to the one with the last; the number before each is found here
  -- once, because each look at a large array unpacks all of it
  SELECT c.sequence - cardinality(c.changes) AS before, c.changes
    FROM looked l
    JOIN notify.state_change c
      ON c.sequence > l.after
     AND c.sequence <= coalesce((SELECT min(sequence) FROM notify.state_change WHERE sequence >= l.through), l.through)
), scanned AS MATERIALIZED (
  SELECT b.before + e.place AS sequence, e.id, e.delivery_id, e.at, e.user_id, e.event, e.state, e.ended
    FROM looked l CROSS JOIN batches b
   CROSS JOIN LATERAL unnest(b.changes) WITH ORDINALITY AS e (id, delivery_id, at, user_id, event, state, ended, place)
   WHERE b.before + e.place > l.after AND b.before + e.place <= l.through
), matching AS (
  SELECT * FROM scanned
   WHERE id IS NOT NULL AND ($4::text IS NULL OR event = $4) AND ($5::text IS NULL OR state = $5)
     AND ($6::text IS NULL OR substr(delivery_id::text, 32, 1) = $6)
   ORDER BY sequence LIMIT $3
)
SELECT p.last, p.removed, p.published, l.through, m.sequence, m.id,
       m.delivery_id, m.at, m.user_id, m.event, m.state, m.ended
  FROM position p CROSS JOIN looked l
  LEFT JOIN matching m ON true ORDER BY m.sequence
