-- Events of the topic that came over their type's rate, in the order of their stream, each once.
CREATE TABLE notify.parked (
  bucket smallint NOT NULL,
  key text,
  user_id text NOT NULL,
  event text NOT NULL,
  place bigint NOT NULL,
  payload jsonb NOT NULL,
  PRIMARY KEY (bucket, key)
);
CREATE INDEX parked_turn ON notify.parked (bucket, event, place);
CREATE INDEX parked_user ON notify.parked (bucket, user_id);

ALTER TABLE notify.scheduled ADD COLUMN source text NOT NULL DEFAULT 'schedule';
