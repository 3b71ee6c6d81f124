-- Ends deliveries that were stored before and will not be sent, and streams those that expired. They are met by their key
-- as `keyOf` has it.
-- $1 buckets smallint[]
-- $2 delivery_ids uuid[]
-- $3 ended text[]: why
-- $4 change_ids uuid[]
-- $5 changed_at timestamptz[]: when, or null where it is not streamed
-- $6 events text[]: the event type

WITH ended AS (
  UPDATE notify.delivery d SET ended = e.ended
    FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::uuid[], $5::timestamptz[], $6::text[])
         AS e (bucket, id, ended, change_id, changed_at, event)
   WHERE d.bucket = ANY (ARRAY[e.bucket]) AND d.id = ANY (ARRAY[e.id]) AND d.state = 'queued' AND d.ended IS NULL
  RETURNING d.bucket, d.id, d.user_id, d.state, d.ended, e.change_id, e.changed_at, e.event
)
INSERT INTO notify.outbox (bucket, id, changes)
SELECT bucket, (array_agg(change_id ORDER BY change_id))[1],
       array_agg((change_id, id, changed_at, user_id, event, state, ended)::notify.change ORDER BY change_id)
  FROM ended WHERE changed_at IS NOT NULL GROUP BY bucket
