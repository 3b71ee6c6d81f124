import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { Data } from '../../model/notification.ts'
import type { DueDeferred, Waiting } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import { timestamp, withoutNulls } from '../sql/columns.ts'
import { queryWithCustomPlan } from '../sql/plans.ts'
import { claimScheduled } from './schedule.ts'
import { closeWindows } from './windows.ts'

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

/** Deferred deliveries and windows that are due, on PostgreSQL. */
export function postgresWaiting(database: Database): Waiting {
  return {
    claimScheduled: (...args) => claimScheduled(database, ...args),
    async claimDeferred(bucket, limit, leaseMs, now) {
      const { rows } = await queryWithCustomPlan<DeferredRow>(database, {
        name: 'notify_claim_deferred',
        text: queries['waiting/claim-deferred'],
        values: [bucket, limit, leaseMs, timestamp(now)],
      })
      return rows.map(deferredOf)
    },
    closeWindows: (...args) => closeWindows(database, ...args),
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
