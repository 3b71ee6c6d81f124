import type { Database, Transaction } from '@gatehouse/kit'
import {
  type AdmissionState,
  type AdmissionUnit,
  type CapRules,
  type Counters,
  type Decided,
  decide,
  type Logged,
  logId,
  type PlannedNotification,
} from '../admission.ts'
import type { Channel } from '../channel.ts'
import { deliveryIdOf } from '../ids.ts'
import { settle } from './settle.ts'
import type { StreamOptions } from './stream-changes.ts'
import { among, columns, planAfresh } from './words.ts'
import { writeAdmitted } from './write-admitted.ts'

/**
 * Admission, one transaction: first every user concerned is locked (their cap row, in order of user_id), then, on a
 * fresh snapshot, the log is read, the batch is decided, and everything it comes to is written, one statement a table.
 * Whoever writes a user's log holds that lock, so nothing can slip between the reading and the writing. The statements
 * of a step travel together and run in order, each on a snapshot of its own.
 */
export async function admit(
  database: Database,
  bucket: number,
  units: readonly AdmissionUnit[],
  rules: CapRules,
  now: number,
  options: StreamOptions,
): Promise<Array<readonly Decided[] | undefined>> {
  return database.transaction(async (tx) => {
    const [, counters, held, logged] = await Promise.all([
      planAfresh(tx),
      lockUsers(tx, bucket, usersOf(units)),
      settle(tx, bucket, units, now),
      readLog(
        tx,
        bucket,
        units.flatMap(({ notifications }) => notifications),
      ),
    ])
    const before = new Map(counters)
    const notifications = units.flatMap((unit, index) => (held[index] ? unit.notifications : []))
    const decided = decide(notifications, { counters, logged }, rules, now)
    await Promise.all([writeAdmitted(tx, bucket, decided, now, options), writeCounters(tx, bucket, counters, before)])
    let next = 0
    return units.map((unit, index) => {
      if (!held[index]) return undefined
      const mine = decided.slice(next, next + unit.notifications.length)
      next += unit.notifications.length
      return mine
    })
  })
}

function usersOf(units: readonly AdmissionUnit[]): string[] {
  const users = units.flatMap((unit) => unit.notifications.map(({ userId }) => userId))
  return [...new Set(users)].sort()
}

/** A user was erased between being met and being locked. The transaction runs again, as after a serialization failure. */
class ErasedMeanwhile extends Error {
  readonly code = '40001'
}

/** Locks users in their order, those met for the first time too. */
async function lockUsers(tx: Transaction, bucket: number, users: readonly string[]): Promise<Map<string, Counters>> {
  if (users.length === 0) return new Map()
  const values = [bucket, users]
  const [, { rows }] = await Promise.all([
    tx.query({
      name: 'notify_meet_users',
      text: `INSERT INTO notify.cap (bucket, user_id)
             SELECT $1, u.user_id FROM unnest($2::text[]) WITH ORDINALITY AS u (user_id, place) ORDER BY u.place
             ON CONFLICT (bucket, user_id) DO NOTHING`,
      values,
    }),
    tx.query<{ user_id: string; counters: Counters }>({
      name: 'notify_lock_users',
      text: `SELECT u.user_id, locked.counters
               FROM unnest($2::text[]) WITH ORDINALITY AS u (user_id, place)
              CROSS JOIN LATERAL (
                SELECT c.counters FROM notify.cap c WHERE c.bucket = $1 AND c.user_id = u.user_id
                 LIMIT 1 FOR UPDATE) AS locked
              ORDER BY u.place`,
      values,
    }),
  ])
  if (rows.length < users.length) throw new ErasedMeanwhile()
  return new Map(rows.map((row) => [row.user_id, row.counters]))
}

interface LogRow {
  readonly user_id: string
  readonly dedup_key: string
  readonly channel: Channel
  readonly notification_id: string
  readonly has_delivery: boolean
}

async function readLog(
  tx: Transaction,
  bucket: number,
  notifications: readonly PlannedNotification[],
): Promise<Map<string, Logged>> {
  const asked = notifications.flatMap(({ userId, deliveries }) =>
    deliveries.flatMap(({ channel, logKey }) => (logKey === undefined ? [] : [{ userId, logKey, channel }])),
  )
  if (asked.length === 0) return new Map()
  const { rows } = await tx.query<LogRow>({
    name: 'notify_read_log',
    text: `SELECT a.user_id, a.dedup_key, a.channel, found.notification_id, found.has_delivery
             FROM unnest($2::text[], $3::text[], $4::text[]) AS a (user_id, dedup_key, channel)
            CROSS JOIN LATERAL (
              SELECT l.notification_id, l.has_delivery FROM notify.log l
               WHERE l.bucket = $1 AND l.user_id = a.user_id AND l.dedup_key = a.dedup_key AND l.channel = a.channel
               LIMIT 1) AS found`,
    values: [
      bucket,
      ...columns(
        asked,
        (a) => a.userId,
        (a) => a.logKey,
        (a) => a.channel,
      ),
    ],
  })
  const flushed = await flushedSince(tx, bucket, rows)
  return new Map(
    rows.map((row) => [
      logId(row.user_id, { channel: row.channel, logKey: row.dedup_key }),
      { notificationId: row.notification_id, hasDelivery: row.has_delivery || flushed.has(originalOf(row)) },
    ]),
  )
}

const originalOf = (row: LogRow) => deliveryIdOf(row.notification_id, row.channel)

/** Of those that were aggregated when they burnt their key, the deliveries they have got since. */
async function flushedSince(tx: Transaction, bucket: number, rows: readonly LogRow[]): Promise<Set<string>> {
  const ids = rows.filter((row) => !row.has_delivery).map(originalOf)
  if (ids.length === 0) return new Set()
  const found = await tx.query<{ id: string }>({
    name: 'notify_flushed_since',
    text: `SELECT id FROM notify.delivery WHERE bucket = $1 AND ${among('id', '$2')}`,
    values: [bucket, ids],
  })
  return new Set(found.rows.map(({ id }) => id))
}

async function writeCounters(
  tx: Transaction,
  bucket: number,
  counters: ReadonlyMap<string, Counters>,
  before: ReadonlyMap<string, Counters>,
): Promise<void> {
  const changed = [...counters].filter(([user, mine]) => before.get(user) !== mine)
  if (changed.length === 0) return
  await tx.query({
    name: 'notify_write_counters',
    text: `UPDATE notify.cap c SET counters = n.counters::jsonb
             FROM unnest($2::text[], $3::text[]) AS n (user_id, counters)
            WHERE c.bucket = $1 AND ${among('c.user_id', '$2', 'text')} AND c.user_id = n.user_id`,
    values: [
      bucket,
      ...columns(
        changed,
        ([user]) => user,
        ([, mine]) => JSON.stringify(mine),
      ),
    ],
  })
}

/** The counters of a notification's user and what the log knows of its keys, without the lock. */
export function readStanding(
  database: Database,
  bucket: number,
  notification: PlannedNotification,
): Promise<AdmissionState> {
  return database.transaction(async (tx) => {
    const [{ rows }, logged] = await Promise.all([
      tx.query<{ counters: Counters }>('SELECT counters FROM notify.cap WHERE bucket = $1 AND user_id = $2', [
        bucket,
        notification.userId,
      ]),
      readLog(tx, bucket, [notification]),
    ])
    return { counters: new Map([[notification.userId, rows[0]?.counters ?? {}]]), logged }
  })
}
