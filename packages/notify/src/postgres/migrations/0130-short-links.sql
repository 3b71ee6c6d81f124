-- Links of SMS, pushes and in-app items that lead through us. An id names its bucket by its remainder.
CREATE TABLE notify.short_link (
  bucket smallint NOT NULL,
  id text COLLATE "C",
  delivery_id uuid NOT NULL,
  user_id text NOT NULL,
  target text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX short_link_user ON notify.short_link (bucket, user_id);
CREATE INDEX short_link_expires_at ON notify.short_link (bucket, expires_at);
