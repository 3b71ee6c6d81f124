-- Stores a link in place of the user's earlier one for the same purpose, if it still matches the account. The lock makes a
-- transaction that changes the account wait, so that it deletes this link as well.
WITH l AS (
  SELECT $1::text AS hash, $2::text AS purpose, $3::text AS user_id, $4::text AS email,
         $5::uuid AS credential_version, $6::bigint AS expires_at
), matching AS (
  SELECT a.id
    FROM identity.account a
    JOIN l ON a.id = l.user_id AND lower(a.email) = lower(l.email)
     AND (l.credential_version IS NULL OR (l.credential_version = a.credential_version AND a.locked_at IS NULL))
     FOR SHARE OF a
)
INSERT INTO identity.mailed_link (hash, purpose, user_id, email, credential_version, expires_at)
SELECT l.hash, l.purpose, l.user_id, l.email, l.credential_version, l.expires_at
  FROM l JOIN matching ON matching.id = l.user_id
ON CONFLICT (user_id, purpose) DO UPDATE
   SET hash = excluded.hash, email = excluded.email, credential_version = excluded.credential_version,
       expires_at = excluded.expires_at
