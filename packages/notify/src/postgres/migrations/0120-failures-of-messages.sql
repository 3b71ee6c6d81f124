-- How often a message of the topic failed by its own fault; rows leave a week after the last failure.
CREATE TABLE notify.topic_failure (
  bucket smallint NOT NULL,
  key text,
  attempts integer NOT NULL,
  dead boolean NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (bucket, key)
);
CREATE INDEX topic_failure_at ON notify.topic_failure (bucket, at);

-- The same for what is scheduled, parked or replayed.
ALTER TABLE notify.scheduled ADD COLUMN failures integer NOT NULL DEFAULT 0;
