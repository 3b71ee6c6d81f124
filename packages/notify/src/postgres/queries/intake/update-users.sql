-- Locks users in their order, if nobody wrote their dedup log since it was read, and stores their counters under a new version.
-- True if all were as they had been read.
-- $1 buckets smallint[]
-- $2 user_ids text[]
-- $3 counters text[]: JSON
-- $4 versions uuid[]: as they were read
-- $5 version uuid: the new one
-- $6 count int: the number of users

WITH locked AS MATERIALIZED (
  SELECT c.bucket, u.user_id, u.counters
    FROM unnest($1::smallint[], $2::text[], $3::text[], $4::uuid[]) WITH ORDINALITY
         AS u (bucket, user_id, counters, version, place)
   CROSS JOIN LATERAL (
     SELECT k.bucket, k.version FROM notify.cap k WHERE k.bucket = u.bucket AND k.user_id = u.user_id
      LIMIT 1 FOR UPDATE) AS c
   WHERE c.version = u.version
), changed AS (
  UPDATE notify.cap c SET counters = l.counters::jsonb, version = $5::uuid FROM locked l
   WHERE c.bucket = l.bucket AND c.user_id = l.user_id RETURNING 1
) SELECT count(*) = $6::integer FROM changed
