import type { Database, Notifier, Transaction } from '@gatehouse/kit'
import { bucketOfUser, firstIdAt } from '../ids.ts'
import type { Retention } from '../options.ts'
import type { Privacy } from '../store.ts'
import { purgeDeadLetters } from './dead-letters.ts'
import { purgeDevices } from './devices.ts'
import { purgeInboxes } from './inbox-count.ts'
import { timestamp } from './words.ts'

const ofUser = 'bucket = $1 AND user_id = $2'
const notificationsOf = `(SELECT id FROM notify.notification WHERE ${ofUser})`
const windowsOf = `(SELECT id FROM notify.pending_window WHERE ${ofUser})`

/**
 * Every table that knows a user, children before what they hang on, and how its rows of the user are found; where others
 * lock more than one of them, in their order.
 */
const tables: ReadonlyArray<readonly [string, string]> = [
  ['dead_letter', ofUser],
  ['work', ofUser],
  ['deferral', ofUser],
  ['scheduled', ofUser],
  ['parked', ofUser],
  ['pending_item', `bucket = $1 AND window_id IN ${windowsOf}`],
  ['pending_window', ofUser],
  ['delivery_event', `bucket = $1 AND notification_id IN ${notificationsOf}`],
  ['delivery', ofUser],
  ['outbox', "bucket = $1 AND payload->>'user_id' = $2"],
  ['notification', ofUser],
  ['log', ofUser],
  ['inbox_count', ofUser],
  ['inbox', ofUser],
  ['mailbox', '$1::integer IS NOT NULL AND user_id = $2'],
  ['suppression', ofUser],
  ['device', ofUser],
  ['push_token', '$1::integer IS NOT NULL AND user_id = $2'],
  ['preference', ofUser],
  ['recipient', ofUser],
  ['cap', ofUser],
]

const batchSize = 1_000
const providerEventDays = 7
const dayMs = 86_400_000

export function postgresPrivacy(database: Database, buckets: number, inboxes: Notifier): Privacy {
  return {
    async exportUser(userId) {
      const bucket = bucketOfUser(userId, buckets)
      const found: Record<string, unknown[]> = {}
      for (const [table, where] of tables) {
        const { rows } = await database.query<object>(`SELECT * FROM notify.${table} WHERE ${where}`, [bucket, userId])
        if (rows.length > 0) found[table] = rows.map(({ bucket: _, ...row }: { bucket?: number }) => row)
      }
      return found
    },
    eraseUser: (userId) => database.transaction((tx) => erase(tx, bucketOfUser(userId, buckets), userId)),
    async purge(bucket, retention, now) {
      let removed = 0
      for (const [table, key, older] of purges(retention, now)) {
        const { rowCount } = await database.query(
          `WITH old AS MATERIALIZED (
             SELECT ${key} FROM notify.${table} WHERE bucket = $1 AND ${older.where} LIMIT $3 FOR UPDATE SKIP LOCKED
           ) DELETE FROM notify.${table} t USING old WHERE t.bucket = $1 AND (${prefixed('t', key)}) = (${prefixed('old', key)})`,
          [bucket, older.value, batchSize],
        )
        removed += rowCount
      }
      const diedBefore = timestamp(now - retention.deadLetterDays * dayMs)
      removed += await database.transaction((tx) => purgeDeadLetters(tx, bucket, diedBefore, batchSize))
      const deadBefore = timestamp(now - retention.deadDeviceDays * dayMs)
      removed += await database.transaction((tx) => purgeDevices(tx, buckets, bucket, deadBefore, batchSize))
      const oldestItem = timestamp(now - retention.inboxDays * dayMs)
      const items = await database.transaction((tx) => purgeInboxes(tx, bucket, oldestItem, batchSize))
      inboxes.changed(items.users)
      return removed + items.removed
    },
  }
}

/** Somebody adds to what is erased only as long as it takes them to end what they had begun. */
const maxRounds = 20

/**
 * Removes a user. Their row comes first, which an admission needs: one that comes later finds it gone. Whatever else adds
 * rows about them holds a row of theirs from before it does so until its commit. So it is waited for, or its row is seen
 * once all have been removed; then another round removes what it added.
 */
async function erase(tx: Transaction, bucket: number, userId: string): Promise<number> {
  const values = [bucket, userId]
  const { rowCount: made } = await tx.query(
    'INSERT INTO notify.cap (bucket, user_id) VALUES ($1, $2) ON CONFLICT (bucket, user_id) DO NOTHING',
    values,
  )
  await tx.query('SELECT FROM notify.cap WHERE bucket = $1 AND user_id = $2 FOR UPDATE', values)
  const notifications = new Set<string>()
  let removed = -made
  for (let rounds = 1; ; rounds++) {
    removed += await eraseOnce(tx, values, notifications)
    const { rows } = await tx.query<{ left: boolean }>(leftSql, [...values, [...notifications]])
    if (!rows[0]?.left) return removed
    if (rounds >= maxRounds) throw new Error('rows about a user were added as fast as they were removed')
  }
}

const erased = tables.filter(([table]) => table !== 'delivery_event')
const eventsOf = '$2::text IS NOT NULL AND bucket = $1 AND notification_id = ANY ($3::uuid[])'

/** The timelines go last, by the ids of all notifications that there were: nobody can write one any more. */
async function eraseOnce(tx: Transaction, values: readonly unknown[], notifications: Set<string>): Promise<number> {
  const gone = await Promise.all(
    erased.map(([table, where]) =>
      tx.query<{ id?: string }>(
        `DELETE FROM notify.${table} WHERE ${where}${table === 'notification' ? ' RETURNING id' : ''}`,
        values,
      ),
    ),
  )
  for (const { id } of gone.flatMap(({ rows }) => rows)) if (id !== undefined) notifications.add(id)
  const timelines = await tx.query(`DELETE FROM notify.delivery_event WHERE ${eventsOf}`, [
    ...values,
    [...notifications],
  ])
  return [...gone, timelines].reduce((sum, { rowCount }) => sum + rowCount, 0)
}

/** On one snapshot: a row that has moved from one table to another is not missed in both. */
const leftSql = `SELECT ${[...erased, ['delivery_event', eventsOf] as const]
  .map(([table, where]) => `EXISTS (SELECT FROM notify.${table} WHERE ${where})`)
  .join('\n    OR ')} AS left`

/** A notification is needed as long as something of it waits to be planned again. */
const isNotAwaited =
  'NOT EXISTS (SELECT FROM notify.deferral d WHERE d.bucket = $1 AND d.notification_id = notification.id)'

type Purge = readonly [table: string, key: string, older: { readonly where: string; readonly value: string }]

/** What is removed for its age, kind by kind. Ids are made in order of time, so old rows are the first of their index. */
function purges(retention: Retention, now: number): Purge[] {
  const before = (days: number) => now - days * dayMs
  const byId = (column: string, days: number) => ({ where: `${column} < $2::uuid`, value: firstIdAt(before(days)) })
  const byTime = (column: string, days: number) => ({
    where: `${column} < $2::timestamptz`,
    value: timestamp(before(days)),
  })
  const { notificationDays, logDays } = retention
  const old = byId('id', notificationDays)
  return [
    ['delivery_event', 'notification_id, id', byId('notification_id', notificationDays)],
    ['delivery', 'id', old],
    ['notification', 'id', { ...old, where: `${old.where} AND ${isNotAwaited}` }],
    ['log', 'user_id, dedup_key, channel', byTime('sent_at', logDays)],
    ['provider_event', 'provider, event_id', byTime('at', providerEventDays)],
    ['suppression', 'id', { where: 'expires_at <= $2::timestamptz', value: timestamp(now) }],
  ]
}

function prefixed(table: string, key: string): string {
  return key
    .split(', ')
    .map((column) => `${table}.${column}`)
    .join(', ')
}
