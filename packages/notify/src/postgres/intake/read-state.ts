import type { Database, Rows } from '@gatehouse/kit'
import { type AdmissionState, type DedupEntry, logId } from '../../admission/admission.ts'
import type { Counters } from '../../admission/caps.ts'
import type { AdmissionUnit, PlannedNotification } from '../../admission/planned.ts'
import type { Channel } from '../../model/channel.ts'
import { deliveryIdOf } from '../../model/id.ts'
import { onePlan, type ReadStatement, readAtOnce } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns } from '../sql/columns.ts'
import { dedupHash } from './dedup-hash.ts'
import { originalsQuery } from './originals.ts'
import { settledOf, settledQueries } from './settle.ts'

/** A user's row as it was read. */
export interface UserVersion {
  /** Stays as long as the row does: another one means that the user was erased meanwhile. */
  readonly generation: string
  /** Another one means that somebody wrote the user's log meanwhile. */
  readonly version: string
}

/** What a batch is decided on. It was read without a lock: what is written later must check that it still stands. */
export interface UserState extends AdmissionState {
  /** Those who were met before. */
  readonly users: ReadonlyMap<string, UserVersion>
  /** For each unit whether what it settles, and the data that it sends again, is still there. */
  readonly pending: readonly boolean[]
}

/** A user of a batch, and an id of theirs, which leads to their bucket. */
export interface BatchUser {
  readonly userId: string
  readonly id: string
}

/** The users of notifications, in the order in which they are locked. */
export function usersOf(notifications: readonly PlannedNotification[]): BatchUser[] {
  const ids = new Map(notifications.map(({ userId, id }) => [userId, id]))
  return [...ids].map(([userId, id]) => ({ userId, id })).sort((a, b) => (a.userId < b.userId ? -1 : 1))
}

interface UserRow extends UserVersion {
  readonly user_id: string
  readonly counters: Counters
}

type Answer<Row> = Pick<Rows<Row>, 'rows'>

/** A key to be looked up in the log. */
interface LogKey {
  /** Of a notification of its user. */
  readonly id: string
  readonly userId: string
  readonly channel: Channel
  readonly logKey: string
}

interface LogRow {
  /** The key's place among those that were looked up, from 1. */
  readonly place: number
  readonly notification_id: string
  readonly has_delivery: boolean
}

/**
 * Reads what a batch is decided on at `now` (Unix milliseconds), in one round trip. The users come first, each statement on
 * a snapshot of its own: whatever is written after theirs changes their stamp, and so what is read later can only be found
 * stale, never missed.
 */
export async function readState(
  database: Database,
  scope: BucketScope,
  units: readonly AdmissionUnit[],
  now: number,
): Promise<UserState> {
  const notifications = units.flatMap((unit) => unit.notifications)
  const keys = logKeysOf(notifications)
  const log = keys.length === 0 ? [] : [logQuery(scope, keys)]
  const originals = originalsQuery(scope, units)
  const [read, ...answers] = await readAtOnce(database, scope, [
    usersQuery(scope, usersOf(notifications)),
    ...log,
    ...originals,
    ...settledQueries(scope, units, now),
  ])
  const { rows: users } = read as Answer<UserRow>
  const rows = log.length === 0 ? [] : (answers[0] as Answer<LogRow>).rows
  const others = answers.slice(log.length)
  const complete = new Set((others.splice(0, originals.length) as Answer<{ id: string }>[]).flatMap(idsOf))
  const settled = settledOf(units, others)
  return {
    users: new Map(users.map((row) => [row.user_id, row])),
    counters: new Map(users.map((row) => [row.user_id, row.counters])),
    logged: await loggedOf(database, scope, originalsOf(keys, rows)),
    pending: units.map(({ resendOf }, n) => settled[n] === true && (resendOf === undefined || complete.has(resendOf))),
  }
}

const idsOf = ({ rows }: Answer<{ id: string }>) => rows.map(({ id }) => id)

function usersQuery(scope: BucketScope, users: readonly BatchUser[]): ReadStatement {
  return {
    text: textFor(
      scope,
      `${onePlan}SELECT u.user_id, found.generation, found.version, found.counters
         FROM unnest($1::smallint[], $2::text[]) AS u (bucket, user_id)
        CROSS JOIN LATERAL (
          SELECT c.generation, c.version, c.counters FROM notify.cap c
           WHERE c.bucket = u.bucket AND c.user_id = u.user_id LIMIT 1) AS found`,
    ),
    values: [bucketsOfIds(scope, users, ({ id }) => id), users.map(({ userId }) => userId)],
  }
}

function logKeysOf(notifications: readonly PlannedNotification[]): LogKey[] {
  return notifications.flatMap(({ id, userId, deliveries }) =>
    deliveries.flatMap(({ channel, logKey }) => (logKey === undefined ? [] : [{ id, userId, channel, logKey }])),
  )
}

function logQuery(scope: BucketScope, keys: readonly LogKey[]): ReadStatement {
  return {
    text: textFor(
      scope,
      `SELECT a.place, found.notification_id, found.has_delivery
         FROM unnest($1::smallint[], $2::text[], $3::uuid[]) WITH ORDINALITY AS a (bucket, user_id, key_hash, place)
        CROSS JOIN LATERAL (
          SELECT l.notification_id, l.has_delivery FROM notify.dedup_log l
           WHERE l.bucket = a.bucket AND l.user_id = a.user_id AND l.key_hash = a.key_hash LIMIT 1) AS found`,
    ),
    values: [
      bucketsOfIds(scope, keys, ({ id }) => id),
      ...columns(
        keys,
        ({ userId }) => userId,
        ({ channel, logKey }) => dedupHash(channel, logKey),
      ),
    ],
  }
}

/** A key that was used, and the notification that used it. */
interface Original {
  readonly key: LogKey
  readonly notificationId: string
  readonly deliveryId: string
  readonly hasDelivery: boolean
}

function originalsOf(keys: readonly LogKey[], rows: readonly LogRow[]): Original[] {
  return rows.flatMap(({ place, notification_id: notificationId, has_delivery: hasDelivery }) => {
    const key = keys[place - 1]
    return key ? [{ key, notificationId, deliveryId: deliveryIdOf(notificationId, key.channel), hasDelivery }] : []
  })
}

async function loggedOf(
  database: Database,
  scope: BucketScope,
  originals: readonly Original[],
): Promise<Map<string, DedupEntry>> {
  const flushed = await flushedSince(database, scope, originals)
  return new Map(
    originals.map(({ key, notificationId, deliveryId, hasDelivery }) => [
      logId(key.userId, key),
      { notificationId, hasDelivery: hasDelivery || flushed.has(deliveryId) },
    ]),
  )
}

/** Of those that were aggregated when they burnt their key, the deliveries they have got since. */
async function flushedSince(
  database: Database,
  scope: BucketScope,
  originals: readonly Original[],
): Promise<Set<string>> {
  const ids = originals.flatMap(({ deliveryId, hasDelivery }) => (hasDelivery ? [] : [deliveryId]))
  if (ids.length === 0) return new Set()
  const [found] = await readAtOnce(database, scope, [
    {
      text: textFor(
        scope,
        `SELECT found.id FROM unnest($1::smallint[], $2::uuid[]) AS a (bucket, id)
          CROSS JOIN LATERAL (
            SELECT d.id FROM notify.delivery d WHERE d.bucket = a.bucket AND d.id = a.id LIMIT 1) AS found`,
      ),
      values: [bucketsOfIds(scope, ids, (id) => id), ids],
    },
  ])
  return new Set((found as Answer<{ id: string }>).rows.map(({ id }) => id))
}
