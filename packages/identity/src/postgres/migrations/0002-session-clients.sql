-- Which clients were used in a session: kept as long as the session is, for its end is told to them. Grants go earlier.
CREATE TABLE identity.session_client (
  session_id uuid NOT NULL REFERENCES identity.session ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  PRIMARY KEY (session_id, client_id)
);
CREATE INDEX session_client_client_index ON identity.session_client (client_id);
INSERT INTO identity.session_client (session_id, client_id)
  SELECT DISTINCT session_id, client_id FROM identity.grant_record JOIN identity.session ON session.id = session_id;

-- Messages are delivered in lanes by kind, so that one kind never waits behind another.
DROP INDEX identity.outbox_due_index;
CREATE INDEX outbox_due_index ON identity.outbox (kind, due_at);
