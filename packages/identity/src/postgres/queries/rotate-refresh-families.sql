-- Rotates many families at once, each on its own merits. Locks every family whose grant is not revoked, everywhere in the
-- same order, and rotates those whose current token was presented. A revocation deletes the family, so this lock is
-- enough: the second transaction sees what the first did.
WITH requested AS (
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    AS requested (grant_id, hash, generation, next_hash, successor, now, expires_at)
), locked AS (
  SELECT f.grant_id, f.generation, f.current_hash, f.previous_hash, f.successor_sealed, f.rotated_at
    FROM requested
    JOIN identity.refresh_family f ON f.grant_id = requested.grant_id
    JOIN identity.grant_record g ON g.id = f.grant_id
   WHERE g.revoked_at IS NULL AND f.expires_at > requested.now
   ORDER BY f.grant_id FOR UPDATE OF f
), rotated AS (
  UPDATE identity.refresh_family f
     SET generation = requested.generation, current_hash = requested.next_hash, previous_hash = requested.hash,
         successor_sealed = requested.successor, rotated_at = requested.now, expires_at = requested.expires_at
    FROM requested JOIN locked USING (grant_id)
   WHERE f.grant_id = requested.grant_id AND locked.current_hash = requested.hash AND f.current_hash = requested.hash
  RETURNING f.grant_id
)
SELECT locked.*, rotated.grant_id IS NOT NULL AS rotated FROM locked LEFT JOIN rotated USING (grant_id)
