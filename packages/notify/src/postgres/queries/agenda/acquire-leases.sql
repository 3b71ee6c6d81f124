-- Acquires leases that are as they were read, and whose owner, if any, is gone. Locked in order, so that two processes that
-- acquire the same ones wait for one another and not in a circle.
-- $1 process uuid
-- $2 buckets smallint[]
-- $3 fences bigint[]: of the buckets, as they were read

WITH free AS MATERIALIZED (
  SELECT l.bucket FROM notify.bucket_lease l JOIN unnest($2::smallint[], $3::bigint[]) AS w (bucket, fence)
      ON l.bucket = w.bucket AND l.fence = w.fence
   WHERE NOT EXISTS (SELECT FROM notify.worker_process p WHERE p.id = l.owner)
   ORDER BY l.bucket FOR UPDATE OF l
)
UPDATE notify.bucket_lease l SET owner = $1, fence = l.fence + 1 FROM free
 WHERE l.bucket = free.bucket AND EXISTS (SELECT FROM notify.worker_process p WHERE p.id = $1 AND p.expires_at > now())
RETURNING l.bucket, l.owner, l.fence
