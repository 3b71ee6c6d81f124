-- Records the poll of device code $1 at $2 and returns the request as it was before. A poll that comes too early adds $3
-- milliseconds to the interval (RFC 8628 section 3.5).
WITH before AS (
  SELECT * FROM identity.device_code WHERE hash = $1 FOR UPDATE
), polled AS (
  UPDATE identity.device_code d
     SET polled_at = $2,
         interval_ms = d.interval_ms + CASE WHEN $2 < before.polled_at + before.interval_ms THEN $3::integer ELSE 0 END
    FROM before WHERE d.hash = before.hash
)
SELECT d.hash, d.user_code_hash, d.client_id, d.scopes, d.resources, d.state, d.claimed_by, d.grant_id, d.interval_ms,
       d.polled_at, d.address, d.user_agent, d.organization_id, d.created_at, d.expires_at
  FROM before d
