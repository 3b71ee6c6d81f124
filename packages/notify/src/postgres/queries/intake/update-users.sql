-- Locks users in their order, if nobody wrote their dedup log since it was read, and stores their counters under a new version.
-- True if all were as they had been read.
-- $1 bucket smallint
-- $2 user_ids text[]
-- $3 counters text[]: JSON
-- $4 versions uuid[]: as they were read
-- $5 version uuid: the new one
-- $6 count int: the number of users

WITH locked AS MATERIALIZED (
  SELECT u.user_id, u.counters FROM unnest($2::text[], $3::text[], $4::uuid[]) WITH ORDINALITY
         AS u (user_id, counters, version, place)
   CROSS JOIN LATERAL (
     SELECT c.version FROM notify.cap c WHERE c.bucket = $1::smallint AND c.user_id = u.user_id
      LIMIT 1 FOR UPDATE) AS found
   WHERE found.version = u.version
), changed AS (
  UPDATE notify.cap c SET counters = l.counters::jsonb, version = $5::uuid FROM locked l
   WHERE c.bucket = $1::smallint AND c.user_id = ANY (ARRAY(SELECT unnest($2::text[]))) AND c.user_id = l.user_id RETURNING 1
) SELECT count(*) = $6::integer FROM changed
