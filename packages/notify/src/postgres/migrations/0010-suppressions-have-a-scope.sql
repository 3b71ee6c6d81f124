-- A suppression holds for one event type or for all (`*`), for one address or for any of the user's (`*`), and may end by
-- itself. Each reason stands in a row of its own, so that lifting one leaves the others.
ALTER TABLE notify.suppression
  ADD COLUMN id uuid,
  ADD COLUMN scope text NOT NULL DEFAULT '*',
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN detail text;

-- Ids as the program makes them: the time first, the bucket last.
UPDATE notify.suppression s
   SET id = (substr(h.time, 1, 8) || '-' || substr(h.time, 9, 4) || '-7' || substr(h.noise, 1, 3) || '-8' || substr(h.noise, 4, 3)
             || '-' || substr(h.noise, 7, 7) || '0' || lpad(to_hex(s.bucket::integer), 4, '0'))::uuid
  FROM (SELECT bucket, user_id, channel, address,
               lpad(to_hex((extract(epoch FROM since) * 1000)::bigint), 12, '0') AS time,
               md5(gen_random_uuid()::text) AS noise
          FROM notify.suppression) AS h
 WHERE s.bucket = h.bucket AND s.user_id = h.user_id AND s.channel = h.channel AND s.address = h.address;

ALTER TABLE notify.suppression ALTER COLUMN id SET NOT NULL;
ALTER TABLE notify.suppression DROP CONSTRAINT suppression_pkey;
ALTER TABLE notify.suppression ADD PRIMARY KEY (bucket, user_id, channel, address, scope, reason);
CREATE UNIQUE INDEX suppression_id ON notify.suppression (bucket, id);
