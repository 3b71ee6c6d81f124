-- Changes made through management, in all services: who acted by which role, on what, and the members that changed.
ALTER TABLE identity.audit_event
  ADD COLUMN service text NOT NULL DEFAULT 'identity',
  ADD COLUMN role text,
  ADD COLUMN action text,
  ADD COLUMN target_type text,
  ADD COLUMN target_id text,
  ADD COLUMN members_before jsonb,
  ADD COLUMN members_after jsonb;
CREATE INDEX audit_event_actor_index ON identity.audit_event (actor, id) WHERE actor IS NOT NULL;
CREATE INDEX audit_event_client_index ON identity.audit_event (client_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX audit_event_request_index ON identity.audit_event (request_id) WHERE request_id IS NOT NULL;

-- Who holds a role: the list of its members, and whether an owner would be the last one.
CREATE INDEX account_roles_index ON identity.account USING gin (roles);
