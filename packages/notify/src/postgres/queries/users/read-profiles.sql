-- Everything planning needs to know about users, one row for each of them in one statement.
-- $1 buckets smallint[]
-- $2 user_ids text[]

SELECT u.user_id,
       (SELECT value FROM notify.property WHERE name = 'settings_version') AS settings_version,
       r.user_id IS NOT NULL AS known, r.email, r.phone_number, r.locale, r.zoneinfo,
       (SELECT c.generation FROM notify.cap c WHERE c.bucket = u.bucket AND c.user_id = u.user_id) AS generation,
       (SELECT json_agg(json_build_object('event_type', p.event_type, 'channels', p.channels,
                                          'quiet_start', p.quiet_start, 'quiet_end', p.quiet_end))
          FROM notify.preference p WHERE p.bucket = u.bucket AND p.user_id = u.user_id) AS preferences,
       (SELECT json_agg(json_build_object('device_id', d.device_id, 'token', d.token, 'service', d.service,
                                          'registered_at', round(extract(epoch FROM d.registered_at) * 1000))
                        ORDER BY d.device_id)
          FROM notify.device d WHERE d.bucket = u.bucket AND d.user_id = u.user_id AND d.dead_at IS NULL) AS devices,
       (SELECT json_agg(json_build_object('channel', s.channel, 'address', s.address, 'scope', s.scope, 'reason', s.reason,
                                          'expires_at', round(extract(epoch FROM s.expires_at) * 1000)))
          -- only the primary key has this order: while there are next to none, another index would seem as good
          FROM (SELECT * FROM notify.suppression s WHERE s.bucket = u.bucket AND s.user_id = u.user_id
                 ORDER BY s.channel, s.address, s.scope) AS s) AS suppressions
  FROM unnest($1::smallint[], $2::text[]) AS u (bucket, user_id)
  LEFT JOIN LATERAL (
    SELECT * FROM notify.recipient k WHERE k.bucket = u.bucket AND k.user_id = u.user_id LIMIT 1) AS r ON true
