import type { Channel } from '../../../model/channel.ts'
import type { Message } from '../../../model/notification/notification.ts'
import type { ClaimedDelivery } from '../../../store/store.ts'
import { withoutNulls } from '../../sql/columns.ts'
import { type SuppressionRow, suppressionsOf } from '../../users/profiles.ts'

/** A row of one bucket, priority and event type. */
interface Part {
  readonly bucket: number
  readonly priority: number
  readonly event: string
}

/** What a claim came upon in a part of the queue. */
export interface PartRow extends Part {
  readonly delivery_id: null
  /** When its first row is due, if it has one. */
  readonly front: number | null
  /** Where that is due: how many the part could give at most, and when its first row is due that is not yet. */
  readonly share: number | null
  readonly later: number | null
}

/** A claimed row. */
export interface ClaimedRow extends Part {
  readonly delivery_id: string
  readonly user_id: string
  readonly due_at: number
  readonly attempt: number
  readonly failures: number
  readonly crashes: number
  readonly sensitive: boolean
  readonly message: Message
  readonly expires_at: number | null
  readonly quiet_hours: { readonly start: string; readonly end: string; readonly zone: string | null } | null
  readonly suppressions: SuppressionRow[] | null
  readonly tokens: string[] | null
}

/** A row that the claim returns. */
export type ClaimRow = PartRow | ClaimedRow

/** Tells claimed rows from those that describe parts. */
export function isClaimed(row: ClaimRow): row is ClaimedRow {
  return row.delivery_id !== null
}

/** What is urgent first, then what is due longest. */
export function inOrder(a: ClaimedRow, b: ClaimedRow): number {
  return a.priority - b.priority || a.due_at - b.due_at || (a.delivery_id < b.delivery_id ? -1 : 1)
}

/** The delivery of a claimed row. */
export function deliveryOf(row: ClaimedRow, channel: Channel): ClaimedDelivery {
  return {
    bucket: row.bucket,
    channel,
    deliveryId: row.delivery_id,
    userId: row.user_id,
    event: row.event,
    critical: row.priority === 0,
    attempt: row.attempt,
    failures: row.failures,
    crashes: row.crashes,
    sensitive: row.sensitive,
    message: row.message,
    ...withoutNulls({ expiresAt: row.expires_at }),
    ...(row.quiet_hours ? { quietHours: quietHoursOf(row.quiet_hours) } : {}),
    suppressions: suppressionsOf(row.suppressions),
    ...withoutNulls({ tokens: row.tokens }),
  }
}

function quietHoursOf({ start, end, zone }: NonNullable<ClaimedRow['quiet_hours']>) {
  return { start, end, ...withoutNulls({ zone }) }
}
