import type { Database, Transaction } from '@gatehouse/kit'
import { channels } from '../../model/channel.ts'
import { bucketOfUser } from '../../model/id.ts'
import type { QuietHours } from '../../model/quiet-hours.ts'
import { all } from '../../model/suppression.ts'
import type { Preferences } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'
import { type PreferenceRow, preferenceOf } from './profiles.ts'

/** Channels with those of $5 and without those of $6, in the order of $4. */
const turned = (from: string) => `ARRAY(
  SELECT c.name FROM unnest($4::text[]) WITH ORDINALITY AS c (name, place)
   WHERE (c.name = ANY(${from}) OR c.name = ANY($5::text[])) AND c.name <> ALL($6::text[]) ORDER BY c.place)`

const ofAll = `(SELECT a.channels FROM notify.preference a WHERE a.bucket = $1 AND a.user_id = $2 AND a.event_type = '${all}')`

/** Whoever comes second waits at the row, and turns what the first has left there. */
const turnSql = `
WITH lifted AS (
  DELETE FROM notify.suppression
   WHERE bucket = $1 AND user_id = $2 AND scope = $3 AND reason = 'unsubscribed' AND channel = ANY($5::text[])
)
INSERT INTO notify.preference AS p (bucket, user_id, event_type, channels, updated_at)
VALUES ($1, $2, $3, ${turned(`coalesce(${ofAll}, $7::text[])`)}, $8)
ON CONFLICT (bucket, user_id, event_type) DO UPDATE
   SET channels = ${turned(`coalesce(p.channels, ${ofAll}, $7::text[])`)}, updated_at = excluded.updated_at`

const putSql = `
INSERT INTO notify.preference (bucket, user_id, event_type, channels, quiet_start, quiet_end, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (bucket, user_id, event_type) DO UPDATE
   SET channels = excluded.channels, quiet_start = excluded.quiet_start, quiet_end = excluded.quiet_end,
       updated_at = excluded.updated_at`

/** Preferences on PostgreSQL. */
export function postgresPreferences(database: Database, buckets: number): Preferences {
  return {
    async list(userId) {
      const { rows } = await database.query<PreferenceRow>(
        `SELECT event_type, channels, quiet_start, quiet_end FROM notify.preference
          WHERE bucket = $1 AND user_id = $2 ORDER BY event_type`,
        [bucketOfUser(userId, buckets), userId],
      )
      return rows.map(preferenceOf)
    },
    async put(userId, { eventType, channels, quietHours }, now) {
      await database.query(putSql, [
        bucketOfUser(userId, buckets),
        userId,
        eventType,
        channels ?? null,
        quietHours?.start ?? null,
        quietHours?.end ?? null,
        timestamp(now),
      ])
    },
    async switchChannels(userId, eventType, { on, off, otherwise }, now) {
      await database.query(turnSql, [
        bucketOfUser(userId, buckets),
        userId,
        eventType,
        channels,
        on,
        off,
        otherwise,
        timestamp(now),
      ])
    },
    setQuietHours: (userId, hours, now) =>
      database.transaction((tx) => setQuietHours(tx, [bucketOfUser(userId, buckets), userId], hours, now)),
    async remove(userId, eventType) {
      const { rowCount } = await database.query(
        'DELETE FROM notify.preference WHERE bucket = $1 AND user_id = $2 AND event_type = $3',
        [bucketOfUser(userId, buckets), userId, eventType],
      )
      return rowCount > 0
    },
  }
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
