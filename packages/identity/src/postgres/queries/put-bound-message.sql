-- Stores the message $1 to $6 unless the subject $3 got $8 messages of the kind $7 within $9 milliseconds. A window begins
-- with the first message after the one before it ended ($5 is now).
WITH counted AS (
  INSERT INTO identity.message_count AS c (subject, kind, count, expires_at) VALUES ($3, $7, 1, $5::bigint + $9::bigint)
  ON CONFLICT (subject, kind) DO UPDATE SET
    count = CASE WHEN c.expires_at <= $5 THEN 1 ELSE c.count + 1 END,
    expires_at = CASE WHEN c.expires_at <= $5 THEN excluded.expires_at ELSE c.expires_at END
  RETURNING c.count
)
INSERT INTO identity.outbox (id, kind, subject, payload_sealed, due_at, expires_at)
SELECT $1, $2, $3, $4, $5, $6 FROM counted WHERE counted.count <= $8
