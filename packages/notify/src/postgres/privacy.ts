import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfUser, firstIdAt } from '../ids.ts'
import type { Retention } from '../options.ts'
import type { Privacy } from '../store.ts'
import { purgeDeadLetters } from './dead-letters.ts'
import { purgeDevices } from './devices.ts'
import { lockInboxes, purgeInboxes } from './inbox-count.ts'
import { timestamp } from './words.ts'

const ofUser = 'bucket = $1 AND user_id = $2'
const notificationsOf = `(SELECT id FROM notify.notification WHERE ${ofUser})`
const windowsOf = `(SELECT id FROM notify.pending_window WHERE ${ofUser})`

/** Every table that knows a user, children before what they hang on, and how its rows of the user are found. */
const tables: ReadonlyArray<readonly [string, string]> = [
  ['work', ofUser],
  ['deferral', ofUser],
  ['scheduled', ofUser],
  ['parked', ofUser],
  ['pending_item', `bucket = $1 AND window_id IN ${windowsOf}`],
  ['pending_window', ofUser],
  ['dead_letter', ofUser],
  ['delivery_event', `bucket = $1 AND notification_id IN ${notificationsOf}`],
  ['delivery', ofUser],
  ['outbox', "bucket = $1 AND payload->>'user_id' = $2"],
  ['notification', ofUser],
  ['log', ofUser],
  ['inbox', ofUser],
  ['inbox_count', ofUser],
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

export function postgresPrivacy(database: Database, buckets: number): Privacy {
  return {
    async exportUser(userId) {
      const bucket = bucketOfUser(userId, buckets)
      const found: Record<string, unknown[]> = {}
      for (const [table, where] of tables) {
        const { rows } = await database.query<object>(`SELECT * FROM notify.${table} WHERE ${where}`, [bucket, userId])
        if (rows.length > 0) found[table] = rows.map(({ bucket: _, ...row }: { bucket?: number }) => row)
      }
      return withoutSecrets(found)
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
      return removed + (await database.transaction((tx) => purgeInboxes(tx, bucket, oldestItem, batchSize)))
    },
  }
}

interface Exported {
  readonly id?: string
  readonly notification_id?: string | null
  readonly sensitive?: boolean
}

/**
 * What waits to be sent, or died, of a sensitive event type is not handed out: its links and codes let whoever reads them
 * in. A dead letter whose notification is purged counts as sensitive.
 */
function withoutSecrets(found: Record<string, unknown[]>): Record<string, unknown[]> {
  const rows = (table: string) => (found[table] ?? []) as Exported[]
  const open = new Set(rows('notification').flatMap(({ id, sensitive }) => (sensitive ? [] : [id])))
  const hide = (table: string, member: string, isSecret: (row: Exported) => boolean) =>
    found[table] ? { [table]: rows(table).map((row) => (isSecret(row) ? { ...row, [member]: null } : row)) } : {}
  return {
    ...found,
    ...hide('notification', 'data', ({ sensitive }) => sensitive === true),
    ...hide('work', 'message', ({ sensitive }) => sensitive === true),
    ...hide('dead_letter', 'message', ({ notification_id: id }) => id !== null && !open.has(id)),
  }
}

async function erase(tx: Transaction, bucket: number, userId: string): Promise<number> {
  await tx.query('SELECT FROM notify.cap WHERE bucket = $1 AND user_id = $2 FOR UPDATE', [bucket, userId])
  await lockInboxes(tx, bucket, [userId])
  let removed = 0
  for (const [table, where] of tables) {
    const { rowCount } = await tx.query(`DELETE FROM notify.${table} WHERE ${where}`, [bucket, userId])
    // The lock may have made this one itself.
    if (table !== 'inbox_count') removed += rowCount
  }
  return removed
}

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
