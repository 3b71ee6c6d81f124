-- Points in time are Unix milliseconds by the program's clock (bigint); secrets are SHA-256 hashes; what must be read
-- again (signing keys, mails) is sealed with the encryption key.

CREATE TABLE identity.declared (
  kind text NOT NULL,
  id text NOT NULL,
  checksum text NOT NULL,
  PRIMARY KEY (kind, id)
);

-- One space of names for users and clients: the subject of a token is never both (RFC 9068 section 5).
CREATE TABLE identity.subject (
  id text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('user', 'client')),
  plan text
);

CREATE TABLE identity.client (
  id text PRIMARY KEY REFERENCES identity.subject ON DELETE CASCADE,
  secret_hashes text[] NOT NULL,
  metadata jsonb NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

CREATE TABLE identity.account (
  id text PRIMARY KEY REFERENCES identity.subject ON DELETE CASCADE,
  username text NOT NULL UNIQUE,
  email text,
  email_verified boolean NOT NULL DEFAULT false,
  password_hash text,
  password_changed_at bigint NOT NULL,
  roles text[] NOT NULL,
  claims jsonb NOT NULL,
  locked_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX account_email_index ON identity.account (lower(email)) WHERE email IS NOT NULL;

CREATE TABLE identity.signing_key (
  kid text PRIMARY KEY,
  alg text NOT NULL,
  public_jwk jsonb NOT NULL,
  private_sealed text NOT NULL,
  created_at bigint NOT NULL,
  activates_at bigint NOT NULL,
  expires_at bigint
);

-- A browser that is signed in. The cookie's value is hashed; the public id is the claim sid.
CREATE TABLE identity.session (
  id uuid PRIMARY KEY,
  secret_hash text NOT NULL UNIQUE,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  auth_time bigint NOT NULL,
  amr text[] NOT NULL,
  user_agent text NOT NULL,
  address text NOT NULL,
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX session_user_index ON identity.session (user_id);
CREATE INDEX session_expiry_index ON identity.session (expires_at);

-- What a user allowed a client on one device. Exists from authorization on; everything issued under it names it.
CREATE TABLE identity.grant_record (
  id uuid PRIMARY KEY,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  session_id uuid,
  scopes text[] NOT NULL,
  resources text[] NOT NULL,
  claims jsonb NOT NULL,
  auth_time bigint NOT NULL,
  amr text[] NOT NULL,
  user_agent text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX grant_user_index ON identity.grant_record (user_id, client_id);
CREATE INDEX grant_client_index ON identity.grant_record (client_id);
CREATE INDEX grant_session_index ON identity.grant_record (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX grant_expiry_index ON identity.grant_record (expires_at);

CREATE TABLE identity.authorization_code (
  hash text PRIMARY KEY,
  grant_id uuid NOT NULL REFERENCES identity.grant_record ON DELETE CASCADE,
  client_id text NOT NULL,
  redirect_uri text NOT NULL,
  code_challenge text,
  nonce text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  consumed_at bigint
);
CREATE INDEX authorization_code_grant_index ON identity.authorization_code (grant_id);
CREATE INDEX authorization_code_expiry_index ON identity.authorization_code (expires_at);

-- One row for the refresh tokens of a grant, however often they are rotated: older tokens are known by their
-- signature and generation. Only columns without an index change, so that a rotation stays within its page.
CREATE TABLE identity.refresh_family (
  grant_id uuid PRIMARY KEY REFERENCES identity.grant_record ON DELETE CASCADE,
  generation integer NOT NULL,
  current_hash text NOT NULL,
  previous_hash text,
  successor_sealed text,
  rotated_at bigint NOT NULL,
  expires_at bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE identity.access_token (
  hash text PRIMARY KEY,
  grant_id uuid NOT NULL,
  client_id text NOT NULL,
  subject text NOT NULL,
  scopes text[] NOT NULL,
  audience text[] NOT NULL,
  roles text[] NOT NULL,
  issued_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX access_token_expiry_index ON identity.access_token (expires_at);

CREATE TABLE identity.device_code (
  hash text PRIMARY KEY,
  user_code_hash text NOT NULL UNIQUE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  scopes text[] NOT NULL,
  resources text[] NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'consumed')),
  claimed_by text,
  grant_id uuid REFERENCES identity.grant_record ON DELETE CASCADE,
  interval_ms integer NOT NULL,
  polled_at bigint,
  address text NOT NULL,
  user_agent text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX device_code_expiry_index ON identity.device_code (expires_at);
CREATE INDEX device_code_client_index ON identity.device_code (client_id);

CREATE TABLE identity.pushed_request (
  hash text PRIMARY KEY,
  client_id text NOT NULL,
  parameters jsonb NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX pushed_request_expiry_index ON identity.pushed_request (expires_at);

CREATE TABLE identity.consent (
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  scopes text[] NOT NULL,
  resources text[] NOT NULL,
  granted_at bigint NOT NULL,
  PRIMARY KEY (user_id, client_id)
);
CREATE INDEX consent_client_index ON identity.consent (client_id);

-- Client assertions, mailed links and whatever else may be used once: whoever inserts the row is the one.
CREATE TABLE identity.replay_cache (
  purpose text NOT NULL,
  hash text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (purpose, hash)
);
CREATE INDEX replay_cache_expiry_index ON identity.replay_cache (expires_at);

-- What resource servers must refuse although its signature still holds. The position follows the order of commits:
-- writers take the lock of the feed first.
CREATE TABLE identity.revocation (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  grant_id uuid,
  subject text,
  client_id text,
  before bigint,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX revocation_expiry_index ON identity.revocation (expires_at);
CREATE INDEX revocation_grant_index ON identity.revocation (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX revocation_subject_index ON identity.revocation (subject) WHERE subject IS NOT NULL;
CREATE INDEX revocation_client_index ON identity.revocation (client_id) WHERE client_id IS NOT NULL;

CREATE TABLE identity.api_key (
  id uuid PRIMARY KEY,
  hash text NOT NULL UNIQUE,
  owner text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  plan text,
  created_at bigint NOT NULL,
  expires_at bigint
);
CREATE INDEX api_key_owner_index ON identity.api_key (owner);

-- A link that was mailed: to verify an address, or to choose a new password.
CREATE TABLE identity.mailed_link (
  hash text PRIMARY KEY,
  purpose text NOT NULL CHECK (purpose IN ('verify', 'reset')),
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  email text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX mailed_link_user_index ON identity.mailed_link (user_id);
CREATE INDEX mailed_link_expiry_index ON identity.mailed_link (expires_at);

-- What is to be told to others after the commit: mails, recipients, logouts. Sealed, for it holds links and addresses.
CREATE TABLE identity.outbox (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  subject text NOT NULL,
  payload_sealed text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX outbox_due_index ON identity.outbox (due_at);

CREATE TABLE identity.audit_event (
  id uuid PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  actor text,
  subject text,
  client_id text,
  address text,
  request_id text,
  details jsonb NOT NULL
);
CREATE INDEX audit_event_at_index ON identity.audit_event (at, id);
CREATE INDEX audit_event_subject_index ON identity.audit_event (subject, at) WHERE subject IS NOT NULL;
