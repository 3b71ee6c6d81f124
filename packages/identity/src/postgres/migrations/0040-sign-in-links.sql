-- A sign-in whose password was right and that is confirmed by a mailed link, in the browser that it began in. The link works
-- while the account has the address and the credentials that it was made for.
CREATE TABLE identity.sign_in_link (
  hash text PRIMARY KEY,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  email text NOT NULL,
  credential_version uuid NOT NULL,
  browser_hash text NOT NULL,
  -- Sealed: what the browser goes on with.
  continuation text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sign_in_link_user_index ON identity.sign_in_link (user_id);
CREATE INDEX sign_in_link_expiry_index ON identity.sign_in_link (expires_at);
