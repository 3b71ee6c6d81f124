-- Examines up to $4 grants that expired before $3, from position ($1, $2) in order of expiry, and deletes those without
-- refresh tokens. Returns how many it examined and deleted, and the last position.
WITH examined AS MATERIALIZED (
  SELECT id, expires_at FROM identity.grant_record
   WHERE (expires_at, id) > ($1, $2::uuid) AND expires_at < $3
   ORDER BY expires_at, id LIMIT $4
), deleted AS (
  DELETE FROM identity.grant_record g USING examined
   WHERE g.id = examined.id AND NOT EXISTS (SELECT FROM identity.refresh_family f WHERE f.grant_id = g.id)
  RETURNING g.id
)
SELECT count(*) AS examined, (SELECT count(*) FROM deleted) AS deleted, max(expires_at) AS last_expiry,
       (array_agg(id ORDER BY expires_at DESC, id DESC))[1] AS last_id
  FROM examined
