import type { Database, Notifier, Transaction } from '@gatehouse/kit'
import { channels } from '../../model/channel.ts'
import { bucketOfUser, channelDigitOf, notificationIdOf, slotOfUser } from '../../model/id.ts'
import type { Privacy } from '../../store/store.ts'
import { everywhere } from '../nodes/spread-database.ts'
import type { Buckets } from '../sql/buckets.ts'
import { forbidReadChanges } from '../timeline/numbering-apart.ts'
import { lockTokens } from '../users/devices.ts'
import { createPurge } from './purge.ts'

const ofUser = 'bucket = $1 AND user_id = $2'
const notificationsOf = `SELECT id FROM notify.notification WHERE ${ofUser}`
const windowsOf = `ARRAY(SELECT id FROM notify.pending_window WHERE ${ofUser})`

/**
 * Rows that belong to notifications. By their keys: they have no index by user, and a table is too long to be read. A
 * notification stays as long as there are such rows, but for the deliveries of replays, which have an index of their own.
 */
const entriesOf = (notifications: string) => `bucket = $1 AND notification_id = ANY (ARRAY(${notifications}))`
const digits = channels.map((channel) => `'${channelDigitOf(channel)}'`).join()
const deliveryIdsOf = (notifications: string) => `
  SELECT overlay(n.id::text PLACING digit FROM 32)::uuid
    FROM (${notifications}) AS n (id) CROSS JOIN unnest(ARRAY[${digits}]) AS digit`
const deliveriesOf = (notifications: string) => `bucket = $1 AND id = ANY (ARRAY(${deliveryIdsOf(notifications)}))`
const queuedOf = (notifications: string) => `bucket = $1 AND delivery_id = ANY (ARRAY(${deliveryIdsOf(notifications)}
  UNION ALL SELECT delivery_id FROM notify.delivery_queue WHERE ${ofUser} AND letter IS NOT NULL))`

/** The tables with such rows. */
const ofNotifications: Readonly<Record<string, (notifications: string) => string>> = {
  delivery_queue: queuedOf,
  deferred: entriesOf,
  timeline_entry: entriesOf,
  delivery: deliveriesOf,
}

/** Tables of which others lock several rows of a user at once as well: the key of a row, and in which order they do. */
const lockOrders: Readonly<Record<string, readonly [key: string, order: string]>> = {
  dead_letter: ['id', 'id'],
  delivery_queue: ['delivery_id', 'delivery_id'],
  deferred: ['id', 'id'],
  scheduled: ['id', 'id'],
  parked: ['key', 'event, place, id'],
  delivery: ['id', 'id'],
  notification: ['id', 'id'],
}

/** Tables whose rows are changes of many users, and what tells the rows apart. */
const batches: Readonly<Record<string, string>> = { outbox: 'id', state_change: 'sequence' }
const hasChanges = 'EXISTS (SELECT FROM unnest(changes) AS e WHERE e.user_id = $2)'
const hasOthers = 'EXISTS (SELECT FROM unnest(changes) AS e WHERE e.user_id <> $2)'

/**
 * Every table that knows a user, children before what they hang on, and how its rows of the user are found; where others
 * lock more than one of them, in their order.
 */
const tables: ReadonlyArray<readonly [string, string]> = [
  ['dead_letter', ofUser],
  ['delivery_queue', queuedOf(notificationsOf)],
  ['deferred', entriesOf(notificationsOf)],
  ['scheduled', ofUser],
  ['parked', ofUser],
  ['pending_item', `bucket = $1 AND window_id = ANY (${windowsOf})`],
  ['pending_window', ofUser],
  ['timeline_entry', entriesOf(notificationsOf)],
  ['delivery', deliveriesOf(notificationsOf)],
  ['outbox', `bucket = $1 AND ${hasChanges}`],
  ['state_change', `notify.slots_of(changes) @> ARRAY[$1::integer] AND ${hasChanges}`],
  ['notification', ofUser],
  ['dedup_log', ofUser],
  ['inbox_count', ofUser],
  ['inbox', ofUser],
  ['mailbox', '$1::integer IS NOT NULL AND user_id = $2'],
  ['short_link', ofUser],
  ['suppression', ofUser],
  ['device', ofUser],
  ['push_token', '$1::integer IS NOT NULL AND user_id = $2'],
  ['preference', ofUser],
  ['recipient', ofUser],
  ['cap', ofUser],
]

/** Export, erasure and retention of users’ data on PostgreSQL. */
export function postgresPrivacy(database: Database, layout: Buckets, inboxes: Notifier): Privacy {
  const buckets = layout.count
  return {
    async exportUser(userId) {
      const values = valuesFor(userId, buckets)
      const found = await everywhere(database).transaction((tx) => readAll(tx, values))
      const { rows } = await database.query<{ event: string }>(openEventsSql)
      return withoutSecrets(found, new Set(rows.map(({ event }) => event)))
    },
    // Push tokens are in all buckets.
    async eraseUser(userId) {
      const removed = await everywhere(database).transaction((tx) => erase(tx, layout, userId))
      // Its numbers begin anew: open streams have to be reset before they meet them.
      inboxes.publish([userId])
      return removed
    },
    purge: createPurge(database, layout, inboxes),
  }
}

/** All tables on one snapshot: what moves from one of them to another meanwhile is not missed in both. */
async function readAll(tx: Transaction, values: ValuesOf): Promise<Record<string, unknown[]>> {
  await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  const found: Record<string, unknown[]> = {}
  for (const [table, where] of tables) {
    const { rows } = await tx.query<object>(exportSql(table, where), values(table))
    if (rows.length > 0) found[table] = rows.map(({ bucket: _, ...row }: { bucket?: number }) => row)
  }
  return found
}

/** `$1` and `$2` of the statements about a table. The log of state changes is in no bucket, and has an index by slot. */
function valuesFor(userId: string, buckets: number) {
  const [bucket, slot] = [bucketOfUser(userId, buckets), slotOfUser(userId)]
  return (table: string): [number, string] => [table === 'state_change' ? slot : bucket, userId]
}

function exportSql(table: string, where: string): string {
  if (batches[table] === undefined) return `SELECT * FROM notify.${table} WHERE ${where}`
  return `SELECT c.* FROM notify.${table} CROSS JOIN LATERAL unnest(changes) AS c WHERE ${where} AND c.user_id = $2`
}

/** Event types that are not sensitive. */
const openEventsSql = `
SELECT event FROM notify.event_type WHERE NOT coalesce((settings->>'sensitive')::boolean, false)`

interface Exported {
  readonly id?: string
  readonly event?: string | null
  readonly payload?: { readonly event?: string }
  readonly notification_id?: string | null
  readonly delivery_id?: string
  readonly sensitive?: boolean
}

/**
 * What waits for its time or to be sent, is gathered, died, or lies in the development mailbox of a sensitive event type is
 * not handed out: its links and codes let whoever reads them in. What belongs to a notification that is purged, or to an
 * event type that is not there any more, counts as sensitive.
 *
 * @param openEvents the event types that are not sensitive
 */
function withoutSecrets(found: Record<string, unknown[]>, openEvents: ReadonlySet<unknown>): Record<string, unknown[]> {
  const rows = (table: string) => (found[table] ?? []) as Exported[]
  const open = new Set<unknown>(rows('notification').flatMap(({ id, sensitive }) => (sensitive ? [] : [id])))
  const hideBy = (table: string, hiddenOf: (row: Exported) => object, isSecret: (row: Exported) => boolean) =>
    found[table] ? { [table]: rows(table).map((row) => (isSecret(row) ? { ...row, ...hiddenOf(row) } : row)) } : {}
  const hide = (table: string, hidden: object, isSecret: (row: Exported) => boolean) =>
    hideBy(table, () => hidden, isSecret)
  const hideData = (table: string) =>
    hideBy(
      table,
      ({ payload }) => ({ payload: { ...payload, data: null } }),
      ({ payload }) => !openEvents.has(payload?.event),
    )
  return {
    ...found,
    ...hide('notification', { data: null }, ({ sensitive }) => sensitive === true),
    ...hide('delivery_queue', { message: null }, ({ sensitive }) => sensitive === true),
    // The actor is a part of the data.
    ...hide('pending_item', { data: null, actor: null }, ({ notification_id: id }) => !open.has(id)),
    ...hide('mailbox', { message: null }, ({ delivery_id: id }) => id !== undefined && !open.has(notificationIdOf(id))),
    ...hideData('scheduled'),
    ...hideData('parked'),
    ...hide('dead_letter', { message: null }, ({ notification_id: id, event }) =>
      id === null ? !openEvents.has(event) : !open.has(id),
    ),
  }
}

/** Somebody adds to what is erased only as long as it takes them to end what they had begun. */
const maxRounds = 20

/**
 * Removes a user. Their row comes first, which an admission needs: one that comes later finds it gone. Whatever else adds
 * rows about them holds a row of theirs from before it does so until its commit. So it is waited for, or its row is seen
 * once all have been removed; then another round removes what it added.
 */
async function erase(tx: Transaction, { count, distributed }: Buckets, userId: string): Promise<number> {
  const values = valuesFor(userId, count)
  const { rowCount: made } = await tx.query(
    'INSERT INTO notify.cap (bucket, user_id) VALUES ($1, $2) ON CONFLICT (bucket, user_id) DO NOTHING',
    values('cap'),
  )
  await tx.query('SELECT FROM notify.cap WHERE bucket = $1 AND user_id = $2 FOR UPDATE', values('cap'))
  await lockTokens(tx, count, userId)
  if (distributed) await forbidReadChanges(tx, bucketOfUser(userId, count))
  const notifications = new Set<string>()
  let removed = -made
  for (let rounds = 1; ; rounds++) {
    removed += await eraseOnce(tx, values, notifications)
    if (!(await hasLeft(tx, values, notifications))) return removed
    if (rounds >= maxRounds) throw new Error('rows about a user were added as fast as they were removed')
  }
}

type ValuesOf = ReturnType<typeof valuesFor>

/** Notifications that the rounds of the erasure have removed: `$3`. */
const removedIds = 'SELECT unnest($3::uuid[])'
const entriesOfRemoved = `$2::text IS NOT NULL AND ${entriesOf(removedIds)}`
const erased: typeof tables = tables
  .filter(([table]) => table !== 'timeline_entry')
  .map(([table, where]) => [table, ofNotifications[table]?.(`${notificationsOf} UNION ALL ${removedIds}`) ?? where])

/** Removes rows of a user; of those that are others' as well the user's part, in the order in which any erasure locks them. */
function eraseSql(table: string, where: string): string[] {
  const id = batches[table]
  if (id === undefined)
    return [
      `DELETE FROM notify.${table} WHERE ${inLockOrder(table, where)}${table === 'notification' ? ' RETURNING id' : ''}`,
    ]
  const inOrder = `SELECT ${id} FROM notify.${table} WHERE ${where} ORDER BY ${id} FOR UPDATE`
  return [
    `UPDATE notify.${table}
        SET changes = ARRAY(SELECT CASE WHEN e.user_id = $2 THEN NULL ELSE e END FROM unnest(changes) AS e)
      WHERE ${where} AND ${hasOthers} AND ${id} = ANY (ARRAY(${inOrder}))`,
    `DELETE FROM notify.${table} WHERE ${where} AND NOT ${hasOthers}`,
  ]
}

function inLockOrder(table: string, where: string): string {
  const [key, order] = lockOrders[table] ?? []
  if (key === undefined) return where
  return `bucket = $1 AND ${key} = ANY (ARRAY(
    SELECT ${key} FROM notify.${table} WHERE ${where} ORDER BY ${order} FOR UPDATE))`
}

/** The timelines go last, by the ids of all notifications that were removed. */
async function eraseOnce(tx: Transaction, values: ValuesOf, notifications: Set<string>): Promise<number> {
  const withRemoved = (table: string) => [...values(table), [...notifications]]
  const gone = await Promise.all(
    erased.flatMap(([table, where]) =>
      eraseSql(table, where).map((text) =>
        tx.query<{ id?: string }>(text, table in ofNotifications ? withRemoved(table) : values(table)),
      ),
    ),
  )
  for (const { id } of gone.flatMap(({ rows }) => rows)) if (id !== undefined) notifications.add(id)
  const timelines = await tx.query(
    `DELETE FROM notify.timeline_entry WHERE ${entriesOfRemoved}`,
    withRemoved('timeline_entry'),
  )
  return [...gone, timelines].reduce((sum, { rowCount }) => sum + rowCount, 0)
}

/** Tables that are not in the user's bucket: each is asked by itself, for it is on other nodes of a distributed database. */
const elsewhere: ReadonlySet<string> = new Set(['push_token', 'state_change', 'mailbox'])

const isLeft = (parts: ReadonlyArray<readonly [string, string]>) =>
  `SELECT ${parts.map(([table, where]) => `EXISTS (SELECT 1 FROM notify.${table} WHERE ${where})`).join('\n    OR ')} AS left`

/**
 * The tables of the bucket on one snapshot: a row that has moved from one of them to another is not missed in both. The
 * others come after, for rows move there and never back.
 */
const leftInBucket = isLeft([
  ...erased.filter(([table]) => !elsewhere.has(table)),
  ['timeline_entry', entriesOfRemoved],
])
/** Counted: EXISTS expects to meet one of the user's rows early, and would read the whole log to find none. */
const leftElsewhere = erased
  .filter(([table]) => elsewhere.has(table))
  .map(([table, where]) => [table, `SELECT count(*) > 0 AS left FROM notify.${table} WHERE ${where}`] as const)

/** Whether a round of erasure left rows about a user, or somebody added some meanwhile. */
async function hasLeft(tx: Transaction, values: ValuesOf, notifications: ReadonlySet<string>): Promise<boolean> {
  const found = await Promise.all([
    tx.query<{ left: boolean }>(leftInBucket, [...values('timeline_entry'), [...notifications]]),
    ...leftElsewhere.map(([table, text]) => tx.query<{ left: boolean }>(text, values(table))),
  ])
  return found.some(({ rows }) => rows[0]?.left === true)
}
