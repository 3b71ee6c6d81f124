-- Creates or updates an account. Without a password hash ($5) an existing account keeps its password, and a new one starts
-- with $9.
INSERT INTO identity.account (id, username, email, email_verified, password_hash, password_changed_at, roles, claims,
  created_at, updated_at)
VALUES ($1, $2, $3, $4, coalesce($5::text, $9::text), $6, $7, $8, $6, $6)
ON CONFLICT (id) DO UPDATE
   SET username = excluded.username, email = excluded.email, email_verified = excluded.email_verified,
       roles = excluded.roles, claims = excluded.claims, updated_at = excluded.updated_at,
       password_hash = coalesce($5, identity.account.password_hash),
       password_changed_at = CASE WHEN $5::text IS NULL THEN identity.account.password_changed_at ELSE $6 END
RETURNING xmax = 0 AS created
