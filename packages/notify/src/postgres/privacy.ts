import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfUser } from '../ids.ts'
import type { Privacy } from '../store.ts'
import { lockInboxes } from './inbox-count.ts'
import { createPurge } from './purge.ts'

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
  ['state_change', "$1::integer IS NOT NULL AND payload->>'user_id' = $2"],
  ['notification', ofUser],
  ['log', ofUser],
  ['inbox', ofUser],
  ['inbox_count', ofUser],
  ['mailbox', '$1::integer IS NOT NULL AND user_id = $2'],
  ['short_link', ofUser],
  ['suppression', ofUser],
  ['device', ofUser],
  ['push_token', '$1::integer IS NOT NULL AND user_id = $2'],
  ['preference', ofUser],
  ['recipient', ofUser],
  ['cap', ofUser],
]

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
    purge: createPurge(database, buckets),
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
