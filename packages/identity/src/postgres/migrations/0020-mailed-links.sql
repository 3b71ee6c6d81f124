-- Changes whenever the password is set or the account is locked: what was verified before that does not count any more.
-- It is random, so that an account made again under the same id never has the version of the one before.
ALTER TABLE identity.account ADD COLUMN credential_version uuid NOT NULL DEFAULT gen_random_uuid();

-- A mailed link works for the address and, where it lets somebody in, for the credentials that it was made for. One of a
-- kind per account; kinds are listed in the program.
DELETE FROM identity.mailed_link;
DROP INDEX identity.mailed_link_user_index;
ALTER TABLE identity.mailed_link ADD COLUMN credential_version uuid, DROP CONSTRAINT mailed_link_purpose_check;
CREATE UNIQUE INDEX mailed_link_user_index ON identity.mailed_link (user_id, purpose);

-- Somebody asked for an account with this address: the link that was mailed there is the only way on. The row goes when
-- the link is used, when the address gets an account otherwise, and when such an account is deleted.
CREATE TABLE identity.registration (
  hash text PRIMARY KEY,
  user_id text NOT NULL,
  email text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE UNIQUE INDEX registration_email_index ON identity.registration (lower(email));
CREATE INDEX registration_expiry_index ON identity.registration (expires_at);
