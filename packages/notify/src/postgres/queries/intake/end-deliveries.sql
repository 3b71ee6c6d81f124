-- Ends deliveries that were stored before and will not be sent, and streams those that expired.
-- $1 bucket smallint
-- $2 delivery_ids uuid[]
-- $3 ended text[]: why
-- $4 change_ids uuid[]
-- $5 changes text[]: JSON of the state change, or null for none

WITH ended AS (
  UPDATE notify.delivery d SET ended = e.ended
    FROM unnest($2::uuid[], $3::text[]) AS e (id, ended)
   WHERE d.bucket = $1::smallint AND d.id = ANY (ARRAY(SELECT unnest($2::uuid[]))) AND d.id = e.id
     AND d.state = 'queued' AND d.ended IS NULL
  RETURNING d.id
)
INSERT INTO notify.outbox (bucket, id, payload)
SELECT $1::smallint, o.id, o.payload::jsonb
  FROM unnest($2::uuid[], $4::uuid[], $5::text[]) AS o (delivery_id, id, payload)
  JOIN ended ON ended.id = o.delivery_id
 WHERE o.payload IS NOT NULL
