import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { bucketOfId, channelOf, deliveryIdOf, newIdBeside } from '../../model/id.ts'
import type { Cancelled } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { eraseSensitive } from '../retention/erase-sensitive.ts'
import { timestamp } from '../sql/columns.ts'
import { customPlan } from '../sql/plans.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'

/** What is cancelled, and when (Unix milliseconds). */
export interface Cancellation {
  readonly id: string
  readonly channels: readonly Channel[]
  readonly now: number
}

interface Scope {
  readonly tx: Transaction
  readonly bucket: number
  readonly id: string
  readonly channels: readonly Channel[]
}

/** A lease that has not ended: somebody plans it, or calls a provider with it. */
const isLeased = '(lease_until IS NOT NULL AND lease_until >= now())'

/**
 * Cancels what of a notification nobody works at, in one transaction. Each row is locked when it is removed, as whoever
 * claims it locks it: the first of the two has it, and the other one finds that. What is leased stays. Undefined where
 * there is no such notification.
 */
export function cancel(
  database: Database,
  buckets: number,
  { id, channels, now }: Cancellation,
): Promise<Cancelled | undefined> {
  const bucket = bucketOfId(id, buckets)
  return at(database, bucket).transaction(async (tx) => {
    await tx.query(customPlan)
    const { rows } = await tx.query<{ user_id: string; event: string }>(
      'SELECT user_id, event FROM notify.notification WHERE bucket = $1 AND id = $2',
      [bucket, id],
    )
    const [notification] = rows
    if (!notification) return undefined
    const scope = { tx, bucket, id, channels }
    const queued = await removeQueued(scope)
    const gathered = await removeGathered(scope, { ...notification, now })
    // An email that was queued has a delivery.
    const prevented = queued.includes('email') ? [] : await preventFallback(scope, notification.user_id, gathered)
    const deferred = await removeDeferred(scope)
    const cancelled = channels.filter((channel) =>
      [queued, deferred.cancelled, gathered.cancelled, prevented].some((each) => each.includes(channel)),
    )
    await end(scope, cancelled, now)
    if (queued.length + deferred.cancelled.length > 0 || gathered.isWhole)
      await eraseSensitive(tx, { count: 1, bucket }, [deliveryIdOf(id, cancelled[0] ?? 'email')])
    const underWay = [...(await stillQueued(scope)), ...deferred.underWay, ...gathered.underWay]
    return { cancelled, underWay: channels.filter((channel) => underWay.includes(channel)) }
  })
}

const deliveryIds = ({ id, channels }: Scope) => channels.map((channel) => deliveryIdOf(id, channel))

const channelsOf = (rows: ReadonlyArray<{ readonly delivery_id: string }>) =>
  rows.flatMap((row) => channelOf(row.delivery_id) ?? [])

async function removeQueued(scope: Scope): Promise<Channel[]> {
  const { rows } = await scope.tx.query<{ delivery_id: string }>(
    `DELETE FROM notify.delivery_queue WHERE bucket = $1 AND delivery_id = ANY ($2::uuid[]) AND NOT ${isLeased}
     RETURNING delivery_id`,
    [scope.bucket, deliveryIds(scope)],
  )
  return channelsOf(rows)
}

async function stillQueued(scope: Scope): Promise<Channel[]> {
  const { rows } = await scope.tx.query<{ delivery_id: string }>(
    'SELECT delivery_id FROM notify.delivery_queue WHERE bucket = $1 AND delivery_id = ANY ($2::uuid[])',
    [scope.bucket, deliveryIds(scope)],
  )
  return channelsOf(rows)
}

interface DeferredRow {
  readonly user_id: string
  readonly channels: Channel[]
  readonly reason: string
  readonly resume_at: number
  readonly leased: boolean
}

/** A row that keeps other channels is written again with an id of its own: whoever planned the old one finds it gone. */
async function removeDeferred({ tx, bucket, id, channels }: Scope) {
  const of = 'bucket = $1 AND notification_id = $2 AND channels && $3::text[]'
  const removed = await tx.query<DeferredRow>(
    `DELETE FROM notify.deferred WHERE ${of} AND NOT ${isLeased}
     RETURNING user_id, channels, reason, resume_at`,
    [bucket, id, channels],
  )
  for (const row of removed.rows) {
    const kept = row.channels.filter((channel) => !channels.includes(channel))
    if (kept.length === 0) continue
    await tx.query(
      `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [bucket, newIdBeside(id), id, row.user_id, kept, row.reason, timestamp(row.resume_at)],
    )
  }
  const left = await tx.query<DeferredRow>(`SELECT channels FROM notify.deferred WHERE ${of}`, [bucket, id, channels])
  return { cancelled: removed.rows.flatMap((row) => row.channels), underWay: left.rows.flatMap((row) => row.channels) }
}

interface Gathering {
  readonly user_id: string
  readonly event: string
  readonly now: number
}

interface Gathered {
  readonly cancelled: readonly Channel[]
  /** What a closed window holds. */
  readonly underWay: readonly Channel[]
  /** What stays in the open window. */
  readonly kept: readonly Channel[]
  /** Nothing of the notification is gathered any more, and something was. */
  readonly isWhole: boolean
}

/**
 * Takes the notification out of the open window; who adds to that or closes it waits for its lock. What a closed one holds
 * is being flushed.
 */
async function removeGathered(scope: Scope, gathering: Gathering): Promise<Gathered> {
  const { tx, bucket, channels } = scope
  const { rows } = await tx.query<{ id: string }>(
    `SELECT id FROM notify.pending_window
      WHERE bucket = $1 AND user_id = $2 AND event = $3 AND state = 'open' FOR UPDATE`,
    [bucket, gathering.user_id, gathering.event],
  )
  const window = rows[0]?.id
  const gathered = window === undefined ? [] : await readItem(scope, window)
  if (window === undefined || gathered.length === 0)
    return { cancelled: [], underWay: await findFlushing(scope, gathering), kept: [], isWhole: false }
  const kept = gathered.filter((channel) => !channels.includes(channel))
  if (kept.length < gathered.length) await keepGathered(scope, window, kept)
  const cancelled = gathered.filter((channel) => channels.includes(channel))
  return { cancelled, underWay: [], kept, isWhole: kept.length === 0 }
}

const ofItem = 'bucket = $1 AND window_id = $2 AND notification_id = $3'

async function readItem({ tx, bucket, id }: Scope, window: string): Promise<readonly Channel[]> {
  const { rows } = await tx.query<{ channels: Channel[] }>(
    `SELECT channels FROM notify.pending_item WHERE ${ofItem} FOR UPDATE`,
    [bucket, window, id],
  )
  return rows[0]?.channels ?? []
}

async function keepGathered({ tx, bucket, id }: Scope, window: string, kept: readonly Channel[]): Promise<void> {
  const item = [bucket, window, id]
  if (kept.length > 0) {
    await tx.query(`UPDATE notify.pending_item SET channels = $4 WHERE ${ofItem}`, [...item, kept])
    return
  }
  await tx.query(`DELETE FROM notify.pending_item WHERE ${ofItem}`, item)
  await tx.query(
    `DELETE FROM notify.pending_window w WHERE w.bucket = $1 AND w.id = $2
       AND NOT EXISTS (SELECT FROM notify.pending_item i WHERE i.bucket = $1 AND i.window_id = $2)`,
    [bucket, window],
  )
}

/** The channels that a closed window holds; it was due before it was closed. The item is locked as by {@link isPushLeft}. */
async function findFlushing({ tx, bucket, id }: Scope, { user_id: userId, event, now }: Gathering): Promise<Channel[]> {
  const { rows } = await tx.query<{ channels: Channel[] }>(
    `SELECT i.channels FROM notify.pending_window w
       JOIN notify.pending_item i ON i.bucket = $1 AND i.window_id = w.id AND i.notification_id = $4
      WHERE w.bucket = $1 AND w.user_id = $2 AND w.event = $3 AND w.state = 'closed' AND w.flush_at <= $5
      FOR KEY SHARE OF i`,
    [bucket, userId, event, id, timestamp(now)],
  )
  return rows.flatMap((row) => row.channels)
}

/**
 * While the push may still fail for good, an email that is cancelled and has no delivery gets one that has ended: the
 * fallback creates none beside it. Whichever of the two writes the row first has it; a fallback that was first is found
 * among what is deferred, which is therefore looked at afterwards. What a closed window holds of email is not ours to end.
 */
async function preventFallback(
  scope: Scope,
  userId: string,
  { underWay, kept }: Gathered,
): Promise<readonly Channel[]> {
  const { tx, bucket, id, channels } = scope
  if (!channels.includes('email') || underWay.includes('email') || kept.includes('email')) return []
  if (![...underWay, ...kept].includes('push') && !(await isPushLeft(scope))) return []
  const { rowCount } = await tx.query(
    `INSERT INTO notify.delivery (bucket, id, user_id, channel, state, ended) VALUES ($1, $2, $3, 'email', 'queued', 'cancelled')
     ON CONFLICT (bucket, id) DO NOTHING`,
    [bucket, deliveryIdOf(id, 'email'), userId],
  )
  return rowCount > 0 ? ['email'] : []
}

/**
 * Whether the push is queued, or deferred and stays so. Its row is locked until the commit, for more is written about the
 * user because of it: an erasure waits, or was first and has removed the row. A claim keeps the key and may have the row.
 */
async function isPushLeft({ tx, bucket, id, channels }: Scope): Promise<boolean> {
  const queued = await tx.query(
    'SELECT 1 FROM notify.delivery_queue WHERE bucket = $1 AND delivery_id = $2 FOR KEY SHARE',
    [bucket, deliveryIdOf(id, 'push')],
  )
  if (queued.rowCount > 0) return true
  const deferred = await tx.query(
    `SELECT 1 FROM notify.deferred
      WHERE bucket = $1 AND notification_id = $2 AND 'push' = ANY (channels) AND (${isLeased} OR NOT $3::boolean)
      FOR KEY SHARE`,
    [bucket, id, channels.includes('push')],
  )
  return deferred.rowCount > 0
}

async function end({ tx, bucket, id }: Scope, cancelled: readonly Channel[], now: number): Promise<void> {
  const ids = cancelled.map((channel) => deliveryIdOf(id, channel))
  await tx.query("UPDATE notify.delivery SET ended = 'cancelled' WHERE bucket = $1 AND id = ANY ($2::uuid[])", [
    bucket,
    ids,
  ])
  const entries = cancelled.map(
    (channel): NewTimelineEntry => ({
      notificationId: id,
      deliveryId: deliveryIdOf(id, channel),
      channel,
      at: now,
      entryType: 'cancelled',
      detail: { delivery_id: deliveryIdOf(id, channel) },
    }),
  )
  for (const query of appendTimeline({ count: 1, bucket }, entries)) await tx.query(query)
}
