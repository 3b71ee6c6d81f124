import { hash } from 'node:crypto'
import type { Database, Statements, Transaction } from '@gatehouse/kit'
import { defaultOptions } from '../../config/options.ts'
import { bucketOfHash, bucketOfUser } from '../../model/id.ts'
import type { Device, Devices } from '../../store/store.ts'
import { at, atEach } from '../nodes/spread-database.ts'
import type { Buckets } from '../sql/buckets.ts'
import { timestamp } from '../sql/columns.ts'
import { type DeviceRow, deviceOf } from './profiles.ts'

/** Devices and push tokens on PostgreSQL. */
export function postgresDevices(database: Database, layout: Buckets): Devices {
  const buckets = layout.count
  return {
    async list(userId) {
      const bucket = bucketOfUser(userId, buckets)
      const { rows } = await at(database, bucket).query<DeviceRow>(
        `SELECT device_id, token, service, registered_at, dead_at, dead_reason FROM notify.device
          WHERE bucket = $1 AND user_id = $2 ORDER BY device_id`,
        [bucket, userId],
      )
      return rows.map(deviceOf)
    },
    async put(userId, device, now, limit = defaultOptions.devicesPerUser) {
      const bucket = bucketOfUser(userId, buckets)
      const registration = { buckets, userId, device, now, limit }
      const elsewhere = layout.distributed ? await bucketsOfOthers(database, registration) : []
      const own = atEach(database, [bucket, bucketOfToken(device.token, buckets), ...elsewhere])
      return own.transaction(async (tx) => {
        const unlock = await lockUser(tx, bucket, userId)
        const dropped = await putDevice(tx, registration)
        await unlock()
        return dropped
      })
    },
    async remove(userId, deviceId) {
      const bucket = bucketOfUser(userId, buckets)
      const tokens = await readTokens(at(database, bucket), bucket, { userId, deviceId })
      if (tokens.length === 0) return false
      const ofTokens = tokens.map((token) => bucketOfToken(token, buckets))
      return atEach(database, [bucket, ...ofTokens]).transaction(async (tx) => {
        const unlock = await lockUser(tx, bucket, userId)
        const isRemoved = await removeDevice(tx, buckets, { userId, deviceId })
        await unlock()
        return isRemoved
      })
    },
    async markDead(userId, token, deadAt, reason) {
      const bucket = bucketOfUser(userId, buckets)
      const { rowCount } = await at(database, bucket).query(
        `UPDATE notify.device SET dead_at = $4, dead_reason = $5
          WHERE bucket = $1 AND user_id = $2 AND token = $3 AND dead_at IS NULL AND registered_at <= $4`,
        [bucket, userId, token, timestamp(deadAt), reason],
      )
      return rowCount > 0
    },
  }
}

/**
 * Locks what a user has of devices until the transaction ends, by the row that everybody locks who writes about the user.
 * Answers how to leave without a trace: a row that this lock had to make goes with it.
 */
async function lockUser(tx: Transaction, bucket: number, userId: string): Promise<() => Promise<unknown>> {
  const values = [bucket, userId]
  const [made, found] = await Promise.all([
    tx.query('INSERT INTO notify.cap (bucket, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING', values),
    tx.query('SELECT FROM notify.cap WHERE bucket = $1 AND user_id = $2 FOR UPDATE', values),
  ])
  if (found.rowCount === 0) throw new UserGone()
  return async () => {
    if (made.rowCount > 0) await tx.query('DELETE FROM notify.cap WHERE bucket = $1 AND user_id = $2', values)
  }
}

/** The user's row was removed between being met and being locked. The transaction runs again. */
class UserGone extends Error {
  readonly code = '40001'
}

/** A device to register, and for whom. */
export interface NewDevice {
  readonly buckets: number
  readonly userId: string
  readonly device: Pick<Device, 'deviceId' | 'token' | 'service'>
  readonly now: number
  /** Most devices of the user. */
  readonly limit: number
}

/**
 * Registers a device. A token belongs to the one who registered it last: another device that had it, of whomever, is
 * gone. Both who register one token at once take it over from one another in some order, and the later one keeps it.
 * Of a user who has more than the limit then, the dead and after them the longest unseen go; answers which.
 */
export async function putDevice(
  tx: Transaction,
  { buckets, userId, device: { deviceId, token, service }, now, limit }: NewDevice,
): Promise<Device[]> {
  const bucket = bucketOfUser(userId, buckets)
  const { dropped, released } = replacedBy({ deviceId, token }, await readDevices(tx, bucket, userId), limit)
  // In the order of the tokens, so that two devices that swap theirs wait for one another instead of both.
  for (const each of [{ deviceId, token }, ...released].sort((a, b) => (a.token < b.token ? -1 : 1)))
    await (each.token === token ? acquireToken : releaseToken)(tx, buckets, {
      userId,
      deviceId: each.deviceId,
      token: each.token,
    })
  if (dropped.length > 0)
    await tx.query('DELETE FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = ANY($3::text[])', [
      bucket,
      userId,
      dropped.map((device) => device.deviceId),
    ])
  await tx.query(
    `INSERT INTO notify.device (bucket, user_id, device_id, token, service, registered_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (bucket, user_id, device_id) DO UPDATE
        SET token = excluded.token, service = excluded.service, registered_at = excluded.registered_at,
            dead_at = NULL, dead_reason = NULL`,
    [bucket, userId, deviceId, token, service, timestamp(now)],
  )
  return dropped
}

async function readDevices(on: Pick<Statements, 'query'>, bucket: number, userId: string): Promise<Device[]> {
  const { rows } = await on.query<DeviceRow>(
    `SELECT device_id, token, service, registered_at, dead_at, dead_reason FROM notify.device
      WHERE bucket = $1 AND user_id = $2 ORDER BY dead_at IS NULL, registered_at, device_id`,
    [bucket, userId],
  )
  return rows.map(deviceOf)
}

/** The devices of a user that a new one takes the place of, and all of them whose tokens are released. */
function replacedBy(
  { deviceId, token }: Pick<Device, 'deviceId' | 'token'>,
  known: readonly Device[],
  limit: number,
): { readonly dropped: Device[]; readonly released: Device[] } {
  const others = known.filter((device) => device.deviceId !== deviceId && device.token !== token)
  const dropped = others.slice(0, Math.max(0, others.length + 1 - limit))
  const before = known.filter((device) => device.deviceId === deviceId)
  return { dropped, released: [...dropped, ...before].filter((each) => each.token !== token) }
}

/**
 * The buckets that a registration changes beside those of its user and its token: of the tokens that it releases, and of
 * the one who had the token. Read without a lock, they say which nodes it needs; where that changes meanwhile, it may have
 * to wait for another one.
 */
async function bucketsOfOthers(
  database: Database,
  { buckets, userId, device, limit }: Omit<NewDevice, 'now'>,
): Promise<number[]> {
  const [bucket, tokenHash] = [bucketOfUser(userId, buckets), hash('sha256', device.token)]
  const ofToken = bucketOfHash(tokenHash, buckets)
  const [known, owners] = await Promise.all([
    readDevices(at(database, bucket), bucket, userId),
    at(database, ofToken).query<{ user_id: string }>(
      'SELECT user_id FROM notify.push_token WHERE bucket = $1 AND token_hash = $2',
      [ofToken, tokenHash],
    ),
  ])
  return [
    ...replacedBy(device, known, limit).released.map(({ token }) => bucketOfToken(token, buckets)),
    ...owners.rows.map((owner) => bucketOfUser(owner.user_id, buckets)),
  ]
}

/**
 * Removes the former device of a token. Where nothing is found, the transaction that registered it may have committed on
 * the node of the token and not yet on that of its user. So its row is locked, which waits for that, or made, and removed.
 */
async function removeFormer(tx: Transaction, device: readonly unknown[]): Promise<void> {
  const { rowCount } = await tx.query(removeFormerSql, device)
  if (rowCount > 0) return
  await tx.query(lockFormerSql, device)
  await tx.query(removeFormerSql, device)
}

const removeFormerSql = 'DELETE FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3 AND token = $4'

const lockFormerSql = `
INSERT INTO notify.device AS d (bucket, user_id, device_id, token, service, registered_at) VALUES ($1, $2, $3, $4, '', 'epoch')
ON CONFLICT (bucket, user_id, device_id) DO UPDATE SET token = d.token`

/**
 * Locks the push tokens of a user's devices. A registration that has committed on the node of the user, and not yet on
 * those of the tokens, is waited for. The transaction must have locked the user.
 */
export async function lockTokens(tx: Transaction, buckets: number, userId: string): Promise<void> {
  const { rows } = await tx.query<{ token: string; device_id: string }>(
    'SELECT token, device_id FROM notify.device WHERE bucket = $1 AND user_id = $2 ORDER BY token COLLATE "C"',
    [bucketOfUser(userId, buckets), userId],
  )
  for (const { token, device_id: deviceId } of rows) await lockToken(tx, buckets, { token, userId, deviceId })
}

/** Locks a push token. One that is not there, or not yet to be seen, is made and has this owner. */
async function lockToken(tx: Transaction, buckets: number, { token, userId, deviceId }: TokenOwner): Promise<void> {
  const tokenHash = hash('sha256', token)
  await tx.query(
    `INSERT INTO notify.push_token AS p (bucket, token_hash, user_id, device_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (bucket, token_hash) DO UPDATE SET user_id = p.user_id`,
    [bucketOfHash(tokenHash, buckets), tokenHash, userId, deviceId],
  )
}

/** The bucket of a push token. */
export function bucketOfToken(token: string, buckets: number): number {
  return bucketOfHash(hash('sha256', token), buckets)
}

/** The tokens of a device: one, or none where it is not known. */
async function readTokens(
  on: Pick<Statements, 'query'>,
  bucket: number,
  { userId, deviceId }: DeviceKey,
): Promise<string[]> {
  const { rows } = await on.query<{ token: string }>(
    'SELECT token FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3',
    [bucket, userId, deviceId],
  )
  return rows.map(({ token }) => token)
}

/**
 * Removes a device of a user who is locked; its token first, as all who need both lock them. The token is locked, not
 * just removed: the registration that made it may have committed on the node of the user and not yet on that of the token.
 */
async function removeDevice(tx: Transaction, buckets: number, device: DeviceKey): Promise<boolean> {
  const bucket = bucketOfUser(device.userId, buckets)
  for (const token of await readTokens(tx, bucket, device)) {
    await lockToken(tx, buckets, { ...device, token })
    await releaseToken(tx, buckets, { ...device, token })
  }
  const { rowCount } = await tx.query(
    'DELETE FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3',
    [bucket, device.userId, device.deviceId],
  )
  return rowCount > 0
}

interface DeviceKey {
  readonly userId: string
  readonly deviceId: string
}

interface TokenOwner extends DeviceKey {
  readonly token: string
}

async function acquireToken(tx: Transaction, buckets: number, { token, userId, deviceId }: TokenOwner): Promise<void> {
  const tokenHash = hash('sha256', token)
  const place = [bucketOfHash(tokenHash, buckets), tokenHash]
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
  await removeFormer(tx, [bucketOfUser(formerUser, buckets), formerUser, formerDevice, token])
  await tx.query(
    'UPDATE notify.push_token SET former_user_id = NULL, former_device_id = NULL WHERE bucket = $1 AND token_hash = $2',
    place,
  )
}

/** Removes a push token, unless another device has it by now. */
export async function releaseToken(
  tx: Transaction,
  buckets: number,
  { token, userId, deviceId }: TokenOwner,
): Promise<void> {
  const tokenHash = hash('sha256', token)
  await tx.query(
    'DELETE FROM notify.push_token WHERE bucket = $1 AND token_hash = $2 AND user_id = $3 AND device_id = $4',
    [bucketOfHash(tokenHash, buckets), tokenHash, userId, deviceId],
  )
}
