-- ID tokens carry the claims of the granted scopes for clients that say so.
UPDATE identity.client SET metadata = metadata || '{"idTokenClaims": false}' WHERE NOT metadata ? 'idTokenClaims';
