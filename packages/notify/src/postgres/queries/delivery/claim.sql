-- The one claim. A group is the rows of one priority and event type. Each group that has some due gives them in order, up to
-- an even share of its priority's types. Where several priorities have some due, their rows are counted first and taken
-- turn by turn, each as often as its weight says; a group's part of that is then locked. The result lists every group, each
-- with its claimed rows or none.
-- `{groups}` is claim-groups-from-beginning.sql or claim-groups-from-marks.sql, which define `present`: the groups with
-- their first row.
-- $1 bucket int
-- $2 channel text
-- $3 limit int
-- $4 lease_ms int
-- $5 now timestamptz
-- $6 priorities smallint[]
-- $7 weights float8[]: of the priorities
-- $8 credits float8[]: of the priorities
-- $9 turns bigint[]: of the priorities

WITH RECURSIVE rules AS MATERIALIZED (
  SELECT * FROM unnest($6::smallint[], $7::float8[], $8::float8[], $9::bigint[]) AS r (priority, weight, credit, turn)
), {groups}, due AS MATERIALIZED (
  SELECT p.*, r.weight, r.credit, ceil($3::numeric / count(*) OVER by_priority)::integer AS share,
         (r.turn + row_number() OVER (PARTITION BY p.priority ORDER BY p.event)) % count(*) OVER by_priority AS seat,
         min(p.priority) OVER () < max(p.priority) OVER () AS contends
    FROM present p JOIN rules r ON r.priority = p.priority
   WHERE p.due_at <= $5
  WINDOW by_priority AS (PARTITION BY p.priority)
), positions AS (
  SELECT d.priority, d.event, d.weight, d.credit,
         row_number() OVER (PARTITION BY d.priority ORDER BY counted.rank, d.seat) AS position
    FROM due d CROSS JOIN LATERAL (
      SELECT row_number() OVER () AS rank FROM (
        SELECT FROM notify.delivery_queue w
         WHERE w.bucket = $1 AND w.channel = $2 AND w.priority = d.priority AND w.event = d.event
           AND (w.due_at, w.delivery_id) >= (d.due_at, d.delivery_id) AND w.due_at <= $5
           AND (w.lease_until IS NULL OR w.lease_until < now())
         ORDER BY w.due_at, w.delivery_id LIMIT d.share) AS rows) AS counted
   WHERE d.contends
), chosen AS (
  SELECT priority, event FROM positions
   ORDER BY (position - credit) / weight, priority, position LIMIT $3::integer
), parts AS MATERIALIZED (
  SELECT d.*, d.share::bigint AS part FROM due d WHERE NOT d.contends
  UNION ALL
  SELECT d.*, c.part
    FROM due d JOIN (SELECT priority, event, count(*) AS part FROM chosen GROUP BY priority, event) AS c USING (priority, event)
), picked AS MATERIALIZED (
  SELECT locked.delivery_id FROM parts p CROSS JOIN LATERAL (
    SELECT rows.delivery_id, row_number() OVER (ORDER BY rows.due_at, rows.delivery_id) AS rank
      FROM (
        SELECT w.delivery_id, w.due_at FROM notify.delivery_queue w
         WHERE w.bucket = $1 AND w.channel = $2 AND w.priority = p.priority AND w.event = p.event
           AND (w.due_at, w.delivery_id) >= (p.due_at, p.delivery_id) AND w.due_at <= $5
           AND (w.lease_until IS NULL OR w.lease_until < now())
         ORDER BY w.due_at, w.delivery_id LIMIT p.part FOR UPDATE SKIP LOCKED) AS rows) AS locked
   ORDER BY locked.rank, p.seat LIMIT $3::integer
), claimed AS (
  UPDATE notify.delivery_queue w
     SET attempt = w.attempt + 1,
         crashes = w.crashes + (w.lease_until IS NOT NULL)::integer,
         lease_until = now() + $4::integer * interval '1 millisecond'
   WHERE w.bucket = $1 AND w.delivery_id = ANY (ARRAY(SELECT delivery_id FROM picked))
  RETURNING w.priority, w.event, w.delivery_id, w.user_id, w.due_at, w.attempt, w.failures, w.crashes,
            w.sensitive, w.message, w.expires_at
)
SELECT p.priority, p.event, p.due_at AS front, c.delivery_id, c.user_id, c.due_at, c.attempt, c.failures, c.crashes,
       c.sensitive, c.message, c.expires_at,
       -- the quiet hours of a delivery as its user has set them by now; critical ones have none
       CASE WHEN c.priority > 0 THEN (
         SELECT json_build_object(
                  'start', p.quiet_start, 'end', p.quiet_end,
                  'zone', (SELECT r.zoneinfo FROM notify.recipient r WHERE r.bucket = $1 AND r.user_id = c.user_id))
           FROM notify.preference p
          WHERE p.bucket = $1 AND p.user_id = c.user_id AND p.event_type IN (c.event, '*')
            AND p.quiet_start IS NOT NULL AND p.quiet_end IS NOT NULL
          ORDER BY p.event_type = c.event DESC LIMIT 1) END AS quiet_hours,
       (SELECT json_agg(json_build_object('channel', s.channel, 'address', s.address, 'scope', s.scope,
                                          'reason', s.reason,
                                          'expires_at', round(extract(epoch FROM s.expires_at) * 1000)))
          FROM notify.suppression s
         WHERE s.bucket = $1 AND s.user_id = c.user_id AND s.channel = $2) AS suppressions
  FROM present p LEFT JOIN claimed c ON c.priority = p.priority AND c.event = p.event
