-- One row a user: whoever changes the user's inbox takes its lock first, so numbers are seen in the order they were given.
CREATE TABLE notify.inbox_count (
  bucket smallint NOT NULL,
  user_id text,
  -- the number of the last change
  sequence bigint NOT NULL DEFAULT 0,
  total integer NOT NULL DEFAULT 0,
  unseen integer NOT NULL DEFAULT 0,
  unread integer NOT NULL DEFAULT 0,
  PRIMARY KEY (bucket, user_id)
) WITH (fillfactor = 70);

-- `position` is the number an item arrived under, `changed` that of its last change.
ALTER TABLE notify.inbox
  ADD COLUMN seen_at timestamptz,
  ADD COLUMN archived_at timestamptz,
  ADD COLUMN position bigint,
  ADD COLUMN changed bigint;

UPDATE notify.inbox i SET position = n.place, changed = n.place, seen_at = i.read_at
  FROM (SELECT bucket, user_id, id, row_number() OVER (PARTITION BY bucket, user_id ORDER BY created_at, id) AS place
          FROM notify.inbox) AS n
 WHERE (i.bucket, i.user_id, i.id) = (n.bucket, n.user_id, n.id);

INSERT INTO notify.inbox_count (bucket, user_id, sequence, total, unseen, unread)
SELECT bucket, user_id, max(position), count(*), count(*) FILTER (WHERE seen_at IS NULL),
       count(*) FILTER (WHERE read_at IS NULL)
  FROM notify.inbox GROUP BY bucket, user_id;

ALTER TABLE notify.inbox ALTER COLUMN position SET NOT NULL, ALTER COLUMN changed SET NOT NULL;

CREATE INDEX inbox_feed ON notify.inbox (bucket, user_id, position);
CREATE INDEX inbox_unread ON notify.inbox (bucket, user_id, position) WHERE read_at IS NULL AND archived_at IS NULL;
CREATE INDEX inbox_changed ON notify.inbox (bucket, user_id, changed);
CREATE INDEX inbox_created_at ON notify.inbox USING brin (created_at);
