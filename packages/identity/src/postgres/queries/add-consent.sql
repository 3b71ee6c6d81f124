-- Stores what user $1 allowed client $2 on one page ($3 is the digest of $4 scopes, $5 resources, $6 claims) at $7, in
-- place of pages that covered less. The locks make a transaction that ends session $8 wait; an ended session adds nothing.
WITH locked AS MATERIALIZED (
  SELECT n.user_id
    FROM identity.account a JOIN identity.session n ON n.user_id = a.id
   WHERE n.id = $8 AND a.id = $1
     FOR SHARE OF a FOR KEY SHARE OF n
), narrower AS (
  DELETE FROM identity.consent
   WHERE user_id IN (SELECT user_id FROM locked) AND client_id = $2 AND digest <> $3
     AND scopes <@ $4 AND resources <@ $5 AND claims <@ $6
)
INSERT INTO identity.consent (user_id, client_id, digest, scopes, resources, claims, granted_at)
SELECT user_id, $2, $3, $4, $5, $6, $7 FROM locked
ON CONFLICT (user_id, client_id, digest) DO UPDATE SET granted_at = excluded.granted_at
