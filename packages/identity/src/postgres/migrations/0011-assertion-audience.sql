-- What the assertions of a client name as their audience is registered with it.
UPDATE identity.client SET metadata = metadata || '{"assertionAudience": "issuer"}' WHERE NOT metadata ? 'assertionAudience';
