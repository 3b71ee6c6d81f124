import type { Database, Query, Rows } from '@gatehouse/kit'
import { type AdmissionState, type DedupEntry, logId } from '../../admission/admission.ts'
import type { Counters } from '../../admission/caps.ts'
import type { AdmissionUnit, PlannedNotification } from '../../admission/planned.ts'
import type { Channel } from '../../model/channel.ts'
import { deliveryIdOf } from '../../model/id.ts'
import { columns } from '../sql/columns.ts'
import { among, customPlan } from '../sql/plans.ts'
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
  /** For each unit whether what it settles is still there. */
  readonly pending: readonly boolean[]
}

interface UserRow extends UserVersion {
  readonly user_id: string
  readonly counters: Counters
}

interface LogRow {
  readonly user_id: string
  readonly dedup_key: string
  readonly channel: Channel
  readonly notification_id: string
  readonly has_delivery: boolean
}

/**
 * Reads what a batch is decided on, in one round trip. The users come first, each statement on a snapshot of its own:
 * whatever is written after theirs changes their stamp, and so what is read later can only be found stale, never missed.
 */
export async function readState(
  database: Database,
  bucket: number,
  units: readonly AdmissionUnit[],
): Promise<UserState> {
  const notifications = units.flatMap((unit) => unit.notifications)
  const log = logQuery(bucket, notifications)
  const answers = await database.pipeline<object>([
    customPlan,
    usersQuery(bucket, [...new Set(notifications.map(({ userId }) => userId))]),
    ...log,
    ...settledQueries(bucket, units),
  ])
  const { rows: users } = answers[1] as Rows<UserRow>
  const rows = log.length === 0 ? [] : (answers[2] as Rows<LogRow>).rows
  return {
    users: new Map(users.map((row) => [row.user_id, row])),
    counters: new Map(users.map((row) => [row.user_id, row.counters])),
    logged: await loggedOf(database, bucket, rows),
    pending: settledOf(units, answers.slice(2 + log.length)),
  }
}

function usersQuery(bucket: number, users: readonly string[]): Query {
  return {
    name: 'notify_read_users',
    text: `SELECT u.user_id, found.generation, found.version, found.counters FROM unnest($2::text[]) AS u (user_id)
            CROSS JOIN LATERAL (
              SELECT c.generation, c.version, c.counters FROM notify.cap c WHERE c.bucket = $1 AND c.user_id = u.user_id LIMIT 1) AS found`,
    values: [bucket, users],
  }
}

function logQuery(bucket: number, notifications: readonly PlannedNotification[]): Query[] {
  const keys = notifications.flatMap(({ userId, deliveries }) =>
    deliveries.flatMap(({ channel, logKey }) => (logKey === undefined ? [] : [{ userId, logKey, channel }])),
  )
  if (keys.length === 0) return []
  return [
    {
      name: 'notify_read_log',
      text: `SELECT a.user_id, a.dedup_key, a.channel, found.notification_id, found.has_delivery
               FROM unnest($2::text[], $3::text[], $4::text[]) AS a (user_id, dedup_key, channel)
              CROSS JOIN LATERAL (
                SELECT l.notification_id, l.has_delivery FROM notify.dedup_log l
                 WHERE l.bucket = $1 AND l.user_id = a.user_id AND l.dedup_key = a.dedup_key AND l.channel = a.channel
                 LIMIT 1) AS found`,
      values: [
        bucket,
        ...columns(
          keys,
          (a) => a.userId,
          (a) => a.logKey,
          (a) => a.channel,
        ),
      ],
    },
  ]
}

async function loggedOf(database: Database, bucket: number, rows: readonly LogRow[]): Promise<Map<string, DedupEntry>> {
  const flushed = await flushedSince(database, bucket, rows)
  return new Map(
    rows.map((row) => [
      logId(row.user_id, { channel: row.channel, logKey: row.dedup_key }),
      { notificationId: row.notification_id, hasDelivery: row.has_delivery || flushed.has(originalOf(row)) },
    ]),
  )
}

const originalOf = (row: LogRow) => deliveryIdOf(row.notification_id, row.channel)

/** Of those that were aggregated when they burnt their key, the deliveries they have got since. */
async function flushedSince(database: Database, bucket: number, rows: readonly LogRow[]): Promise<Set<string>> {
  const ids = rows.filter((row) => !row.has_delivery).map(originalOf)
  if (ids.length === 0) return new Set()
  const [, found] = await database.pipeline<{ id: string }>([
    customPlan,
    {
      name: 'notify_flushed_since',
      text: `SELECT id FROM notify.delivery WHERE bucket = $1 AND ${among('id', '$2')}`,
      values: [bucket, ids],
    },
  ])
  return new Set(found?.rows.map(({ id }) => id))
}
