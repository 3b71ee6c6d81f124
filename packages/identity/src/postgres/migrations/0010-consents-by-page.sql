-- A consent is what one page named: scopes, resources and claims. A request passes without a question where one page
-- named all that it asks for, so pages are kept apart; the digest of what it named tells a page from the others.
-- What was remembered before ran several pages together and knew no claims: users are asked once more.
DELETE FROM identity.consent;
ALTER TABLE identity.consent
  DROP CONSTRAINT consent_pkey,
  ADD COLUMN digest text NOT NULL,
  ADD COLUMN claims text[] NOT NULL,
  ADD PRIMARY KEY (user_id, client_id, digest);
