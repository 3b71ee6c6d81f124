-- Gives members of the organizations $1 the declared roles that waited for their keys, where templates have those now.
WITH due AS (
  SELECT m.organization_id, m.user_id, r.key
    FROM identity.membership m JOIN identity.organization_role r ON r.owner = '*' AND r.key = ANY(m.waiting_roles)
   WHERE m.organization_id = ANY($1::text[]) AND m.waiting_roles <> '{}'
   ORDER BY m.organization_id, m.user_id
     FOR NO KEY UPDATE OF m FOR KEY SHARE OF r
), removed AS (
  UPDATE identity.membership m
     SET waiting_roles = array(SELECT unnest(m.waiting_roles) EXCEPT
           SELECT due.key FROM due WHERE (due.organization_id, due.user_id) = (m.organization_id, m.user_id))
   WHERE (m.organization_id, m.user_id) IN (SELECT organization_id, user_id FROM due)
)
INSERT INTO identity.membership_role (organization_id, user_id, role_owner, role_key)
SELECT organization_id, user_id, '*', key FROM due ON CONFLICT DO NOTHING
