-- The one claim. A group is the rows of one priority and event type; its parts are those of each bucket. Each group that has
-- some due gives them in order, up to an even share of its priority's types, and each of its parts as evenly. Where several
-- priorities or buckets have some due, their rows are counted first and taken turn by turn, each priority as often as its
-- weight says; what a part gives of that is then locked. A part may be counted for more than its even share, since others
-- may have less. The lock keeps the key, so that what a cancellation looks at is not passed over. The result lists every
-- part, with when its first row is due (`front`) and, where that is now, when the first is that is due later (`later`);
-- then the claimed rows.
-- `{groups}` is claim-groups-from-beginning.sql or claim-groups-from-marks.sql, which define `present`: the parts with
-- their first row.
-- $1 buckets smallint[], or one smallint
-- $2 channel text
-- $3 limit int
-- $4 lease_ms int
-- $5 now timestamptz
-- $6 priorities smallint[]
-- $7 weights float8[]: of the priorities
-- $8 credits float8[]: of the priorities
-- $9 turns bigint[]: of the priorities

WITH RECURSIVE visited AS MATERIALIZED (
  SELECT b.bucket FROM unnest($1::smallint[]) AS b (bucket)
), rules AS MATERIALIZED (
  SELECT * FROM unnest($6::smallint[], $7::float8[], $8::float8[], $9::bigint[]) AS r (priority, weight, credit, turn)
), {groups}, types AS MATERIALIZED (
  SELECT t.priority, t.event, t.parts, r.turn, r.weight, r.credit,
         ceil($3::numeric / count(*) OVER by_priority)::integer AS share,
         -- those that got one more go to the end: the next claim begins with the type after them
         (row_number() OVER (PARTITION BY t.priority ORDER BY t.event) - 1 - r.turn % count(*) OVER by_priority
           + count(*) OVER by_priority) % count(*) OVER by_priority AS seat,
         min(t.priority) OVER () < max(t.priority) OVER () OR max(t.parts) OVER () > 1 AS contends
    FROM (SELECT priority, event, count(*) AS parts FROM present WHERE due_at <= $5 GROUP BY priority, event) AS t
    JOIN rules r ON r.priority = t.priority
  WINDOW by_priority AS (PARTITION BY t.priority)
), due AS MATERIALIZED (
  SELECT p.*, t.weight, t.credit, t.seat, t.contends, least(t.share, ceil(4.0 * t.share / t.parts))::integer AS share,
         (row_number() OVER (PARTITION BY p.priority, p.event ORDER BY p.bucket) - 1 - t.turn % t.parts + t.parts)
           % t.parts AS place
    FROM present p JOIN types t ON t.priority = p.priority AND t.event = p.event
   WHERE p.due_at <= $5
), counted AS (
  SELECT d.bucket, d.priority, d.event, d.due_at, d.delivery_id, d.weight, d.credit, d.seat,
         row_number() OVER (PARTITION BY d.priority, d.event ORDER BY part.rank, d.place) AS rank
    FROM due d CROSS JOIN LATERAL (
      SELECT row_number() OVER () AS rank FROM (
        SELECT FROM notify.delivery_queue w
         WHERE w.bucket = d.bucket AND w.channel = $2 AND w.priority = d.priority AND w.event = d.event
           AND (w.due_at, w.delivery_id) >= (d.due_at, d.delivery_id) AND w.due_at <= $5
           AND (w.lease_until IS NULL OR w.lease_until < now())
         ORDER BY w.due_at, w.delivery_id LIMIT d.share) AS rows) AS part
   WHERE d.contends
), positions AS (
  SELECT *, row_number() OVER (PARTITION BY priority ORDER BY rank, seat) AS position FROM counted
), chosen AS (
  SELECT bucket, priority, event, due_at, delivery_id, seat FROM positions
   ORDER BY (position - credit) / weight, priority, position LIMIT $3::integer
), parts AS MATERIALIZED (
  SELECT bucket, priority, event, due_at, delivery_id, seat, share::bigint AS part FROM due WHERE NOT contends
  UNION ALL
  SELECT *, count(*) AS part FROM chosen GROUP BY bucket, priority, event, due_at, delivery_id, seat
), picked AS MATERIALIZED (
  SELECT d.bucket, locked.delivery_id FROM parts d CROSS JOIN LATERAL (
    SELECT rows.delivery_id, row_number() OVER (ORDER BY rows.due_at, rows.delivery_id) AS rank
      FROM (
        SELECT w.delivery_id, w.due_at FROM notify.delivery_queue w
         WHERE w.bucket = d.bucket AND w.channel = $2 AND w.priority = d.priority AND w.event = d.event
           AND (w.due_at, w.delivery_id) >= (d.due_at, d.delivery_id) AND w.due_at <= $5
           AND (w.lease_until IS NULL OR w.lease_until < now())
         ORDER BY w.due_at, w.delivery_id LIMIT d.part FOR NO KEY UPDATE SKIP LOCKED) AS rows) AS locked
   ORDER BY locked.rank, d.seat LIMIT $3::integer
), claimed AS (
  UPDATE notify.delivery_queue w
     SET attempt = w.attempt + 1,
         crashes = w.crashes + (w.lease_until IS NOT NULL)::integer,
         lease_until = now() + $4::integer * interval '1 millisecond'
    FROM picked k
   WHERE w.bucket = k.bucket AND w.delivery_id = k.delivery_id
  RETURNING w.bucket, w.priority, w.event, w.delivery_id, w.user_id, w.due_at, w.attempt, w.failures, w.crashes,
            w.sensitive, w.message, w.expires_at
)
SELECT bucket, priority, event, due_at AS front, NULL::timestamptz AS later, NULL::integer AS share,
       NULL::uuid AS delivery_id, NULL::text AS user_id, NULL::timestamptz AS due_at, NULL::integer AS attempt,
       NULL::integer AS failures, NULL::integer AS crashes, NULL::boolean AS sensitive, NULL::json AS message,
       NULL::timestamptz AS expires_at, NULL::json AS quiet_hours, NULL::json AS suppressions,
       NULL::json AS tokens
  FROM present WHERE due_at > $5 OR due_at IS NULL
UNION ALL
SELECT d.bucket, d.priority, d.event, d.due_at, (
         SELECT w.due_at FROM notify.delivery_queue w
          WHERE w.bucket = d.bucket AND w.channel = $2 AND w.priority = d.priority AND w.event = d.event
            AND w.due_at > $5
          ORDER BY w.due_at, w.delivery_id LIMIT 1), d.share,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM due d
UNION ALL
SELECT c.bucket, c.priority, c.event, NULL, NULL, NULL, c.delivery_id, c.user_id, c.due_at, c.attempt,
       c.failures, c.crashes, c.sensitive, c.message, c.expires_at,
       -- the quiet hours of a delivery as its user has set them by now; critical ones have none
       CASE WHEN c.priority > 0 THEN (
         SELECT json_build_object(
                  'start', p.quiet_start, 'end', p.quiet_end,
                  'zone', (SELECT r.zoneinfo FROM notify.recipient r WHERE r.bucket = c.bucket AND r.user_id = c.user_id))
           FROM notify.preference p
          WHERE p.bucket = c.bucket AND p.user_id = c.user_id AND p.event_type IN (c.event, '*')
            AND p.quiet_start IS NOT NULL AND p.quiet_end IS NOT NULL
          ORDER BY p.event_type = c.event DESC LIMIT 1) END AS quiet_hours,
       (SELECT json_agg(json_build_object('channel', s.channel, 'address', s.address, 'scope', s.scope,
                                          'reason', s.reason,
                                          'expires_at', round(extract(epoch FROM s.expires_at) * 1000)))
          -- only the primary key has this order: while there are next to none, another index would seem as good
          FROM (SELECT * FROM notify.suppression s WHERE s.bucket = c.bucket AND s.user_id = c.user_id AND s.channel = $2
                 ORDER BY s.address, s.scope) AS s) AS suppressions,
       -- the devices of a push as its user has them by now: a token may be somebody else's since it was planned
       CASE WHEN $2 = 'push' THEN (
         SELECT coalesce(json_agg(v.token), '[]') FROM notify.device v
          WHERE v.bucket = c.bucket AND v.user_id = c.user_id AND v.dead_at IS NULL) END AS tokens
  FROM claimed c
