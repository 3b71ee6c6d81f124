-- Changes deliveries that were stored before: ends those that will not be sent, and streams those that expired; the others
-- get the address that they are sent to. They are met by their key as `keyOf` has it.
-- $1 buckets smallint[]
-- $2 delivery_ids uuid[]
-- $3 ended text[]: why, or null where it is sent
-- $4 addresses text[]: or null where it stays
-- $5 change_ids uuid[]
-- $6 changed_at timestamptz[]: when, or null where it is not streamed
-- $7 events text[]: the event type

WITH changed AS (
  UPDATE notify.delivery d SET ended = c.ended, address = coalesce(c.address, d.address)
    FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[], $7::text[])
         AS c (bucket, id, ended, address, change_id, changed_at, event)
   WHERE d.bucket = ANY (ARRAY[c.bucket]) AND d.id = ANY (ARRAY[c.id]) AND d.state = 'queued' AND d.ended IS NULL
  RETURNING d.bucket, d.id, d.user_id, d.state, d.ended, c.change_id, c.changed_at, c.event
)
INSERT INTO notify.outbox (bucket, id, changes)
SELECT bucket, (array_agg(change_id ORDER BY change_id))[1],
       array_agg((change_id, id, changed_at, user_id, event, state, ended)::notify.change ORDER BY change_id)
  FROM changed WHERE changed_at IS NOT NULL GROUP BY bucket
