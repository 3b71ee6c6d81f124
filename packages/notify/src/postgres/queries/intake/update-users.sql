-- Stores the counters of users under a new version, if nobody wrote their dedup log since it was read. True if all were as
-- they had been read. They are met by their key as `keyOf` has it: so they are locked in the order of the parameters, by
-- the update itself, where locking them first would write each of them twice.
-- $1 buckets smallint[]
-- $2 user_ids text[]
-- $3 counters text[]: JSON
-- $4 versions uuid[]: as they were read
-- $5 version uuid: the new one
-- $6 count int: the number of users

WITH changed AS (
  UPDATE notify.cap c SET counters = u.counters::jsonb, version = $5::uuid
    FROM unnest($1::smallint[], $2::text[], $3::text[], $4::uuid[]) AS u (bucket, user_id, counters, version)
   WHERE c.bucket = ANY (ARRAY[u.bucket]) AND c.user_id = ANY (ARRAY[u.user_id]) AND c.version = u.version
  RETURNING 1
) SELECT count(*) = $6::integer FROM changed
