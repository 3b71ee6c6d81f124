import type { Database } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import type { Data } from '../notification.ts'
import type { ClosedWindow, PendingItem, Waiting, WokenDeferral } from '../store.ts'
import { among, atMost, present, queryAfresh, timestamp } from './words.ts'

const claimDeferralsSql = `
WITH due AS MATERIALIZED (
  SELECT id FROM notify.deferral
   WHERE bucket = $1 AND wake_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY wake_at ${atMost('$2')} FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE notify.deferral d SET lease_until = now() + $3::integer * interval '1 millisecond'
   WHERE d.bucket = $1 AND d.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING d.id, d.notification_id, d.user_id, d.channels, d.reason
)
SELECT c.id, c.notification_id, c.user_id, c.channels, c.reason,
       n.event, n.data, n.dedup_key, n.requested, n.sensitive, n.accepted_at
  FROM claimed c CROSS JOIN LATERAL (
    SELECT * FROM notify.notification WHERE bucket = $1 AND id = c.notification_id LIMIT 1) AS n
 ORDER BY c.id`

/** Closes what is due; a closed one whose flusher died is found again when its lease ends. */
const closeWindowsSql = `
WITH due AS MATERIALIZED (
  SELECT id FROM notify.pending_window
   WHERE bucket = $1 AND flush_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY flush_at ${atMost('$2')} FOR UPDATE SKIP LOCKED
)
UPDATE notify.pending_window w SET state = 'closed', lease_until = now() + $3::integer * interval '1 millisecond'
 WHERE w.bucket = $1 AND w.id = ANY (ARRAY(SELECT id FROM due))
RETURNING w.id, w.user_id, w.event`

interface DeferralRow {
  readonly id: string
  readonly notification_id: string
  readonly user_id: string
  readonly channels: Channel[]
  readonly reason: WokenDeferral['reason']
  readonly event: string
  readonly data: Data | null
  readonly dedup_key: string | null
  readonly requested: Channel[] | null
  readonly sensitive: boolean
  readonly accepted_at: number
}

interface ItemRow {
  readonly window_id: string
  readonly notification_id: string
  readonly actor: string
  readonly at: number
  readonly data: Data
  readonly channels: Channel[]
  readonly by_request: boolean
}

export function postgresWaiting(database: Database): Waiting {
  return {
    async claimDeferrals(bucket, limit, leaseMs, now) {
      const { rows } = await queryAfresh<DeferralRow>(database, {
        name: 'notify_claim_deferrals',
        text: claimDeferralsSql,
        values: [bucket, limit, leaseMs, timestamp(now)],
      })
      return rows.map(deferralOf)
    },
    async closeWindows(bucket, limit, leaseMs, now) {
      const { rows } = await queryAfresh<{ id: string; user_id: string; event: string }>(database, {
        name: 'notify_close_windows',
        text: closeWindowsSql,
        values: [bucket, limit, leaseMs, timestamp(now)],
      })
      if (rows.length === 0) return []
      const items = await itemsOf(
        database,
        bucket,
        rows.map(({ id }) => id),
      )
      return rows.map(
        ({ id, user_id: userId, event }): ClosedWindow => ({ id, userId, event, items: items.get(id) ?? [] }),
      )
    },
  }
}

function deferralOf(row: DeferralRow): WokenDeferral {
  const { dedup_key: dedupKey, requested, data } = row
  return {
    id: row.id,
    reason: row.reason,
    channels: row.channels,
    notification: {
      id: row.notification_id,
      userId: row.user_id,
      event: row.event,
      acceptedAt: row.accepted_at,
      sensitive: row.sensitive,
      ...present({ dedupKey, requested, data }),
    },
  }
}

async function itemsOf(
  database: Database,
  bucket: number,
  windowIds: readonly string[],
): Promise<Map<string, PendingItem[]>> {
  const { rows } = await database.query<ItemRow>(
    `SELECT window_id, notification_id, actor, at, data, channels, by_request FROM notify.pending_item
      WHERE bucket = $1 AND ${among('window_id', '$2')} ORDER BY window_id, notification_id`,
    [bucket, windowIds],
  )
  const groups = Map.groupBy(rows, (row) => row.window_id)
  return new Map([...groups].map(([id, mine]) => [id, mine.map(itemOf)]))
}

function itemOf({
  notification_id: notificationId,
  by_request: byRequest,
  window_id: _,
  ...item
}: ItemRow): PendingItem {
  return { ...item, notificationId, byRequest }
}
