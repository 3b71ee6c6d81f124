-- A signing key that is compromised: resource servers must refuse whatever it signed.
ALTER TABLE identity.revocation ADD COLUMN key_id text;
