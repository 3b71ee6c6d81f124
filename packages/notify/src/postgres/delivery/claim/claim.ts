import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../../../model/channel.ts'
import { priorities } from '../../../model/notification/priority.ts'
import { nextTurns, type PriorityWeights, type Turn } from '../../../model/work/fair-shares.ts'
import type { ClaimedDelivery, ClaimRequest, ClaimResult, Deliveries } from '../../../store/store.ts'
import { at } from '../../nodes/spread-database.ts'
import { type BucketScope, type Buckets, textFor } from '../../sql/buckets.ts'
import { columns, timestamp } from '../../sql/columns.ts'
import {
  type ClaimBegun,
  type ClaimMarks,
  type ClaimSeen,
  createClaimMarks,
  type Mark,
  type Place,
  readsMuch,
} from './claim-marks.ts'
import { type ClaimedRow, type ClaimRow, deliveryOf, inOrder, isClaimed, type PartRow } from './claim-rows.ts'
import {
  afterClaimSql,
  allOfIndexMs,
  beforeClaimOfAllSql,
  beforeClaimSql,
  claimFromBeginningSql,
  claimFromMarksSql,
} from './claim-sql.ts'

/** Claims the deliveries of a database; keeps where it left off and whose turn it is. */
export interface Claimer {
  readonly claim: Deliveries['claim']
  /** Rows of an event type became claimable, or will at a time to come; the first of them at `place`. */
  lower(bucket: number, channel: Channel, event: string, place: Place): void
}

/** The marks of each bucket of a channel, and whose turn it is in all of them. */
interface Queue {
  readonly marks: Map<number, ClaimMarks>
  turns: readonly Turn[]
  /** Where the buckets are claimed from one after the other: with which the next claim begins. */
  first: number
}

/** How many buckets are claimed from at once where each needs a statement of its own. */
const concurrentBuckets = 4

/** A {@link Claimer} for one process. `weights` say how often each priority is served. */
export function createClaimer(database: Database, buckets: Buckets, weights: PriorityWeights): Claimer {
  const queues = new Map<Channel, Queue>()
  const queueOf = (channel: Channel): Queue => {
    const turns = priorities.map((priority) => ({ weight: weights[priority], credit: 0, next: 0 }))
    const queue = queues.get(channel) ?? { marks: new Map(), turns, first: 0 }
    queues.set(channel, queue)
    return queue
  }
  return {
    claim(request) {
      const queue = queueOf(request.channel)
      if (request.buckets.length === 0)
        return Promise.resolve({ deliveries: [], failed: new Map(), nextDueAt: new Map() })
      if (buckets.distributed) return claimApart(database, queue, buckets, request)
      return claimTogether(database, queue, { count: buckets.count }, request)
    },
    lower(bucket, channel, event, place) {
      queues.get(channel)?.marks.get(bucket)?.lower(event, place)
    },
  }
}

/** Claims from each bucket in a transaction of its own, a few at a time, until there are enough. */
async function claimApart(
  database: Database,
  queue: Queue,
  { count }: Buckets,
  request: ClaimRequest,
): Promise<ClaimResult> {
  const start = queue.first % request.buckets.length
  const waiting = [...request.buckets.slice(start), ...request.buckets.slice(0, start)]
  const deliveries: ClaimedDelivery[] = []
  const failed = new Map<number, unknown>()
  const nextDueAt = new Map<number, number>()
  while (waiting.length > 0 && deliveries.length < request.limit) {
    const left = request.limit - deliveries.length
    const visited = waiting.splice(0, Math.min(concurrentBuckets, left))
    queue.first += visited.length
    const limit = Math.floor(left / visited.length)
    const claims = visited.map((bucket) =>
      claimTogether(database, queue, { count, bucket }, { ...request, buckets: [bucket], limit }),
    )
    for (const [index, settled] of (await Promise.allSettled(claims)).entries()) {
      if (settled.status === 'rejected') {
        failed.set(visited[index] ?? 0, settled.reason)
        continue
      }
      deliveries.push(...settled.value.deliveries)
      for (const [bucket, dueAt] of settled.value.nextDueAt) nextDueAt.set(bucket, dueAt)
    }
  }
  for (const bucket of waiting) nextDueAt.set(bucket, request.now)
  deliveries.sort((a, b) => Number(b.critical) - Number(a.critical))
  return { deliveries, failed, nextDueAt }
}

/** Claims from all of the buckets in one statement. */
async function claimTogether(
  database: Database,
  queue: Queue,
  scope: BucketScope,
  { buckets, channel, limit, leaseMs, now }: ClaimRequest,
): Promise<ClaimResult> {
  const begun = new Map(buckets.map((bucket) => [bucket, marksOf(queue, bucket).begin(now)]))
  let seen: ReadonlyMap<number, ClaimSeen> = new Map()
  try {
    const own = scope.bucket ?? `{${buckets.join(',')}}`
    const values = [own, channel, limit, leaseMs, timestamp(now), ...turnColumns(queue.turns)]
    const { rows, entriesRead } = await run(database, scope, begun, values)
    const claimed = rows.filter(isClaimed)
    const parts = rows.filter((row): row is PartRow => !isClaimed(row))
    const whole = [...begun.values()].filter(({ range }) => range === 'all').length
    seen = seenBy(parts, claimed, readsMuch(entriesRead, whole, claimed.length))
    queue.turns = nextTurns(queue.turns, servedBy(parts, claimed, now), limit)
    return {
      deliveries: claimed.sort(inOrder).map((row) => deliveryOf(row, channel)),
      failed: new Map(),
      nextDueAt: dueTimes(parts, claimed, { now, isFull: claimed.length >= limit }),
    }
  } finally {
    for (const [bucket, { end }] of begun) end(seen.get(bucket))
  }
}

function marksOf({ marks }: Queue, bucket: number): ClaimMarks {
  const known = marks.get(bucket) ?? createClaimMarks()
  marks.set(bucket, known)
  return known
}

/** What the claim saw, bucket by bucket. */
function seenBy(
  parts: readonly PartRow[],
  claimed: readonly ClaimedRow[],
  isCrowded: boolean,
): ReadonlyMap<number, ClaimSeen> {
  const seen = new Map<number, { readonly groups: PartRow[]; readonly claimed: ClaimSeen['claimed'][number][] }>()
  const seenIn = (bucket: number) => {
    const known = seen.get(bucket) ?? { groups: [], claimed: [] }
    seen.set(bucket, known)
    return known
  }
  for (const part of parts) seenIn(part.bucket).groups.push(part)
  for (const { bucket, priority, event, due_at: dueAt, delivery_id: id } of claimed)
    seenIn(bucket).claimed.push({ priority, event, dueAt, id })
  return new Map([...seen].map(([bucket, each]) => [bucket, { ...each, isCrowded }]))
}

/** Of each priority how many were claimed, and whether it has any that are due. */
function servedBy(parts: readonly PartRow[], claimed: readonly ClaimedRow[], now: number) {
  const due = parts.filter(({ front }) => front !== null && front <= now)
  return priorities.map((_, priority) => ({
    count: claimed.filter((row) => row.priority === priority).length,
    isDue: due.some((part) => part.priority === priority),
  }))
}

/**
 * When the next row of each bucket is due: now where the claim got all that it may and the bucket has some due, or where a
 * part of it gave as many as it may.
 */
function dueTimes(
  parts: readonly PartRow[],
  claimed: readonly ClaimedRow[],
  { now, isFull }: { readonly now: number; readonly isFull: boolean },
): ReadonlyMap<number, number> {
  const counts = new Map<string, number>()
  for (const row of claimed) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1)
  const first = new Map<number, number>()
  for (const part of parts) {
    const { bucket, share, front, later } = part
    const hasMore = share !== null && (isFull || (counts.get(keyOf(part)) ?? 0) >= share)
    const dueAt = hasMore ? now : share === null ? front : later
    if (dueAt !== null) first.set(bucket, Math.min(dueAt, first.get(bucket) ?? dueAt))
  }
  return first
}

function keyOf({ bucket, priority, event }: Pick<ClaimRow, 'bucket' | 'priority' | 'event'>): string {
  return `${bucket} ${priority} ${event}`
}

/**
 * Runs the claim, and counts the index entries that it reads where it reads all of them. Where it is for one bucket on some
 * node those can't be counted: it reads all, and its plan is kept.
 */
async function run(
  database: Database,
  scope: BucketScope,
  begun: ReadonlyMap<number, ClaimBegun>,
  values: readonly unknown[],
): Promise<{ readonly rows: ClaimRow[]; readonly entriesRead: number }> {
  if (scope.bucket !== undefined) {
    const text = textFor(scope, claimFromBeginningSql)
    const { rows } = await at(database, scope.bucket).query<ClaimRow>({ name: 'notify_claim_of_bucket', text, values })
    return { rows, entriesRead: 0 }
  }
  const ranges = [...begun].map(([bucket, { range }]) => ({ bucket, range }))
  const readsAny = ranges.some(({ range }) => range === 'all')
  const readsAll = ranges.every(({ range }) => range === 'all')
  const marks = ranges.flatMap(({ bucket, range }) =>
    range === 'all' ? [] : range.map((mark) => ({ bucket, ...mark })),
  )
  const query = readsAll
    ? { name: 'notify_claim', text: claimFromBeginningSql, values }
    : { name: 'notify_claim_from_marks', text: claimFromMarksSql, values: [...values, ...markColumns(marks)] }
  return database.transaction(async (tx) => {
    const [before, { rows }, after] = await Promise.all([
      readsAny
        ? readEntries(tx, 'notify_before_claim_of_all', beforeClaimOfAllSql)
        : readEntries(tx, 'notify_before_claim', beforeClaimSql),
      tx.query<ClaimRow>({ ...query, ...(readsAny ? { timeoutMs: allOfIndexMs } : {}) }),
      readsAny ? readEntries(tx, 'notify_after_claim', afterClaimSql, allOfIndexMs) : 0,
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

function markColumns(marks: ReadonlyArray<Mark & { readonly bucket: number }>): string[] {
  return columns(
    marks,
    ({ bucket }) => bucket,
    ({ priority }) => priority,
    ({ event }) => event,
    ({ place }) => timestamp(place.dueAt),
    ({ place }) => place.id,
  )
}
