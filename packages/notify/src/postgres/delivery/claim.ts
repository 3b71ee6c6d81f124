import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { nextTurns, type PriorityWeights, type Turn } from '../../model/fair-shares.ts'
import type { Message } from '../../model/notification.ts'
import { priorities } from '../../model/priority.ts'
import type { ClaimedDelivery, Deliveries } from '../../store/store.ts'
import { columns, timestamp, withoutNulls } from '../sql/columns.ts'
import { type SuppressionRow, suppressionsOf } from '../users/profiles.ts'
import {
  type ClaimMarks,
  type ClaimRange,
  type ClaimSeen,
  createClaimMarks,
  type Mark,
  type Place,
} from './claim-marks.ts'
import {
  afterClaimSql,
  allOfIndexMs,
  beforeClaimOfAllSql,
  beforeClaimSql,
  claimFromBeginningSql,
  claimFromMarksSql,
} from './claim-sql.ts'

/** A group of rows, with one that was claimed of it, or none. */
type ClaimRow = { readonly priority: number; readonly event: string; readonly front: number | null } & (
  | ClaimedRow
  | { readonly delivery_id: null }
)

interface ClaimedRow {
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
}

/** Claims the deliveries of a database; keeps where it left off and whose turn it is, channel by channel. */
export interface Claimer {
  readonly claim: Deliveries['claim']
  /** Rows of an event type became claimable, or will at a time to come; the first of them at `place`. */
  lower(bucket: number, channel: Channel, event: string, place: Place): void
}

interface Queue {
  readonly marks: ClaimMarks
  turns: readonly Turn[]
}

/** A {@link Claimer} for one process. `weights` say how often each priority is served. */
export function createClaimer(database: Database, weights: PriorityWeights): Claimer {
  const queues = new Map<string, Queue>()
  const queueOf = (bucket: number, channel: Channel): Queue => {
    const key = `${bucket} ${channel}`
    const turns = priorities.map((priority) => ({ weight: weights[priority], credit: 0, next: 0 }))
    const queue = queues.get(key) ?? { marks: createClaimMarks(), turns }
    queues.set(key, queue)
    return queue
  }
  return {
    async claim(bucket, channel, limit, leaseMs, now) {
      const queue = queueOf(bucket, channel)
      const begun = queue.marks.begin(now)
      let seen: ClaimSeen | undefined
      try {
        const values = [bucket, channel, limit, leaseMs, timestamp(now), ...turnColumns(queue.turns)]
        const { rows, entriesRead } = await run(database, begun.range, values)
        const claimed = rows.filter(isClaimed)
        seen = seenBy(rows, claimed, entriesRead)
        queue.turns = nextTurns(queue.turns, servedBy(seen, claimed, now), limit)
        return claimed.sort(inOrder).map((row) => deliveryOf(row, bucket, channel))
      } finally {
        begun.end(seen)
      }
    },
    lower(bucket, channel, event, place) {
      queues.get(`${bucket} ${channel}`)?.marks.lower(event, place)
    },
  }
}

function seenBy(
  rows: readonly ClaimRow[],
  claimed: ReadonlyArray<ClaimRow & ClaimedRow>,
  entriesRead: number,
): ClaimSeen {
  return {
    groups: [...new Map(rows.map((row) => [`${row.priority} ${row.event}`, row])).values()],
    claimed: claimed.map(({ priority, event, due_at: dueAt, delivery_id: id }) => ({ priority, event, dueAt, id })),
    entriesRead,
  }
}

/** Of each priority how many were claimed, and whether it has any that are due. */
function servedBy({ groups }: ClaimSeen, claimed: readonly ClaimRow[], now: number) {
  const due = groups.filter(({ front }) => front !== null && front <= now)
  return priorities.map((_, priority) => ({
    count: claimed.filter((row) => row.priority === priority).length,
    isDue: due.some((group) => group.priority === priority),
  }))
}

function run(database: Database, range: ClaimRange, values: readonly unknown[]) {
  return database.transaction(async (tx) => {
    const [before, { rows }, after] = await Promise.all([
      range === 'all'
        ? readEntries(tx, 'notify_before_claim_of_all', beforeClaimOfAllSql)
        : readEntries(tx, 'notify_before_claim', beforeClaimSql),
      range === 'all'
        ? tx.query<ClaimRow>({ name: 'notify_claim', text: claimFromBeginningSql, values, timeoutMs: allOfIndexMs })
        : tx.query<ClaimRow>({
            name: 'notify_claim_from_marks',
            text: claimFromMarksSql,
            values: [...values, ...markColumns(range)],
          }),
      range === 'all' ? readEntries(tx, 'notify_after_claim', afterClaimSql, allOfIndexMs) : 0,
    ])
    return { rows, entriesRead: after - before }
  })
}

async function readEntries(tx: Transaction, name: string, text: string, timeoutMs?: number): Promise<number> {
  const { rows } = await tx.query<{ entries_read: number }>({ name, text, ...(timeoutMs ? { timeoutMs } : {}) })
  return rows[0]?.entries_read ?? 0
}

function turnColumns(turns: readonly Turn[]): string[] {
  const numbered = turns.map((turn, priority) => ({ priority, ...turn }))
  return columns(
    numbered,
    ({ priority }) => priority,
    ({ weight }) => weight,
    ({ credit }) => credit,
    ({ next }) => next,
  )
}

function markColumns(marks: readonly Mark[]): string[] {
  return columns(
    marks,
    ({ priority }) => priority,
    ({ event }) => event,
    ({ place }) => timestamp(place.dueAt),
    ({ place }) => place.id,
  )
}

function isClaimed(row: ClaimRow): row is ClaimRow & ClaimedRow {
  return row.delivery_id !== null
}

/** What is urgent first, then what is due longest. */
function inOrder(a: ClaimRow & ClaimedRow, b: ClaimRow & ClaimedRow): number {
  return a.priority - b.priority || a.due_at - b.due_at || (a.delivery_id < b.delivery_id ? -1 : 1)
}

function deliveryOf(row: ClaimRow & ClaimedRow, bucket: number, channel: Channel): ClaimedDelivery {
  return {
    bucket,
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
  }
}

function quietHoursOf({ start, end, zone }: NonNullable<ClaimedRow['quiet_hours']>) {
  return { start, end, ...withoutNulls({ zone }) }
}
