/** Whose turn it is: $6 priorities with their weights, credits and turns. */
const rules = `
rules AS MATERIALIZED (
  SELECT * FROM unnest($6::smallint[], $7::float8[], $8::float8[], $9::bigint[]) AS r (priority, weight, credit, turn)
)`

/** Every group with its first row: a loose scan from the beginning of the index to its end. */
const presentOfAll = `
present AS (
  (SELECT priority, event, due_at, delivery_id
     FROM notify.delivery_queue WHERE bucket = $1 AND channel = $2 ORDER BY priority, event, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM present p CROSS JOIN LATERAL (
    SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w
     WHERE w.bucket = $1 AND w.channel = $2 AND (w.priority, w.event) > (p.priority, p.event)
     ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1) AS next
)`

/** The first row behind a group, up to the next marked group of its priority. */
const nextUnmarked = (group: string) => {
  const behind = `w.bucket = $1 AND w.channel = $2 AND w.priority = ${group}.priority AND w.event > ${group}.event`
  const first = 'ORDER BY w.priority, w.event, w.due_at, w.delivery_id LIMIT 1'
  return `
    (SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w WHERE ${behind} AND w.event < ${group}.to_event ${first})
    UNION ALL
    (SELECT w.priority, w.event, w.due_at, w.delivery_id FROM notify.delivery_queue w WHERE ${behind} AND ${group}.to_event IS NULL ${first})`
}

/**
 * Every group that is marked or has a row, with its first row, if any: marked ones are read from their marks on, the others
 * are found by loose scans between those. (A row comparison with < does not end a scan where its two sides are equal.)
 */
const presentFromMarks = `
marked AS MATERIALIZED (
  SELECT * FROM unnest($10::smallint[], $11::text[], $12::timestamptz[], $13::uuid[]) AS m (priority, event, due_at, delivery_id)
), gaps AS MATERIALIZED (
  SELECT priority, event, lead(event) OVER (PARTITION BY priority ORDER BY event) AS to_event
    FROM (SELECT priority, event FROM marked UNION ALL SELECT priority, '' FROM rules) AS places
), unmarked AS (
  SELECT next.*, g.to_event FROM gaps g CROSS JOIN LATERAL (${nextUnmarked('g')}) AS next
  UNION ALL
  SELECT next.*, u.to_event FROM unmarked u CROSS JOIN LATERAL (${nextUnmarked('u')}) AS next
), present AS MATERIALIZED (
  SELECT priority, event, due_at, delivery_id FROM unmarked
  UNION ALL
  SELECT m.priority, m.event, first.due_at, first.delivery_id FROM marked m LEFT JOIN LATERAL (
    SELECT w.due_at, w.delivery_id FROM notify.delivery_queue w
     WHERE w.bucket = $1 AND w.channel = $2 AND w.priority = m.priority AND w.event = m.event
       AND (w.due_at, w.delivery_id) >= (m.due_at, m.delivery_id)
     ORDER BY w.due_at, w.delivery_id LIMIT 1) AS first ON true
)`

/** The rows of a group that may be claimed, in their order. */
const claimable = (group: string, limit: string) => `
     FROM notify.delivery_queue w
    WHERE w.bucket = $1 AND w.channel = $2 AND w.priority = ${group}.priority AND w.event = ${group}.event
      AND (w.due_at, w.delivery_id) >= (${group}.due_at, ${group}.delivery_id) AND w.due_at <= $5
      AND (w.lease_until IS NULL OR w.lease_until < now())
    ORDER BY w.due_at, w.delivery_id LIMIT ${limit}`

/** The quiet hours that hold for a delivery as its user has set them by now; critical ones have none. */
const quietHours = `CASE WHEN w.priority > 0 THEN (
              SELECT json_build_object('start', p.quiet_start, 'end', p.quiet_end, 'zone',
                                       (SELECT r.zoneinfo FROM notify.recipient r WHERE r.bucket = $1 AND r.user_id = w.user_id))
                FROM notify.preference p
               WHERE p.bucket = $1 AND p.user_id = w.user_id AND p.event_type IN (w.event, '*')
                 AND p.quiet_start IS NOT NULL AND p.quiet_end IS NOT NULL
               ORDER BY p.event_type = w.event DESC LIMIT 1) END`

/**
 * The one claim. Each group (a priority's rows of one event type) that has some due gives it in order, up to an even share
 * of its priority's types. Where several priorities have some due, their rows are counted first and taken turn by turn,
 * each as often as its weight says; a group's part of that is then locked. The answer lists every group, each with its
 * claimed rows or none.
 */
const claimSql = (present: string) => `
WITH RECURSIVE ${rules}, ${present}, due AS MATERIALIZED (
  SELECT p.*, r.weight, r.credit, ceil($3::numeric / count(*) OVER by_priority)::integer AS share,
         (r.turn + row_number() OVER (PARTITION BY p.priority ORDER BY p.event)) % count(*) OVER by_priority AS seat,
         min(p.priority) OVER () < max(p.priority) OVER () AS contends
    FROM present p JOIN rules r ON r.priority = p.priority
   WHERE p.due_at <= $5
  WINDOW by_priority AS (PARTITION BY p.priority)
), places AS (
  SELECT d.priority, d.event, d.weight, d.credit, row_number() OVER (PARTITION BY d.priority ORDER BY counted.rank, d.seat) AS place
    FROM due d CROSS JOIN LATERAL (
      SELECT row_number() OVER () AS rank FROM (SELECT ${claimable('d', 'd.share')}) AS rows) AS counted
   WHERE d.contends
), chosen AS (
  SELECT priority, event FROM places ORDER BY (place - credit) / weight, priority, place LIMIT $3::integer
), parts AS MATERIALIZED (
  SELECT d.*, d.share::bigint AS part FROM due d WHERE NOT d.contends
  UNION ALL
  SELECT d.*, c.part FROM due d JOIN (SELECT priority, event, count(*) AS part FROM chosen GROUP BY priority, event) AS c USING (priority, event)
), picked AS MATERIALIZED (
  SELECT locked.delivery_id FROM parts p CROSS JOIN LATERAL (
    SELECT rows.delivery_id, row_number() OVER (ORDER BY rows.due_at, rows.delivery_id) AS rank
      FROM (SELECT w.delivery_id, w.due_at ${claimable('p', 'p.part')} FOR UPDATE SKIP LOCKED) AS rows) AS locked
   ORDER BY locked.rank, p.seat LIMIT $3::integer
), claimed AS (
  UPDATE notify.delivery_queue w
     SET attempt = w.attempt + 1,
         crashes = w.crashes + (w.lease_until IS NOT NULL)::integer,
         lease_until = now() + $4::integer * interval '1 millisecond'
   WHERE w.bucket = $1 AND w.delivery_id = ANY (ARRAY(SELECT delivery_id FROM picked))
  RETURNING w.priority, w.event, w.delivery_id, w.user_id, w.due_at, w.attempt, w.failures, w.crashes, w.sensitive, w.message, w.expires_at,
            ${quietHours} AS quiet_hours,
            (SELECT json_agg(json_build_object('channel', s.channel, 'address', s.address, 'scope', s.scope, 'reason', s.reason,
                                               'expires_at', round(extract(epoch FROM s.expires_at) * 1000)))
               FROM notify.suppression s
              WHERE s.bucket = $1 AND s.user_id = w.user_id AND s.channel = $2) AS suppressions
)
SELECT p.priority, p.event, p.due_at AS front, c.delivery_id, c.user_id, c.due_at, c.attempt, c.failures, c.crashes, c.sensitive, c.message,
       c.expires_at, c.quiet_hours, c.suppressions
  FROM present p LEFT JOIN claimed c ON c.priority = p.priority AND c.event = p.event`

export const claimFromBeginningSql = claimSql(presentOfAll)
export const claimFromMarksSql = claimSql(presentFromMarks)

const entriesRead = "pg_stat_get_xact_tuples_returned('notify.delivery_queue_due'::regclass) AS entries_read"

/**
 * How long a claim may take that reads all of the index, in milliseconds. It may find millions of entries that are dead
 * and that an old snapshot keeps; a process that has just started has no marks to go on from, and would begin with such a
 * claim again and again, were it cut short.
 */
export const allOfIndexMs = 60_000

/**
 * Has the claim planned for the table as it is now, and not compiled, whatever a planner without statistics makes of it.
 * All three say how many entries of the index this connection has read. */
export const beforeClaimSql = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true), ${entriesRead}`
export const beforeClaimOfAllSql = `${beforeClaimSql}, set_config('statement_timeout', '${allOfIndexMs}', true)`
export const afterClaimSql = `SELECT ${entriesRead}`
