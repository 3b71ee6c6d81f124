import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { Data } from '../../model/notification/notification.ts'
import type { ClosedWindow, DueDeferred, Waiting } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import type { Buckets } from '../sql/buckets.ts'
import { withoutNulls } from '../sql/columns.ts'
import { claimWaiting } from './claim-waiting.ts'
import { claimScheduled } from './schedule.ts'
import { closeWindows } from './windows.ts'

interface DeferredRow {
  readonly bucket: number
  readonly id: string
  readonly notification_id: string
  readonly user_id: string
  readonly channels: Channel[]
  readonly reason: DueDeferred['reason']
  readonly letter: object | null
  readonly event: string
  readonly data: Data | null
  readonly dedup_key: string | null
  readonly requested: Channel[] | null
  readonly sensitive: boolean
  readonly accepted_at: number
  readonly expires_at: number | null
}

/** Deferred deliveries and windows that are due, on PostgreSQL. */
export function postgresWaiting(database: Database, tables: Buckets): Waiting {
  return {
    claimScheduled: (...claim) => claimScheduled(database, tables, ...claim),
    async claimDeferred(buckets, limit, leaseMs, now) {
      const query = { name: 'notify_claim_deferred', text: queries['waiting/claim-deferred'] }
      const rows = await claimWaiting<DeferredRow>(database, tables, query, { buckets, limit, leaseMs, now })
      return rows.map(deferredOf)
    },
    async closeWindows(buckets, limit, leaseMs, now) {
      const windows: ClosedWindow[] = []
      for (const bucket of buckets) {
        if (windows.length === limit) break
        windows.push(...(await closeWindows(database, bucket, { limit: limit - windows.length, leaseMs, now })))
      }
      return windows
    },
  }
}

function deferredOf(row: DeferredRow): DueDeferred {
  const { dedup_key: dedupKey, requested, data, expires_at: expiresAt } = row
  return {
    bucket: row.bucket,
    id: row.id,
    reason: row.reason,
    channels: row.channels,
    ...withoutNulls({ letter: row.letter }),
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
