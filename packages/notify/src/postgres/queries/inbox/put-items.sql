-- Adds items to inboxes that are locked, and counts them; an item that is there already stays as it is.
-- $1 buckets smallint[]
-- $2 user_ids text[]
-- $3 ids uuid[]
-- $4 events text[]
-- $5 subjects text[]
-- $6 bodies text[]
-- $7 created_at timestamptz[]

WITH fresh AS MATERIALIZED (
  SELECT n.bucket, n.user_id, n.id, n.event, n.subject, n.body, n.created_at,
         c.sequence + row_number() OVER (PARTITION BY n.user_id ORDER BY n.place) AS number
    FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
         WITH ORDINALITY AS n (bucket, user_id, id, event, subject, body, created_at, place)
   CROSS JOIN LATERAL (
     SELECT c.sequence FROM notify.inbox_count c WHERE c.bucket = n.bucket AND c.user_id = n.user_id LIMIT 1) AS c
   WHERE NOT EXISTS (SELECT FROM notify.inbox i WHERE i.bucket = n.bucket AND i.user_id = n.user_id AND i.id = n.id)
), put AS (
  INSERT INTO notify.inbox (bucket, user_id, id, event, subject, body, created_at, position, changed)
  SELECT bucket, user_id, id, event, subject, body, created_at, number, number FROM fresh
)
UPDATE notify.inbox_count c
   SET sequence = f.last, total = c.total + f.new, unseen = c.unseen + f.new, unread = c.unread + f.new
  FROM (SELECT bucket, user_id, max(number) AS last, count(*) AS new FROM fresh GROUP BY bucket, user_id) AS f
 WHERE c.bucket = f.bucket AND c.user_id = f.user_id
