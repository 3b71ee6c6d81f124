import type { Database, Transaction } from '@gatehouse/kit'
import { exactTime } from '../../model/exact-time.ts'
import { bucketOfId, bucketOfUser, newIdOfUser } from '../../model/id.ts'
import type { NotifyRequest } from '../../model/notification/notification.ts'
import type { DueScheduled, Schedule, Scheduled, ScheduledFilter, Waiting } from '../../store/store.ts'
import { failedMessage } from '../dead-letters/topic-failures.ts'
import { at } from '../nodes/spread-database.ts'
import { queries } from '../queries/index.ts'
import type { Buckets } from '../sql/buckets.ts'
import { optionalTimestamp, storable, timestamp, withoutNulls } from '../sql/columns.ts'
import { claimWaiting } from './claim-waiting.ts'

interface ScheduledRow {
  readonly id: string
  readonly fire_at: number
  readonly payload: NotifyRequest
  readonly source: string
  readonly occurred_at: number | null
  readonly failures?: number
  readonly leased?: boolean
  readonly microseconds?: number
}

/** Scheduled events on PostgreSQL. */
export function postgresSchedule(database: Database, buckets: number): Schedule {
  return {
    async add(fireAt, payload, id = newIdOfUser(payload.user_id)) {
      const bucket = bucketOfUser(payload.user_id, buckets)
      await at(database, bucket).query(
        'INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload) VALUES ($1, $2, $3, $4, $5)',
        [bucket, id, payload.user_id, timestamp(fireAt), JSON.stringify(payload)],
      )
      return id
    },
    async find(id) {
      const bucket = bucketOfId(id, buckets)
      const { rows } = await at(database, bucket).query<ScheduledRow>(
        `SELECT id, fire_at, payload, source, occurred_at, failures, coalesce(lease_until >= now(), false) AS leased
           FROM notify.scheduled WHERE bucket = $1 AND id = $2`,
        [bucket, id],
      )
      return rows[0] && scheduledOf(rows[0])
    },
    list: (filter, after, limit) => list(database, buckets, { filter, after, limit }),
    async move(id, fireAt, before) {
      const bucket = bucketOfId(id, buckets)
      const values = [bucket, id]
      // Whoever read it read milliseconds.
      const beforeEnd = before === undefined ? undefined : before + 1
      const { rowCount } = await at(database, bucket).query(
        `UPDATE notify.scheduled SET fire_at = $3
          WHERE bucket = $1 AND id = $2 AND (lease_until IS NULL OR lease_until < now())
            AND ($4::timestamptz IS NULL OR (fire_at >= $4::timestamptz AND fire_at < $5::timestamptz))`,
        [...values, timestamp(fireAt), optionalTimestamp(before), optionalTimestamp(beforeEnd)],
      )
      if (rowCount > 0) return 'moved'
      const { rows } = await at(database, bucket).query<{ fire_at: number }>(
        'SELECT fire_at FROM notify.scheduled WHERE bucket = $1 AND id = $2',
        values,
      )
      const [left] = rows
      if (left === undefined) return 'fired'
      return before !== undefined && left.fire_at !== before ? 'changed' : 'firing'
    },
    async cancel(id) {
      const bucket = bucketOfId(id, buckets)
      const text = 'DELETE FROM notify.scheduled WHERE bucket = $1 AND id = $2'
      const { rowCount } = await at(database, bucket).query(text, [bucket, id])
      return rowCount > 0
    },
    moveToDeadLetters(scheduled, cause, detail, now) {
      const bucket = bucketOfId(scheduled.id, buckets)
      return at(database, bucket).transaction((tx) =>
        moveToDeadLetters(tx, bucket, scheduled, { cause, detail, at: timestamp(now) }),
      )
    },
    recordFailure(scheduled, maxAttempts, reason, now) {
      const bucket = bucketOfId(scheduled.id, buckets)
      return at(database, bucket).transaction((tx) =>
        recordFailure(tx, bucket, scheduled, { maxAttempts, reason, now }),
      )
    },
  }
}

interface ScheduledPage {
  readonly filter: ScheduledFilter
  readonly after: Pick<Scheduled, 'fireAt' | 'microseconds' | 'id'> | undefined
  readonly limit: number
}

async function list(
  database: Database,
  buckets: number,
  { filter, after, limit }: ScheduledPage,
): Promise<Scheduled[]> {
  const { userId, from, to, event } = filter
  const mine =
    userId === undefined ? Array.from({ length: buckets }, (_, bucket) => bucket) : [bucketOfUser(userId, buckets)]
  const found: ScheduledRow[] = []
  for (const bucket of mine) {
    const { rows } = await at(database, bucket).query<ScheduledRow>(
      `SELECT id, fire_at, payload, source, occurred_at, failures, coalesce(lease_until >= now(), false) AS leased,
              extract(microseconds FROM fire_at)::integer % 1000 AS microseconds
         FROM notify.scheduled
        WHERE bucket = $1${userId === undefined ? '' : ' AND user_id = $8'}
          AND ($2::timestamptz IS NULL OR (fire_at, id) > ($2, $3::uuid))
          AND ($5::timestamptz IS NULL OR fire_at >= $5) AND ($6::timestamptz IS NULL OR fire_at < $6)
          AND ($7::text IS NULL OR payload->>'event' = $7)
        ORDER BY fire_at, id LIMIT $4`,
      [
        bucket,
        after === undefined ? null : dueOf(after),
        after?.id ?? null,
        limit,
        optionalTimestamp(from),
        optionalTimestamp(to),
        event ?? null,
        ...(userId === undefined ? [] : [userId]),
      ],
    )
    found.push(...rows)
  }
  return found
    .sort((a, b) => a.fire_at - b.fire_at || microsecondsOf(a) - microsecondsOf(b) || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map(scheduledOf)
}

const microsecondsOf = ({ microseconds = 0 }: Pick<Scheduled, 'microseconds'>) => microseconds

/** When it is due as PostgreSQL has it, to the microsecond. */
function dueOf(scheduled: Pick<Scheduled, 'fireAt' | 'microseconds'>): string {
  return exactTime(scheduled.fireAt, microsecondsOf(scheduled))
}

interface Failure {
  readonly maxAttempts: number
  readonly reason: string
  readonly now: number
}

async function recordFailure(
  tx: Transaction,
  bucket: number,
  scheduled: Scheduled,
  { maxAttempts, reason, now }: Failure,
): Promise<boolean> {
  const { rows } = await tx.query<{ failures: number }>(
    'UPDATE notify.scheduled SET failures = failures + 1 WHERE bucket = $1 AND id = $2 RETURNING failures',
    [bucket, scheduled.id],
  )
  const failures = rows[0]?.failures
  if (failures === undefined || failures < maxAttempts) return false
  const cause = scheduled.source === 'topic' ? failedMessage : 'failed_schedule'
  const detail = `${failures} attempts failed, the last: ${storable(reason)}`
  await moveToDeadLetters(tx, bucket, scheduled, { cause, detail, at: timestamp(now) })
  return true
}

/** Claims scheduled events that are due. */
export async function claimScheduled(
  database: Database,
  tables: Buckets,
  ...[buckets, limit, leaseMs, now]: Parameters<Waiting['claimScheduled']>
): Promise<DueScheduled[]> {
  const query = { name: 'notify_claim_scheduled', text: queries['waiting/claim-scheduled'] }
  const claim = { buckets, limit, leaseMs, now }
  const rows = await claimWaiting<ScheduledRow & { readonly bucket: number }>(database, tables, query, claim)
  return rows.map(({ bucket, ...row }) => ({ ...scheduledOf(row), bucket }))
}

interface Death {
  readonly cause: string
  readonly detail: string
  readonly at: string
}

async function moveToDeadLetters(
  tx: Transaction,
  bucket: number,
  { id, payload }: Scheduled,
  { cause, detail, at }: Death,
): Promise<void> {
  const removed = await tx.query('DELETE FROM notify.scheduled WHERE bucket = $1 AND id = $2', [bucket, id])
  if (removed.rowCount === 0) return
  const values = [bucket, id, payload.user_id, payload.event, cause, detail, at]
  await tx.query(
    `INSERT INTO notify.dead_letter (bucket, id, user_id, event, cause, detail, died_at, message)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...values,
      JSON.stringify({ request: payload, ...(cause === failedMessage ? { text: JSON.stringify(payload) } : {}) }),
    ],
  )
}

function scheduledOf(row: ScheduledRow): Scheduled {
  const { fire_at: fireAt, occurred_at: occurredAt, leased: isUnderWay, ...rest } = row
  return { ...rest, fireAt, ...(isUnderWay === undefined ? {} : { isUnderWay }), ...withoutNulls({ occurredAt }) }
}
