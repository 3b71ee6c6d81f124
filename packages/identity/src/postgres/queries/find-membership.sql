-- The membership of user $2 in organization $1, while that is active, with its permissions: those of the member's roles, and
-- those that any role of the organization has, or had until they are released.
SELECT m.organization_id, o.name, o.require_mfa, m.user_id,
       array(SELECT mr.role_key FROM identity.membership_role mr
              WHERE mr.organization_id = m.organization_id AND mr.user_id = m.user_id ORDER BY mr.role_key) AS roles,
       array(SELECT DISTINCT unnest(r.permissions)
               FROM identity.membership_role mr
               JOIN identity.organization_role r ON r.owner = mr.role_owner AND r.key = mr.role_key
              WHERE mr.organization_id = m.organization_id AND mr.user_id = m.user_id ORDER BY 1) AS permissions,
       array(SELECT DISTINCT p.permission FROM identity.protected_permission p
              WHERE p.owner IN ('*', m.organization_id) ORDER BY 1) AS assignable
  FROM identity.membership m
  JOIN identity.organization o ON o.id = m.organization_id
 WHERE m.organization_id = $1 AND m.user_id = $2 AND o.status = 'active'
