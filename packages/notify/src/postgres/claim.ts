import type { Database } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import type { Message } from '../notification.ts'
import type { ClaimedDelivery } from '../store.ts'
import { type SuppressionRow, suppressionsOf } from './profiles.ts'
import { present, queryAfresh, timestamp } from './words.ts'

/** The quiet hours that hold for a delivery as its user has set them by now; critical ones have none. */
const quietHoursSql = `CASE WHEN w.lane > 0 THEN (
            SELECT json_build_object('start', p.quiet_start, 'end', p.quiet_end, 'zone',
                                     (SELECT r.zoneinfo FROM notify.recipient r WHERE r.bucket = $1 AND r.user_id = w.user_id))
              FROM notify.preference p
             WHERE p.bucket = $1 AND p.user_id = w.user_id AND p.event_type IN (w.event, '*')
               AND p.quiet_start IS NOT NULL AND p.quiet_end IS NOT NULL
             ORDER BY p.event_type = w.event DESC LIMIT 1) END`

/**
 * The one claim. The loose scan finds which lanes and event types have work, and since when; each that has some due then
 * gives it in order, so that a flood of one type takes no more than its share while others wait, and critical ones come
 * first.
 */
const claimSql = `
WITH RECURSIVE present AS (
  (SELECT lane, event, due_at FROM notify.work WHERE bucket = $1 AND channel = $2 ORDER BY lane, event, due_at LIMIT 1)
  UNION ALL
  SELECT next.lane, next.event, next.due_at FROM present p CROSS JOIN LATERAL (
    SELECT w.lane, w.event, w.due_at FROM notify.work w
     WHERE w.bucket = $1 AND w.channel = $2 AND (w.lane, w.event) > (p.lane, p.event)
     ORDER BY w.lane, w.event, w.due_at LIMIT 1) AS next
), shares AS MATERIALIZED (
  SELECT lane, event, ceil($3::numeric / count(*) OVER (PARTITION BY lane))::integer AS share FROM present
   WHERE due_at <= $5
), picked AS MATERIALIZED (
  SELECT due.delivery_id FROM shares s CROSS JOIN LATERAL (
    SELECT w.delivery_id FROM notify.work w
     WHERE w.bucket = $1 AND w.channel = $2 AND w.lane = s.lane AND w.event = s.event AND w.due_at <= $5
       AND (w.lease_until IS NULL OR w.lease_until < now())
     ORDER BY w.due_at LIMIT s.share FOR UPDATE SKIP LOCKED) AS due
   ORDER BY s.lane LIMIT $3::integer
)
UPDATE notify.work w
   SET attempt = w.attempt + 1,
       crashes = w.crashes + (w.lease_until IS NOT NULL)::integer,
       lease_until = now() + $4::integer * interval '1 millisecond'
 WHERE w.bucket = $1 AND w.delivery_id = ANY (ARRAY(SELECT delivery_id FROM picked))
RETURNING w.delivery_id, w.user_id, w.event, w.lane, w.attempt, w.failures, w.crashes, w.sensitive, w.message, w.expires_at,
          ${quietHoursSql} AS quiet_hours,
          (SELECT json_agg(json_build_object('channel', s.channel, 'address', s.address, 'scope', s.scope, 'reason', s.reason,
                                             'expires_at', round(extract(epoch FROM s.expires_at) * 1000)))
             FROM notify.suppression s
            WHERE s.bucket = $1 AND s.user_id = w.user_id AND s.channel = $2) AS suppressions`

interface ClaimedRow {
  readonly delivery_id: string
  readonly user_id: string
  readonly event: string
  readonly lane: number
  readonly attempt: number
  readonly failures: number
  readonly crashes: number
  readonly sensitive: boolean
  readonly message: Message
  readonly expires_at: number | null
  readonly quiet_hours: { readonly start: string; readonly end: string; readonly zone: string | null } | null
  readonly suppressions: SuppressionRow[] | null
}

export async function claim(
  database: Database,
  bucket: number,
  channel: Channel,
  limit: number,
  leaseMs: number,
  now: number,
): Promise<ClaimedDelivery[]> {
  const values = [bucket, channel, limit, leaseMs, timestamp(now)]
  const { rows } = await queryAfresh<ClaimedRow>(database, { name: 'notify_claim', text: claimSql, values })
  return rows.map((row) => ({
    bucket,
    channel,
    deliveryId: row.delivery_id,
    userId: row.user_id,
    event: row.event,
    critical: row.lane === 0,
    attempt: row.attempt,
    failures: row.failures,
    crashes: row.crashes,
    sensitive: row.sensitive,
    message: row.message,
    ...present({ expiresAt: row.expires_at }),
    ...(row.quiet_hours ? { quietHours: quietHoursOf(row.quiet_hours) } : {}),
    suppressions: suppressionsOf(row.suppressions),
  }))
}

function quietHoursOf({ start, end, zone }: NonNullable<ClaimedRow['quiet_hours']>) {
  return { start, end, ...present({ zone }) }
}
