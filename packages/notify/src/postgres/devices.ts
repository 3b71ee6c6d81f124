import { hash } from 'node:crypto'
import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfUser } from '../ids.ts'
import type { Device, Devices } from '../store.ts'
import { type DeviceRow, deviceOf } from './profiles.ts'
import { timestamp } from './words.ts'

export function postgresDevices(database: Database, buckets: number): Devices {
  return {
    async list(userId) {
      const { rows } = await database.query<DeviceRow>(
        `SELECT device_id, token, service, registered_at, dead_at, dead_reason FROM notify.device
          WHERE bucket = $1 AND user_id = $2 ORDER BY device_id`,
        [bucketOfUser(userId, buckets), userId],
      )
      return rows.map(deviceOf)
    },
    put: (userId, device, now) => database.transaction((tx) => putDevice(tx, buckets, userId, device, now)),
    remove: (userId, deviceId) =>
      database.transaction(async (tx) => {
        const { rows } = await tx.query<{ token: string }>(
          'DELETE FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3 RETURNING token',
          [bucketOfUser(userId, buckets), userId, deviceId],
        )
        for (const { token } of rows) await releaseToken(tx, buckets, { token, userId, deviceId })
        return rows.length > 0
      }),
    async bury(userId, token, at, reason) {
      const { rowCount } = await database.query(
        `UPDATE notify.device SET dead_at = $4, dead_reason = $5
          WHERE bucket = $1 AND user_id = $2 AND token = $3 AND dead_at IS NULL AND registered_at <= $4`,
        [bucketOfUser(userId, buckets), userId, token, timestamp(at), reason],
      )
      return rowCount > 0
    },
  }
}

/**
 * Registers a device. A token belongs to the one who registered it last: another device that had it, of whomever, is
 * gone. Both who register one token at once take it over from one another in some order, and the later one keeps it.
 */
export async function putDevice(
  tx: Transaction,
  buckets: number,
  userId: string,
  { deviceId, token, service }: Omit<Device, 'registeredAt' | 'deadAt' | 'deadReason'>,
  now: number,
): Promise<void> {
  const bucket = bucketOfUser(userId, buckets)
  const mine = { userId, deviceId }
  const known = await tx.query<{ token: string }>(
    'SELECT token FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3',
    [bucket, userId, deviceId],
  )
  // In the order of the tokens, so that two devices that swap theirs wait for one another instead of both.
  const tokens = new Set([token, ...known.rows.map((row) => row.token)])
  for (const each of [...tokens].sort())
    await (each === token
      ? takeToken(tx, buckets, { ...mine, token })
      : releaseToken(tx, buckets, { ...mine, token: each }))
  await tx.query(
    `INSERT INTO notify.device (bucket, user_id, device_id, token, service, registered_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (bucket, user_id, device_id) DO UPDATE
        SET token = excluded.token, service = excluded.service, registered_at = excluded.registered_at,
            dead_at = NULL, dead_reason = NULL`,
    [bucket, userId, deviceId, token, service, timestamp(now)],
  )
}

interface Claim {
  readonly token: string
  readonly userId: string
  readonly deviceId: string
}

async function takeToken(tx: Transaction, buckets: number, { token, userId, deviceId }: Claim): Promise<void> {
  const place = [bucketOfUser(token, buckets), hash('sha256', token)]
  const { rows } = await tx.query<{ former_user_id: string | null; former_device_id: string | null }>(
    `INSERT INTO notify.push_token (bucket, token_hash, user_id, device_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (bucket, token_hash) DO UPDATE
        SET user_id = excluded.user_id, device_id = excluded.device_id,
            former_user_id = CASE WHEN (push_token.user_id, push_token.device_id) = (excluded.user_id, excluded.device_id)
                                  THEN NULL ELSE push_token.user_id END,
            former_device_id = push_token.device_id
     RETURNING former_user_id, former_device_id`,
    [...place, userId, deviceId],
  )
  const { former_user_id: formerUser, former_device_id: formerDevice } = rows[0] ?? {}
  if (typeof formerUser !== 'string') return
  await tx.query('DELETE FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3 AND token = $4', [
    bucketOfUser(formerUser, buckets),
    formerUser,
    formerDevice,
    token,
  ])
  await tx.query(
    'UPDATE notify.push_token SET former_user_id = NULL, former_device_id = NULL WHERE bucket = $1 AND token_hash = $2',
    place,
  )
}

async function releaseToken(tx: Transaction, buckets: number, { token, userId, deviceId }: Claim): Promise<void> {
  await tx.query(
    'DELETE FROM notify.push_token WHERE bucket = $1 AND token_hash = $2 AND user_id = $3 AND device_id = $4',
    [bucketOfUser(token, buckets), hash('sha256', token), userId, deviceId],
  )
}

/** Removes devices that have been dead since before a time, so many at most. Answers how many. */
export async function purgeDevices(
  tx: Transaction,
  buckets: number,
  bucket: number,
  deadBefore: string,
  limit: number,
): Promise<number> {
  const { rows } = await tx.query<{ user_id: string; device_id: string; token: string }>(
    `WITH old AS MATERIALIZED (
       SELECT user_id, device_id FROM notify.device
        WHERE bucket = $1 AND dead_at < $2::timestamptz ORDER BY user_id, device_id LIMIT $3 FOR UPDATE SKIP LOCKED
     ) DELETE FROM notify.device d USING old
        WHERE d.bucket = $1 AND d.user_id = old.user_id AND d.device_id = old.device_id
     RETURNING d.user_id, d.device_id, d.token`,
    [bucket, deadBefore, limit],
  )
  for (const { user_id: userId, device_id: deviceId, token } of rows)
    await releaseToken(tx, buckets, { token, userId, deviceId })
  return rows.length
}
