-- Removes items from inboxes that are locked, and takes them off the counts.
-- $1 bucket int
-- $2 user_ids text[]
-- $3 ids uuid[]

WITH removed AS (
  DELETE FROM notify.inbox i USING unnest($2::text[], $3::uuid[]) AS o (user_id, id)
   WHERE i.bucket = $1 AND i.user_id = o.user_id AND i.id = o.id
  RETURNING i.user_id, i.seen_at, i.read_at, i.archived_at
), counted AS (
  UPDATE notify.inbox_count c
     SET sequence = c.sequence + 1, total = c.total - g.total, unseen = c.unseen - g.unseen, unread = c.unread - g.unread
    FROM (SELECT user_id, count(*) AS total, count(*) FILTER (WHERE seen_at IS NULL) AS unseen,
                 count(*) FILTER (WHERE read_at IS NULL) AS unread
            FROM removed WHERE archived_at IS NULL GROUP BY user_id) AS g
   WHERE c.bucket = $1 AND c.user_id = g.user_id
) SELECT FROM removed
