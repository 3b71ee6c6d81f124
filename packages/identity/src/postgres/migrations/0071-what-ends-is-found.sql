-- What is removed when it has ended is found by an index, so that a purge that finds nothing reads next to nothing.
CREATE INDEX CONCURRENTLY refresh_family_expiry_index ON identity.refresh_family (expires_day);
CREATE INDEX CONCURRENTLY api_key_expiry_index ON identity.api_key (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY outbox_expiry_index ON identity.outbox (expires_at);
-- Removing a grant looks for the device codes that led to it.
CREATE INDEX CONCURRENTLY device_code_grant_index ON identity.device_code (grant_id) WHERE grant_id IS NOT NULL;
