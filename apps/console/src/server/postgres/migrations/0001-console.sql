-- Signed-in browsers of the console. Rows end with the session: idle 30 minutes, 12 hours at most, 20 for each user.
CREATE TABLE console.session (
  -- SHA-256 of the id that the cookie holds.
  id_hash text PRIMARY KEY,
  user_id text NOT NULL,
  provider_session_id text NOT NULL,
  tokens_sealed text NOT NULL,
  tokens_expire_at bigint NOT NULL,
  generation integer NOT NULL,
  -- Until when one process may refresh the tokens.
  refresh_until bigint,
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL
);
CREATE INDEX session_user_index ON console.session (user_id, created_at);
CREATE INDEX session_provider_index ON console.session (provider_session_id);
CREATE INDEX session_seen_index ON console.session (seen_at);

-- Documents in frames of the pages: rendered mails. Rows end after a minute, 32 for each session, and with it.
CREATE TABLE console.preview (
  -- SHA-256 of the id in the address.
  id_hash text PRIMARY KEY,
  session_id_hash text NOT NULL REFERENCES console.session ON DELETE CASCADE,
  document text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX preview_session_index ON console.preview (session_id_hash, expires_at);
CREATE INDEX preview_expires_index ON console.preview (expires_at);

-- Filters of a screen that a person saved under a name; 50 for each person.
CREATE TABLE console.saved_view (
  user_id text NOT NULL,
  screen text NOT NULL,
  name text NOT NULL,
  id text NOT NULL,
  filters jsonb NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (user_id, screen, name)
);
