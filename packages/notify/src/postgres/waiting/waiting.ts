import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { Data } from '../../model/notification.ts'
import type { DueDeferred, Waiting } from '../../store/store.ts'
import { hiddenLimit, queryWithCustomPlan, timestamp, withoutNulls } from '../sql/columns.ts'
import { closeWindows } from './windows.ts'

const claimDeferralsSql = `
WITH due AS MATERIALIZED (
  SELECT id FROM notify.deferred
   WHERE bucket = $1 AND resume_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY resume_at ${hiddenLimit('$2')} FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE notify.deferred d SET lease_until = now() + $3::integer * interval '1 millisecond'
   WHERE d.bucket = $1 AND d.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING d.id, d.notification_id, d.user_id, d.channels, d.reason
)
SELECT c.id, c.notification_id, c.user_id, c.channels, c.reason,
       n.event, n.data, n.dedup_key, n.requested, n.sensitive, n.accepted_at, n.expires_at
  FROM claimed c CROSS JOIN LATERAL (
    SELECT * FROM notify.notification WHERE bucket = $1 AND id = c.notification_id LIMIT 1) AS n
 ORDER BY c.id`

interface DeferredRow {
  readonly id: string
  readonly notification_id: string
  readonly user_id: string
  readonly channels: Channel[]
  readonly reason: DueDeferred['reason']
  readonly event: string
  readonly data: Data | null
  readonly dedup_key: string | null
  readonly requested: Channel[] | null
  readonly sensitive: boolean
  readonly accepted_at: number
  readonly expires_at: number | null
}

export function postgresWaiting(database: Database): Waiting {
  return {
    async claimDeferred(bucket, limit, leaseMs, now) {
      const { rows } = await queryWithCustomPlan<DeferredRow>(database, {
        name: 'notify_claim_deferrals',
        text: claimDeferralsSql,
        values: [bucket, limit, leaseMs, timestamp(now)],
      })
      return rows.map(deferredOf)
    },
    closeWindows: (bucket, limit, leaseMs, now) => closeWindows(database, bucket, limit, leaseMs, now),
  }
}

function deferredOf(row: DeferredRow): DueDeferred {
  const { dedup_key: dedupKey, requested, data, expires_at: expiresAt } = row
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
      ...withoutNulls({ dedupKey, requested, data, expiresAt }),
    },
  }
}
