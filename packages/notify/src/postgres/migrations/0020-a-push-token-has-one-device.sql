-- Whose a push token is, by the token's hash (SHA-256, hexadecimal); the bucket is that of the hash. Whoever registers
-- it takes it over and learns from whom, in one statement.
CREATE TABLE notify.push_token (
  bucket smallint NOT NULL,
  token_hash text,
  user_id text NOT NULL,
  device_id text NOT NULL,
  former_user_id text,
  former_device_id text,
  PRIMARY KEY (bucket, token_hash)
);
CREATE INDEX push_token_user ON notify.push_token (user_id);
CREATE INDEX device_dead ON notify.device (bucket, dead_at) WHERE dead_at IS NOT NULL;

INSERT INTO notify.push_token (bucket, token_hash, user_id, device_id)
SELECT ('x' || substr(t.hash, 1, 8))::bit(32)::bigint % coalesce((SELECT value FROM notify.property WHERE name = 'buckets'), 1),
       t.hash, t.user_id, t.device_id
  FROM (SELECT DISTINCT ON (token) encode(sha256(convert_to(token, 'UTF8')), 'hex') AS hash, user_id, device_id
          FROM notify.device ORDER BY token, registered_at DESC) AS t;

DELETE FROM notify.device d
 WHERE EXISTS (SELECT FROM notify.device o
                WHERE o.token = d.token AND (o.user_id, o.device_id) <> (d.user_id, d.device_id)
                  AND NOT EXISTS (SELECT FROM notify.push_token p WHERE p.user_id = d.user_id AND p.device_id = d.device_id));
