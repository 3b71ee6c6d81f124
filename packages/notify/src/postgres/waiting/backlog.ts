import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { bucketOfId } from '../../model/id.ts'
import type { Backlog, ParkedEvent, PendingEntry, QueueDepth, QueueReport } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { optionalTimestamp, timestamp, withoutNulls } from '../sql/columns.ts'

interface PendingRow {
  readonly id: string
  readonly user_id: string
  readonly event: string
  readonly notification_id: string | null
  readonly channels: Channel[] | null
  readonly items: number | null
  readonly due_at: number
  readonly reason: PendingEntry['reason']
  readonly leased: boolean
}

const rowsOf = {
  deferred: `SELECT d.id, d.user_id, n.event, d.notification_id, d.channels, NULL::bigint AS items, d.resume_at AS due_at, d.reason,
       coalesce(d.lease_until >= now(), false) AS leased
  FROM notify.deferred d JOIN notify.notification n ON n.bucket = $1 AND n.id = d.notification_id
 WHERE d.bucket = $1 AND ($2::timestamptz IS NULL OR (d.resume_at, d.id) > ($2, $3::uuid)) AND ($5::text IS NULL OR n.event = $5)
 ORDER BY d.resume_at, d.id LIMIT $4`,
  aggregating: `SELECT w.id, w.user_id, w.event, NULL::uuid AS notification_id, NULL::text[] AS channels,
       (SELECT count(*) FROM notify.pending_item i WHERE i.bucket = $1 AND i.window_id = w.id) AS items,
       w.flush_at AS due_at, 'aggregated' AS reason, coalesce(w.lease_until >= now(), false) AS leased
  FROM notify.pending_window w
 WHERE w.bucket = $1 AND ($2::timestamptz IS NULL OR (w.flush_at, w.id) > ($2, $3::uuid)) AND ($5::text IS NULL OR w.event = $5)
 ORDER BY w.flush_at, w.id LIMIT $4`,
} as const

const maxParkedCounted = 10_000
/** So many rows of the queue are counted, over all buckets. */
const maxQueueRows = 100_000

/** What waits, on PostgreSQL. */
export function postgresBacklog(database: Database, buckets: number): Backlog {
  const all = Array.from({ length: buckets }, (_, bucket) => bucket)
  return {
    async list({ kind, event }, after, limit) {
      const found: PendingRow[] = []
      for (const bucket of all) {
        const values = [bucket, optionalTimestamp(after?.dueAt), after?.id ?? null, limit, event ?? null]
        found.push(...(await at(database, bucket).query<PendingRow>(rowsOf[kind], values)).rows)
      }
      found.sort((a, b) => a.due_at - b.due_at || (a.id < b.id ? -1 : 1))
      return found.slice(0, limit).map(entryOf)
    },
    async listParked() {
      const found = new Map<string, ParkedEvent>()
      for (const bucket of all)
        for (const { event, items } of await countParked(database, bucket)) {
          const known = found.get(event) ?? { event, items: 0, buckets: [] }
          found.set(event, { event, items: known.items + items, buckets: [...known.buckets, bucket] })
        }
      return [...found.values()].sort((a, b) => (a.event < b.event ? -1 : 1))
    },
    async find(id) {
      const bucket = bucketOfId(id, buckets)
      const { rows } = await at(database, bucket).query<Pick<PendingRow, 'user_id' | 'event' | 'reason'>>(
        `SELECT user_id, event, 'aggregated' AS reason FROM notify.pending_window
          WHERE bucket = $1 AND id = $2 AND state = 'open'
         UNION ALL
         SELECT d.user_id, n.event, d.reason FROM notify.deferred d JOIN notify.notification n ON n.bucket = $1 AND n.id = d.notification_id
          WHERE d.bucket = $1 AND d.id = $2`,
        [bucket, id],
      )
      const [row] = rows
      return row && { userId: row.user_id, event: row.event, reason: row.reason }
    },
    release: (id, now) => release(database, bucketOfId(id, buckets), id, now),
    queue: (now) => reportQueue(database, all, now),
  }
}

function entryOf({
  id,
  user_id: userId,
  event,
  due_at: dueAt,
  reason,
  leased: isUnderWay,
  ...row
}: PendingRow): PendingEntry {
  const { notification_id: notificationId, channels, items } = row
  return { id, userId, event, dueAt, reason, isUnderWay, ...withoutNulls({ notificationId, channels, items }) }
}

async function countParked(database: Database, bucket: number): Promise<Array<{ event: string; items: number }>> {
  const { rows } = await at(database, bucket).query<{ event: string; items: number }>(
    `SELECT event, count(*) AS items
       FROM (SELECT event FROM notify.parked WHERE bucket = $1 LIMIT $2) AS looked GROUP BY event`,
    [bucket, maxParkedCounted],
  )
  return rows
}

/** The lock of the row decides between this and whoever closes the window or plans the delivery. */
async function release(
  database: Database,
  bucket: number,
  id: string,
  now: number,
): Promise<'released' | 'quiet' | 'gone'> {
  const values = [bucket, id, timestamp(now)]
  const own = at(database, bucket)
  const window = await own.query(
    "UPDATE notify.pending_window SET flush_at = least(flush_at, $3) WHERE bucket = $1 AND id = $2 AND state = 'open'",
    values,
  )
  if (window.rowCount > 0) return 'released'
  const deferred = await own.query(
    `UPDATE notify.deferred SET resume_at = least(resume_at, $3) WHERE bucket = $1 AND id = $2 AND reason <> 'quiet_hours'`,
    values,
  )
  if (deferred.rowCount > 0) return 'released'
  const left = await own.query('SELECT FROM notify.deferred WHERE bucket = $1 AND id = $2', [bucket, id])
  return left.rowCount > 0 ? 'quiet' : 'gone'
}

interface DepthRow {
  readonly channel: Channel
  readonly priority: number
  readonly due: number
  readonly later: number
  readonly leased: number
  readonly oldest_due_at: number | null
}

async function reportQueue(database: Database, buckets: readonly number[], now: number): Promise<QueueReport> {
  const depths = new Map<string, QueueDepth>()
  let left = maxQueueRows
  for (const bucket of buckets) {
    const { rows } = await at(database, bucket).query<DepthRow>(queueSql, [bucket, timestamp(now), left])
    for (const row of rows) {
      left -= row.due + row.later + row.leased
      const key = `${row.channel} ${row.priority}`
      depths.set(key, add(depths.get(key), row))
    }
  }
  const sorted = [...depths].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, depth]) => depth)
  return { depths: sorted, isComplete: left > 0 }
}

const queueSql = `
SELECT channel, priority, count(*) FILTER (WHERE NOT leased AND due_at <= $2) AS due,
       count(*) FILTER (WHERE NOT leased AND due_at > $2) AS later, count(*) FILTER (WHERE leased) AS leased,
       min(due_at) FILTER (WHERE NOT leased AND due_at <= $2) AS oldest_due_at
  FROM (SELECT channel, priority, due_at, coalesce(lease_until >= now(), false) AS leased
          FROM notify.delivery_queue WHERE bucket = $1 LIMIT $3) AS looked
 GROUP BY channel, priority`

function add(known: QueueDepth | undefined, row: DepthRow): QueueDepth {
  const { channel, priority } = row
  const oldest = [known?.oldestDueAt, row.oldest_due_at].filter((at) => at !== undefined && at !== null)
  return {
    channel,
    priority,
    due: (known?.due ?? 0) + row.due,
    later: (known?.later ?? 0) + row.later,
    leased: (known?.leased ?? 0) + row.leased,
    ...(oldest.length > 0 ? { oldestDueAt: Math.min(...oldest) } : {}),
  }
}
