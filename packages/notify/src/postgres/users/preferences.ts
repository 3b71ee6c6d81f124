import type { Database, Transaction } from '@gatehouse/kit'
import { type Channel, channels } from '../../model/channel.ts'
import type { QuietHours } from '../../model/delivery/quiet-hours.ts'
import { all } from '../../model/delivery/suppression.ts'
import { bucketOfUser } from '../../model/id.ts'
import type { Preference, Preferences } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { type Buckets, scopeOf } from '../sql/buckets.ts'
import { timestamp, withoutNulls } from '../sql/columns.ts'
import { type PreferenceRow, preferenceOf, type SuppressionRow } from './profiles.ts'
import { addSuppressions } from './suppressions.ts'

const liftSql = `
DELETE FROM notify.suppression
 WHERE bucket = $1 AND user_id = $2 AND scope = $3 AND reason = 'unsubscribed' AND channel = ANY($4::text[])
RETURNING channel, address, expires_at, detail`

/** Locks the row of a user and event type, and makes it where there is none. */
const lockSql = `
INSERT INTO notify.preference (bucket, user_id, event_type, updated_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (bucket, user_id, event_type) DO UPDATE SET updated_at = excluded.updated_at`

const putSql = `
INSERT INTO notify.preference (bucket, user_id, event_type, channels, quiet_start, quiet_end, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (bucket, user_id, event_type) DO UPDATE
   SET channels = excluded.channels, quiet_start = excluded.quiet_start, quiet_end = excluded.quiet_end,
       updated_at = excluded.updated_at`

/** Replaces a preference that is as expected. */
const replaceSql = `
UPDATE notify.preference SET channels = $4, quiet_start = $5, quiet_end = $6, updated_at = $7
 WHERE bucket = $1 AND user_id = $2 AND event_type = $3 AND channels IS NOT DISTINCT FROM $8
   AND quiet_start IS NOT DISTINCT FROM $9 AND quiet_end IS NOT DISTINCT FROM $10`

function settingsOf({ channels, quietHours }: Preference) {
  return [channels ?? null, quietHours?.start ?? null, quietHours?.end ?? null]
}

/** Preferences on PostgreSQL. */
export function postgresPreferences(database: Database, layout: Buckets): Preferences {
  const { count: buckets } = layout
  return {
    async list(userId) {
      const bucket = bucketOfUser(userId, buckets)
      const { rows } = await at(database, bucket).query<PreferenceRow>(
        `SELECT event_type, channels, quiet_start, quiet_end FROM notify.preference
          WHERE bucket = $1 AND user_id = $2 ORDER BY event_type`,
        [bucket, userId],
      )
      return rows.map(preferenceOf)
    },
    async put(userId, preference, now, expected) {
      const bucket = bucketOfUser(userId, buckets)
      const row = [bucket, userId, preference.eventType]
      const values = [...row, ...settingsOf(preference), timestamp(now)]
      const { rowCount } =
        expected === undefined
          ? await at(database, bucket).query(putSql, values)
          : await at(database, bucket).query(replaceSql, [...values, ...settingsOf(expected)])
      return rowCount === 1
    },
    switchChannels(userId, eventType, change, now) {
      const bucket = bucketOfUser(userId, buckets)
      const row = [bucket, userId, eventType] as const
      return at(database, bucket).transaction(async (tx) => {
        if (change.others && change.on.length > 0)
          await liftForOne(tx, layout, row, { on: change.on, others: change.others, now })
        await switchChannels(tx, row, change, now)
      })
    },
    setQuietHours(userId, hours, now) {
      const bucket = bucketOfUser(userId, buckets)
      return at(database, bucket).transaction((tx) => setQuietHours(tx, [bucket, userId], hours, now))
    },
    async remove(userId, eventType) {
      const bucket = bucketOfUser(userId, buckets)
      const { rowCount } = await at(database, bucket).query(
        'DELETE FROM notify.preference WHERE bucket = $1 AND user_id = $2 AND event_type = $3',
        [bucket, userId, eventType],
      )
      return rowCount > 0
    },
  }
}

type Row = readonly [bucket: number, userId: string, eventType: string]
type LiftedRow = Pick<SuppressionRow, 'channel' | 'address' | 'expires_at'> & { readonly detail: string | null }
type Switch = Parameters<Preferences['switchChannels']>[2]

/**
 * Lifts what is unsubscribed for every event type, and puts one for each of the others in its place. Whoever comes
 * second waits here until the first has committed, so that what it lifts next includes what the first has put.
 */
async function liftForOne(
  tx: Transaction,
  layout: Buckets,
  [bucket, userId]: Row,
  { on, others, now }: { readonly on: readonly Channel[]; readonly others: readonly string[]; readonly now: number },
): Promise<void> {
  const { rows } = await tx.query<LiftedRow>(liftSql, [bucket, userId, all, on])
  const entries = rows
    .filter(({ expires_at }) => expires_at === null || expires_at > now)
    .flatMap(({ channel, address, expires_at, detail }) => {
      const lifted = { userId, channel, address, reason: 'unsubscribed' as const }
      return others.map((scope) => ({ ...lifted, scope, ...withoutNulls({ expiresAt: expires_at, detail }) }))
    })
  await addSuppressions(tx, scopeOf(layout, bucket), entries, now)
}

/** Whoever comes second waits at the row, and switches what the first has left there. */
async function switchChannels(tx: Transaction, row: Row, { on, off, otherwise }: Switch, now: number): Promise<void> {
  const [bucket, userId, eventType] = row
  const [, , { rows }] = await Promise.all([
    tx.query(liftSql, [...row, on]),
    tx.query(lockSql, [...row, timestamp(now)]),
    tx.query<PreferenceRow>(
      `SELECT event_type, channels FROM notify.preference
        WHERE bucket = $1 AND user_id = $2 AND event_type = ANY ($3::text[])`,
      [bucket, userId, [eventType, all]],
    ),
  ])
  const channelsOf = (name: string) => rows.find((each) => each.event_type === name)?.channels
  const from = channelsOf(eventType) ?? channelsOf(all) ?? otherwise
  const next = channels.filter((each) => (from.includes(each) || on.includes(each)) && !off.includes(each))
  await tx.query('UPDATE notify.preference SET channels = $4 WHERE bucket = $1 AND user_id = $2 AND event_type = $3', [
    ...row,
    next,
  ])
}

async function setQuietHours(
  tx: Transaction,
  [bucket, userId]: readonly [bucket: number, userId: string],
  hours: QuietHours | undefined,
  now: number,
): Promise<void> {
  const user = [bucket, userId, all]
  const ofUser = 'bucket = $1 AND user_id = $2 AND event_type = $3'
  if (hours) {
    await tx.query(
      `INSERT INTO notify.preference (bucket, user_id, event_type, quiet_start, quiet_end, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (bucket, user_id, event_type) DO UPDATE
          SET quiet_start = excluded.quiet_start, quiet_end = excluded.quiet_end, updated_at = excluded.updated_at`,
      [...user, hours.start, hours.end, timestamp(now)],
    )
    return
  }
  await tx.query(`UPDATE notify.preference SET quiet_start = NULL, quiet_end = NULL, updated_at = $4 WHERE ${ofUser}`, [
    ...user,
    timestamp(now),
  ])
  await tx.query(`DELETE FROM notify.preference WHERE ${ofUser} AND channels IS NULL AND quiet_start IS NULL`, user)
}
