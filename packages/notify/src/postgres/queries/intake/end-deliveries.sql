-- Ends deliveries that were stored before and will not be sent, and streams those that expired.
-- $1 buckets smallint[]
-- $2 delivery_ids uuid[]
-- $3 ended text[]: why
-- $4 change_ids uuid[]
-- $5 changes text[]: JSON of the state change, or null for none

WITH ended AS (
  UPDATE notify.delivery d SET ended = e.ended
    FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::uuid[], $5::text[])
         AS e (bucket, id, ended, change_id, change)
   WHERE d.bucket = e.bucket AND d.id = e.id AND d.state = 'queued' AND d.ended IS NULL
  RETURNING d.bucket, e.change_id, e.change
)
INSERT INTO notify.outbox (bucket, id, payload)
SELECT bucket, change_id, change::jsonb FROM ended WHERE change IS NOT NULL
