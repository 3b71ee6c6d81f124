-- The first items of each window in `notify.closed`: at most 100 and 65536 bytes of data, and one whatever its size.
-- $1 bucket int

SELECT w.id AS window_id, i.notification_id, i.actor, i.at, i.data, i.channels, i.by_request, i.expires_at
  FROM unnest(nullif(current_setting('notify.closed', true), '')::uuid[]) AS w (id) CROSS JOIN LATERAL (
    SELECT f.*, row_number() OVER first AS place,
           sum(octet_length(f.data::text) + octet_length(f.actor)) OVER first AS bytes
      FROM (SELECT * FROM notify.pending_item WHERE bucket = $1 AND window_id = w.id
             ORDER BY notification_id LIMIT 100) AS f
    WINDOW first AS (ORDER BY f.notification_id)) AS i
 WHERE i.place = 1 OR i.bytes <= 65536
 ORDER BY i.notification_id
